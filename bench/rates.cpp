// weft-bench --rates PLATFORM [--shrink N]: what share of the device's own copy bandwidth kernels of several kinds reach, at which rate
// products run, and what a launch costs the host. A table for people. Sizes are divided by 2^N.
#include <functional>

#include "harness.h"
#include "weft/core/array/array_impl.h"
#include "weft/runtime/host/accelerator.h"
#include "weft/runtime/host/blocks.h"
#include "weft/runtime/host/buffer.h"

namespace bench {
namespace {

using namespace weft;

/// Seconds of one call, the median of several rounds of as many calls as take a while.
double seconds_of(const std::function<Array()>& call) {
  call().block_until_ready();
  double start = now();
  call().block_until_ready();
  const int inner = std::clamp(static_cast<int>(1e-2 / std::max(now() - start, 1e-7)), 1, 200);
  std::vector<double> times;
  for (int round = 0; round < 7; ++round) {
    start = now();
    Array last;
    for (int i = 0; i < inner; ++i) last = call();
    last.block_until_ready();
    times.push_back((now() - start) / inner);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

void row(const std::string& name, double seconds, const std::string& rate, const std::string& share) {
  fmt::print("{:<34} {:>12.1f} us  {:>16}  {:>8}\n", name, 1e6 * seconds, rate, share);
  std::fflush(stdout);
}

}  // namespace

void rates(const Options& o) {
  const Device device = *o.device;
  const int shrink = o.shrink;
  const int n = (1 << 26) >> shrink, rows = std::max(32, (1 << 14) >> shrink), columns = std::max(64, 4096 >> shrink);
  const bool runs = o.text.empty();
  // No memory is taken for what is not run.
  const auto given = [&](Shape shape, auto... how) {
    return runs ? device_put(fill(shape, how...), device) : Array(ShapeDtypeStruct{shape, float32});
  };
  const auto converted = [&](const Array& a, DType t) { return runs ? convert(a, t) : Array(ShapeDtypeStruct{a.shape(), t}); };
  const Array x = given({n}, 4), y = given({n}, 4, 0, 1), table = given({rows, columns}, 4), scale = given({columns}, 1, 1);
  const Array half = converted(x, bfloat16), half_table = converted(table, bfloat16);
  if (runs) fmt::print("{} ({}): {} numbers, tables of {} x {}\n", device, device.kind(), n, rows, columns);

  // The device's own copy; on the host, the best of the kernels below stands for it.
  double own = 0;
  if (runs && device.platform() == "cuda") {
    const auto buffer = weft::detail::whole_of(x, device.id());
    const double t =
        seconds_of([&] { return weft::detail::wrap_buffer(x.aval(), weft::detail::accelerators().copy(buffer, device.id())); });
    own = 8. * n / t;
    row("copy by the driver", t, fmt::format("{:.1f} GB/s", own / 1e9), "100 %");
  }
  const auto bandwidth = [&](const std::string& name, double bytes, auto f, auto... args) {
    const auto compiled = jit(f);
    if (prints_text(o, name, compiled, args...)) return;
    const double t = seconds_of([&] { return compiled(args...); });
    row(name, t, fmt::format("{:.1f} GB/s", bytes / t / 1e9), own > 0 ? fmt::format("{:.0f} %", 100 * bytes / t / own) : "");
  };
  const double whole = table.size() * 4.;
  bandwidth("x + 1, float32", 8. * n, [](Array a) { return a + 1.f; }, x);
  bandwidth("a x + y, float32", 12. * n, [](Array a, Array b) { return 2.f * a + b; }, x, y);
  bandwidth("gelu, float32", 8. * n, [](Array a) { return nn::gelu(a); }, x);
  bandwidth("gelu, bfloat16", 4. * n, [](Array a) { return nn::gelu(a); }, half);
  bandwidth("exp, log, sin, float32", 8. * n, [](Array a) { return exp(a) + log(abs(a) + 1.f) * sin(a); }, x);
  bandwidth("softmax of rows, float32", 2 * whole, [](Array a) { return nn::softmax(a); }, table);
  bandwidth("softmax of rows, bfloat16", whole, [](Array a) { return nn::softmax(a); }, half_table);
  const auto normalise = [](Array a, Array s) {
    const Array centred = a - mean(a, -1, {.keepdims = true});
    return centred * rsqrt(mean(square(centred), -1, {.keepdims = true}) + 1e-5f) * s;
  };
  bandwidth("layer norm, float32", 2 * whole, normalise, table, scale);
  bandwidth(
      "layer norm's gradient, float32", 3 * whole,
      [=](Array a, Array s, Array g) { return grad([=](Array v) { return sum(normalise(v, s) * g); })(a); }, table, scale, table);
  bandwidth("sums of rows, float32", whole, [](Array a) { return sum(a, 1); }, table);
  bandwidth("sums of columns, float32", whole, [](Array a) { return sum(a, 0); }, table);
  bandwidth("sum of all, float32", 4. * n, [](Array a) { return sum(a); }, x);
  bandwidth("transpose, float32", 2 * whole, [](Array a) { return transpose(a) + 1.f; }, table);
  bandwidth("cumulative sums of rows, float32", 2 * whole, [](Array a) { return cumsum(a, 1); }, table);
  bandwidth(
      "random normal numbers, float32", 4. * n, [n](Array seed) { return random::normal(random::key(seed), {n}); },
      device_put(array(1), device));

  const auto sorting = [&](const std::string& name, auto f, const Array& keys) {
    const auto compiled = jit(f);
    if (prints_text(o, name, compiled, keys)) return;
    const double t = seconds_of([&] { return compiled(keys); });
    row(name, t, fmt::format("{:.2f} Gkeys/s", static_cast<double>(keys.size()) / t / 1e9), "");
  };
  const Array keys = runs ? convert(x * 1e9f, int32) : converted(x, int32);
  sorting("sort, float32", [](Array a) { return sort(a); }, x);
  sorting("sort, int32", [](Array a) { return sort(a); }, keys);
  sorting("argsort, float32", [](Array a) { return argsort(a); }, x);
  sorting("sort of rows, float32", [](Array a) { return sort(a); }, table);

  for (const int size : {1024, 4096, 8192}) {
    const int m = std::max(64, size >> shrink);
    const Array a = given({m, m}), b = given({m, m}, 1, 0, 2);
    for (const DType t : {float32, bfloat16, float16}) {
      const Array p = converted(a, t), q = converted(b, t);
      const auto f = jit([](Array u, Array v) { return matmul(u, v); });
      const std::string name = fmt::format("product of {0} x {0}, {1}", m, t.name());
      if (prints_text(o, name, f, p, q)) continue;
      const double s = seconds_of([&] { return f(p, q); });
      row(name, s, fmt::format("{:.2f} TFLOP/s", 2. * m * m * m / s / 1e12), "");
    }
  }

  // What a call costs the host, which does not wait.
  const auto host = [&](const std::string& name, const auto& f, const Array& argument, const std::function<Array()>& call) {
    if (prints_text(o, name, f, argument)) return;
    for (int i = 0; i < 5; ++i) call().block_until_ready();
    std::vector<double> times;
    Array last;
    for (int round = 0; round < 50; ++round) {
      const double start = now();
      for (int i = 0; i < 10; ++i) last = call();
      times.push_back((now() - start) / 10);
      last.block_until_ready();
    }
    std::sort(times.begin(), times.end());
    row(name, times[times.size() / 2], "of the host", "");
  };
  const Array small = given({64, 64});
  Array state = given({64, 64});
  const auto one = jit([](Array a) { return a + 1.f; });
  host("launch of one kernel", one, small, [&] { return one(small); });
  const auto many = jit(
      [](Array a) {
        for (int i = 0; i < 20; ++i) a = a - 1e-3f * sum(a, 0) + 1e-3f * sum(a, 1, {.keepdims = true});
        return a;
      },
      {.donate_argnums = {0}});
  host("launch of a step of 40 sums", many, state, [&] { return state = many(state); });
}

}  // namespace bench
