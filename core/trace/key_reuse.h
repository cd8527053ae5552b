// config.debug_key_reuse: each key of random numbers is used once. A use is a sampler's, or a call of a function that gives the key to one.
#pragma once
#include <string>

#include "weft/core/base/config.h"
#include "weft/core/ir/jaxpr.h"
#include "weft/core/ir/rules.h"

namespace weft::detail {

/// Notes that `user` uses a key, or an array of keys. Throws Error, with the line of the first use, if it was used before: a key with a
/// value anywhere in the process, a traced one in the function that is being traced.
void note_key_use(const Array& key, const std::string& user, SourceLoc loc);

/// Notes a traced equation: its results may hold some of its operand's keys, moved (`keys(0)` twice is one key), or what an equation
/// before it gave (`keys(i)` twice, for a traced i).
void note_key_eqn(const Primitive& op, const ParamsRef& params, std::span<const Array> inputs, std::span<const Array> results);

/// What an equation's rule tells of the keys among its operands.
class KeyUses {
 public:
  virtual ~KeyUses() = default;
  /// A sub-program's inputs are the operands from `first` on, whole or, in each step, a slice: those that it gives to samplers are used.
  virtual void by_program(const Jaxpr& program, std::size_t first) = 0;
};
/// Which keys an equation uses, of an operation that doesn't do as its kind: a call uses what its body does, a sampler all of its keys, a
/// movement those that are used of its result.
struct KeyUseTransform {
  static constexpr std::string_view name = "key_use", doc = "Which random keys it uses, other than its kind does.";
  static constexpr Kind every = Kind::control;
  using Function = void(const ParamsBase&, KeyUses&);
};
template <class Op>
using KeyUseRule = Rule<KeyUseTransform, Op>;

/// Notes a use of each of the program's constants and inputs that it gives to a sampler.
void note_key_uses(const Jaxpr& program, std::span<const Array> inputs, const std::string& user, SourceLoc loc);
/// The same of the branches of a conditional, of which one runs.
void note_key_uses(std::span<const Jaxpr> branches, std::span<const Array> inputs, const std::string& user, SourceLoc loc);

/// The inputs of a loop's body: what it closes over, and where its carry is among them. Its first results are the carry again.
struct LoopInputs {
  std::size_t num_consts, first_carry, num_carry;
};
/// Notes the uses by a loop. Throws Error as well if its body uses the same key in every step: one that it closes over, or one that it
/// hands on as it is.
void note_loop_keys(const Jaxpr& body, const LoopInputs& loop, std::span<const Array> inputs, const std::string& user, SourceLoc loc);

}  // namespace weft::detail
