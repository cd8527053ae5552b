// The largest elements of long lines: most of a line is passed over, as none of it is larger than what was found before.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tests/backends/agree.h"

using namespace weft;
using namespace weft::test;

namespace {

/// As the interpreter: values to the bit, positions among equal ones too.
void agrees(const Array& x, int k) {
  CAPTURE(x.shape());
  CAPTURE(k);
  same(
      [k](Xs a) {
        const TopK t = top_k(a[0], k);
        return Arrays{t.values, t.indices};
      },
      {x}, 0);
}

}  // namespace

TEST_CASE("largest: long and short lines, in any order, with ties") {
  for (const DType t : {float32, float64, float16, bfloat16, int8, uint8, int16, uint32, int64})
    for (const int n : {60, 97, 333, 9001})
      for (const int k : {1, 7, 40}) {
        const Array x = astype(values({n}, static_cast<unsigned>(n)) * 40.f, t.is_unsigned() ? int32 : t);
        agrees(astype(t.is_unsigned() ? abs(x) : x, t), k);
      }
  const Array up = arange(9001) * 1.f;
  for (const int k : {1, 40, 600}) agrees(up, k), agrees(flip(up, 0), k), agrees(zeros({9001}), k);
}

TEST_CASE("largest: lines along any dimension") {
  const Array x = values({5, 700, 3}, 1);
  same([](Xs a) { return Arrays{top_k(swapaxes(a[0], 1, 2), 9).values, top_k(swapaxes(a[0], 1, 2), 9).indices}; }, {x}, 0);
  same([](Xs a) { return vmap([](const Array& line) { return top_k(line, 4).indices; }, {.in_axes = 2})(a[0]); }, {x}, 0);
}

TEST_CASE("largest: NaNs of both signs come first, zeros of both signs are equal") {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  for (const DType t : {float32, float64, bfloat16}) {
    std::vector<float> v(5000, -1.f);
    v[300] = -0.f, v[301] = 0.f, v[4000] = 0.f, v[4001] = -0.f;
    const auto positions = [&](int k) {
      const Array x = astype(array(v), t);
      agrees(x, k);
      return jit([k](Array a) { return top_k(a, k).indices; })(x).to_vector<int>();
    };
    CHECK(positions(4) == std::vector<int>{300, 301, 4000, 4001});
    v[4500] = -nan, v[4900] = inf, v[200] = -inf, v[4950] = nan;
    CHECK(positions(5) == std::vector<int>{4500, 4950, 4900, 300, 301});
  }
}
