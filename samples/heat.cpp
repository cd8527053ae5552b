// The heat equation on a square, its rows sharded over eight devices. Each step exchanges one row with either neighbour: the halo.
#include <fmt/format.h>
#include <weft/plot.h>
#include <weft/weft.h>

#include <vector>

using namespace weft;
using weft::sharding::P;

static constexpr int kDevices = 8, kSteps = 100;
static constexpr float kRate = .2f;

/// One explicit step of rows that have a row more above and below; the columns are periodic.
static Array diffused(const Array& padded) {
  const Array u = padded(slice(1, -1));
  return u + kRate * (padded(slice(none, -2)) + padded(slice(2, none)) + roll(u, 1, 1) + roll(u, -1, 1) - 4 * u);
}

int main(int argc, char** argv) {
  config.num_cpu_devices = kDevices;
  const Mesh mesh = make_mesh({kDevices}, {"rows"});
  std::vector<std::pair<int, int>> down, up;
  for (int i = 0; i < kDevices; ++i) down.push_back({i, (i + 1) % kDevices}), up.push_back({(i + 1) % kDevices, i});

  auto with_halo = [&](Array u) {
    auto step = [&](Array, Array v) {
      const Array above = ppermute(v(slice(-1, none)), "rows", down), below = ppermute(v(slice(1)), "rows", up);
      return diffused(concatenate({above, v, below}));
    };
    return fori_loop(0, kSteps, step, u);
  };
  auto on_one = [](Array u) {
    return fori_loop(0, kSteps, [](Array, Array v) { return diffused(concatenate({v(slice(-1, none)), v, v(slice(1))})); }, u);
  };
  const Array start = where(random::uniform(random::key(3), {64, 64}) > .9f, 1.f, 0.f);
  const Array many = jit(shard_map(with_halo, {.mesh = mesh, .in_specs = P("rows"), .out_specs = P("rows")}))(start);
  const Array one = jit(on_one)(start);
  fmt::print("heat {:.3f} at the start, {:.3f} after {} steps; from {:.4f} to {:.4f}\n", sum(start).item<float>(),
             sum(device_get(many)).item<float>(), kSteps, min(device_get(many)).item<float>(), max(device_get(many)).item<float>());
  if (argc > 1) {
    // The square at the start and at the end, and where its rows lie.
    const PlotOptions size{.width = 330, .height = 300, .equal_scales = true};
    PlotOptions before = size, after = size;
    before.title = "at the start", after.title = fmt::format("after {} steps, on {} devices", kSteps, kDevices);
    Plot first(before), last(after);
    first.image(start, {.map = ColorMap::sequential});
    last.image(device_get(many), {.map = ColorMap::sequential, .color_bar = true});
    Figure({first, last}).save(argv[1]);
    fmt::print("picture: {}\n", argv[1]);
  }
  const bool same = tree::all_close(device_get(many), one, 1e-4, 1e-5);
  fmt::print("{} devices and one {}\n", kDevices, same ? "agree" : "DIFFER");
  return same ? 0 : 1;
}
