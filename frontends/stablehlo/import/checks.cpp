// What programs check of themselves: operations of the check dialect, and custom calls of those names.
#include "weft/frontends/stablehlo/import/functions.h"
#include "weft/frontends/stablehlo/import/importer.h"
#include "weft/frontends/stablehlo/import/regions.h"

namespace weft::detail::mlir {
namespace {

/// The expected values: a constant beside the operation, or the second operand.
Array expected(const OpCall& c) {
  if (const Attribute* value = c.find("value")) return array_of(*value, c);
  for (const Attribute& w : c.op.words)
    if (w.kind == Attribute::Kind::dense) return array_of(w, c);
  return c.in(1);
}

/// What holds where a check says no tolerance: the dialect's defaults, or for custom calls those of stablehlo-translate, which runs them.
struct Defaults {
  double tolerance;
  std::int64_t ulps;
};
constexpr Defaults kDialect{1e-4, 1}, kCustomCall{1e-3, 3};

Values import_equal(OpCall& c) {
  c.importer().add_check({.kind = StablehloCheck::Kind::equal}, c.in(0), expected(c), c.op.place);
  return {};
}
template <const Defaults& kDefaults>
Values import_almost_equal(OpCall& c) {
  const Attribute* tolerance = c.find("tolerance");
  c.importer().add_check({.kind = StablehloCheck::Kind::almost_equal, .tolerance = tolerance ? tolerance->real : kDefaults.tolerance},
                         c.in(0), expected(c), c.op.place);
  return {};
}
template <const Defaults& kDefaults>
Values import_close(OpCall& c) {
  StablehloCheck check{.kind = StablehloCheck::Kind::close};
  check.max_ulp_difference = static_cast<std::uint64_t>(c.integer_or("max_ulp_difference", kDefaults.ulps));
  check.min_ulp_difference = static_cast<std::uint64_t>(c.integer_or("min_ulp_difference", 0));
  c.importer().add_check(check, c.in(0), c.in(1), c.op.place);
  return {};
}
const Import eq_import("check.expect_eq", import_equal), eq_const_import("check.expect_eq_const", import_equal);
const Import almost_import("check.expect_almost_eq", import_almost_equal<kDialect>),
    almost_const_import("check.expect_almost_eq_const", import_almost_equal<kDialect>),
    almost_call_import("custom_call.check.expect_almost_eq", import_almost_equal<kCustomCall>);
const Import close_import("check.expect_close", import_close<kDialect>),
    close_call_import("custom_call.check.expect_close", import_close<kCustomCall>);

/// Calls of functions that are not part of the module: those whose name is in the table of operations, as `check.expect_eq` or
/// `custom_call.Sharding` under which others may add theirs.
const Import custom_call_import("stablehlo.custom_call", [](OpCall& c) -> Values {
  const std::string target = c.symbol("call_target_name");
  if (const ImportFunction known = find_import("custom_call." + target)) return known(c);
  if (target.rfind("check.", 0) == 0)
    if (const ImportFunction check = find_import(target)) return check(c);
  c.fail("the target @" + target + " is not known");
});

Values import_as_it_is(OpCall& c) {
  Values out;
  for (std::size_t i = 0; i < c.num_operands(); ++i) out.push_back(c.value(i));
  return out;
}
// Where values lie is not what they are.
const Import sharding_import("custom_call.Sharding", import_as_it_is),
    to_shard_import("custom_call.annotate_device_placement", import_as_it_is),
    layout_import("custom_call.LayoutConstraint", import_as_it_is);

}  // namespace
}  // namespace weft::detail::mlir
