// Structured control flow: cond, while and scan, each one equation with its sub-programs, so that loops stay loops.
#pragma once
#include "weft/core/ir/primitive.h"

namespace weft::detail {

/// One of several programs, chosen by an int32 index (clamped). Operands: index, then the operands of every branch (jax.lax.switch).
struct Cond {
  struct Params {
    std::vector<Jaxpr> branches;
    friend bool operator==(const Params&, const Params&) = default;
  };
  static constexpr std::string_view name = "cond", doc = "Runs the branch that the index names.";
  static constexpr Kind kind = Kind::control;
  static std::vector<Aval> abstract_eval(const OpContext& c);
  static JvpResult jvp_call(const JvpContext& c);
  static JvpResult linearize_call(const JvpContext& c);
  static std::vector<Tangent> transpose(const TransposeContext& c);
  static BatchResult batch(const BatchContext& c);
};

/// Repeats body while cond holds. Operands: constants of cond, constants of body, the carry (jax.lax.while_loop).
struct While {
  struct Params {
    Jaxpr body_jaxpr;
    int body_nconsts = 0;
    Jaxpr cond_jaxpr;
    int cond_nconsts = 0;
    std::int64_t max_steps = 0;  ///< a bound on the number of steps, for reverse mode; 0: none is known
    int checkpoints = 0;         ///< states that reverse mode keeps (core/ops/control/checkpoint_schedule.h)
    friend bool operator==(const Params&, const Params&) = default;
  };
  static constexpr std::string_view name = "while", doc = "Repeats the body while the condition holds.";
  static constexpr Kind kind = Kind::control;
  static std::vector<Aval> abstract_eval(const OpContext& c);
  static JvpResult jvp_call(const JvpContext& c);
  static JvpResult linearize_call(const JvpContext& c);
  static std::vector<Tangent> transpose(const TransposeContext& c);
  static BatchResult batch(const BatchContext& c);
};

/// A loop whose condition gives an array, one bool a lane (the leading axes of every carry), as one whose condition is a scalar: it goes on
/// while any lane does, and lanes that are done keep their value. JAX prints such loops. The operands become (constants of cond, constants
/// of cond, constants of body, carry).
While::Params while_lanes(const While::Params& p, const std::vector<Aval>& cond_consts, const std::vector<Aval>& body_consts,
                          const std::vector<Aval>& carry);

/// A loop with a bound on its steps as a program of scans, which has a reverse.
Jaxpr bounded_while(const While::Params& p, std::span<const Array> in, SourceLoc loc);

/// Runs body `length` times over the leading axis of xs, handing on a carry and stacking ys. Operands: constants, carry, xs; the body takes
/// them (one slice of each x) and gives (carry, ys) (jax.lax.scan).
struct Scan {
  struct Params {
    Jaxpr jaxpr;
    std::int64_t length = 0;
    int num_carry = 0;
    int num_consts = 0;
    bool reverse = false;
    int unroll = 1;
    int checkpoints = 0;  ///< as a while's
    friend bool operator==(const Params&, const Params&) = default;
  };
  static constexpr std::string_view name = "scan", doc = "Runs a body over the leading axis, handing on a carry.";
  static constexpr Kind kind = Kind::control;
  static std::vector<Aval> abstract_eval(const OpContext& c);
  static JvpResult jvp_call(const JvpContext& c);
  static JvpResult linearize_call(const JvpContext& c);
  static std::vector<Tangent> transpose(const TransposeContext& c);
  static BatchResult batch(const BatchContext& c);
};

PrimitiveList control_primitives();

}  // namespace weft::detail
