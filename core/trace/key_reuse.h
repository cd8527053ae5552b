// The check of config.debug_key_reuse: each random key is used once. A sampler uses its key, and so does a call of a function that samples.
#pragma once
#include <string>

#include "weft/core/base/config.h"
#include "weft/core/ir/jaxpr.h"
#include "weft/core/ir/rules.h"

namespace weft::detail {

/// Notes that `user` uses a key, or an array of keys. Throws Error, with the line of the first use, if it was used before: a key with a
/// value anywhere in the process, a traced one in the function that is being traced.
void note_key_use(const Array& key, const std::string& user, SourceLoc loc);

/// Records a traced equation, so that keys are followed through movements: `keys(0)` twice is one key, and so is `keys(i)` twice for a
/// traced i.
void note_key_eqn(const Primitive& op, const ParamsRef& params, std::span<const Array> inputs, std::span<const Array> results);

/// Receives which keys an equation uses, from the rule of its operation.
class KeyUses {
 public:
  virtual ~KeyUses() = default;
  /// The operands from `first` on are the inputs of a sub-program, whole or sliced in each step: those that it gives to samplers are used.
  virtual void by_program(const Jaxpr& program, std::size_t first) = 0;
};
/// Rules for the keys that an equation uses, for operations that differ from the default of their kind: a call uses the keys that its body
/// uses, a sampler all of its keys, a movement those of its result that are used.
struct KeyUseTransform {
  static constexpr std::string_view name = "key_use", doc = "Which random keys it uses, other than its kind does.";
  static constexpr Kind every = Kind::control;
  using Function = void(const ParamsBase&, KeyUses&);
};
template <class Op>
using KeyUseRule = Rule<KeyUseTransform, Op>;

/// Notes a use of each of the program's constants and inputs that it gives to a sampler.
void note_key_uses(const Jaxpr& program, std::span<const Array> inputs, const std::string& user, SourceLoc loc);
/// Notes the uses by a conditional's branches, of which one runs.
void note_key_uses(std::span<const Jaxpr> branches, std::span<const Array> inputs, const std::string& user, SourceLoc loc);

/// The inputs of a loop's body: what it closes over, and where its carry is among them. Its first results are the carry again.
struct LoopInputs {
  std::size_t num_consts, first_carry, num_carry;
};
/// Notes the uses by a loop. Also throws Error if its body uses the same key in every step: one that it closes over, or one that it carries
/// unchanged.
void note_loop_keys(const Jaxpr& body, const LoopInputs& loop, std::span<const Array> inputs, const std::string& user, SourceLoc loc);

}  // namespace weft::detail
