// What the tests of optimisers optimise.
#pragma once
#include <weft/weft.h>

namespace weft::test {

struct Params {
  Array w, b;
};
inline const Params start{array({{0.5f, -1.f}, {2.f, 0.25f}, {-0.75f, 1.5f}}), array({1.f, -2.f, 0.5f})};
inline Array loss(const Params& p) { return sum(sin(p.w) * array({1.f, -2.f})) + sum(square(p.b) * array({3.f, 0.5f, 10.f})); }

}  // namespace weft::test
