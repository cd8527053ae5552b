// Several host devices.
#include "networks.h"

using namespace weft;

namespace bench {

void pmap_workloads(const Options& o) {
  const int n = o.pmap;
  auto spread = [](const Array& x) {
    std::vector<Array> rows;
    for (std::int64_t i = 0; i < x.shape()[0]; ++i) rows.push_back(x[i]);
    return device_put_sharded(rows, devices());
  };
  auto total = pmap([](Array x) { return psum(x, "i"); }, {.axis_name = "i"});
  workload(o, fmt::format("pmap{}_psum_16", n), [=] { return std::tuple{spread(fill({n, 16}))}; }, total);
  workload(o, fmt::format("pmap{}_psum_4M", n), [=] { return std::tuple{spread(fill({n, (1 << 22) / n}))}; }, total);
  auto step = pmap(
      [](const Mlp& p, const Array& x, const Array& y) {
        const auto [value, gradient] = value_and_grad(mlp_loss)(p, x, y);
        return std::pair{sgd(p, pmean(gradient, "i"), .1f), pmean(value, "i")};
      },
      {.axis_name = "i"});
  workload(
      o, fmt::format("pmap{}_mlp_step_b256", n),
      [=] {
        const Mlp p = device_put_replicated(mlp_params({64, 256, 256, 10}), devices());
        return std::tuple{p, spread(reshape(fill({256, 64}), {n, 256 / n, 64})), spread(reshape(class_labels(256, 10), {n, 256 / n}))};
      },
      step);
}

}  // namespace bench
