// The IR. A Jaxpr is an immutable, typed, first-order program in A-normal form:
//
//     { lambda consts ; inputs . let outputs = primitive[params] operands ... in (outputs) }
//
// Semantics that every pass keeps:
// - Variables are numbered in order of definition: constants, then inputs, then the results of each equation. Each is bound once.
// - Floating-point identities that change NaN, infinities or the sign of zero are not applied; reassociation only inside one reduction,
//   in an order fixed by its shape. Integers wrap around. Evaluation order is free but for equations with effects, which keep theirs.
// - Elementwise primitives accept operands of rank 0, and of size 1 along a dimension, and broadcast them (as JAX 0.10 does).
// - Sub-programs (of jit, scan, shard_map, ...) have no constants: what they close over is an explicit input.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/array/array.h"
#include "weft/core/trace/callable.h"

namespace weft {

namespace detail {

struct Primitive;
struct JaxprData;

using Var = std::uint32_t;

/// An operand: a variable, or an entry of the Jaxpr's table of literals.
class Atom {
 public:
  static constexpr Atom var(Var v) { return Atom(v); }
  static constexpr Atom literal(std::uint32_t index) { return Atom(index | kLiteral); }
  constexpr bool is_literal() const { return (bits_ & kLiteral) != 0; }
  constexpr Var var() const { return bits_; }
  constexpr std::uint32_t literal() const { return bits_ & ~kLiteral; }
  friend constexpr bool operator==(Atom, Atom) = default;

 private:
  static constexpr std::uint32_t kLiteral = 1u << 31;
  constexpr explicit Atom(std::uint32_t b) : bits_(b) {}
  std::uint32_t bits_;
};

/// A scalar constant. Compared bit by bit, so that -0.0 and NaN are kept apart.
struct Literal {
  Aval aval;
  alignas(16) std::array<std::byte, 16> bits{};
  friend bool operator==(const Literal&, const Literal&) = default;
};

/// An equation's parameters, of the type Op::Params of its primitive. See core/ir/params.h.
struct ParamsBase : RefCounted {};
using ParamsRef = Ref<const ParamsBase>;

}  // namespace detail

/// One equation: results = primitive[params] operands.
struct Eqn {
  /// The primitive's name, as in the Jaxpr's text.
  std::string primitive() const;
  /// The line of the user's call that made it.
  SourceLoc where() const { return loc; }

  const detail::Primitive* op = nullptr;
  detail::ParamsRef params;
  std::vector<detail::Atom> inputs;
  std::vector<detail::Var> outputs;  ///< consecutive numbers
  SourceLoc loc;
};

/// An immutable program, and a callable of its flat inputs. Copying copies a pointer.
class Jaxpr : public detail::Callable<Jaxpr> {
 public:
  /// The empty program: no inputs, no results.
  Jaxpr();
  explicit Jaxpr(detail::Ref<const detail::JaxprData> data) : data_(std::move(data)) {}
  /// Evaluates the program on its flat inputs. Returns one Array for each output.
  template <class... A>
  std::vector<Array> call(SourceLoc loc, const A&... args) const {
    return run({Arg(args, loc)...}, loc);
  }
  /// The same of a list of arrays (jax.core.eval_jaxpr).
  std::vector<Array> call(SourceLoc loc, const std::vector<Array>& args) const { return run({args.begin(), args.end()}, loc); }
  const std::vector<Eqn>& eqns() const;
  /// Types of the inputs (without constants) and of the results.
  std::vector<ShapeDtypeStruct> in_avals() const;
  std::vector<ShapeDtypeStruct> out_avals() const;
  /// Throws Error if the program breaks a rule of the IR: a variable used before it is bound, a type that the primitive doesn't give, ...
  void check() const;
  /// Whether the programs are equal except for source lines.
  friend bool operator==(const Jaxpr& a, const Jaxpr& b);
  friend std::ostream& operator<<(std::ostream& os, const Jaxpr& j);
  /// The program in JAX's notation, as fmt prints it.
  std::string to_string() const;

  /// For the library.
  const detail::JaxprData& data() const { return *data_; }

 private:
  std::vector<Array> run(std::vector<Arg> args, SourceLoc loc) const;
  detail::KeptRef<const detail::JaxprData> data_;
};

/// Reads a program in the notation that printing writes; unknown primitives and parameters are errors with line and column.
Jaxpr parse(std::string_view text, SourceLoc loc = SourceLoc::here());

namespace detail {

/// The contents of a Jaxpr: flat vectors, indices instead of pointers. Only JaxprBuilder makes one.
struct JaxprData : RefCounted {
  std::vector<Aval> avals;  ///< of each variable: constants, inputs, results of equations
  int num_consts = 0;
  int num_inputs = 0;
  std::vector<Eqn> eqns;
  std::vector<Atom> outputs;
  std::vector<Literal> literals;
  std::vector<Array> consts;  ///< values of the constants; they may be traced by an outer trace

  const Aval& aval(Atom a) const { return a.is_literal() ? literals[a.literal()].aval : avals[a.var()]; }
  Var first_input() const { return static_cast<Var>(num_consts); }
  Var first_result() const { return static_cast<Var>(num_consts + num_inputs); }
  std::span<const Aval> input_avals() const {
    return std::span(avals).subspan(static_cast<std::size_t>(num_consts), static_cast<std::size_t>(num_inputs));
  }
  std::vector<Aval> output_avals() const;
};

/// Makes a Jaxpr equation by equation.
class JaxprBuilder {
 public:
  JaxprBuilder();
  /// Inputs must all be added before the first equation; constants may be added at any time.
  Atom add_input(const Aval& aval);
  Atom add_const(const Array& value);
  Atom add_literal(const Literal& literal);
  /// Appends an equation with results of the given types.
  std::vector<Atom> add_eqn(const Primitive& op, ParamsRef params, std::vector<Atom> inputs, std::span<const Aval> out_avals,
                            SourceLoc loc);
  const Aval& aval(Atom a) const;
  /// The finished program. Variables are renumbered so that constants come first; unused constants are dropped.
  Jaxpr finish(std::vector<Atom> outputs) &&;

  /// The equations so far, for a trace that computes values on demand. Their variables are numbered in order of addition.
  const std::vector<Eqn>& eqns() const { return eqns_; }
  /// The equation that binds a variable, or -1 for an input or a constant.
  int defining_eqn(Var v) const { return defined_by_[v]; }
  const Literal& literal(Atom a) const { return literals_[a.literal()]; }
  const std::vector<std::pair<Var, Array>>& consts() const { return consts_; }

 private:
  Var new_var(const Aval& aval, int eqn);
  std::vector<Aval> avals_;
  std::vector<int> defined_by_;
  std::vector<Var> inputs_;
  std::vector<std::pair<Var, Array>> consts_;
  std::vector<Eqn> eqns_;
  std::vector<Literal> literals_;
};

/// The same program with its constants as leading inputs, and their values.
struct Hoisted {
  Jaxpr jaxpr;
  std::vector<Array> consts;
};
Hoisted hoist_consts(const Jaxpr& j);

/// Runs the program on the arguments, equation by equation: staged into the current trace, or executed where there is none.
std::vector<Array> eval_jaxpr(const Jaxpr& j, std::span<const Array> args);

/// A hash of the structure (primitives, params, types, literals; not source lines, not constants' values), stable across processes.
std::uint64_t structural_hash(const Jaxpr& j);

}  // namespace detail
}  // namespace weft
