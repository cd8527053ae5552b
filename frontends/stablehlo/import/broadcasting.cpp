// Operations of chlo that broadcast their operands as NumPy does and then are those of one shape: `chlo.broadcast_add` is
// `stablehlo.add`. TensorFlow and importers of other formats write them.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>

#include "weft/core/array/constructors.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/frontends/stablehlo/import/functions.h"
#include "weft/frontends/stablehlo/import/importer.h"

namespace weft::detail::mlir {
namespace {

struct Broadcasting {
  const char* name;
  Elements elements = Elements::computed;
};
constexpr Broadcasting kBroadcasting[] = {
    {"chlo.broadcast_add"},
    {"chlo.broadcast_and"},
    {"chlo.broadcast_atan2"},
    {"chlo.broadcast_compare"},
    {"chlo.broadcast_complex"},
    {"chlo.broadcast_divide"},
    {"chlo.broadcast_maximum", Elements::moved},
    {"chlo.broadcast_minimum", Elements::moved},
    {"chlo.broadcast_multiply"},
    {"chlo.broadcast_next_after"},
    {"chlo.broadcast_or"},
    {"chlo.broadcast_polygamma"},
    {"chlo.broadcast_power"},
    {"chlo.broadcast_remainder"},
    {"chlo.broadcast_select", Elements::moved},
    {"chlo.broadcast_shift_left"},
    {"chlo.broadcast_shift_right_arithmetic"},
    {"chlo.broadcast_shift_right_logical"},
    {"chlo.broadcast_subtract"},
    {"chlo.broadcast_xor"},
    {"chlo.broadcast_zeta"},
};

/// The operation of operands of one shape is StableHLO's of the same name or, where it has none, chlo's.
std::string of_one_shape(std::string_view name) {
  name.remove_prefix(std::string_view("chlo.broadcast_").size());
  std::string plain = fmt::format("stablehlo.{}", name);
  return find_import(plain) ? plain : fmt::format("chlo.{}", name);
}

/// The dimensions of the result that an operand's are: the last ones, unless broadcast_dimensions says which those of the operand of lower
/// rank are.
std::vector<int> dimensions_in_result(const OpCall& c, const Array& x, int rank) {
  std::vector<int> dims(static_cast<std::size_t>(x.ndim()));
  for (int d = 0; d < x.ndim(); ++d) dims[static_cast<std::size_t>(d)] = rank - x.ndim() + d;
  if (x.ndim() == rank || !c.find("broadcast_dimensions")) return dims;
  dims = c.dims("broadcast_dimensions");
  const bool increase = std::adjacent_find(dims.begin(), dims.end(), std::greater_equal<>()) == dims.end();
  if (static_cast<int>(dims.size()) != x.ndim() || !increase || (!dims.empty() && dims.back() >= rank))
    c.fail("broadcast_dimensions must be dimensions of the result, in order, one for each of the operand of lower rank");
  return dims;
}

Values import_broadcasting(OpCall& c) {
  const Arrays in = c.ins();
  int rank = 0;
  for (const Array& x : in) rank = std::max(rank, x.ndim());
  std::vector<std::vector<int>> dims;
  Shape shape(std::vector<std::int64_t>(static_cast<std::size_t>(rank), 1));
  for (const Array& x : in) {
    dims.push_back(dimensions_in_result(c, x, rank));
    for (int d = 0; d < x.ndim(); ++d) {
      std::int64_t& size = shape[dims.back()[static_cast<std::size_t>(d)]];
      if (size != x.shape()[d] && size != 1 && x.shape()[d] != 1)
        c.fail(fmt::format("sizes {} and {} of its operands don't fit: sizes of a dimension must be equal, or 1", size, x.shape()[d]));
      if (size == 1) size = x.shape()[d];
    }
  }
  Values operands;
  for (std::size_t i = 0; i < in.size(); ++i) {
    operands.push_back(c.value(i));
    if (in[i].shape() != shape) operands.back().array = broadcast_in_dim(in[i], shape, dims[i], c.loc);
  }
  Operation op = c.op;
  op.name = of_one_shape(c.op.name);
  OpCall call(c.importer(), op, std::move(operands), c.loc);
  call.check_kind();
  return find_import(op.name)(call);
}
const bool broadcasting_imported = [] {
  for (const Broadcasting& b : kBroadcasting) Import(b.name, import_broadcasting, b.elements);
  return true;
}();

/// One number in every place of an array of the operand's shape.
const Import constant_like_import("chlo.constant_like", [](OpCall& c) -> Values {
  const Attribute& value = c.need("value");
  const bool whole = value.kind == Attribute::Kind::integer || value.kind == Attribute::Kind::boolean;
  if (!whole && value.kind != Attribute::Kind::real) c.fail("its value is not an integer or a real number");
  const Number number = whole ? Number(static_cast<long long>(value.integer)) : Number(value.real);
  return {fill_shape(make_literal(number, c.result_dtype()), c.in(0).shape(), c.loc)};
});

}  // namespace
}  // namespace weft::detail::mlir
