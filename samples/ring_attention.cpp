// Ring attention: queries, keys and values are divided along the sequence. The keys and values go around the ring of devices; each device
// keeps a running maximum, sum and weighted sum, so that none ever has the whole row of scores (Liu et al. 2023, Milakov and Gimelshein
// 2018).
#include <fmt/format.h>
#include <weft/weft.h>

#include <cmath>
#include <vector>

using namespace weft;
using weft::sharding::P;

static constexpr int kDevices = 8, kLength = 64, kWidth = 16;

int main() {
  config.num_cpu_devices = kDevices;
  const Mesh mesh = make_mesh({kDevices}, {"ring"});
  std::vector<std::pair<int, int>> next;
  for (int i = 0; i < kDevices; ++i) next.push_back({i, (i + 1) % kDevices});

  struct Running {
    Array largest, total, weighted, k, v;
  };
  auto ring = [&](Array q, Array k, Array v) {
    const int rows = kLength / kDevices;
    const Array me = axis_index("ring"), own = me * rows + arange(rows);
    auto step = [&](Array t, const Running& r) {
      // At step t the block here is the one of the device t places behind; later positions are masked (causal).
      const Array theirs = (me - t + kDevices) % kDevices * rows + arange(rows);
      const Array scores =
          where(expand_dims(own, 1) >= expand_dims(theirs, 0), matmul(q, transpose(r.k)) / std::sqrt(float{kWidth}), -1e30f);
      const Array largest = maximum(r.largest, max(scores, 1)), scale = exp(r.largest - largest);
      const Array weights = exp(scores - expand_dims(largest, 1));
      return Running{largest, r.total * scale + sum(weights, 1), r.weighted * expand_dims(scale, 1) + matmul(weights, r.v),
                     ppermute(r.k, "ring", next), ppermute(r.v, "ring", next)};
    };
    const Running last = fori_loop(0, kDevices, step, Running{full(rows, -1e30f), zeros(rows), zeros({rows, kWidth}), k, v});
    return last.weighted / expand_dims(last.total, 1);
  };
  auto whole = [](Array q, Array k, Array v) {
    const Array at = arange(kLength);
    const Array scores = where(expand_dims(at, 1) >= expand_dims(at, 0), matmul(q, transpose(k)) / std::sqrt(float{kWidth}), -1e30f);
    return matmul(nn::softmax(scores), v);
  };
  auto [k1, k2, k3] = random::split<3>(random::key(4));
  const Shape shape{kLength, kWidth};
  const Array q = random::normal(k1, shape), k = random::normal(k2, shape), v = random::normal(k3, shape);
  auto divided = shard_map(ring, {.mesh = mesh, .in_specs = {P("ring"), P("ring"), P("ring")}, .out_specs = P("ring")});
  auto loss = [](auto f) { return [=](Array a, Array b, Array c) { return sum(sin(f(a, b, c))); }; };
  const bool values = tree::all_close(device_get(jit(divided)(q, k, v)), whole(q, k, v), 1e-4, 1e-5);
  const auto derivatives = jit(grad<0, 1, 2>(loss(divided)))(q, k, v);
  const bool gradients = tree::all_close(device_get(derivatives), jit(grad<0, 1, 2>(loss(whole)))(q, k, v), 1e-3, 1e-4);
  fmt::print("causal attention over {} positions on {} devices: values {}, gradients {}\n", kLength, kDevices, values ? "agree" : "DIFFER",
             gradients ? "agree" : "DIFFER");
  return values && gradients ? 0 : 1;
}
