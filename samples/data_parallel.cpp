// Data-parallel training: each of eight devices has a slice of the batch and a copy of the parameters, and pmean averages the gradients.
// The steps are those of one device on the whole batch.
#include <fmt/format.h>
#include <weft/weft.h>

using namespace weft;

struct Params {
  Array w1, b1, w2, b2;
};

static Array loss(const Params& p, const Array& x, const Array& y) {
  const Array hidden = tanh(matmul(x, p.w1) + p.b1);
  return mean(square(matmul(hidden, p.w2) + p.b2 - y));
}
static Params stepped(const Params& p, const Params& gradient) {
  return tree::map([](Array a, Array g) { return a - 0.1f * g; }, p, gradient);
}

int main() {
  config.num_cpu_devices = 8;
  auto [k1, k2, k3] = random::split<3>(random::key(0));
  const Array x = random::normal(k1, {256, 4}), y = sin(sum(x, 1, keepdims));
  const Params start{random::normal(k2, {4, 32}) / 2, zeros(32), random::normal(k3, {32, 1}) / 6, zeros(1)};

  auto one = jit([&](const Params& p, Array a, Array b) { return stepped(p, grad(loss)(p, a, b)); });
  auto many = pmap([](const Params& p, Array a, Array b) { return stepped(p, pmean(grad(loss)(p, a, b), "batch")); },
                   {.in_axes = {none, 0, 0}, .out_axes = none, .axis_name = "batch"});
  Params alone = start, together = start;
  const Array slices_x = reshape(x, {8, 32, 4}), slices_y = reshape(y, {8, 32, 1});
  for (int i = 0; i < 200; ++i) {
    alone = one(alone, x, y);
    together = many(together, slices_x, slices_y);
  }
  fmt::print("loss {:.4f} at the start, {:.4f} after 200 steps on one device, {:.4f} on eight\n", loss(start, x, y).item<float>(),
             loss(alone, x, y).item<float>(), loss(device_get(together), x, y).item<float>());
  const bool same = tree::all_close(device_get(together), alone, 1e-3, 1e-4);
  fmt::print("parameters {}\n", same ? "agree" : "DIFFER");
  return same ? 0 : 1;
}
