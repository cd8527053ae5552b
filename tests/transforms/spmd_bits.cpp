// Results of programs on several devices have the same bits in every run and for every number of threads.
#include <fmt/core.h>

#include <unistd.h>

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/runtime/devices.h"

using namespace weft;
using weft::sharding::P;
using namespace weft::test;

namespace {

Array numbers(const Shape& s) { return sin(reshape(arange(static_cast<int>(s.num_elements()), float32), s)) / 3; }

/// A number of every bit of the array's elements.
std::uint64_t bits_of(const Array& x) {
  std::uint64_t h = 14695981039346656037u;
  for (const float v : device_get(x).to_vector<float>()) {
    std::uint32_t b;
    std::memcpy(&b, &v, sizeof b);
    h = (h ^ b) * 1099511628211u;
  }
  return h;
}

std::vector<std::uint64_t> results() {
  const Mesh mesh = make_mesh({4, 2}, {"b", "m"});
  const auto put = [&](const Array& x, const PartitionSpec& spec) { return device_put(x, NamedSharding{mesh, spec}); };
  const auto loss = [](Array w, Array v) { return mean(square(tanh(matmul(v, w)))); };
  const auto step = [=](Array w, Array v) { return w - .1f * pmean(grad(loss)(w, v), "i"); };
  const Array w = numbers({64, 96}), v = numbers({8, 40, 64});
  const auto loop = [=](Array c, Array u) {
    return scan([=](Array p, None) { return std::pair{step(p, u), loss(p, u)}; }, c, none, {.length = 3});
  };
  const auto [last, losses] = pmap(loop, {.in_axes = {none, 0}, .axis_name = "i"})(w, v);
  std::vector<std::uint64_t> out{bits_of(last), bits_of(losses)};
  out.push_back(bits_of(pmap([](Array a) { return psum(a, "i"); }, {.axis_name = "i"})(numbers({8, 300000}))));
  out.push_back(bits_of(
      pmap([](Array a) { return psum_scatter(a * a, "i", {.tiled = true}) + pmax(sum(a), "i"); }, {.axis_name = "i"})(numbers({8, 4096}))));
  out.push_back(bits_of(jit(grad(loss))(put(w, P(none, "m")), put(numbers({320, 64}), P("b")))));
  out.push_back(bits_of(jit([](Array a) { return sum(nn::softmax(a), 0) + mean(a); })(put(numbers({512, 1000}), P("b", "m")))));
  out.push_back(bits_of(jit([](Array a) { return linalg::inv(a + 4 * eye(16)); })(put(numbers({8, 16, 16}), P("b")))));
  auto ring = shard_map([](Array a) { return matmul(a, transpose(all_gather(a, "b", {.tiled = true}))) + psum(sum(a), {"b", "m"}); },
                        {.mesh = mesh, .in_specs = P("b", "m"), .out_specs = P("b", "m")});
  out.push_back(bits_of(ring(numbers({64, 64}))));
  const auto sums = [](Array a) { return psum(a, "i") * pmean(a, "i") + psum_scatter(concatenate({a, -a}), "i", {.tiled = true})[0]; };
  out.push_back(bits_of(jit(vmap(sums, {.axis_name = "i"}))(numbers({2, 300000}))));
  out.push_back(bits_of(pmap(sums, {.axis_name = "i"})(numbers({2, 300000}))));
  return out;
}

/// The sum of x's rows in the order of a balanced tree: the largest power of two of them, and the rest.
Array tree_sum(const Array& x, int begin, int end) {
  if (end - begin == 1) return x[begin];
  const int middle = begin + static_cast<int>(std::bit_floor(static_cast<unsigned>(end - begin - 1)));
  return tree_sum(x, begin, middle) + tree_sum(x, middle, end);
}

}  // namespace

TEST_CASE("[child] writes the bits of its results" * doctest::skip()) {
  std::ofstream file(std::getenv("WEFT_BITS_FILE"));
  for (const std::uint64_t bits : results()) file << bits << " ";
}

TEST_CASE("results have the same bits for every number of threads, and in every run") {
  std::ostringstream wanted;
  for (const std::uint64_t bits : results()) wanted << bits << " ";
  for (const int threads : {1, 2, 3, 4, 7}) {
    const std::string file = "/tmp/weft-bits-" + std::to_string(::getpid());
    const std::string command = fmt::format("WEFT_NUM_THREADS={} WEFT_BITS_FILE={} {} --no-skip --test-case='[child]*' >/dev/null 2>&1",
                                            threads, file, std::filesystem::read_symlink("/proc/self/exe").string());
    REQUIRE(std::system(command.c_str()) == 0);
    std::ifstream in(file);
    std::ostringstream got;
    got << in.rdbuf();
    CAPTURE(threads);
    CHECK(got.str() == wanted.str());
    std::remove(file.c_str());
  }
}

TEST_CASE("where the order of summation is the same, devices give vmap's bits") {
  const Array x = numbers({8, 1000});
  const auto same = [&](auto f) { return bits_of(pmap(f, {.axis_name = "i"})(x)) == bits_of(jit(vmap(f, {.axis_name = "i"}))(x)); };
  CHECK(same([](Array a) { return tanh(a) * pmax(a, "i") - pmin(a * a, "i"); }));
  CHECK(same([](Array a) { return ppermute(a * a, "i", {{0, 3}, {3, 1}}) + all_gather(a, "i")(5) / (a + 2) + axis_index("i"); }));
  CHECK(same([](Array a) { return all_to_all(reshape(a, {8, 125}), "i", 0, 0) * 2; }));
}

TEST_CASE("a sum over devices is that of a balanced tree, and vmap's where its order is the same, bit for bit") {
  const auto total = [](Array a) { return psum(a, "i"); };
  const auto mean_of = [](Array a) { return pmean(a, "i"); };
  for (int n = 1; n <= 8; ++n) {
    CAPTURE(n);
    for (const int length : {3, 1000, 70000}) {
      const Array x = numbers({n, length}) * exp(numbers({length}) * 20);
      CHECK(bits_of(pmap(total, {.axis_name = "i"})(x)[0]) == bits_of(tree_sum(x, 0, n)));
      // Of two terms there is one order.
      if (n <= 2) {
        CHECK(bits_of(pmap(total, {.axis_name = "i"})(x)) == bits_of(jit(vmap(total, {.axis_name = "i"}))(x)));
        CHECK(bits_of(pmap(total, {.axis_name = "i"})(x)) == bits_of(vmap(total, {.axis_name = "i"})(x)));
        CHECK(bits_of(pmap(mean_of, {.axis_name = "i"})(x)) == bits_of(jit(vmap(mean_of, {.axis_name = "i"}))(x)));
        const auto part = [n](Array a) { return psum_scatter(tile(a, n), "i", {.tiled = true}); };
        CHECK(bits_of(pmap(part, {.axis_name = "i"})(x)) == bits_of(jit(vmap(part, {.axis_name = "i"}))(x)));
      }
      // Sums of integers, and floats that are sums of few powers of two, are exact in each order.
      const Array exact = floor(x * 64) / 64;
      CHECK(bits_of(pmap(total, {.axis_name = "i"})(clip(exact, -64.f, 64.f))) ==
            bits_of(jit(vmap(total, {.axis_name = "i"}))(clip(exact, -64.f, 64.f))));
      const Array whole = convert(numbers({n, length}) * 2e9f, int32);
      CHECK(all(device_get(pmap(total, {.axis_name = "i"})(whole)) == jit(vmap(total, {.axis_name = "i"}))(whole)).item<bool>());
    }
  }
}
