// Functions of several arrays: dtypes meet before anything is computed, so operands of different dtypes give what they give once they
// are converted to their common dtype.
#include <doctest/doctest.h>
#include <weft/jnp.h>
#include <weft/weft.h>

#include <cmath>

#include "tests/messages.h"

using namespace weft;
using weft::test::refuses;

namespace {

struct Case {
  const char* name;
  Array (*call)(const Array&, const Array&);
};
#define CASE(call) {#call, [](const Array& x, const Array& y) -> Array { return call; }}
const Case cases[] = {
    CASE(x + y),
    CASE(x - y),
    CASE(x* y),
    CASE(x / y),
    CASE(floor_divide(x, y)),
    CASE(remainder(x, y)),
    CASE(weft::fmod(x, y)),
    CASE(float_power(x, y)),
    CASE(weft::hypot(x, y)),
    CASE(weft::atan2(x, y)),
    CASE(logaddexp(x, y)),
    CASE(logaddexp2(x, y)),
    CASE(maximum(x, y)),
    CASE(minimum(x, y)),
    CASE(weft::fmax(x, y)),
    CASE(weft::fmin(x, y)),
    CASE(weft::copysign(x, y)),
    CASE(weft::nextafter(x, y)),
    CASE(heaviside(x, y)),
    CASE(gcd(x, y)),
    CASE(lcm(x, y)),
    CASE(bitwise_and(x, y)),
    CASE(xlogy(x, y)),
    CASE(xlog1py(x, y)),
    CASE(rel_entr(x, y)),
    CASE(kl_div(x, y)),
    CASE(betaln(x, y)),
    CASE(gammainc(x, y)),
    CASE(where(x != 0, x, y)),
    CASE(matmul(x, y)),
    CASE(dot(x, y)),
    CASE(vdot(x, y)),
    CASE(inner(x, y)),
    CASE(outer(x, y)),
    CASE(kron(x, y)),
    CASE(tensordot(x, y, 1)),
    CASE(einsum("i,i", x, y)),
    CASE(convolve(x, y)),
    CASE(correlate(x, y)),
    CASE(cross(x, y)),
    CASE(append(x, y)),
    CASE(concatenate({x, y})),
    CASE(stack({x, y})),
    CASE(polyadd(x, y)),
    CASE(polysub(x, y)),
    CASE(polymul(x, y)),
    CASE(polyval(x, y)),
    CASE(polydiv(x, y).first),
    CASE(polyfit(x, y, 1)),
    CASE(trapezoid(x, y)),
    CASE(average(x, {.weights = y})),
    CASE(union1d(x, y)),
    CASE(linspace(x(0), y(0), 3)),
    CASE(weft::select({x != 0}, {x}, y)),
    CASE(choose(convert(x != 0, int32), {x, y})),
    CASE(stats::norm::logpdf(x, y)),
};
#undef CASE

/// The dtype of the result; none where the operands are refused.
std::optional<DType> dtype_of(const Case& c, const Array& x, const Array& y) {
  try {
    return c.call(x, y).dtype();
  } catch (const DTypeError&) {
    return {};
  }
}

}  // namespace

TEST_CASE("operands of different dtypes give what they give in their common dtype") {
  const DType dtypes[] = {bool_, int8, int32, int64, uint8, uint32, uint64, float16, bfloat16, float32, float64};
  const Array a = array({1, 2, 3}), b = array({2, 1, 1});
  for (const Case& c : cases)
    for (const DType p : dtypes)
      for (const DType q : dtypes) {
        const DType both = promote_types(p, q);
        const auto got = dtype_of(c, a.astype(p), b.astype(q)), want = dtype_of(c, a.astype(both), b.astype(both));
        if (got == want) continue;
        CAPTURE(c.name);
        CAPTURE(p.name());
        CAPTURE(q.name());
        CHECK((got ? got->name() : "refused") == (want ? want->name() : "refused"));
      }
}

TEST_CASE("a number beside an array takes its dtype in gcd and lcm, too") {
  const Array x = array({12, 18, 7}).astype(int8);
  CHECK((gcd(x, 4).dtype() == int8 && lcm(2, x).dtype() == int8));
  CHECK(array_equal(gcd(x, 4), array({4, 2, 1})).item<bool>());
  CHECK(array_equal(lcm(2, x), array({12, 18, 14})).item<bool>());
  CHECK(array_equal(gcd(array({true, false}), array({4, 4})), array({1, 4})).item<bool>());
  CHECK(refuses<DTypeError>([&] { gcd(x, ones(3, uint64)); }, {"gcd", "i8[3]", "u64[3]", "no common dtype of integers"}));
  CHECK(refuses<DTypeError>([&] { lcm(x, 1.5f); }, {"lcm", "i8[3]", "f32[]"}));
  CHECK(refuses<DTypeError>([] { gcd(array({true}), array({true})); }, {"gcd", "bool[1]"}));
}

TEST_CASE("weights and places are not rounded to the dtype that integers take alone") {
  // 2^24 + 1 is a float64, and no float32.
  const Array big = array(std::vector<double>{16777217, 1});
  CHECK(average(array({1, 0}), {.weights = big}).item<double>() == 16777217. / 16777218);
  CHECK(trapezoid(array({1, 1}), array(std::vector<double>{0, 16777217})).item<double>() == 16777217);
  CHECK(polymul(array({1}), big)[0].item<double>() == 16777217);
  CHECK(float_power(array({2}), array(std::vector<double>{.5}))[0].item<double>() == std::sqrt(2.));
}
