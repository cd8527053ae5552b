#include "weft/library/jnp/applying.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "weft/core/array/constructors.h"
#include "weft/core/base/counted.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/common.h"
#include "weft/core/trace/trace.h"
#include "weft/library/jnp/joining.h"

namespace weft {

using detail::LocScope;
using detail::to_string;

namespace detail {

int axis_to_apply_along(const Arg& x, int axis, const char* operation) {
  return normalize_axis(axis, x.array().ndim(), operation, x.aval(), x.where());
}
Array rows_along(const Array& x, int axis) {
  const std::int64_t n = x.shape()[axis];
  std::int64_t rows = 1;
  for (int d = 0; d < x.ndim(); ++d)
    if (d != axis) rows *= x.shape()[d];
  return reshape(moveaxis(x, axis, -1), {rows, n});
}
Array from_rows_along(const Array& results, const Shape& given, int axis) {
  Shape shape;
  for (int d = 0; d < given.size(); ++d)
    if (d != axis) shape.push_back(given[d]);
  const int others = shape.size(), inner = results.ndim() - 1;
  for (int d = 1; d < results.ndim(); ++d) shape.push_back(results.shape()[d]);
  std::vector<int> order;
  for (int d = 0; d < axis; ++d) order.push_back(d);
  for (int d = 0; d < inner; ++d) order.push_back(others + d);
  for (int d = axis; d < others; ++d) order.push_back(d);
  return transpose(reshape(results, shape), order);
}
Array reduced_over(const Array& result, const Array& x, int axis, SourceLoc loc) {
  if (result.ndim() == x.ndim()) return result;
  if (result.ndim() == x.ndim() - 1) return expand_dims(result, axis);
  throw ShapeError(fmt::format("apply_over_axes: the function made {} of {}; it must keep the number of dimensions, or drop one",
                               to_string(result.aval()), to_string(x.aval())),
                   effective_loc(loc));
}

namespace {

/// The names between each pair of parentheses of `(m,n),(n)`; fail throws Error.
template <class Fail>
std::vector<std::vector<std::string>> names_in_parentheses(std::string_view text, const Fail& fail) {
  std::vector<std::vector<std::string>> found;
  bool open = false;
  std::string word;
  for (char c : text) {
    if (c == ' ') continue;
    if (c == '(') {
      if (open) fail("has a ( within another");
      open = true, found.emplace_back();
    } else if (c == ')' || (c == ',' && open)) {
      if (!open) fail("has a ) without its (");
      if (!word.empty()) found.back().push_back(std::exchange(word, {}));
      if (c == ')') open = false;
    } else if (open) {
      word += c;
    } else if (c != ',') {
      fail("has letters outside of parentheses");
    }
  }
  if (open) fail("has a ( without its )");
  return found;
}

}  // namespace

CoreDimensions::CoreDimensions(const std::string& signature, std::size_t arguments, SourceLoc loc) {
  names.resize(arguments);
  if (signature.empty()) return;
  const auto fail = [&](const std::string& what) {
    throw Error(fmt::format("vectorize: the signature `{}` {}; it is written as (m,n),(n)->(m)", signature, what), effective_loc(loc));
  };
  const std::size_t arrow = signature.find("->");
  if (arrow == std::string::npos) fail("has no ->");
  names = names_in_parentheses(std::string_view(signature).substr(0, arrow), fail);
  results = names_in_parentheses(std::string_view(signature).substr(arrow + 2), fail);
  if (names.size() != arguments) fail(fmt::format("has {} arguments, and the function was called with {}", names.size(), arguments));
  if (results.empty()) fail("has no results");
}

BroadcastArguments broadcast_leading(const CoreDimensions& core, std::vector<Array> arguments, SourceLoc loc) {
  BroadcastArguments out;
  std::map<std::string, std::int64_t> sizes;
  std::vector<Shape> leading;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Shape& shape = arguments[i].shape();
    const auto& names = core.names[i];
    const int n = static_cast<int>(names.size());
    if (shape.size() < n)
      throw ShapeError(
          fmt::format("vectorize: argument {} is {}; by the signature it has {} dimensions at least", i, to_string(arguments[i].aval()), n),
          effective_loc(loc));
    for (int d = 0; d < n; ++d) {
      const std::string& name = names[static_cast<std::size_t>(d)];
      const std::int64_t size = shape[shape.size() - n + d];
      const auto [place, is_new] = sizes.emplace(name, size);
      if (!is_new && place->second != size)
        throw ShapeError(fmt::format("vectorize: the size {} of argument {}, {}, is {}, where {} was before", name, i,
                                     to_string(arguments[i].aval()), size, place->second),
                         effective_loc(loc));
    }
    leading.emplace_back(shape.begin(), shape.end() - n);
  }
  out.leading = broadcast_shapes(leading, loc);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    Shape whole = out.leading, rows(out.leading.num_elements());
    for (int d = leading[i].size(); d < arguments[i].ndim(); ++d)
      whole.push_back(arguments[i].shape()[d]), rows.push_back(arguments[i].shape()[d]);
    out.rows.push_back(reshape(broadcast_to(arguments[i], whole), rows));
  }
  return out;
}
Array with_leading_dimensions(const Array& x, const Shape& leading) {
  Shape shape = leading;
  for (int d = 1; d < x.ndim(); ++d) shape.push_back(x.shape()[d]);
  return reshape(x, shape);
}
void check_results(const CoreDimensions& core, const BroadcastArguments& all, const std::vector<Array>& results, SourceLoc loc) {
  if (core.results.empty()) return;
  if (results.size() != core.results.size())
    throw ShapeError(fmt::format("vectorize: by the signature the function has {}, and it gave {}",
                                 counted(static_cast<std::int64_t>(core.results.size()), "result"), results.size()),
                     effective_loc(loc));
  std::map<std::string, std::int64_t> sizes;
  for (std::size_t i = 0; i < all.rows.size(); ++i)
    for (std::size_t d = 0; d < core.names[i].size(); ++d) sizes.emplace(core.names[i][d], all.rows[i].shape()[static_cast<int>(d) + 1]);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto& names = core.results[i];
    const Shape shape(results[i].shape().begin() + 1, results[i].shape().end());
    const auto fail = [&](const std::string& wanted) {
      throw ShapeError(
          fmt::format("vectorize: result {} of the function has the shape {}; by the signature {}", i, to_string(shape), wanted),
          effective_loc(loc));
    };
    if (shape.size() != static_cast<int>(names.size()))
      fail(fmt::format("it has {}", counted(static_cast<std::int64_t>(names.size()), "dimension")));
    for (int d = 0; d < shape.size(); ++d) {
      const auto [place, is_new] = sizes.emplace(names[static_cast<std::size_t>(d)], shape[d]);
      if (!is_new && place->second != shape[d]) fail(fmt::format("its size {} is {}", place->first, place->second));
    }
  }
}
std::vector<Array> flat_positions(const Shape& shape, DType dtype, std::size_t parameters, SourceLoc loc) {
  if (static_cast<std::size_t>(shape.size()) != parameters)
    throw ShapeError(
        fmt::format("fromfunction: the function takes {}, and the shape {} has {}; it takes one for each",
                    counted(static_cast<std::int64_t>(parameters), "position"), to_string(shape), counted(shape.size(), "dimension")),
        effective_loc(loc));
  std::vector<Array> out;
  for (int d = 0; d < shape.size(); ++d) out.push_back(ravel(iota(dtype, shape, d, loc)));
  return out;
}

}  // namespace detail

Array piecewise(Arg x, Args conditions, const std::vector<PiecewiseFunction>& functions) {
  LocScope scope(x.where());
  const std::size_t n = conditions.args().size();
  if (functions.size() != n && functions.size() != n + 1)
    throw Error(fmt::format("piecewise: {} functions for {} conditions; there must be as many, or one more", functions.size(), n),
                detail::effective_loc(x.where()));
  const DType dtype = x.array().dtype();
  const Shape& shape = x.array().shape();
  const auto value = [&](const PiecewiseFunction& f) { return broadcast_to(convert(f(x.array()), dtype), shape); };
  Array out = functions.size() == n ? zeros(shape, dtype) : value(functions[n]);
  for (std::size_t i = 0; i < n; ++i) out = where(conditions.args()[i].array() != 0, value(functions[i]), out);
  return out;
}

Array switch_(Arg index, std::initializer_list<ArrayFunction> branches, const Array& x) {
  return switch_(std::move(index), std::vector<ArrayFunction>(branches), x);
}

}  // namespace weft
