// The rules of check_vma (core/trace/varying.h) for operations with sub-programs: which of their results vary, and how their programs are
// marked. Collectives say it by their members (CollectiveRules), all others vary as their operands together do.
#pragma once
#include <optional>
#include <vector>

#include "weft/core/ir/rules.h"
#include "weft/core/trace/varying.h"

namespace weft::detail {

using VaryingList = std::vector<Varying>;

/// What an equation asks of its operands, and what its results are.
struct EqnVarying {
  VaryingList need, out;
  ParamsRef params = {};  ///< others than its own, if its programs had to be marked
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

/// The results of an equation whose programs are marked for operands like these; nothing if they aren't, or it is not known. An operation
/// with programs and without a rule may not have marks in them, unless all that goes in varies alike.
struct VaryingTransform {
  static constexpr std::string_view name = "varying", doc = "Which results vary between devices, of an operation with programs.";
  static constexpr Kind every = Kind::control;
  using Function = std::optional<VaryingList>(const VaryingContext&);
};
template <class Op>
using VaryingRule = Rule<VaryingTransform, Op>;
/// An equation whose programs come out of a rewrite, without all the marks that they need: with them.
struct MarkVaryingTransform {
  static constexpr std::string_view name = "mark_varying", doc = "Its programs with marks of what varies.";
  static constexpr Kind every = Kind::control;
  using Function = EqnVarying(const VaryingContext&);
};
template <class Op>
using MarkVaryingRule = Rule<MarkVaryingTransform, Op>;

/// The results of a program with its marks for inputs like these; nothing if it doesn't have those.
std::optional<VaryingList> varying_of_program(const Jaxpr& j, const VaryingList& in);
/// The program marked for inputs that vary so; the first results vary as wanted, at least.
Jaxpr mark_program(const Jaxpr& j, const VaryingList& in, VaryingList& out, const VaryingList& wanted = {});
/// Makes a carry vary as the body's results do, and as `common`; whether it varies more than it did.
bool widen(VaryingList& carry, const VaryingList& out, Varying common = 0);

/// The two rules of a call that is its body.
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
