// Calls of functions that are not part of the module.
#include "weft/frontends/stablehlo/import/importer.h"
#include "weft/frontends/stablehlo/import/stated_sizes.h"

namespace weft::detail::mlir {
namespace {

/// Those whose name is in the table of operations, as `check.expect_eq` or `custom_call.Sharding` under which others may add theirs.
const Import custom_call_import("stablehlo.custom_call", [](OpCall& c) -> Values {
  const std::string target = c.symbol("call_target_name");
  if (const ImportFunction known = find_import("custom_call." + target)) {
    const std::vector<std::int64_t> shapes = c.integers("indices_of_shape_operands");
    return shapes.empty() ? known(c) : with_stated_sizes(c, shapes, known);
  }
  if (target.rfind("check.", 0) == 0)
    if (const ImportFunction check = find_import(target)) return check(c);
  c.fail("the target @" + target + " is not known");
});

Values import_as_it_is(OpCall& c) {
  Values out;
  for (std::size_t i = 0; i < c.num_operands(); ++i) out.push_back(c.value(i));
  return out;
}
// Where values are is not what they are.
const Import sharding_import("custom_call.Sharding", import_as_it_is),
    to_shard_import("custom_call.annotate_device_placement", import_as_it_is),
    layout_import("custom_call.LayoutConstraint", import_as_it_is),
    result_import("custom_call.xla.sdy.FuncResultSharding", import_as_it_is);

// JAX's mark of a value as used, which keeps XLA from removing it before a device reads it: no effect here.
const Import sink_import("custom_call.dce_sink", [](OpCall&) -> Values { return {}; });
// JAX's order of two values that don't depend on each other (jax.experimental.control_deps): the program's schedule is weft's own.
const Import order_import("custom_call.control_dep", [](OpCall&) -> Values { return {}; });

/// Operations of chlo that were written down as calls, for readers that don't have them: `@mhlo.NAME`, the attributes in one.
Values import_of_chlo(OpCall& c) {
  constexpr std::size_t kDialect = sizeof "mhlo." - 1;
  Operation op = c.op;
  op.name = "chlo." + c.symbol("call_target_name").substr(kDialect);
  if (const Attribute* attributes = c.find("mhlo.attributes")) op.attributes = *attributes;
  Values operands;
  for (std::size_t i = 0; i < c.num_operands(); ++i) operands.push_back(c.value(i));
  OpCall call(c.importer(), op, std::move(operands), c.loc);
  const ImportFunction import = find_import(op.name);
  if (!import) c.fail("the operation " + op.name + " is not known");
  return import(call);
}
const Import erf_import("custom_call.mhlo.erf", import_of_chlo), asin_import("custom_call.mhlo.asin", import_of_chlo),
    asinh_import("custom_call.mhlo.asinh", import_of_chlo), acos_import("custom_call.mhlo.acos", import_of_chlo),
    acosh_import("custom_call.mhlo.acosh", import_of_chlo), atanh_import("custom_call.mhlo.atanh", import_of_chlo),
    cosh_import("custom_call.mhlo.cosh", import_of_chlo), sinh_import("custom_call.mhlo.sinh", import_of_chlo),
    tan_import("custom_call.mhlo.tan", import_of_chlo);
const Import top_k_import("custom_call.mhlo.topk", [](OpCall& c) -> Values {
  const Attribute* attributes = c.find("mhlo.attributes");
  const Attribute* largest = attributes ? attributes->find("largest") : nullptr;
  if (largest && largest->integer == 0) c.fail("the smallest elements are not known as a call");
  Operation op = c.op;
  op.name = "chlo.top_k";
  if (attributes) op.attributes = *attributes;
  OpCall call(c.importer(), op, {c.value(0)}, c.loc);
  return find_import(op.name)(call);
});

}  // namespace
}  // namespace weft::detail::mlir
