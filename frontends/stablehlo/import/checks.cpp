// Checks within programs: operations of the check dialect, and custom calls of those names.
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

}  // namespace
}  // namespace weft::detail::mlir
