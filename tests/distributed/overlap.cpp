// Collectives that go on while kernels run: they give the same values, and errors that say as much, as those that are waited for at once.
#include <fmt/core.h>
#include <weft/weft.h>

#include <malloc.h>
#include <cmath>
#include <cstring>

#include "tests/distributed/worker.h"
#include "weft/runtime/processes/collective_thread.h"

using namespace weft;
using weft::sharding::P;

namespace weft::test {
namespace {

constexpr int kLayers = 5, kWidth = 256;

Array weights(int layer) { return sin(numbers({kWidth, kWidth}) * (1.f + static_cast<float>(layer) / 7)) / 16; }

/// Gradients of a network of some layers, each of which is summed over the devices.
std::vector<Array> summed_gradients(const std::vector<Array>& w, const Array& x) {
  const auto loss = [](const std::vector<Array>& v, Array y) {
    for (const Array& layer : v) y = tanh(matmul(y, layer));
    return mean(square(y));
  };
  return pmean(grad(loss)(w, x), "i");
}

std::int64_t overlapped(auto f) {
  const auto before = detail::num_queued_collectives();
  f();
  return detail::num_queued_collectives() - before;
}

void close(const Array& got, const Array& wanted, const std::string& what) {
  const Array all = got.is_fully_addressable() ? device_get(got) : process_allgather(got);
  const std::string wrong = tools::difference(all, wanted, nullptr, {1e-4, 1e-4, false});
  expect(wrong.empty(), what + ": " + wrong);
}

}  // namespace

std::vector<Array> overlapped_gradients() {
  const int local = local_device_count(), all = device_count(), me = process_index();
  std::vector<Array> w;
  for (int k = 0; k < kLayers; ++k) w.push_back(weights(k));
  const Array x = cos(numbers({all, 32, kWidth}));
  const auto step = pmap(summed_gradients, {.in_axes = {none, 0}, .out_axes = none, .axis_name = "i"});
  return step(w, x(slice(local * me, local * (me + 1))));
}

void overlap() {
  const int n = process_count(), all = device_count(), local = local_device_count(), me = process_index();
  const auto mine = [&](const Array& v) { return v(slice(local * me, local * (me + 1))); };
  // Gradients: each but the last is under way while the rest of the backward pass runs.
  std::vector<Array> w, got;
  for (int k = 0; k < kLayers; ++k) w.push_back(weights(k));
  const std::int64_t begun = overlapped([&] { got = overlapped_gradients(); });
  if (n > 1) expect(begun >= kLayers - 1, fmt::format("{} of {} gradients' sums begin early", begun, kLayers));
  const Array x = cos(numbers({all, 32, kWidth}));
  const std::vector<Array> wanted = vmap(summed_gradients, {.in_axes = {none, 0}, .axis_name = "i"})(w, x);
  for (std::size_t k = 0; k < w.size(); ++k) close(got[k], wanted[k][0], fmt::format("the gradient of layer {}", k));

  // Weights that the devices share: those of the next layer come while a layer is computed.
  const auto layers = [](const std::vector<Array>& parts, Array y) {
    for (const Array& part : parts) y = tanh(matmul(y, all_gather(part, "i", {.tiled = true})));
    return y;
  };
  if (kWidth % all == 0) {
    std::vector<Array> parts;
    for (const Array& each : w) parts.push_back(reshape(each, {all, kWidth / all, kWidth}));
    const Array rows = cos(numbers({all, 64, kWidth}));
    std::vector<Array> own;
    for (const Array& each : parts) own.push_back(mine(each));
    Array out;
    const std::int64_t early = overlapped([&] { out = pmap(layers, {.axis_name = "i"})(own, mine(rows)); });
    if (n > 1) expect(early >= kLayers - 1, fmt::format("{} of {} layers' weights are fetched early", early, kLayers));
    close(out, mine(vmap(layers, {.axis_name = "i"})(parts, rows)), "gathered weights");
  }

  // A ring: the block that was received is used while it is passed on, written out and in a loop.
  std::vector<std::pair<int, int>> next;
  for (int i = 0; i < all; ++i) next.emplace_back(i, (i + 1) % all);
  const auto turn = [&](Array block, Array sum) {
    const Array passed = ppermute(block, "i", next);
    return std::pair{passed, sum + matmul(block, tanh(block))};
  };
  const auto written_out = [&](Array block) {
    Array sum = zeros_like(block);
    for (int k = 0; k < all; ++k) std::tie(block, sum) = turn(block, sum);
    return sum;
  };
  const auto loop = [&](Array block) {
    return std::get<1>(
        fori_loop(0, all, [&](Array, std::pair<Array, Array> c) { return turn(c.first, c.second); }, std::pair{block, zeros_like(block)}));
  };
  const Array blocks = cos(numbers({all, 160, 160}));
  const Array around = vmap(written_out, {.axis_name = "i"})(blocks);
  const std::int64_t rings = overlapped([&] {
    close(pmap(written_out, {.axis_name = "i"})(mine(blocks)), mine(around), "a ring");
    close(pmap(loop, {.axis_name = "i"})(mine(blocks)), mine(around), "a ring in a loop");
  });
  if (n > 1) expect(rings >= 2 * all - 2, fmt::format("{} turns of two rings of {} begin early", rings, all));
  const auto gradient = [](auto f) { return [f](Array v) { return grad([f](Array u) { return sum(sin(f(u))); })(v); }; };
  close(gradient(pmap(written_out, {.axis_name = "i"}))(mine(blocks)), mine(gradient(vmap(written_out, {.axis_name = "i"}))(blocks)),
        "the gradient of a ring");

  // Memory that is given away isn't while it is being sent.
  const auto uses = [](Array v) {
    const Array sent = psum(v, "i");
    const Array here = matmul(tanh(matmul(v, v)), v);
    return std::pair{here + v, sent};
  };
  const auto sums = vmap(uses, {.axis_name = "i"})(blocks);
  const auto given = pmap(uses, {.axis_name = "i", .donate_argnums = {0}})(mine(blocks) + 0.f);
  close(given.first, mine(sums.first), "what is computed from a donated array that is being sent");
  close(given.second, mine(sums.second), "the sum of a donated array");

  // A device's error, while a sum is under way: the process hears of its own, and goes on with the others.
  const auto fails = pmap(
      [](Array v) {
        const Array sent = psum(v, "i"), product = matmul(tanh(matmul(v, v)), v);
        const auto check = [](Array u) -> Array {
          if (!(u.item<float>() < 0)) throw std::runtime_error("the host's own error");
          return u;
        };
        return sent + pure_callback(check, ShapeDtypeStruct{{}, float32}, sum(abs(product)));
      },
      {.axis_name = "i"});
  std::string message = "no error";
  try {
    fails(mine(blocks));
  } catch (const std::exception& e) {
    message = e.what();
  }
  says(message, "the host's own error");
  close(pmap(uses, {.axis_name = "i"})(mine(blocks)).second, mine(sums.second), "the next sum");
}

void many_collectives() {
  constexpr int kCollectives = 400;
  const Mesh mesh = make_mesh({process_count() / 16, 16}, {"x", "y"});
  const auto program = [&](int n) {
    const auto f = [n](Array h) {
      for (int i = 0; i < n; ++i) h = psum(sin(h) * float(i + 1), i % 2 == 0 ? "x" : "y");
      return h;
    };
    return jit(shard_map(f, {.mesh = mesh, .in_specs = {P("x", "y")}, .out_specs = P("x", "y"), .check_vma = false}));
  };
  const Array x = device_put(ones({process_count() / 16, 16}), NamedSharding{mesh, P("x", "y")});
  const auto used = [] {
    const struct mallinfo2 m = mallinfo2();
    return static_cast<double>(m.uordblks + m.hblkhd);
  };
  program(2)(x).block_until_ready();
  const auto f = program(kCollectives);
  const double before = used();
  f(x).block_until_ready();
  fmt::print("{} bytes for each collective\n", std::lround((used() - before) / kCollectives));
}

std::function<Array(Array)> faulty_program(const std::string& what) {
  const int all = device_count(), local = local_device_count();
  if (what == "overlap")
    return [x = cos(numbers({local, 32, kWidth})), w = std::vector(kLayers, weights(1)),
            step = pmap(summed_gradients, {.in_axes = {none, 0}, .out_axes = none, .axis_name = "i"})](Array y) {
      step(w, x);
      return y;
    };
  if (what == "rounds")
    return [x = cos(numbers({2 * local + 1, 64})),
            step = pmap([](Array v) { return v - pmean(v, "i"); }, {.axis_name = "i", .chunk = true})](Array y) {
      step(x);
      return y;
    };
  if (what == "halo") {
    const NamedSharding rows(make_mesh({all}, {"i"}), P("i"));
    return [x = device_put(cos(numbers({all * 8, 16})), rows), step = jit([](Array v) { return roll(v, 3, 0) + v; })](Array y) {
      step(x);
      return y;
    };
  }
  return pmap([](Array a) { return psum(a, "i") / axis_size("i"); }, {.axis_name = "i"});
}

}  // namespace weft::test
