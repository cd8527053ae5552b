// composite: a call that has a name, attributes and a body. The body defines what it computes; every transform and every backend may use
// it. A transform or a backend with a better implementation for the name has a rule in its table:
//
//     struct CpuComposite { using Function = std::optional<Jaxpr>(const CompositeParams&, std::span<const Aval>); };
//     const CompositeRule<CpuComposite> on_cpu("weft.dot_product_attention", [](...) { ... });   // at namespace scope of any file
//     CpuComposite::Function* rule = find_composite_rule<CpuComposite>(params.name);        // null where there is none: take the body
#pragma once
#include <string>
#include <vector>

#include "weft/core/base/function_ref.h"
#include "weft/core/ir/attributes.h"
#include "weft/core/ops/control/call.h"

namespace weft {
std::string print_param(const Attributes& v);
void read_param(detail::ParamReader& r, Attributes& v);
}  // namespace weft

namespace weft::detail {

/// As StableHLO's: the name has its owner's before it, `my.gelu`. It promises what the body says; a rule looks at the operands all the
/// same, as anybody may write a program.
struct CompositeParams {
  Attributes attributes;
  Jaxpr jaxpr;  ///< the body, without constants
  std::string name;
  int version = 0;
  friend bool operator==(const CompositeParams&, const CompositeParams&) = default;
};

/// A map from composites' names to functions of one type. Thread-safe.
class CompositeTable {
 public:
  using Function = void();
  CompositeTable();
  CompositeTable(const CompositeTable&) = delete;
  CompositeTable& operator=(const CompositeTable&) = delete;
  ~CompositeTable() = delete;  // lives as long as the process
  /// Adds a rule. A later rule for the same name replaces an earlier one.
  void add(std::string_view name, Function* rule);
  Function* find(const std::string& name) const;

 private:
  struct Entries;
  Entries* const entries_;
};
template <class Transform>
CompositeTable& composite_table() {
  static CompositeTable& table = *new CompositeTable;
  return table;
}
/// The transform's rule for composites of that name, or null.
template <class Transform>
typename Transform::Function* find_composite_rule(const std::string& name) {
  return reinterpret_cast<typename Transform::Function*>(composite_table<Transform>().find(name));
}
/// The declaration of one rule.
template <class Transform>
struct CompositeRule {
  CompositeRule(std::string_view name, typename Transform::Function* rule) {
    composite_table<Transform>().add(name, reinterpret_cast<CompositeTable::Function*>(rule));
  }
};

// Rules that the library's own transforms use in place of the body. Where a rule returns nullopt, the body is used.
struct CompositeJvp {
  using Function = std::optional<JvpResult>(const JvpContext&);
};
struct CompositeLinearize {
  using Function = std::optional<JvpResult>(const JvpContext&);
};
struct CompositeTranspose {
  using Function = std::optional<std::vector<Tangent>>(const TransposeContext&);
};
struct CompositeBatch {
  using Function = std::optional<BatchResult>(const BatchContext&);
};

/// Binds a composite of the program; its constants become leading operands.
std::vector<Array> bind_composite(CompositeParams params, std::span<const Array> inputs, SourceLoc loc);
/// The result of a function of the library as a composite, named `weft.` and the function's name. Outside of any trace the body is just
/// executed.
Array named(std::string_view name, Attributes attributes, std::span<const Array> operands, SourceLoc loc,
            FunctionRef<Array(std::span<const Array>)> body);
/// Axes as an attribute: `1`, or `0, 2`.
Attribute axes_attribute(std::span<const int> axes);
/// The equation's parameters if it is a composite, else null.
const CompositeParams* as_composite(const Eqn& e);

}  // namespace weft::detail
