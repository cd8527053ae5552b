// Operations whose sizes are operands: where those are constants they are the operations that have them as attributes.
#include <fmt/format.h>

#include "weft/core/array/array_impl.h"
#include "weft/core/base/sizes.h"
#include "weft/frontends/stablehlo/import/functions.h"
#include "weft/frontends/stablehlo/import/importer.h"
#include "weft/frontends/stablehlo/import/stated_sizes.h"

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

Attribute pairs_of(const OpCall& c, const std::vector<std::int64_t>& flat) {
  Attribute pairs = list_of(c, {});
  for (std::size_t i = 0; i + 1 < flat.size(); i += 2) pairs.items.push_back(list_of(c, {flat[i], flat[i + 1]}));
  return pairs;
}

/// The values of an operand of integers, which may be computed from constants.
std::vector<std::int64_t> constant(const OpCall& c, std::size_t i) {
  const Array x = concrete_or_empty(c.in(i));
  if (x.is_empty_handle()) c.fail(fmt::format("operand {} is known at run time only; sizes must be constants", i));
  if ((!x.dtype().is_integer() && !x.dtype().is_bool()) || x.ndim() > 2 || x.size() > (1 << 16))
    c.fail(fmt::format("operand {} is not a list of sizes", i));
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

/// Gives a result whose type leaves sizes open those that operand `operand` states.
void set_sizes(const OpCall& c, Type& type, std::size_t operand) {
  if (type.kind != Type::Kind::open_tensor) {
    if (!concrete_or_empty(c.in(operand)).is_empty_handle() && Shape(constant(c, operand)) != type.tensor.shape)
      c.fail(fmt::format("operand {} states the sizes ({}), the text says {}", operand, fmt::join(constant(c, operand), ", "), type.text));
    return;
  }
  const std::vector<std::int64_t> sizes = constant(c, operand);
  if (!checked_bytes(sizes, type.tensor.dtype.itemsize())) c.fail(fmt::format("there is no array of ({})", fmt::join(sizes, ", ")));
  type.kind = Type::Kind::tensor, type.tensor.shape = Shape(sizes), type.sizes.clear();
}

/// The operation of that name with the first operands; the sizes of its last result, unless its type says, are those of the next.
Values as_sized(const OpCall& c, const char* name, std::size_t operands) {
  Operation op = c.op;
  if (!op.result_types.empty()) set_sizes(c, op.result_types.back(), operands);
  Values values;
  for (std::size_t i = 0; i <= operands; ++i) values.push_back(c.value(i));
  const OpCall sized(c.importer(), op, std::move(values), c.loc);
  return as_static(sized, name, operands, {});
}

const Import broadcast_import("stablehlo.dynamic_broadcast_in_dim",
                              [](OpCall& c) -> Values { return as_sized(c, "stablehlo.broadcast_in_dim", 1); });
const Import reshape_import("stablehlo.dynamic_reshape", [](OpCall& c) -> Values { return as_sized(c, "stablehlo.reshape", 1); });
const Import iota_import("stablehlo.dynamic_iota", [](OpCall& c) -> Values { return as_sized(c, "stablehlo.iota", 0); });
const Import bits_import("custom_call.stablehlo.dynamic_rng_bit_generator",
                         [](OpCall& c) -> Values { return as_sized(c, "stablehlo.rng_bit_generator", 1); });

const Import top_k_import("custom_call.stablehlo.dynamic_top_k", [](OpCall& c) -> Values {
  Attribute k(Attribute::Kind::integer, c.op.place);
  k.integer = constant(c, 1)[0];
  return as_static(c, "chlo.top_k", 1, {{"k", std::move(k)}});
});

/// What ApproxTopK has as operands, then how many; its results' sizes say that, too.
const Import approx_top_k_import("custom_call.stablehlo.dynamic_approx_top_k", [](OpCall& c) -> Values {
  if (c.num_operands() == 0) c.fail("operands are missing");
  return as_static(c, "custom_call.ApproxTopK", c.num_operands() - 1, {});
});

/// The arrays and the values to start from, then what reduce_window has as attributes.
const Import reduce_window_import("custom_call.stablehlo.dynamic_reduce_window", [](OpCall& c) -> Values {
  constexpr std::size_t kSizes = 5;
  if (c.num_operands() < kSizes + 2) c.fail("operands are missing");
  const std::size_t n = c.num_operands() - kSizes;
  return as_static(c, "stablehlo.reduce_window", n,
                   {{"window_dimensions", list_of(c, constant(c, n))},
                    {"window_strides", list_of(c, constant(c, n + 1))},
                    {"base_dilations", list_of(c, constant(c, n + 2))},
                    {"window_dilations", list_of(c, constant(c, n + 3))},
                    {"padding", pairs_of(c, constant(c, n + 4))}});
});

/// What a function that was exported with symbolic shapes says of its sizes; the message names the operands behind the condition, `{0}`.
const Import assertion_import("custom_call.shape_assertion", [](OpCall& c) -> Values {
  if (constant(c, 0) != std::vector<std::int64_t>{0}) return {};
  std::string message = c.find("error_message") ? c.need("error_message").text : "a shape is not as the function was exported for";
  for (std::size_t i = 1; i < c.num_operands(); ++i) {
    const std::string name = fmt::format("{{{}}}", i - 1);
    for (std::size_t at = message.find(name); at != std::string::npos; at = message.find(name, at))
      message.replace(at, name.size(), fmt::format("{}", constant(c, i)[0]));
  }
  c.fail(message);
});

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
  return as_static(c, "stablehlo.convolution", 2, {{"padding", pairs_of(c, constant(c, 2))}});
});

}  // namespace

Values with_stated_sizes(const OpCall& c, const std::vector<std::int64_t>& shapes, ImportFunction import) {
  Operation op = c.op;
  const std::size_t num_results = op.result_types.size(), num_operands = c.num_operands();
  if (shapes.size() != num_results || num_operands < num_results)
    c.fail(fmt::format("indices_of_shape_operands names {} operands, there are {} results", shapes.size(), num_results));
  const std::size_t first = num_operands - num_results;
  for (std::size_t i = 0; i < num_results; ++i) {
    if (shapes[i] != static_cast<std::int64_t>(first + i)) c.fail("the shapes of results are not the last operands");
    set_sizes(c, op.result_types[i], first + i);
  }
  Values values;
  for (std::size_t i = 0; i < first; ++i) values.push_back(c.value(i));
  op.operand_types.clear();
  OpCall sized(c.importer(), op, std::move(values), c.loc);
  return import(sized);
}

}  // namespace weft::detail::mlir
