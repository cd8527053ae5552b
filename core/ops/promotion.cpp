#include "weft/core/ops/promotion.h"

#include <fmt/format.h>

#include "weft/core/errors/error_context.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/trace/trace.h"

namespace weft::detail {
namespace {

/// Throws for a number that does not fit into the integer dtype of the array that it is combined with.
void check_fits(std::string_view operation, const LiteralArray& literal, DType dtype, SourceLoc loc) {
  if (!dtype.is_integer() || !literal.aval.weak || !literal.aval.dtype.is_integer() || literal.aval.dtype == dtype) return;
  const Number n = number_of(literal);
  const bool is_unsigned = n.kind == Number::Kind::unsigned_integer;
  const auto value = static_cast<unsigned long long>(n.integer);
  const int bits = 8 * dtype.itemsize() - (dtype.is_signed() ? 1 : 0);
  const bool negative = !is_unsigned && n.integer < 0;
  const bool fits = negative ? dtype.is_signed() && n.integer >= -(1LL << (bits - 1)) * 2 : bits == 64 || value >> bits == 0;
  if (fits) return;
  throw DTypeError(fmt::format("{}: the number {} doesn't fit into {}; convert the array to a dtype that holds it", operation,
                               negative ? fmt::format("{}", n.integer) : fmt::format("{}", value), dtype.name()),
                   effective_loc(loc));
}

Array promoted(std::string_view operation, const Arg& x, WeakDType to) {
  if (x.aval().dtype == to.dtype) return x.array();
  if (const LiteralArray* literal = as_literal(x.array())) check_fits(operation, *literal, to.dtype, x.where());
  return convert_element_type(x.array(), to.dtype, to.weak, x.where());
}

/// Keys and numbers have no common dtype; here the operation's name and the line are known.
void check_keys(std::string_view operation, std::span<const Arg> operands) {
  for (const Arg& x : operands)
    if (x.aval().dtype.is_key() != operands[0].aval().dtype.is_key())
      throw DTypeError(
          fmt::format("{}: {} and {} don't fit together: arithmetic is not defined for keys; random::key_data gives their numbers",
                      operation, to_string(operands[0].aval()), to_string(x.aval())),
          effective_loc(x.where()));
}

/// Operands k and i differ along axis -d.
[[noreturn]] void throw_unfit(std::string_view operation, std::span<const Arg> operands, std::size_t k, std::size_t i, int d) {
  const Shape &a = operands[k].aval().shape, &b = operands[i].aval().shape;
  const bool all_told = operands.size() == 2;
  std::string list;
  std::vector<Array> arrays;
  for (std::size_t n = 0; n < operands.size(); ++n) {
    list += n == 0 ? "" : n + 1 == operands.size() ? " and " : ", ";
    list += to_string(operands[n].aval());
    arrays.push_back(operands[n].array());
  }
  const std::string which = all_told ? std::string("their sizes")
                                     : fmt::format("the sizes of {} and {},", to_string(operands[k].aval()), to_string(operands[i].aval()));
  throw_about<ShapeError>(fmt::format("{}: {} can't be broadcast together: {} {} and {} along axis -{}{} are neither equal nor 1",
                                      operation, list, which, a[a.size() - d], b[b.size() - d], d, all_told ? "" : ","),
                          effective_loc(operands[i].where()), arrays);
}

void check_shapes(std::string_view operation, std::span<const Arg> operands) {
  for (std::size_t i = 0; i < operands.size(); ++i)
    for (std::size_t k = 0; k < i; ++k) {
      const Shape &a = operands[k].aval().shape, &b = operands[i].aval().shape;
      for (int d = 1; d <= std::min(a.size(), b.size()); ++d) {
        const std::int64_t m = a[a.size() - d], n = b[b.size() - d];
        if (m != n && m != 1 && n != 1) throw_unfit(operation, operands, k, i, d);
      }
    }
}

Array with_rank(const Arg& x, int rank) {
  const int have = x.aval().ndim();
  if (have == 0 || have == rank) return x.array();
  std::vector<int> inserted;
  for (int i = 0; i < rank - have; ++i) inserted.push_back(i);
  return expand_dims(x, Axis(inserted));
}

}  // namespace

namespace {
/// The type of a number that is made of scalars: that of the trace's numbers.
WeakDType number_type(WeakDType t, bool scalar) {
  const Trace* const trace = scalar ? current_trace() : nullptr;
  if (!trace || !trace->wide_numbers() || !is_narrow_number({{}, t.dtype, t.weak})) return t;
  return {t.dtype.is_complex() ? complex128 : float64, true};
}
}  // namespace

WeakDType inexact_dtype(WeakDType t) {
  if (t.dtype.is_inexact() || t.dtype.is_key()) return t;
  return {t.dtype.itemsize() == 8 ? float64 : float32, t.weak && !t.dtype.is_bool()};
}
Array to_inexact(const Arg& x) {
  if (x.aval().dtype.is_inexact() || x.aval().dtype.is_key()) return x.array();
  const WeakDType t = number_type(inexact_dtype(x.aval().weak_dtype()), x.aval().shape.empty());
  return convert_element_type(x.array(), t.dtype, t.weak, x.where());
}
Array to_numeric(const Arg& x) { return x.aval().dtype.is_bool() ? convert_element_type(x.array(), int32, false, x.where()) : x.array(); }

void check_broadcast(std::string_view operation, std::span<const Arg> operands) { check_shapes(operation, operands); }

std::vector<Array> promote_ranks(std::string_view operation, std::span<const Arg> operands) {
  check_shapes(operation, operands);
  int rank = 0;
  for (const Arg& x : operands) rank = std::max(rank, x.aval().ndim());
  std::vector<Array> out;
  for (const Arg& x : operands) out.push_back(with_rank(x, rank));
  return out;
}
std::vector<Array> promote_operands(std::string_view operation, std::span<const Arg> operands) {
  check_keys(operation, operands);
  WeakDType t = operands[0].aval().weak_dtype();
  for (const Arg& x : operands) t = promote_types(t, x.aval().weak_dtype());
  std::vector<Array> out = promote_ranks(operation, operands);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = promoted(operation, Arg(out[i], operands[i].where()), t);
  return out;
}
namespace {
bool both_scalars(const Arg& x, const Arg& y) { return x.aval().shape.empty() && y.aval().shape.empty(); }
std::array<Array, 2> promote_pair(std::string_view operation, const Arg& x, const Arg& y, WeakDType t) {
  Arg a = x, b = y;
  if (x.aval().ndim() != 0 && y.aval().ndim() != 0 && x.aval().shape != y.aval().shape) {
    const Arg both[] = {x, y};
    check_shapes(operation, both);
    const int rank = std::max(x.aval().ndim(), y.aval().ndim());
    a = Arg(with_rank(x, rank), x.where());
    b = Arg(with_rank(y, rank), y.where());
  }
  return {promoted(operation, a, t), promoted(operation, b, t)};
}
}  // namespace
std::array<Array, 2> promote_operands(std::string_view operation, const Arg& x, const Arg& y) {
  if (x.aval().dtype.is_key() != y.aval().dtype.is_key()) check_keys(operation, std::array{x, y});
  const WeakDType t = promote_types(x.aval().weak_dtype(), y.aval().weak_dtype());
  return promote_pair(operation, x, y, number_type(t, both_scalars(x, y)));
}
std::array<Array, 2> promote_inexact(std::string_view operation, const Arg& x, const Arg& y) {
  if (x.aval().dtype.is_key() != y.aval().dtype.is_key()) check_keys(operation, std::array{x, y});
  const WeakDType t = inexact_dtype(promote_types(x.aval().weak_dtype(), y.aval().weak_dtype()));
  return promote_pair(operation, x, y, number_type(t, both_scalars(x, y)));
}

std::optional<long long> integer_literal(const Array& x) {
  const LiteralArray* literal = as_literal(x);
  if (!literal || !literal->aval.weak || !literal->aval.dtype.is_integer()) return {};
  return number_of(*literal).integer;
}

}  // namespace weft::detail
