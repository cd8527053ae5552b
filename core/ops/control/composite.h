// composite: a call that has a name, attributes and a body. The body says what it computes: every transform and every backend may take it.
// A transform or a backend that knows the name may do better; it has a rule for it in its table:
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

/// Functions by a composite's name, of any one type. Rules may be added while others are looked up.
class CompositeTable {
 public:
  using Function = void();
  CompositeTable();
  CompositeTable(const CompositeTable&) = delete;
  CompositeTable& operator=(const CompositeTable&) = delete;
  ~CompositeTable() = delete;  // lives as long as the process
  /// The later of two rules for one name holds.
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

// The rules that take another way than the body through the library's own transforms. A rule that gives nothing leaves it to the body.
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
/// The body's result, as a composite of the library's own: `weft.` and the function's name. Where nothing is traced nobody would look at
/// the name, and the body just runs.
Array named(std::string_view name, Attributes attributes, std::span<const Array> operands, SourceLoc loc,
            FunctionRef<Array(std::span<const Array>)> body);
/// Axes as an attribute: `1`, or `0, 2`.
Attribute axes_attribute(std::span<const int> axes);
/// The equation's parameters if it is a composite, else null.
const CompositeParams* as_composite(const Eqn& e);

}  // namespace weft::detail
