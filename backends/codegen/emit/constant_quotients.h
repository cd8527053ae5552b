// Division by floating-point constants as multiplication.
#pragma once
#include <optional>

namespace weft::detail {

/// x / c is fma(x, first, x * second), and x * first where `second` is 0.
struct InverseParts {
  double first = 0, second = 0;
};
/// None where the sum would be another number than the quotient for some x, or c is too large or too small. `is_double`: of float64, else
/// of float32, as which c is rounded.
std::optional<InverseParts> inverse_by_parts(double c, bool is_double);
/// For smaller dividends than this one but 0 the second product underflows, and the sum may be rounded to another number.
double least_dividend(double c, bool is_double);

}  // namespace weft::detail
