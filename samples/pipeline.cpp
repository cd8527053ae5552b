// A pipeline of four stages: each device has one layer, microbatches go from device to device by ppermute. At step t device i works on
// microbatch t - i; reverse mode sends the cotangents the other way.
#include <fmt/format.h>
#include <weft/weft.h>

using namespace weft;
using weft::sharding::P;

static constexpr int kStages = 4, kMicrobatches = 6;

int main() {
  config.num_cpu_devices = kStages;
  const Mesh mesh = make_mesh({kStages}, {"stage"});
  auto [k1, k2] = random::split<2>(random::key(2));
  const Array weights = random::normal(k1, {kStages, 8, 8}) / 3, x = random::normal(k2, {kMicrobatches, 5, 8});
  auto layer = [](Array w, Array v) { return tanh(matmul(v, w)); };

  auto pipeline = [&](Array w, Array all) {
    const Array stage = axis_index("stage");
    auto step = [&](Array arriving, Array t) {
      const Array own = all(clip(t, 0, kMicrobatches - 1));  // the first device takes in a microbatch, the others what was sent to them
      const Array out = layer(w[0], where(stage == 0, own, arriving));
      return std::pair{ppermute(out, "stage", {{0, 1}, {1, 2}, {2, 3}}), out};
    };
    const Array outs = scan(step, zeros({5, 8}), arange(kMicrobatches + kStages - 1)).second;
    // Only what leaves the last device counts.
    const Array results = outs(slice(kStages - 1, none));
    return psum(where(stage == kStages - 1, results, zeros_like(results)), "stage");
  };
  auto piped = shard_map(pipeline, {.mesh = mesh, .in_specs = {P("stage"), P()}, .out_specs = P()});
  auto serial = [&](Array w, Array v) {
    for (int i = 0; i < kStages; ++i) v = layer(w[i], v);
    return v;
  };
  auto loss = [](auto f) { return [=](Array w, Array v) { return sum(square(f(w, v))); }; };
  const bool values = tree::all_close(device_get(jit(piped)(weights, x)), serial(weights, x), 1e-4, 1e-5);
  const bool derivatives = tree::all_close(device_get(jit(grad(loss(piped)))(weights, x)), grad(loss(serial))(weights, x), 1e-3, 1e-4);
  fmt::print("{} microbatches through {} stages: values {}, gradients {}\n", kMicrobatches, kStages, values ? "agree" : "DIFFER",
             derivatives ? "agree" : "DIFFER");
  return values && derivatives ? 0 : 1;
}
