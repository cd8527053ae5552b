#include "weft/library/jnp/special.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/promotion.h"
#include "weft/core/trace/trace.h"
#include "weft/transforms/autodiff/custom.h"

namespace weft {

using detail::LocScope;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

using One = std::tuple<Array>;
using Two = std::tuple<Array, Array>;

/// sin(v) / v within 1 of 0, by its series, whose derivatives are accurate where those of the quotient are differences of nearly equal
/// numbers.
Array sinc_near_zero(const Array& v) {
  constexpr int kTerms = 14;
  const Array square = v * v;
  Array sum = detail::scalar_like(v, 1);
  for (int k = kTerms; k > 0; --k) sum = 1 - square * sum / (2. * k * (2 * k + 1));
  return sum;
}

Array product_with_log(const char* operation, const Arg& x, const Arg& y, Array (*log_of)(Arg), double shift) {
  LocScope scope(x.where());
  const auto value = [log_of](const Array& a, const Array& b) {
    return where((a == 0) & ~isnan(b), detail::scalar_like(a, 0), a * log_of(b));
  };
  const auto [a, b] = detail::promote_inexact(operation, x, y);
  return custom_jvp(value, [=](Two at, Two along) {
    const auto& [u, v] = at;
    const auto& [du, dv] = along;
    return std::pair{value(u, v), Array(du * log_of(v) + dv * (u / (v + shift)))};
  })(a, b);
}

}  // namespace

Array sinc(Arg x) {
  LocScope scope(x.where());
  const Array v = std::numbers::pi * detail::to_inexact(x), near = abs(v) < 1;
  const Array safe = where(near, 1, v);
  return where(near, sinc_near_zero(where(near, v, 0)), sin(safe) / safe);
}
Array heaviside(Arg x, Arg at_zero) {
  LocScope scope(x.where());
  const auto [v, middle] = detail::promote_inexact("heaviside", x, at_zero);
  return where(isnan(v), v, where(v == 0, middle, convert(v > 0, v.dtype())));
}
Array xlogy(Arg x, Arg y) { return product_with_log("xlogy", x, y, log, 0); }
Array xlog1py(Arg x, Arg y) { return product_with_log("xlog1py", x, y, log1p, 1); }
Array entr(Arg x) {
  LocScope scope(x.where());
  const Array v = detail::to_inexact(x);
  const auto value = [](const Array& a) { return where(a < 0, -infinity, -xlogy(a, a)); };
  return custom_jvp(value, [value](One at, One along) {
    const auto& [u] = at;
    const auto& [du] = along;
    return std::pair{value(u), Array(-du * (log(u) + 1))};
  })(v);
}
Array rel_entr(Arg x, Arg y) {
  LocScope scope(x.where());
  const auto [a, b] = detail::promote_inexact("rel_entr", x, y);
  const Array zero = detail::scalar_like(a, 0), both = (a > 0) & (b > 0);
  const Array u = where(both, a, 1), v = where(both, b, 1);
  return where(both, u * (log(u) - log(v)), where((a == 0) & (b >= 0), zero, infinity));
}
Array kl_div(Arg x, Arg y) {
  LocScope scope(x.where());
  const auto [a, b] = detail::promote_inexact("kl_div", x, y);
  return rel_entr(a, b) - a + b;
}
Array logit(Arg x) {
  LocScope scope(x.where());
  const Array v = detail::to_inexact(x);
  const auto value = [](const Array& a) { return Array(log(a / (1 - a))); };
  return custom_jvp(value, [value](One at, One along) {
    const auto& [u] = at;
    const auto& [du] = along;
    return std::pair{value(u), Array(du / (u * (1 - u)))};
  })(v);
}
Array expit(Arg x) { return sigmoid(x); }
Array erfinv(Arg x) { return erf_inv(x); }
Array logaddexp2(Arg x, Arg y) {
  LocScope scope(x.where());
  const auto [a, b] = detail::promote_inexact("logaddexp2", x, y);
  const auto value = [](const Array& u, const Array& v) {
    const Array difference = u - v;  // NaN of equal infinities, and of NaN
    return Array(where(isnan(difference), u + v, maximum(u, v) + log1p(exp2(-abs(difference))) / std::numbers::ln2));
  };
  return custom_jvp(value, [](Two at, Two along) {
    const auto& [u, v] = at;
    const auto& [du, dv] = along;
    const Array sum = logaddexp2(u, v);  // with this rule, as the value has kinks where u is v
    const auto share = [&](const Array& w) { return exp2(where(isinf(sum) & (w == sum), 0, w - sum)); };
    return std::pair{sum, Array(du * share(u) + dv * share(v))};
  })(a, b);
}
Array gammaln(Arg x) { return lgamma(x); }
Array ndtr(Arg x) {
  LocScope scope(x.where());
  const Array v = detail::to_inexact(x);
  return erfc(-v * std::sqrt(.5)) * .5;
}

}  // namespace weft
