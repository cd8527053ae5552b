// Results of float16 and bfloat16 arithmetic, rounded in vectors: of all numbers, among them the NaNs with all their bits.
#include <doctest/doctest.h>

#include <cstdint>

#include "tests/backends/agree.h"

using namespace weft;
using namespace weft::test;

namespace {

/// All numbers of the dtype, in the order of their bits times an odd number.
Array all_numbers(std::uint32_t times, DType dtype) {
  std::vector<std::uint16_t> bits(1 << 16);
  for (std::uint32_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<std::uint16_t>(i * times);
  return bitcast_convert(array(bits), dtype);
}

}  // namespace

TEST_CASE("results of 16-bit floats are rounded as the interpreter rounds them, and NaNs stay NaNs") {
  const auto results = [](Xs a) {
    const Array chain = (a[0] * a[1] + a[1]) - a[0] / a[1];
    return Arrays{a[0] + a[1],
                  a[0] - a[1],
                  a[0] * a[1],
                  a[0] / a[1],
                  a[0] * 3.f,
                  1.f / a[0],
                  sqrt(a[0]) * a[1],
                  -a[0] * a[1],
                  chain,
                  chain * chain,
                  maximum(a[0], a[1]) + a[0],
                  where(a[0] > a[1], a[0], a[1]) * a[1],
                  ceil(a[0]) + a[1]};
  };
  for (const DType dtype : {bfloat16, float16})
    for (const std::uint32_t times : {40503u, 3u, 32767u, 257u, 65535u}) {
      const Arrays x{all_numbers(1, dtype), all_numbers(times, dtype)};
      same(results, x, 0);
      same(
          [&](Xs a) {
            Arrays out;
            for (const Array& y : results(a)) out.push_back(isnan(y)), out.push_back(isinf(y));
            return out;
          },
          x, 0);
    }
}
