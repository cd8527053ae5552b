// Training of GPT-2's smallest model (Radford et al. 2019): 12 layers, 768 wide, 12 heads, 50257 words, 1024 of context, 124 million
// parameters. Products and what lies between them in bfloat16, parameters and Adam's moments in float32. bench/gpt2.py is the same in JAX.
#include <stdexcept>

#include "networks.h"

using namespace weft;

namespace bench {
namespace {

struct Size {
  int layers, width, heads, words, context, batch;
};
Size size_of(const std::string& name) {
  if (name == "124m") return {12, 768, 12, 50257, 1024, 8};
  if (name == "small") return {2, 64, 2, 257, 32, 2};
  throw std::runtime_error("--gpt2 " + name + ": the sizes are 124m and small");
}

struct State {
  gpt::Gpt parameters, first, second;  // Adam's moments
  Array step;
};

auto training_step(int heads) {
  return jit(
      [heads](const State& s, const Array& text) {
        const auto loss = [heads](const gpt::Gpt& p, const Array& t) { return gpt::gpt_loss(p, t, heads, bfloat16); };
        const auto [value, gradient] = value_and_grad(loss)(s.parameters, text);
        const Array step = s.step + 1.f;
        const Array first_share = 1.f / (1.f - pow(0.9f, step)), second_share = 1.f / (1.f - pow(0.999f, step));
        State next;
        next.step = step;
        next.first = tree::map([](Array m, Array g) { return 0.9f * m + 0.1f * g; }, s.first, gradient);
        next.second = tree::map([](Array v, Array g) { return 0.999f * v + 0.001f * g * g; }, s.second, gradient);
        next.parameters =
            tree::map([&](Array p, Array m, Array v) { return p - 3e-4f * (m * first_share) / (sqrt(v * second_share) + 1e-8f); },
                      s.parameters, next.first, next.second);
        return std::pair{next, value};
      },
      {.donate_argnums = {0}, .name = "gpt2_step"});
}

}  // namespace

void gpt2(const Options& o) {
  const Size size = size_of(o.gpt2);
  const int batch = o.batch > 0 ? o.batch : size.batch;
  const auto step = training_step(size.heads);
  if (!o.text.empty()) {
    // No memory is taken for the parameters.
    const gpt::Gpt shapes = gpt::shapes(size.layers, size.width, size.words, size.context);
    const State s{shapes, shapes, shapes, Array(ShapeDtypeStruct{{}, float32})};
    prints_text(o, "gpt2_" + o.gpt2, step, s, Array(ShapeDtypeStruct{{batch, size.context}, int32}));
    return;
  }
  State s{gpt::gpt_params(size.layers, size.width, size.words, size.context), {}, {}, array(0.f)};
  const auto none = [](Array a) { return zeros(a.shape()); };
  s.first = tree::map(none, s.parameters), s.second = tree::map(none, s.parameters);
  const Array text = device_put(gpt::tokens(batch, size.context, size.words), *o.device);
  double parameters = 0;
  for (const Array& a : tree::leaves(s.parameters)) parameters += static_cast<double>(a.size());
  s = tree::map([&](Array a) { return device_put(a, *o.device); }, s);

  Array loss;
  std::vector<double> losses, times;
  const auto run = [&] {
    const double start = now();
    std::tie(s, loss) = step(s, text);
    loss.block_until_ready();
    losses.push_back(loss.item<float>());
    return now() - start;
  };
  const double first = run();
  if (o.seconds > 0) run(), run();  // what is captured is captured
  for (const double begin = now(); o.seconds > 0 && (times.size() < 5 || now() - begin <= o.seconds);) times.push_back(run());
  if (times.empty()) times = {first};
  std::sort(times.begin(), times.end());
  const double median = times[times.size() / 2], words = static_cast<double>(batch) * size.context;
  // 6 for each parameter and word, and what the products of attention take.
  const double flops = words * (6 * parameters + 12. * size.layers * size.width * size.context);
  fmt::print(stderr, "{}, batch of {}: {:.0f} parameters, {:.2f} ms a step, {:.0f} words/s, {:.2f} TFLOP/s, loss {:.4f} to {:.4f}\n",
             o.gpt2, batch, parameters, 1e3 * median, words / median, flops / median / 1e12, losses[0], losses.back());
  print_line("gpt2_" + o.gpt2 + "_bf16_b" + std::to_string(batch), Times{.first = first, .median = median, .least = times[0]},
             {losses.begin(), losses.begin() + std::min<std::ptrdiff_t>(3, std::ssize(losses))});
}

}  // namespace bench
