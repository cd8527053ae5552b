// What somebody might write first: a line fitted by gradients, compiled, with the batch divided over four host devices.
#include <fmt/core.h>
#include <weft/weft.h>

using namespace weft;

struct Line {
  Array gain, offset;
};

int main() {
  const Array x = reshape(linspace(-1, 1, 16), {4, 4}), y = 3 * x + 1;
  const auto loss = [](const Line& line, const Array& a, const Array& b) { return mean(square(line.gain * a + line.offset - b)); };
  const auto step = pmap(
      [&](const Line& line, const Array& a, const Array& b) {
        const Line g = pmean(grad(loss)(line, a, b), "devices");
        return tree::map([](const Array& p, const Array& d) { return p - 0.5f * d; }, line, g);
      },
      {.in_axes = {none, 0, 0}, .out_axes = none, .axis_name = "devices"});
  Line line{0.f, 0.f};
  for (int i = 0; i < 60; ++i) line = step(line, x, y);
  fmt::print("gain {:.2f}, offset {:.2f}, by {} devices\n", line.gain.item<float>(), line.offset.item<float>(), devices("cpu").size());
}
