// Fully sharded data parallelism: each device keeps an eighth of every parameter, of its gradient and of its momentum. A layer's weights
// are gathered when they are needed (and again for the backward pass); the transpose of that gather is a psum_scatter, which leaves each
// device its part of the sum of gradients.
#include <fmt/format.h>
#include <weft/weft.h>

using namespace weft;
using weft::sharding::P;

struct Params {
  Array w1, w2, w3;
};
struct State {
  Params params, momentum;
};

static Array forward(const Params& p, const Array& x) { return matmul(tanh(matmul(tanh(matmul(x, p.w1)), p.w2)), p.w3); }
static State updated(const State& s, const Params& gradient) {
  const Params momentum = tree::map([](Array m, Array g) { return 0.9f * m + g; }, s.momentum, gradient);
  return {tree::map([](Array a, Array m) { return a - 0.02f * m; }, s.params, momentum), momentum};
}

int main() {
  config.num_cpu_devices = 8;
  const Mesh mesh = make_mesh({8}, {"shard"});
  auto [k1, k2, k3, k4] = random::split<4>(random::key(5));
  const Params start{random::normal(k1, {8, 32}) / 3, random::normal(k2, {32, 32}) / 6, random::normal(k3, {32, 8}) / 6};
  const Array x = random::normal(k4, {64, 8}), y = cos(x);
  const State all{start, tree::map([](Array a) { return zeros_like(a); }, start)};

  auto loss = [](const Params& p, Array a, Array b) { return mean(square(forward(p, a) - b)); };
  auto one = jit([&](const State& s) { return updated(s, grad(loss)(s.params, x, y)); });
  auto step = [&](const State& s, Array a, Array b) {
    auto gathered_loss = [&](const Params& parts) {
      auto gathered = [&](const Params& own, Array u, Array v) { return loss(all_gather(own, "shard", {.tiled = true}), u, v); };
      return checkpoint(gathered)(parts, a, b) / 8;  // each device has an eighth of the batch
    };
    return updated(s, grad(gathered_loss)(s.params));
  };
  auto many = jit(shard_map(step, {.mesh = mesh, .in_specs = P("shard"), .out_specs = P("shard")}));
  const NamedSharding rows{mesh, P("shard")};
  State alone = all, sharded = device_put(all, rows);
  const Array xs = device_put(x, rows), ys = device_put(y, rows);
  for (int i = 0; i < 50; ++i) alone = one(alone), sharded = many(sharded, xs, ys);
  fmt::print("loss {:.4f} at the start, {:.4f} after 50 steps; a device keeps {} of {} weights\n", loss(start, x, y).item<float>(),
             loss(device_get(sharded.params), x, y).item<float>(), sharded.params.w2.addressable_shards()[0].data.size(), start.w2.size());
  const bool same = tree::all_close(device_get(sharded), alone, 1e-3, 1e-4) && sharded.params.w1.sharding() == rows;
  fmt::print("parameters and momentum {}\n", same ? "agree" : "DIFFER");
  return same ? 0 : 1;
}
