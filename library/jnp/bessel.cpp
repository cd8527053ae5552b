// The modified Bessel functions of orders 0 and 1.
#include <cmath>
#include <span>
#include <utility>

#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/promotion.h"
#include "weft/core/trace/trace.h"
#include "weft/library/jnp/special.h"
#include "weft/transforms/autodiff/custom.h"

namespace weft {

using detail::LocScope;

namespace {

// Chebyshev coefficients, by interpolation in 60 digits: of exp(-x) I(x) (over x for order 1) on [0, 8] in x / 4 - 1, and of
// sqrt(x) exp(-x) I(x) beyond in 16 / x - 1.
constexpr double kOrder0Near[] = {
    0.33839763720473803,     -0.3046826723431984,    0.17162090152220877,    -0.09490109704804764,    0.04930528423967071,
    -0.02373741480589947,    0.010546460394594998,   -0.004324309995050576,  0.0016394756169413357,   -0.0005763755745385824,
    0.00018850288509584165,  -5.754195010082104e-05, 1.6448448070728896e-05, -4.4167383584587505e-06, 1.1173875391201037e-06,
    -2.670793853940612e-07,  6.046995022541919e-08,  -1.300025009986248e-08, 2.6598237246823866e-09,  -5.189795601635263e-10,
    9.675809035373237e-11,   -1.726826291441556e-11, 2.95505266312964e-12,   -4.856446783111929e-13,  7.676185498604936e-14,
    -1.1685332877993451e-14, 1.715391285555133e-15,  -2.431279846547955e-16, 3.3307945188222384e-17,  -4.4153416464793395e-18};
constexpr double kOrder0Far[] = {
    0.4022452055070544,      0.0033691164782556943,   6.889758346916825e-05,  2.8913705208347567e-06, 2.0489185894690638e-07,
    2.266668990498178e-08,   3.3962320257083865e-09,  4.94060238822497e-10,   1.1889147107846439e-11, -3.1499165279632416e-11,
    -1.3215811840447713e-11, -1.7941785315068062e-12, 7.180124451383666e-13,  3.8527783827421426e-13, 1.54008621752141e-14,
    -4.150569347287222e-14,  -9.554846698828307e-15,  3.8116806693526224e-15, 1.7725601330565263e-15, -3.425485619677219e-16,
    -2.8276239805165836e-16, 3.461222867697461e-17,   4.46562142029676e-17,   -4.830504485944182e-18, -7.233180487874754e-18};
constexpr double kOrder1Near[] = {
    0.12629359322181682,     -0.17641651835783406,    0.1026436586898471,      -0.05294598120809499,   0.024726449030626516,
    -0.010564084894626197,   0.004156422944312888,    -0.0015135724506312532,  0.0005122859561685758,  -0.00016176081582589674,
    4.781565107550054e-05,   -1.3273163656039436e-05, 3.4702513081376785e-06,  -8.568720264695455e-07, 2.0032947535521353e-07,
    -4.445059128796328e-08,  9.381537386495773e-09,   -1.8872497517228294e-09, 3.625590281552117e-10,  -6.663489723502027e-11,
    1.1736186298890901e-11,  -1.9839743977649436e-12, 3.223793365945575e-13,   -5.042185504727912e-14, 7.600684294735408e-15,
    -1.1055969477353862e-15, 1.5536319577362005e-16,  -2.111421214358166e-17,  2.7779141127610464e-18};
constexpr double kOrder1Far[] = {
    0.38928811750914005,     -0.009761097491361469,  -0.00011058893876262371, -3.882564808877691e-06,  -2.512236237870209e-07,
    -2.6314688468895196e-08, -3.835380385964237e-09, -5.589743462196584e-10,  -1.8974958123505413e-11, 3.2526035830154884e-11,
    1.4125807436613782e-11,  2.0356285441470896e-12, -7.198551776245908e-13,  -4.0835511110921974e-13, -2.1015418427726643e-14,
    4.272440016711951e-14,   1.0420276984128802e-14, -3.8144030724370075e-15, -1.8803547755107825e-15, 3.3082023109209285e-16,
    2.96262899764595e-16,    -3.209525921993424e-17, -4.6503053684893586e-17, 4.414348323071708e-18,   7.517296310842105e-18};

/// The sum of c[k] T_k(u), by Clenshaw's recurrence; without the terms that the dtype can't hold beside the first.
Array chebyshev(std::span<const double> c, const Array& u) {
  const double least = std::abs(c[0]) * (u.dtype() == float64 ? 1e-17 : 1e-9);
  while (std::abs(c.back()) < least) c = c.first(c.size() - 1);
  const Array twice = 2 * u;
  Array last = detail::scalar_like(u, 0), sum = detail::scalar_like(u, c.back());
  for (std::size_t k = c.size() - 1; k-- > 0;) {
    Array next = (k == 0 ? u : twice) * sum - last + c[k];
    last = std::exchange(sum, next);
  }
  return sum;
}
/// The derivative of |x|, at 0 that from the right. Derivatives of all orders are made of it, so that those of the unscaled functions,
/// which have no kink at 0, are right there, too.
Array side_of(const Array& x) { return where(x < 0, -1, detail::scalar_like(x, 1)); }
Array size_of(const Array& x) { return x * side_of(x); }
/// exp(-|x|) I(x) / x of order 1, within 8 of 0.
Array order1_over_x(const Array& x) { return chebyshev(kOrder1Near, size_of(x) / 4 - 1); }
/// exp(-|x|) I(x) of the order, for float32 or float64.
Array scaled(int order, const Array& x) {
  const Array a = abs(x), near = a <= 8, small = where(near, a, 0), large = where(near, 8, a);
  const Array far = chebyshev(order == 0 ? std::span<const double>(kOrder0Far) : kOrder1Far, 16 / large - 1) / sqrt(large);
  const Array close = chebyshev(order == 0 ? std::span<const double>(kOrder0Near) : kOrder1Near, small / 4 - 1);
  // The sum is rounded, also at 0, where the value is 1.
  if (order == 0) return where(a == 0, 1, where(near, close, far));
  return where(near, close * x, far * sign(x));
}
/// The same with its derivatives.
Array scaled_bessel(int order, const Array& x, bool kink = false) {
  const auto value = [order](const Array& v) { return scaled(order, v); };
  return custom_jvp(value, [order, kink](std::tuple<Array> at, std::tuple<Array> along) {
    const auto& [v] = at;
    const auto& [dv] = along;
    const Array zeroth = scaled_bessel(0, v), first = scaled_bessel(1, v), side = side_of(v);
    // The scaled one of order 0 has a kink at 0, whose derivative is 0, between those of both sides.
    if (order == 0 && kink) return std::pair{zeroth, Array(dv * (first - side * zeroth + stop_gradient(where(v == 0, zeroth, 0))))};
    if (order == 0) return std::pair{zeroth, Array(dv * (first - side * zeroth))};
    // I(x) / x is not made by a division near 0, whose derivatives would be differences of nearly equal numbers.
    const Array near = abs(v) <= 8, over_x = where(near, order1_over_x(where(near, v, 0)), first / where(near, 8, v));
    return std::pair{first, Array(dv * (zeroth - first * side - over_x))};
  })(x);
}
Array bessel(int order, const Arg& x, bool unscaled) {
  LocScope scope(x.where());
  const Array given = detail::to_inexact(x);
  const Array v = convert(given, detail::wide_dtype(given.dtype()));
  const Array e = scaled_bessel(order, v, !unscaled);
  return convert(unscaled ? exp(size_of(v)) * e : e, given.dtype());
}

}  // namespace

Array i0(Arg x) { return bessel(0, x, true); }
Array i0e(Arg x) { return bessel(0, x, false); }
Array i1(Arg x) { return bessel(1, x, true); }
Array i1e(Arg x) { return bessel(1, x, false); }

}  // namespace weft
