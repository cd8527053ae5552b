// Several of the user's threads use the library at once: the same functions and different ones, compiled and mapped, with results as from
// one thread.
#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

#include "tests/runtime/devices.h"
#include "tests/together.h"

using namespace weft;
using weft::sharding::P;
using namespace weft::test;

namespace {

Array numbers(const Shape& s) { return sin(reshape(arange(static_cast<int>(s.num_elements()), float32), s)) / 3; }

/// What each of the threads gets from f, begun by all at about the same time.
std::vector<std::vector<std::vector<float>>> on_threads(int count, const std::function<std::vector<Array>(int)>& f) {
  std::vector<std::vector<std::vector<float>>> out(static_cast<std::size_t>(count));
  together(count, [&](int t) {
    for (const Array& x : f(t)) out[static_cast<std::size_t>(t)].push_back(device_get(x).to_vector<float>());
  });
  return out;
}

/// All threads get what one thread got before or gets after them.
void check_same(const std::function<std::vector<Array>()>& f, int count = 4) {
  const auto got = on_threads(count, [&](int) { return f(); });
  std::vector<std::vector<float>> wanted;
  for (const Array& x : f()) wanted.push_back(device_get(x).to_vector<float>());
  for (const auto& one : got) CHECK(one == wanted);
}

Array loss(Array w, Array v) { return mean(square(tanh(matmul(v, w)))); }

}  // namespace

TEST_CASE("threads share a compiled function, a map and a divided argument") {
  const Array x = numbers({8, 5000}), placed = device_put(x, NamedSharding{make_mesh({8}, {"i"}), P("i")});
  const auto jitted = jit([](Array a) { return sum(a * a, 0); });
  const auto mapped = pmap([](Array a) { return psum(tanh(a), "i") + a; }, {.axis_name = "i"});
  check_same([&] {
    std::vector<Array> out;
    for (int k = 0; k < 3; ++k)
      out.push_back(jitted(x)), out.push_back(jitted(placed)), out.push_back(mapped(x)), out.push_back(mapped(placed));
    return out;
  });
}

TEST_CASE("threads trace, differentiate and compile the same programs for the first time") {
  const Mesh mesh = make_mesh({4, 2}, {"b", "m"});
  const auto put = [&](const Array& x, const PartitionSpec& spec) { return device_put(x, NamedSharding{mesh, spec}); };
  check_same([&] {
    const Array w = numbers({64, 96}), v = numbers({8, 40, 64});
    const auto step = [](Array p, Array u) { return p - .1f * pmean(grad(loss)(p, u), "i"); };
    const auto loop = [=](Array c, Array u) {
      return scan([=](Array p, None) { return std::pair{step(p, u), loss(p, u)}; }, c, none, {.length = 3});
    };
    const auto [last, losses] = pmap(loop, {.in_axes = {none, 0}, .axis_name = "i"})(w, v);
    const auto donating = pmap(step, {.axis_name = "i", .donate_argnums = {0}});
    Array d = pmap([](Array a) { return a + 0; })(broadcast_to(w, {8, 64, 96}));
    for (int k = 0; k < 3; ++k) d = donating(d, v);
    const Array gradient = jit(grad(jit(loss)))(put(w, P(none, "m")), put(numbers({320, 64}), P("b")));
    const Array soft = jit([](Array a) { return sum(nn::softmax(a), 0) + mean(a); })(put(numbers({512, 1000}), P("b", "m")));
    const Array inverse = jit([](Array a) { return linalg::inv(a + 4 * eye(16)); })(put(numbers({8, 16, 16}), P("b")));
    const auto ring =
        shard_map([](Array a) { return matmul(a, transpose(all_gather(a, "b", {.tiled = true}))) + psum(sum(a), {"b", "m"}); },
                  {.mesh = mesh, .in_specs = P("b", "m"), .out_specs = P("b", "m")});
    return std::vector{last, losses, d, gradient, soft, inverse, ring(numbers({64, 64})), vmap(grad(loss), {.in_axes = {none, 0}})(w, v)};
  });
}

