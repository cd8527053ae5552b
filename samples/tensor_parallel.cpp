// A tensor-parallel perceptron on a mesh of 2 x 4 devices: the batch is sharded over the rows of the mesh, the hidden units over its
// columns. The first layer needs no communication, the second one psum; the gradients come out divided as the weights are.
#include <fmt/format.h>
#include <weft/weft.h>

using namespace weft;
using weft::sharding::P;

struct Weights {
  Array in, out;
};

int main() {
  config.num_cpu_devices = 8;
  const Mesh mesh = make_mesh({2, 4}, {"data", "model"});
  auto [k1, k2, k3] = random::split<3>(random::key(1));
  const Weights dense{random::normal(k1, {16, 64}) / 4, random::normal(k2, {64, 8}) / 8};
  const Array x = random::normal(k3, {32, 16});

  auto layer = [](const Weights& w, Array v) { return matmul(nn::gelu(matmul(v, w.in)), w.out); };
  auto divided =
      shard_map([&](const Weights& w, Array v) { return psum(layer(w, v), "model"); },
                {.mesh = mesh, .in_specs = {{P(none, "model"), P("model", none)}, P("data", none)}, .out_specs = P("data", none)});
  auto loss = [](auto f) { return [=](const Weights& w, Array v) { return mean(square(f(w, v) - 1)); }; };

  const Weights placed{device_put(dense.in, NamedSharding{mesh, P(none, "model")}),
                       device_put(dense.out, NamedSharding{mesh, P("model", none)})};
  const auto [value, gradient] = jit(value_and_grad(loss(divided)))(placed, x);
  const auto [wanted, wanted_gradient] = jit(value_and_grad(loss(layer)))(dense, x);
  fmt::print("loss {:.5f} on 8 devices, {:.5f} on one; the gradient of the first weights lies so:\n", value.item<float>(),
             wanted.item<float>());
  visualize_array_sharding(gradient.in);
  const bool same = tree::all_close(device_get(gradient), wanted_gradient, 1e-3, 1e-5) && gradient.in.sharding() == placed.in.sharding();
  fmt::print("gradients {}\n", same ? "agree" : "DIFFER");
  return same ? 0 : 1;
}
