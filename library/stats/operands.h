// What the distributions' functions share: arguments in one dtype, and values outside of where a density is.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <source_location>
#include <string>
#include <tuple>
#include <vector>

#include "weft/core/array/constructors.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/promotion.h"
#include "weft/core/trace/trace.h"
#include "weft/library/jnp/special.h"

namespace weft::stats {

using detail::LocScope;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double pi = std::numbers::pi;

/// The name of a function of this namespace, as a user writes it.
inline std::string written_name(const std::source_location& function) {
  const std::string whole = function.function_name();
  const std::size_t begin = whole.find("stats::"), end = whole.find('(', begin);
  return begin == std::string::npos ? "stats" : whole.substr(begin, end - begin);
}
/// Gives the arguments their common dtype: a number takes that of the arrays beside it, before anything is computed of it alone.
/// Errors name the function that it is made in and, as long as it lives, the line of the first argument.
template <class... A>
struct Unified {
  explicit Unified(A&... args, const std::source_location& function = std::source_location::current())
      : scope(std::get<0>(std::tie(args...)).where()) {
    std::vector<Arg> given{args...};
    // A number beside integers is a float as they are, so that -1 beside uint8 is -1.
    if (std::none_of(given.begin(), given.end(), [](const Arg& x) { return x.aval().dtype.is_key(); })) {
      detail::WeakDType common = given[0].aval().weak_dtype();
      for (const Arg& x : given) common = promote_types(common, x.aval().weak_dtype());
      common = detail::inexact_dtype(common);
      for (Arg& x : given)
        if (detail::integer_literal(x.array()))
          x = Arg(detail::convert_element_type(x.array(), common.dtype, common.weak, x.where()), x.where());
    }
    const std::vector<Array> converted = detail::promote_operands(written_name(function), given);
    std::size_t k = 0;
    ((args = Arg(detail::to_inexact(converted[k]), given[k].where()), ++k), ...);
  }
  LocScope scope;
};
template <class... A>
Unified(A&...) -> Unified<A...>;

/// (x - loc) / scale.
inline Array standard(const Arg& x, const Arg& loc, const Arg& scale) { return (detail::to_inexact(x) - loc) / scale; }
/// The larger of y and 0, whose derivative at 0 is that from above: that of distributions which begin there.
inline Array from_zero(const Array& y) { return where(y < 0, 0, y); }
/// What an inverse distribution function gives for probabilities, NaN for other numbers.
inline Array of_probability(const Arg& q, const Array& value) { return where((q.array() >= 0) & (q.array() <= 1), value, not_a_number); }
/// The logarithm of a density that is 0 outside of somewhere. NaN is not outside, so that it reaches the value.
inline Array log_density(const Array& outside, const Array& value) { return where(outside, -infinity, value); }
/// The logarithm of the normal distribution's mass between a and b.
inline Array log_normal_mass(const Array& a, const Array& b) {
  const Array right = a > 0, low = where(right, -b, a), high = where(right, -a, b);
  const Array across = high > 0, l = where(across, -1, low), h = where(across, 0, high);
  const Array one_side = log_ndtr(h) + log1p(-exp(log_ndtr(l) - log_ndtr(h)));
  return where(across, log1p(-ndtr(low) - ndtr(-high)), one_side);
}

// Each function names its own line in messages: the scope is that of its first argument.
#define WEFT_EXP_OF(name, logname, parameters, arguments, x) \
  Array name parameters {                                    \
    LocScope scope(x.where());                               \
    return exp(logname arguments);                           \
  }
#define WEFT_LOG_OF(logname, name, parameters, arguments, x) \
  Array logname parameters {                                 \
    LocScope scope(x.where());                               \
    return log(name arguments);                              \
  }

}  // namespace weft::stats
