// Steps of data-parallel training over several processes, beside what the model of docs/scaling.md says they take.
//
//     mpirun -n 2 step
//
// Measures what the model asks for: C, a step without sums; L, the time of a short message; B, how fast bytes come across; M, how fast they
// are added. Prints a JSON line for each network: the step as measured and as the model has it, in microseconds.
#include <fmt/core.h>
#include <weft/weft.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <vector>

#include "weft/runtime/host/buffer.h"
#include "weft/runtime/host/collective_engine.h"
#include "weft/runtime/host/reduce.h"
#include "weft/runtime/processes/processes.h"

using namespace weft;
using weft::sharding::P;

namespace {

struct Params {
  Array w1, b1, w2, b2;
};

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

/// Seconds a call, medians of rounds in which the functions take turns.
template <class... F>
std::array<double, sizeof...(F)> medians_of(int count, F... f) {
  std::array<std::vector<double>, sizeof...(F)> rounds;
  for (int r = 0; r < 15; ++r) {
    std::size_t which = 0;
    const auto one = [&](auto& call) {
      sync_global_devices("a round");
      const double begin = seconds();
      for (int i = 0; i < count; ++i) call();
      rounds[which++].push_back((seconds() - begin) / count);
    };
    (one(f), ...);
  }
  std::array<double, sizeof...(F)> medians;
  for (std::size_t i = 0; i < medians.size(); ++i) medians[i] = median(rounds[i]);
  return medians;
}

/// A collective of one float32 array between this process's first device and the others'.
struct Join {
  std::unique_ptr<detail::ReadyCollective> ready;
  std::vector<detail::Ref<detail::Buffer>> in, out;
  Join(detail::Exchange exchange, std::int64_t bytes) {
    std::vector<int> ids, group;
    for (int p = 0; p < process_count(); ++p) ids.push_back(p * local_device_count()), group.push_back(p);
    detail::CollectivePlan plan;
    plan.exchange = exchange, plan.operation = "bench", plan.axes = {"i"}, plan.groups = detail::device_groups({group});
    for (int p = 0; p < process_count(); ++p) plan.parts.perm.emplace_back(p, (p + 1) % process_count());
    plan.in = plan.out = detail::Aval{Shape{bytes / 4}, float32, false};
    ready = detail::collective_engine(ids).prepare(plan, ids, std::array{static_cast<std::int64_t>(ids.size())});
    in.resize(ids.size()), out.resize(ids.size());
    for (std::size_t k : detail::local_positions(ids)) {
      in[k] = detail::Ref<detail::Buffer>(new detail::HostBuffer(static_cast<std::size_t>(bytes), ids[k]));
      std::fill_n(static_cast<float*>(in[k]->data()), bytes / 4, 1.f);
    }
  }
  void operator()() { ready->run(in, out); }
};

/// docs/scaling.md: seconds for a sum of b bytes over n processes, a power of two.
double sum_time(double b, int n, double latency, double bandwidth, double adding) {
  const double steps = std::countr_zero(static_cast<unsigned>(n)), part = 1 - 1. / n;
  return b <= 32768 ? steps * (latency + b / bandwidth + b / adding) : 2 * steps * latency + 2 * part * b / bandwidth + part * b / adding;
}

}  // namespace

int main() {
  distributed::initialize();
  const int n = process_count();
  if (n < 2 || !std::has_single_bit(static_cast<unsigned>(n))) {
    fmt::print(stderr, "start it with mpirun -n 2, or another power of two\n");
    return 1;
  }
  constexpr std::int64_t kLarge = 8 << 20;
  Join short_sum(detail::Exchange::allreduce, 4), large_move(detail::Exchange::permute, kLarge);
  const double latency = medians_of(500, [&] { short_sum(); })[0] / std::countr_zero(static_cast<unsigned>(n));
  const double bandwidth = kLarge / medians_of(8, [&] { large_move(); })[0];
  std::vector<float> a(kLarge / 4, 1.f), b = a, c = a;
  const void* both[] = {a.data(), b.data()};
  const detail::ReductionOrder order = detail::balanced_order(2);
  const detail::ArrayReduction sum{detail::Combiner::sum, float32, order, both, float32, c.data(), float32};
  const double adding = kLarge / medians_of(8, [&] { sum.run(0, kLarge / 4); })[0];
  if (process_index() == 0)
    fmt::print("{{\"processes\": {}, \"L_us\": {:.2f}, \"B_GB_s\": {:.2f}, \"M_GB_s\": {:.2f}}}\n", n, latency * 1e6, bandwidth / 1e9,
               adding / 1e9);

  for (const auto& [inputs, hidden, rows] :
       {std::array{64, 64, 64}, std::array{64, 1024, 64}, std::array{512, 1024, 64}, std::array{1024, 2048, 32}}) {
    const auto loss = [](const Params& p, Array x, Array y) { return mean(square(matmul(tanh(matmul(x, p.w1) + p.b1), p.w2) + p.b2 - y)); };
    const auto stepped = [](const Params& p, const Params& gradient) {
      return tree::map([](Array w, Array g) { return w - .01f * g; }, p, gradient);
    };
    const auto all_sum = [&](const Params& p, Array x, Array y) { return stepped(p, pmean(grad(loss)(p, x, y), "i")); };
    const Params start{random::normal(random::key(0), {inputs, hidden}) / 30, zeros(hidden),
                       random::normal(random::key(1), {hidden, inputs}) / 30, zeros(inputs)};
    const Array x = random::normal(random::key(2), {1, rows, inputs}), y = x * 2;
    const auto step = pmap(all_sum, {.in_axes = {none, 0, 0}, .out_axes = none, .axis_name = "i"});
    // The same program on this process's own device: cut in the same places, nothing sent.
    const Mesh own({local_devices()[0]}, {1}, {"i"});
    const auto alone =
        shard_map([&](const Params& p, Array u, Array v) { return all_sum(p, reshape(u, {rows, inputs}), reshape(v, {rows, inputs})); },
                  {.mesh = own, .in_specs = {P(), P("i"), P("i")}, .out_specs = P()});
    Params p0 = start, p1 = step(start, x, y);
    const auto [c_time, t] = medians_of(inputs < 512 ? 40 : 8, [&] { p0 = alone(p0, x, y); }, [&] { p1 = step(p1, x, y); });
    double model = c_time, bytes = 0;
    for (const Array& leaf : tree::leaves(start)) {
      model += sum_time(4. * static_cast<double>(leaf.size()), n, latency, bandwidth, adding);
      bytes += 4. * static_cast<double>(leaf.size());
    }
    if (process_index() == 0)
      fmt::print("{{\"gradient_bytes\": {:.0f}, \"C_us\": {:.0f}, \"step_us\": {:.0f}, \"model_us\": {:.0f}}}\n", bytes, c_time * 1e6,
                 t * 1e6, model * 1e6);
  }
}
