// The rules of check_vma (core/trace/varying.h) for operations with sub-programs: which of their results vary, and how their programs are
// marked. Collectives say it by their members (CollectiveRules), all others vary as their operands together do.
#pragma once
#include <optional>
#include <vector>

#include "weft/core/ir/rules.h"
#include "weft/core/trace/varying.h"

namespace weft::detail {

using VaryingList = std::vector<Varying>;

/// The sets of axes that an equation's operands must be marked with, and those of its results.
struct EqnVarying {
  VaryingList need, out;
  ParamsRef params = {};  ///< replace the equation's own if its programs had to be marked; else null
};

struct VaryingContext {
  const Primitive& op;
  const ParamsBase& params;
  const VaryingList& in;
  std::span<const Aval> avals;
  template <class P>
  const P& get() const {
    return params_as<P>(params);
  }
};

/// Rules that give the sets of an equation's results, where its sub-programs are marked for these operands; nullopt if they aren't. An
/// operation with sub-programs and without a rule may not have pvary in them, unless all operands vary over the same axes.
struct VaryingTransform {
  static constexpr std::string_view name = "varying", doc = "Which results vary between devices, of an operation with programs.";
  static constexpr Kind every = Kind::control;
  using Function = std::optional<VaryingList>(const VaryingContext&);
};
template <class Op>
using VaryingRule = Rule<VaryingTransform, Op>;
/// Rules that add the pvary equations which an equation's sub-programs need after a rewrite.
struct MarkVaryingTransform {
  static constexpr std::string_view name = "mark_varying", doc = "Its programs with marks of what varies.";
  static constexpr Kind every = Kind::control;
  using Function = EqnVarying(const VaryingContext&);
};
template <class Op>
using MarkVaryingRule = Rule<MarkVaryingTransform, Op>;

/// The sets of a program's results, for inputs with these sets; nullopt if the program isn't marked for them.
std::optional<VaryingList> varying_of_program(const Jaxpr& j, const VaryingList& in);
/// The program with the pvary equations that inputs with these sets need; its first results vary at least over `wanted`.
Jaxpr mark_program(const Jaxpr& j, const VaryingList& in, VaryingList& out, const VaryingList& wanted = {});
/// Adds to a carry's sets those of the body's results, and `common`. Returns whether any set grew.
bool widen(VaryingList& carry, const VaryingList& out, Varying common = 0);

/// The two rules for operations that run one body on their operands.
std::optional<VaryingList> varying_of_body(const VaryingContext& c);
EqnVarying mark_body(const VaryingContext& c);

inline VaryingList part_of(const VaryingList& v, std::size_t first, std::size_t count) {
  return {v.begin() + static_cast<std::ptrdiff_t>(first), v.begin() + static_cast<std::ptrdiff_t>(first + count)};
}
inline VaryingList followed_by(VaryingList a, const VaryingList& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace weft::detail
