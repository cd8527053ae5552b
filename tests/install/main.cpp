// A program that uses weft as it is installed: in two files, beside a header of its own that is called core/array.h.
#include <fmt/core.h>
#include <weft/fwd.h>

#include <string>

std::string described(const weft::Array& x);  // of second.cpp

#include <weft/testing.h>
#include <weft/weft.h>

#include "core/array.h"

using namespace weft;

struct Line {
  Array slope, offset;
};

static_assert(WEFT_VERSION_MAJOR * 10000 + WEFT_VERSION_MINOR * 100 + WEFT_VERSION_PATCH > 0);

int main() {
  const Array x = linspace(-1, 1, 5), y = 3 * x + 1;
  auto step = jit([](const Line& line, const Array& a, const Array& b) {
    const Line gradient = grad([&](const Line& l) { return mean(square(l.slope * a + l.offset - b)); })(line);
    return tree::map([](const Array& p, const Array& g) { return p - 0.5f * g; }, line, gradient);
  });
  Line line{0.f, 0.f};
  for (int i = 0; i < 40; ++i) line = step(line, x, y);
  const bool learned = line.slope.item<float>() > 2.99f && line.slope.item<float>() < 3.01f;
  const bool mapped = all(vmap([](const Array& row) { return sum(linalg::inv(diag(row))); })(ones({4, 3})) == 3).item<bool>();
  const std::string draws = described(random::normal(random::key(0), {2}));
  fmt::print("{} {:.2f} {} {} {}\n", version(), line.slope.item<float>(), mapped, draws, shop::Array().shelves());
  try {
    matmul(ones({2, 3}), ones({2, 3}));
  } catch (const ShapeError& e) {
    const std::string told = e.what();
    return learned && mapped && draws == described(random::normal(random::key(0), {2})) && version() == WEFT_VERSION &&
                   told.find("matmul: f32[2,3] and f32[2,3]") != told.npos && told.find("main.cpp:") != told.npos
               ? 0
               : 1;
  }
  return 1;
}
