#include "weft/core/functions/contractions.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "weft/core/errors/error_context.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/contraction/contract.h"
#include "weft/core/ops/contraction/dot.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/trace/trace.h"

namespace weft {
namespace detail {

Labelled contract_pair(const Labelled& a, const Labelled& b, const std::vector<int>& kept, SourceLoc loc, std::optional<DType> dtype) {
  DotDimensions dims;
  std::vector<int> batch, free;
  auto position = [](const std::vector<int>& labels, int label) {
    const auto at = std::find(labels.begin(), labels.end(), label);
    return at == labels.end() ? -1 : static_cast<int>(at - labels.begin());
  };
  for (std::size_t i = 0; i < a.labels.size(); ++i) {
    const int label = a.labels[i], at = position(b.labels, label);
    if (at < 0) {
      free.push_back(label);
      continue;
    }
    const bool stays = position(kept, label) >= 0;
    auto& pair = stays ? dims.batch : dims.contracting;
    pair[0].push_back(static_cast<int>(i)), pair[1].push_back(at);
    if (stays) batch.push_back(label);
  }
  for (int label : b.labels)
    if (position(a.labels, label) < 0) free.push_back(label);
  Labelled out{dot_product(a.array, b.array, dims, dtype.value_or(a.array.dtype()), loc), std::move(batch)};
  out.labels.insert(out.labels.end(), free.begin(), free.end());
  return out;
}

Array ordered(const Labelled& x, const std::vector<int>& labels, SourceLoc loc) {
  std::vector<int> permutation;
  for (int label : labels) permutation.push_back(static_cast<int>(std::find(x.labels.begin(), x.labels.end(), label) - x.labels.begin()));
  return permute(x.array, permutation, loc);
}

std::pair<Array, Array> promoted(const Arg& a, const Arg& b) {
  const WeakDType common = promote_types(a.aval().weak_dtype(), b.aval().weak_dtype());
  return {as_dtype(a.array(), common.dtype), as_dtype(b.array(), common.dtype)};
}

namespace {

[[noreturn]] void mismatch(const char* operation, const Arg& a, const Arg& b, const std::string& problem) {
  throw_about<ShapeError>(fmt::format("{}: {} and {}: {}", operation, to_string(a.aval()), to_string(b.aval()), problem),
                          effective_loc(a.where()), std::array{a.array(), b.array()});
}

/// The product over pairs of dimensions, their sizes checked.
Array contract_dims(const char* operation, const Arg& a, const Arg& b, std::array<std::vector<int>, 2> axes, DotOptions options = {}) {
  if (axes[0].size() != axes[1].size())
    mismatch(
        operation, a, b,
        fmt::format("{} axes of the first and {} of the second are named; their numbers must be equal", axes[0].size(), axes[1].size()));
  for (std::size_t i = 0; i < axes[0].size(); ++i) {
    const std::int64_t m = a.array().shape()[axes[0][i]], n = b.array().shape()[axes[1][i]];
    if (m != n)
      mismatch(
          operation, a, b,
          fmt::format(
              "axis {} of the first has size {} and axis {} of the second {}; they are summed over together, so their sizes must be equal",
              axes[0][i], m, axes[1][i], n));
  }
  const auto [x, y] = promoted(a, b);
  return dot_product(x, y, {.contracting = std::move(axes)}, options.preferred_element_type.value_or(x.dtype()), a.where());
}

}  // namespace
}  // namespace detail

using detail::LocScope;

Array matmul(Arg a, Arg b) { return matmul(a, b, DotOptions()); }
Array matmul(Arg a, Arg b, DotOptions options) {
  LocScope scope(a.where());
  const Shape &m = a.array().shape(), &n = b.array().shape();
  if (m.empty() || n.empty()) detail::mismatch("matmul", a, b, "a scalar has no dimension to sum over; use *");
  const bool row = m.size() == 1, column = n.size() == 1;  // a vector's missing dimension
  const std::int64_t inner = m.back(), other = n[column ? 0 : n.size() - 2];
  if (inner != other)
    detail::mismatch("matmul", a, b,
                     fmt::format("the last dimension of the first has size {}, the {} of the second {}; they must be equal", inner,
                                 column ? "dimension" : "last but one", other));
  // Labels: 0, 1, ... are the leading dimensions counted from the right, below 0 the matrices' own.
  constexpr int kInner = -1, kRow = -2, kColumn = -3;
  const auto [x, y] = detail::promoted(a, b);
  detail::Labelled left{x, {}}, right{y, {}};
  const int num_left = row ? 0 : m.size() - 2, num_right = column ? 0 : n.size() - 2;
  std::vector<int> squeeze_left, squeeze_right;
  for (int i = 0; i < num_left; ++i) {
    const int label = num_left - 1 - i, there = num_right - 1 - label;
    if (there >= 0 && m[i] != n[there] && m[i] != 1 && n[there] != 1)
      detail::mismatch("matmul", a, b,
                       fmt::format("sizes {} and {} of leading dimensions don't go together; they must be equal, or 1", m[i], n[there]));
    if (there >= 0 && m[i] == 1 && n[there] != 1)
      squeeze_left.push_back(i);
    else
      left.labels.push_back(label);
  }
  for (int i = 0; i < num_right; ++i) {
    const int label = num_right - 1 - i, there = num_left - 1 - label;
    if (there >= 0 && n[i] == 1 && m[there] != 1)
      squeeze_right.push_back(i);
    else
      right.labels.push_back(label);
  }
  left.array = detail::squeeze_axes(left.array, squeeze_left, a.where());
  right.array = detail::squeeze_axes(right.array, squeeze_right, a.where());
  if (!row) left.labels.push_back(kRow);
  left.labels.push_back(kInner), right.labels.push_back(kInner);
  if (!column) right.labels.push_back(kColumn);
  std::vector<int> result;
  for (int label = std::max(num_left, num_right) - 1; label >= 0; --label) result.push_back(label);
  if (!row) result.push_back(kRow);
  if (!column) result.push_back(kColumn);
  return detail::ordered(detail::contract_pair(left, right, result, a.where(), options.preferred_element_type), result, a.where());
}

Array dot(Arg a, Arg b) { return dot(a, b, DotOptions()); }
Array dot(Arg a, Arg b, DotOptions options) {
  LocScope scope(a.where());
  const int m = a.array().ndim(), n = b.array().ndim();
  if (m == 0 || n == 0) {
    const std::optional<DType> dtype = options.preferred_element_type;
    return dtype ? detail::as_dtype(a.array(), *dtype) * detail::as_dtype(b.array(), *dtype) : multiply(a, b);
  }
  return detail::contract_dims("dot", a, b, {{{m - 1}, {std::max(0, n - 2)}}}, options);
}

Array outer(Arg a, Arg b) {
  LocScope scope(a.where());
  return detail::reshape_to(a.array(), {a.array().size(), 1}, a.where()) * detail::reshape_to(b.array(), {1, b.array().size()}, a.where());
}

Array vdot(Arg a, Arg b) {
  LocScope scope(a.where());
  if (a.array().size() != b.array().size())
    detail::mismatch("vdot", a, b,
                     fmt::format("they have {} and {} elements; the numbers must be equal", a.array().size(), b.array().size()));
  const Array x = detail::reshape_to(a.array(), {a.array().size()}, a.where()),
              y = detail::reshape_to(b.array(), {b.array().size()}, a.where());
  return detail::contract_dims("vdot", Arg(x.dtype().is_complex() ? conj(x) : x, a.where()), Arg(y, b.where()), {{{0}, {0}}});
}

Array detail::contracted(const Arg& a, const Arg& b, const ContractedAxes& axes, std::optional<DType> preferred_element_type) {
  std::array<std::vector<int>, 2> pairs;
  if (!axes.count) {
    // One axis of each, NumPy's `axes=(1, 0)`, may be one list; so is an array in braces, `{{{1}, {0}}}`.
    if (axes.lists.size() == 1 && axes.lists[0].size() == 2)
      pairs = {std::vector{axes.lists[0][0]}, std::vector{axes.lists[0][1]}};
    else if (axes.lists.size() == 2)
      pairs = {axes.lists[0], axes.lists[1]};
    else
      throw AxisError(fmt::format("tensordot: the axes are two lists, of {} and of {}, not {}", to_string(a.aval()), to_string(b.aval()),
                                  axes.lists.size()),
                      effective_loc(a.where()));
  } else {
    const std::int64_t count = *axes.count;
    const int m = a.array().ndim(), n = b.array().ndim();
    if (count < 0 || count > m || count > n)
      throw AxisError(
          fmt::format("tensordot: {} and {} can't be summed over {} axes; the number must be at least 0 and at most that of the "
                      "dimensions of both",
                      to_string(a.aval()), to_string(b.aval()), count),
          effective_loc(a.where()));
    for (int i = 0; i < count; ++i) pairs[0].push_back(m - static_cast<int>(count) + i), pairs[1].push_back(i);
  }
  LocScope scope(a.where());
  const Arg* operands[] = {&a, &b};
  for (std::size_t k = 0; k < 2; ++k) {
    for (int& axis : pairs[k]) axis = normalize_axis(axis, operands[k]->array().ndim(), "tensordot", operands[k]->aval(), a.where());
    std::vector<int> sorted = pairs[k];
    std::sort(sorted.begin(), sorted.end());
    if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
      throw AxisError(fmt::format("tensordot: axis {} of {} is named twice", *twice, to_string(operands[k]->aval())),
                      effective_loc(a.where()));
  }
  return contract_dims("tensordot", a, b, std::move(pairs), {preferred_element_type});
}

Array dot_general(Arg a, Arg b, DotDimensionNumbers dimension_numbers, DotOptions options) {
  LocScope scope(a.where());
  detail::DotDimensions dims{std::move(dimension_numbers.contracting), std::move(dimension_numbers.batch)};
  const DType common = promote_types(a.aval().weak_dtype(), b.aval().weak_dtype()).dtype;
  return detail::dot_product(a.array(), b.array(), dims, options.preferred_element_type.value_or(common), a.where());
}

}  // namespace weft
