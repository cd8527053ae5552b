// Integers that are computed from positions alone.
#include <doctest/doctest.h>

#include "tests/backends/agree.h"
#include "tests/messages.h"

using namespace weft;
using namespace weft::test;

TEST_CASE("positions: indices that are known to lie inside are positions") {
  const Array x = values({300}, 1);
  const auto windows = [](Xs v) { return v[0](expand_dims(arange(200), 1) * 2 - 3 + expand_dims(arange(50), 0) + 3); };
  const std::string kernels = same([&](Xs v) { return sum(windows({v[0]}), 1); }, {values({500}, 1)});
  CHECK(has(kernels, "a0[2*i0 + i1]"));
  // Numbers that wrap around, or leave the array, are what they are.
  for (const DType t : {int8, uint8, int16, uint32, int64}) {
    CAPTURE(t.name());
    const auto counted = [&](std::int64_t n) { return iota(t, {static_cast<int>(n)}); };
    same([&](Xs v) { return v[0](counted(300)); }, {x});
    same([&](Xs v) { return v[0](counted(250) + 100); }, {x});
    same([&](Xs v) { return v[0](counted(100) * 5 - 120); }, {x});
    same([&](Xs v) { return v[0](astype(counted(300), int32) - 7); }, {x});
    same([&](Xs v) { return where(counted(300) < 70, v[0], -v[0]) + astype(minimum(counted(300), 40), float32); }, {x});
    same([&](Xs v) { return v[0] * astype(counted(300) - 120, float32) + astype(maximum(counted(300) - 110, counted(300) * 0), float32); },
         {x});
  }
}
