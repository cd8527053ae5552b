// What a primitive is: one struct that holds everything true of an operation, and becomes one constant table entry.
//
//     struct Tanh : Unary {                                            // a kind base supplies what all of its kind share
//       static constexpr std::string_view name = "tanh", doc = "Hyperbolic tangent.";
//       using Params = NoParams;
//       static Aval abstract_eval(const OpContext&);                   // types: checks operands, gives the results'
//       static std::vector<Tangent> jvp(const JvpContext&);            // forward derivative; reverse mode is derived from it
//       static std::vector<Tangent> transpose(const TransposeContext&);// linear (or bilinear) primitives only
//       static BatchResult batch(const BatchContext&);                 // vmap
//       static void reference(const ReferenceContext&);                // slow and obvious: the oracle
//       static KernelValue lower(KernelBuilder&, ...);                 // by kind, see LowerContext
//     };
//
// make_primitive<Op>() checks at compile time that nothing is missing; opting out is written down as a constant (`not_differentiable`,
// ...).
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/errors/error.h"
#include "weft/core/ir/jaxpr.h"
#include "weft/core/ir/params.h"

namespace weft::detail {

class KernelBuilder;  // core/ir/kernel_builder.h: what an elementwise primitive's lower() writes its expression with
struct KernelValue;

/// How a backend implements a primitive: each kind has one emitter. The set of kinds is closed, that of primitives is open.
enum class Kind {
  elementwise,  ///< results at an index depend on the operands at that index; lower()
  movement,     ///< each element of each result is one operand element or a fill value: movement()
  concatenate,  ///< movement of several operands, each to a part of the result: movement()
  iota,         ///< no operands: elements computed from the index
  reduce,       ///< one or more axes reduced by an associative operation
  arg_reduce,   ///< position of the extremum
  cumulative,   ///< running reduction along an axis
  dot,          ///< dot_general
  convolution,
  gather,
  scatter,
  dynamic_slice,
  dynamic_update_slice,
  reduce_window,
  sort,
  random,      ///< counter-based bits
  call,        ///< runs a program once: a sub-program (jit, remat, custom_jvp_call, ...), or one made of it (reduce by a program, ...)
  control,     ///< scan, while, cond
  spmd,        ///< shard_map
  collective,  ///< communicates over named axes
  library,     ///< executed by a library routine or by reference()
  effect,      ///< callbacks
};

/// A tangent or cotangent; nullopt is a symbolic zero.
using Tangent = std::optional<Array>;

/// An operand's elements on the host, row-major.
struct HostTensor {
  Aval aval;
  void* data = nullptr;
  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

struct OpContext {
  const Primitive& op;
  const ParamsBase& params;
  std::span<const Aval> in;
  SourceLoc loc;
  template <class P>
  const P& get() const {
    return params_as<P>(params);
  }
  /// Throws E: `<op>: <problem>; <remedy>` with the operands' types and the user's line.
  template <class E>
  [[noreturn]] void fail(const std::string& problem, const std::string& remedy = {}) const {
    throw E(describe(problem, remedy), loc);
  }
  std::string describe(const std::string& problem, const std::string& remedy) const;
};

struct JvpContext {
  const Primitive& op;
  const ParamsRef& params;
  std::span<const Array> in;          ///< primals
  std::span<const Array> out;         ///< primal results, already computed; empty for jvp_call and linearize_call
  std::span<const Tangent> tangents;  ///< one for each operand
  SourceLoc loc;
  template <class P>
  const P& get() const {
    return params_as<P>(*params);
  }
};
/// Results of a rule that computes primals and tangents together.
struct JvpResult {
  std::vector<Array> out;
  std::vector<Tangent> tangents;
};

/// An operand of an equation being transposed: linear, so that its cotangent is wanted, or a known value.
class Operand {
 public:
  Operand(const Eqn& eqn, std::size_t position, const Aval& type, std::optional<Array> known)
      : aval(type), eqn_(&eqn), position_(position), value_(std::move(known)) {}
  Aval aval;
  bool is_linear() const { return !value_; }
  /// The operand's value, where a rule needs it. Throws TracerError, with the operation and its line, for a linear operand: the program is
  /// then not linear.
  const Array& known() const {
    if (!value_) throw_not_linear();
    return *value_;
  }

