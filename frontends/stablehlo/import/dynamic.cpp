// Operations whose sizes are operands: where those are constants they are the operations that have them as attributes.
#include <fmt/format.h>

#include "weft/core/array/array_impl.h"
#include "weft/frontends/stablehlo/import/functions.h"
#include "weft/frontends/stablehlo/import/importer.h"

namespace weft::detail::mlir {
namespace {

Attribute list_of(const OpCall& c, const std::vector<std::int64_t>& values) {
  Attribute list(Attribute::Kind::list, c.op.place);
  for (const std::int64_t v : values) {
    list.items.emplace_back(Attribute::Kind::integer, c.op.place);
    list.items.back().integer = v;
  }
  return list;
}

/// The values of an operand of integers, which may be computed from constants.
std::vector<std::int64_t> constant(const OpCall& c, std::size_t i) {
  const Array x = concrete_or_empty(c.in(i));
  if (x.is_empty_handle()) c.fail(fmt::format("operand {} is known at run time only; sizes must be constants", i));
  if (!x.dtype().is_integer() || x.ndim() > 2 || x.size() > (1 << 16)) c.fail(fmt::format("operand {} is not a list of sizes", i));
  return x.to_vector<std::int64_t>();
}

/// The operation of that name with the first operands, and these attributes beside its own.
Values as_static(const OpCall& c, const char* name, std::size_t operands,
                 const std::vector<std::pair<const char*, Attribute>>& attributes) {
  Operation op = c.op;
  op.name = name;
  op.operand_types.clear();
  Values values;
  for (std::size_t i = 0; i < operands; ++i) values.push_back(c.value(i));
  for (const auto& [key, value] : attributes) op.attributes.keys.emplace_back(key), op.attributes.items.push_back(value);
  OpCall call(c.importer(), op, std::move(values), c.loc);
  return find_import(name)(call);
}

// The result's type states the shape.
const Import broadcast_import("stablehlo.dynamic_broadcast_in_dim",
                              [](OpCall& c) -> Values { return as_static(c, "stablehlo.broadcast_in_dim", 1, {}); });
const Import reshape_import("stablehlo.dynamic_reshape", [](OpCall& c) -> Values { return as_static(c, "stablehlo.reshape", 1, {}); });
const Import iota_import("stablehlo.dynamic_iota", [](OpCall& c) -> Values { return as_static(c, "stablehlo.iota", 0, {}); });

const Import pad_import("stablehlo.dynamic_pad", [](OpCall& c) -> Values {
  return as_static(c, "stablehlo.pad", 2,
                   {{"edge_padding_low", list_of(c, constant(c, 2))},
                    {"edge_padding_high", list_of(c, constant(c, 3))},
                    {"interior_padding", list_of(c, constant(c, 4))}});
});
const Import slice_import("stablehlo.real_dynamic_slice", [](OpCall& c) -> Values {
  return as_static(c, "stablehlo.slice", 1,
                   {{"start_indices", list_of(c, constant(c, 1))},
                    {"limit_indices", list_of(c, constant(c, 2))},
                    {"strides", list_of(c, constant(c, 3))}});
});
const Import gather_import("stablehlo.dynamic_gather", [](OpCall& c) -> Values {
  return as_static(c, "stablehlo.gather", 2, {{"slice_sizes", list_of(c, constant(c, 2))}});
});
const Import conv_import("stablehlo.dynamic_conv", [](OpCall& c) -> Values {
  const std::vector<std::int64_t> flat = constant(c, 2);
  Attribute pairs = list_of(c, {});
  for (std::size_t i = 0; i + 1 < flat.size(); i += 2) pairs.items.push_back(list_of(c, {flat[i], flat[i + 1]}));
  return as_static(c, "stablehlo.convolution", 2, {{"padding", std::move(pairs)}});
});

}  // namespace
}  // namespace weft::detail::mlir