TEST_CASE("threads join large arrays, and each has errors of its own") {
  const auto join = [](auto f, const Array& x) { return pmap(f, {.axis_name = "i"})(x); };
  check_same([&] {
    std::vector<Array> out;
    out.push_back(join([](Array a) { return psum(a, "i"); }, numbers({8, 300000}))[3]);
    out.push_back(join([](Array a) { return psum_scatter(a * a, "i", {.tiled = true}) + pmax(sum(a), "i") + sum(all_gather(a, "i")); },
                       numbers({8, 40960})));
    out.push_back(
        join([](Array a) { return all_to_all(reshape(a, {8, 5120}), "i", 0, 0) + ppermute(reshape(a, {8, 5120}), "i", {{0, 1}, {1, 3}}); },
             numbers({8, 40960})));
    const auto stray = [](Array a) { return cond(a < 6, [](Array c) { return psum(c, "i"); }, [](Array c) { return c; }, a); };
    CHECK(has(message_of<DistributedError>([&] { join(stray, arange(8, float32)); }), "wait there for cpu:6"));
    const auto thrown = [](Array a) {
      return psum(pure_callback(
                      [](Array v) {
                        if (v.item<float>() == 3) throw std::runtime_error("three is too many");
                        return v;
                      },
                      ShapeDtypeStruct{{}, float32}, a),
                  "i");
    };
    CHECK(has(message_of<std::exception>([&] { join(thrown, arange(8, float32)); }), "three is too many"));
    out.push_back(join(thrown, ones(8)));
    return out;
  });
}

TEST_CASE("arrays go from thread to thread") {
  const Array x = numbers({8, 4096});
  Array shared = pmap([](Array a) { return a * 2; })(x);
  const Array wanted = device_get(shared) + x;
  const auto got = on_threads(4, [&](int t) {
    // The same handle is read, cut and moved by all; each drops its own copies.
    const Array mine = shared, row = mine[t + 1], there = device_put(mine, devices()[static_cast<std::size_t>(t)]);
    return std::vector{mine + x, row + x[t + 1], device_get(there) + x};
  });
  for (int t = 0; t < 4; ++t) {
    const auto& one = got[static_cast<std::size_t>(t)];
    REQUIRE(one.size() == 3);
    CHECK(one[0] == wanted.to_vector<float>());
    CHECK(one[1] == wanted[t + 1].to_vector<float>());
    CHECK(one[2] == one[0]);
  }
}

TEST_CASE("a thread that traces a function may wait for one that calls it") {
  // By a lock.
  std::recursive_mutex settings;
  std::atomic<bool> tracing{false}, locked{false};
  const auto f = jit([&](Array x) {
    tracing = true;
    while (!locked) std::this_thread::yield();
    const std::lock_guard lock(settings);
    return x * 2;
  });
  std::thread first([&] { CHECK(f(ones(3))(0).item<float>() == 2.f); });
  std::thread second([&] {
    const std::lock_guard lock(settings);
    while (!tracing) std::this_thread::yield();
    locked = true;
    CHECK(f(ones(3))(0).item<float>() == 2.f);
  });
  first.join(), second.join();

  // By a join: the call within waits for the trace without, and then traces the function itself.
  std::atomic<int> depth{0};
  std::function<Array(Array)> again;
  const auto g = jit([&](Array x) {
    if (++depth == 1) std::thread([&] { CHECK(again(ones(3))(0).item<float>() == 3.f); }).join();
    return x * 3;
  });
  again = [&](Array x) { return g(x); };
  CHECK(g(ones(3))(0).item<float>() == 3.f);
  CHECK(depth == 2);
  CHECK(g(ones(3))(0).item<float>() == 3.f);
  CHECK(depth == 2);
}
