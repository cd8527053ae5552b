// A program that imports weft.
#include <cstdio>
import weft;

using namespace weft;

struct Line {
  Array slope, offset;
};

int main() {
  const Array x = linspace(-1, 1, 5), y = 3 * x + 1;
  const auto step = jit([](const Line& line, const Array& a, const Array& b) {
    const Line g = grad([&](const Line& l) { return mean(square(l.slope * a + l.offset - b)); })(line);
    return tree::map([](const Array& p, const Array& d) { return p - 0.5f * d; }, line, g);
  });
  Line line{0.f, 0.f};
  for (int i = 0; i < 40; ++i) line = step(line, x, y);
  std::printf("%.2f %.2f\n", line.slope.item<float>(), line.offset.item<float>());
}