 private:
  [[noreturn]] void throw_not_linear() const;
  const Eqn* eqn_;
  std::size_t position_;
  std::optional<Array> value_;
};
struct TransposeContext {
  const Primitive& op;
  const ParamsRef& params;
  std::span<const Tangent> cotangents;  ///< one for each result
  std::span<const Aval> out_avals;
  std::span<const Operand> in;
  SourceLoc loc;
  template <class P>
  const P& get() const {
    return params_as<P>(*params);
  }
};

inline constexpr int kNotMapped = -1;
/// The axis that vmap maps over.
struct MappedAxis {
  std::string name;  ///< empty: none
  std::int64_t size = 0;
  std::string spmd_name = {};  ///< vmap's spmd_axis_name
};
struct BatchContext {
  const Primitive& op;
  const ParamsRef& params;
  std::span<const Array> in;
  std::span<const int>
      dims;  ///< where the mapped axis is in each operand, or kNotMapped; at least one is mapped, unless the axis is named in params
  const MappedAxis& axis;
  SourceLoc loc;
  template <class P>
  const P& get() const {
    return params_as<P>(*params);
  }
};
struct BatchResult {
  std::vector<Array> out;
  std::vector<int> dims;
};

struct ReferenceContext {
  const ParamsBase& params;
  std::span<const HostTensor> in;
  std::span<const HostTensor> out;  ///< to be filled
  template <class P>
  const P& get() const {
    return params_as<P>(params);
  }
};

/// The index map of a movement: operand coordinate d is ((scale * result coordinate[out_dim] + offset) / divisor), modulo `modulus` if
/// that is not 0; it is `offset` if out_dim is -1. Where `guarded`, a coordinate out of range or not divisible means the fill value
/// (operand 1 of pad).
struct MovementDim {
  int out_dim = -1;
  std::int64_t scale = 0, offset = 0, divisor = 1;
  std::int64_t modulus = 0;  ///< not 0 for tile only
};
struct Movement {
  std::vector<MovementDim> dims;  ///< one for each dimension of the operand
  bool guarded = false;
  bool reshape = false;         ///< instead of dims: the element with the same row-major position
  std::vector<int> order = {};  ///< of a reshape: the operand's dimensions, slowest first, that the position counts; empty: in order
  /// For kind concatenate: the operand holds the result elements whose coordinate `part_dim` is in [part_begin, part_end).
  int part_dim = -1;
  std::int64_t part_begin = 0, part_end = 0;
};

/// The associative and commutative operation of a primitive that reduces, and of the binary elementwise primitive that computes it. Its
/// identity is the result of reducing no elements.
enum class Combiner { sum, prod, max, min, logical_and, logical_or, bit_xor, logsumexp };

/// What a reduction gives of the elements that it reduces.
enum class Reduces {
  total,        ///< all of them combined
  position,     ///< where the extremum is
  prefixes,     ///< each combined with those before it
  contraction,  ///< the sum of the products of two operands' elements
};

struct CollectiveRules;

struct Primitive {
  std::string_view name, doc;
  Kind kind;
  bool has_effects = false;
  int num_operands = -1;  ///< checked before abstract_eval sees them; -1: that checks itself

  void (*abstract_eval)(const OpContext&, std::vector<Aval>& out);
  std::vector<Tangent> (*jvp)(const JvpContext&);  ///< null: jvp_call, or not differentiable
  JvpResult (*jvp_call)(const JvpContext&);        ///< primals and tangents at once
  JvpResult (*linearize_call)(const JvpContext&);  ///< the same, with the tangents computed by equations that are linear in them
  std::string_view not_differentiable;             ///< why there is no derivative; empty if there is one or it is zero
  std::vector<Tangent> (*transpose)(const TransposeContext&);  ///< null: not linear in any operand
  BatchResult (*batch)(const BatchContext&);
  void (*reference)(const ReferenceContext&);  ///< null: executed by its kind (call, control, spmd, collective, effect)
  KernelValue (*lower)(
      KernelBuilder&, const ParamsBase&,
      std::span<const KernelValue>);  ///< elementwise; id -1 where there is no lowering for the operands' dtypes: then run reference()
  /// Kind movement: from operand 0 to result `which`. Kind concatenate: from operand `which` to result 0.
  Movement (*movement)(const ParamsBase&, std::span<const Aval> in, const Aval& out, int which);
  std::optional<Reduces> reduces;                           ///< absent: it isn't a reduction
  std::span<const int> (*reduced_dims)(const ParamsBase&);  ///< of a reduction: the dimensions of operand 0 that it reduces
  std::optional<Combiner> combiner;        ///< the operation of a reduction, also over devices, or of a binary elementwise primitive
  const CollectiveRules& (*collective)();  ///< kind collective: core/ops/collective/collective.h
  /// Kind call has one of these two. Either the sub-program that computes the results from the operands as they are,
  const Jaxpr& (*body)(const ParamsBase&);
  /// or a function that makes such a program for the operands; the sub-programs among the parameters are parts of it.
  Jaxpr (*call_body)(const ParamsBase&, std::span<const Aval> in);

