// Mathematical functions as kernels of GPUs compute them, which also reduce the largest arguments themselves, against MPFR at the arguments
// that are hardest for them.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <string>
#include <vector>

#include "tests/exact/exact.h"
#include "tests/exact/functions.h"
#include "tests/exact/hard_cases.h"
#include "weft/runtime/host/device.h"

namespace weft::test {

TEST_CASE("gpu math: functions of one operand stay within their units in the last place") {
  const Device gpu = devices("cuda")[0];
  for (const exact::Function& row : exact::kFunctions)
    for (const DType dtype : {float32, float64}) {
      const std::vector<double> x = exact::hard_arguments(row.f, dtype, 3);
      const Array in = device_put(convert(array(x, {static_cast<std::int64_t>(x.size())}, float64), dtype), gpu);
      const Array out = device_get(jit([&](const Array& v) { return row.function(v); })(in));
      const std::vector<double> got = convert(out, float64).to_vector<double>();
      const std::string name = std::string(row.name) + (dtype == float32 ? ", float32" : ", float64");
      double worst = 0;
      int failures = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (!exact::is_promised(row.f, x[i]) || (row.f == exact::MathFunction::lgamma && x[i] < 0)) continue;
        const exact::Number want = exact::evaluate(row.f, x[i]);
        const double u = exact::ulps(dtype, got[i], want);
        worst = std::max(worst, u);
        if (u > row.limit && ++failures < 5) FAIL_CHECK(name, " of ", x[i], " is ", got[i], " and not ", want.value(), ": ", u, " units");
      }
      MESSAGE(name, ": ", worst);
      CHECK(failures == 0);
    }
}

}  // namespace weft::test
