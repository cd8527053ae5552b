// Where JAX writes an operation's equations in a way of their own, the operation has rules for the printer and the parser.
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "weft/core/ir/rules.h"

namespace weft::detail {

/// A parameter with a text; an empty one is any.
struct ParamValue {
  std::string_view name, text;
};
struct TextTraits {
  /// The name in texts, if it isn't the primitive's. Two primitives of one name there are told apart by their operands.
  std::string_view name = {};
  std::span<const ParamValue> left_out = {};  ///< what printing leaves out: the result's type says it, or it is the usual value
  std::span<const ParamValue> added = {};     ///< what JAX prints and the primitive does not have, as it knows only this one value of it
  std::span<const ParamValue> ignored = {};   ///< what a text may have beside these: it is decided otherwise here
  /// Of a scatter: the operation of the program that JAX prints as its update_jaxpr.
  std::string_view update = {};
  /// Its parameter `name` is that of the function that its program is: the program is defined under it, and the program's variables are
  /// called as what is passed for them.
  bool is_function = false;
  /// A list of programs is written as a tuple of this name, with these names of its fields; one that gives nothing is `None`.
  std::string_view tuple = {};
  std::span<const std::string_view> fields = {};
};
struct TextTransform {
  static constexpr std::string_view name = "text", doc = "How it is printed and read where JAX has a way of its own.";
  using Function = TextTraits();
};
template <class Op>
using TextRule = Rule<TextTransform, Op>;
/// Those of the primitive; all defaults for one that has no rule.
inline TextTraits text_traits(const Primitive& op) {
  TextTransform::Function* const rule = find_rule<TextTransform>(op);
  return rule ? rule() : TextTraits();
}

/// An equation as it was read, with its operands' types.
struct TextEquation {
  const Primitive* op;
  ParamsRef params;
  std::vector<Atom> inputs;
  std::vector<Aval> avals;
};
/// Makes of an equation in a form that only JAX has one that the library has.
struct ReadTransform {
  static constexpr std::string_view name = "read", doc = "What is made of an equation in a form that only JAX has.";
  using Function = void(TextEquation&);
};
template <class Op>
using ReadRule = Rule<ReadTransform, Op>;

}  // namespace weft::detail