  bool (*params_equal)(const ParamsBase&, const ParamsBase&);
  std::vector<ParamText> (*params_list)(const ParamsBase&);
  ParamsRef (*params_map_jaxprs)(const ParamsBase&, Jaxpr (*)(const Jaxpr&, void*), void*);  ///< null: there are no sub-programs
  ParamsRef (*params_read)(ParamReader* (*)(std::string_view, void*), void*);
};

namespace contract {
template <class Op>
concept HasKind = requires {
  { Op::kind } -> std::convertible_to<Kind>;
};
template <class Op>
concept HasJvp = requires(const JvpContext& c) {
  { Op::jvp(c) } -> std::same_as<std::vector<Tangent>>;
};
template <class Op>
concept HasJvpCall = requires(const JvpContext& c) {
  { Op::jvp_call(c) } -> std::same_as<JvpResult>;
  { Op::linearize_call(c) } -> std::same_as<JvpResult>;
};
template <class Op>
concept HasTranspose = requires(const TransposeContext& c) {
  { Op::transpose(c) } -> std::same_as<std::vector<Tangent>>;
};
template <class Op>
concept HasBatch = requires(const BatchContext& c) {
  { Op::batch(c) } -> std::same_as<BatchResult>;
};
template <class Op>
concept HasReference = requires(const ReferenceContext& c) { Op::reference(c); };
template <class Op>
concept HasLower = requires(KernelBuilder& b, const typename Op::Params& p, std::span<const KernelValue> v) {
  { Op::lower(b, p, v) } -> std::same_as<KernelValue>;
};
template <class Op>
concept HasMovement = requires(const typename Op::Params& p, std::span<const Aval> in, const Aval& out) {
  { Op::movement(p, in, out, 0) } -> std::same_as<Movement>;
};
template <class Op>
concept HasReducedDims = requires(const typename Op::Params& p) {
  { Op::reduces } -> std::convertible_to<Reduces>;
  { Op::reduced_dims(p) } -> std::convertible_to<std::span<const int>>;
};
template <class Op>
concept RunsBody = requires(const typename Op::Params& p) {
  { Op::body(p) } -> std::same_as<const Jaxpr&>;
};
template <class Op>
concept MakesBody = requires(const ParamsBase& p, std::span<const Aval> in) {
  { Op::call_body(p, in) } -> std::same_as<Jaxpr>;
};
template <class Op>
concept IsCollective = requires {
  { Op::collective() } -> std::same_as<const CollectiveRules&>;
};
/// Kinds that have no reference() because the interpreter runs them by their structure.
constexpr bool executed_by_kind(Kind k) {
  return k == Kind::call || k == Kind::control || k == Kind::spmd || k == Kind::collective || k == Kind::effect;
}
}  // namespace contract

/// The table entry of an Op. Each missing rule is a compile error that says what to add.
template <class Op>
constexpr Primitive make_primitive() {
  using P = typename Op::Params;
  static_assert(!std::string_view(Op::name).empty(), "weft: a primitive needs a name, as it is written in a Jaxpr");
  static_assert(!std::string_view(Op::doc).empty(), "weft: a primitive needs a doc sentence");
  static_assert(contract::HasKind<Op>,
                "weft: a primitive needs a kind: `static constexpr Kind kind`, or derive from a kind base (Unary, ...)");
  static_assert(requires(const OpContext& c) { Op::abstract_eval(c); }, "weft: a primitive needs abstract_eval(const OpContext&)");
  static_assert(
      contract::HasJvp<Op> || contract::HasJvpCall<Op> || requires { Op::not_differentiable; } || requires { Op::zero_tangent; },
      "weft: a primitive needs jvp(const JvpContext&), or jvp_call and linearize_call, or `zero_tangent`, or `not_differentiable = "
      "\"why\"`");
  static_assert(
      contract::HasTranspose<Op> || requires { Op::not_linear; },
      "weft: a primitive needs transpose(const TransposeContext&), or says `static constexpr bool not_linear = true`");
  static_assert(contract::HasBatch<Op>, "weft: a primitive needs batch(const BatchContext&)");
  static_assert(contract::HasReference<Op> || contract::executed_by_kind(Op::kind),
                "weft: a primitive needs reference(const ReferenceContext&)");
  static_assert(Op::kind != Kind::elementwise || contract::HasLower<Op>,
                "weft: an elementwise primitive needs lower(KernelBuilder&, const Params&, operands)");
  static_assert((Op::kind != Kind::movement && Op::kind != Kind::concatenate) || contract::HasMovement<Op>,
                "weft: a movement primitive needs movement(const Params&, in avals, out aval, int which)");
  static_assert(Op::kind != Kind::call || contract::RunsBody<Op> != contract::MakesBody<Op>,
                "weft: a primitive of kind call needs either `static const Jaxpr& body(const Params&)`, the sub-program that is run on its "
                "operands as they are, or `static Jaxpr call_body(const ParamsBase&, in avals)`, a program made for its operands");
  static_assert(
      contract::HasReducedDims<Op> || !requires { Op::reduces; },
      "weft: a reduction says which dimensions of its first operand it reduces: `static std::span<const int> reduced_dims(const "
      "Params&)`");
  static_assert(contract::executed_by_kind(Op::kind) || !ParamFunctions<P>::holds_programs(),
                "weft: a primitive that has a program among its parameters is of kind call");
  static_assert(Op::kind != Kind::collective || contract::IsCollective<Op>,
                "weft: a primitive of kind collective says how devices exchange data: derive from CollectiveOp");

  Primitive t{};
  t.name = Op::name, t.doc = Op::doc, t.kind = Op::kind;
  if constexpr (requires { Op::has_effects; }) t.has_effects = Op::has_effects;
  if constexpr (requires { Op::num_operands; }) t.num_operands = Op::num_operands;
  t.abstract_eval = [](const OpContext& c, std::vector<Aval>& out) {
    if constexpr (std::is_same_v<decltype(Op::abstract_eval(c)), Aval>)
      out.push_back(Op::abstract_eval(c));
    else
      out = Op::abstract_eval(c);
  };
  if constexpr (contract::HasJvp<Op>) t.jvp = [](const JvpContext& c) { return Op::jvp(c); };
  if constexpr (contract::HasJvpCall<Op>) {
    t.jvp_call = [](const JvpContext& c) { return Op::jvp_call(c); };
    t.linearize_call = [](const JvpContext& c) { return Op::linearize_call(c); };
  }
  if constexpr (requires { Op::not_differentiable; }) t.not_differentiable = Op::not_differentiable;
  if constexpr (contract::HasTranspose<Op>) t.transpose = [](const TransposeContext& c) { return Op::transpose(c); };
  t.batch = [](const BatchContext& c) { return Op::batch(c); };
  if constexpr (contract::HasReference<Op>) t.reference = [](const ReferenceContext& c) { Op::reference(c); };
  if constexpr (contract::HasLower<Op>)
    t.lower = [](KernelBuilder& b, const ParamsBase& p, std::span<const KernelValue> v) { return Op::lower(b, params_as<P>(p), v); };
  if constexpr (contract::HasMovement<Op>)
    t.movement = [](const ParamsBase& p, std::span<const Aval> in, const Aval& out, int which) {
      return Op::movement(params_as<P>(p), in, out, which);
    };
  if constexpr (contract::HasReducedDims<Op>) t.reduces = Op::reduces;
  if constexpr (contract::HasReducedDims<Op>)
    t.reduced_dims = [](const ParamsBase& p) -> std::span<const int> { return Op::reduced_dims(params_as<P>(p)); };
  if constexpr (requires { Op::combiner; }) t.combiner = Op::combiner;
  if constexpr (contract::IsCollective<Op>) t.collective = Op::collective;
  if constexpr (Op::kind == Kind::call && contract::RunsBody<Op>)
    t.body = [](const ParamsBase& p) -> const Jaxpr& { return Op::body(params_as<P>(p)); };
  if constexpr (Op::kind == Kind::call && contract::MakesBody<Op>) t.call_body = Op::call_body;
  t.params_equal = ParamFunctions<P>::equal;
  t.params_list = ParamFunctions<P>::list;
  if constexpr (ParamFunctions<P>::holds_programs()) t.params_map_jaxprs = ParamFunctions<P>::map_jaxprs;
  t.params_read = ParamFunctions<P>::read;
  return t;
}

/// The one table entry of Op; its address is its identity.
template <class Op>
inline constexpr Primitive primitive_of = make_primitive<Op>();

/// A family's primitives; each core/ops/*.cpp defines one such list and core/ops/registry.cpp names them all.
using PrimitiveList = std::span<const Primitive* const>;
/// All primitives, sorted by name.
const std::vector<const Primitive*>& all_primitives();
/// The primitive of a name, or null.
const Primitive* find_primitive(std::string_view name);

/// Applies a primitive: checks the operands, then stages an equation into the current trace, or executes it where there is no trace.
std::vector<Array> bind_primitive(const Primitive& op, ParamsRef params, std::span<const Array> inputs, SourceLoc loc);
/// The results' types; throws what abstract_eval throws.
std::vector<Aval> infer(const Primitive& op, const ParamsBase& params, std::span<const Aval> in, SourceLoc loc);
template <class Op>
std::vector<Array> bind_all(typename Op::Params params, std::span<const Array> inputs, SourceLoc loc) {
  return bind_primitive(primitive_of<Op>, make_params(std::move(params)), inputs, loc);
}
/// The same for a primitive with one result.
template <class Op>
Array bind_one(typename Op::Params params, std::initializer_list<Array> inputs, SourceLoc loc) {
  return bind_primitive(primitive_of<Op>, make_params(std::move(params)), std::span(inputs.begin(), inputs.size()), loc)[0];
}

}  // namespace weft::detail
