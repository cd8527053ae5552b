// The elementwise primitives' kind bases. An operation states what is its own, the base supplies the rest:
//
//     struct Tanh : Unary<Tanh> {
//       static constexpr std::string_view name = "tanh", doc = "Hyperbolic tangent.";
//       static constexpr unsigned dtypes = kInexact;                   // what it is defined for
//       static constexpr Domain domain{-4, 4};                         // where generated tests sample it
//       static auto ref(auto x) { return std::tanh(x); }               // of a type that with_compute_type gives
//       static Array partial(const Array& t, const Array& x, const Array& y) { ... }    // the tangent of the result y
//       static KernelValue kernel(KernelBuilder& b, KernelValue x) { ... }
//     };
//
// `ref`, `partial` and `kernel` may take the Params as one more argument. In place of `ref` stands `stored_ref` where the elements' own
// bits matter, or how many there are: it takes them as they are stored.
#pragma once
#include <array>
#include <cmath>

#include "weft/core/ir/kernel_builder.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/elementwise/reference_elements.h"

namespace weft::detail {

/// Sets of dtypes.
inline constexpr unsigned kBool = 1, kInteger = 2, kFloating = 4, kComplex = 8, kKey = 16;
inline constexpr unsigned kBits = kBool | kInteger, kNumber = kInteger | kFloating | kComplex, kInexact = kFloating | kComplex,
                          kReal = kBool | kInteger | kFloating, kAny = kReal | kComplex;
constexpr unsigned kind_of(DType t) {
  return t.is_bool() ? kBool : t.is_integer() ? kInteger : t.is_floating() ? kFloating : t.is_complex() ? kComplex : kKey;
}
template <class T>
constexpr unsigned kind_of_storage() {
  return std::is_same_v<T, bool> ? kBool : is_complex_storage<T> ? kComplex : is_floating_storage<T> ? kFloating : kInteger;
}

/// Where sample operands of tests are taken from; a complex operand's two parts each.
struct Domain {
  double lo = -3, hi = 3;
};

/// How the values of an elementwise primitive relate to those of its operands, where it says `values`: for tests that compare two ways of
/// computing a program, whose results may differ by rounding. A set.
inline constexpr unsigned kExact = 1,  ///< nothing is rounded: operands of equal bits give equal bits in each way of computing
    kKeepsIntegers = 2,                ///< integers of moderate size give exact integers
    kMultiplies = 4,                   ///< a product of operands, or a power: may overflow before the expression around it does
    kReadsSpecials = 8,  ///< tells apart what may differ between ways of computing: the sign of a NaN, infinite parts of a complex number
    kHasBounds = 16,     ///< operands 0 and 2 are a lower and an upper bound
    kParticular = 32;    ///< defined for particular operands only, which a random program does not make: whole numbers, bit patterns

/// What tests need to know of an elementwise primitive, to make cases for each dtype.
struct ElementwiseInfo {
  const Primitive* op = nullptr;
  int operands = 1;
  unsigned dtypes = 0;
  Domain domain;
  bool differentiable = false;           ///< has a derivative that is not everywhere zero, in all operands
  bool predicate_first = false;          ///< operand 0 is a bool, the others are of the dtype
  unsigned values = 0;                   ///< kExact, ...
  ParamsRef (*params)(DType) = nullptr;  ///< sample parameters for operands of a dtype
};
/// All elementwise primitives.
const std::vector<ElementwiseInfo>& elementwise_infos();

/// Throws unless there are `count` operands of one dtype out of the set.
void check_operands(const OpContext& c, std::size_t count, unsigned dtypes);
/// "bool, integer or floating"
std::string describe_dtypes(unsigned dtypes);
/// The type of a result that is computed from operands broadcast together.
Aval elementwise_aval(const OpContext& c, DType result);
/// A tangent broadcast to the shape of the result.
Array broadcast_tangent(const Array& t, const Array& like, SourceLoc loc);

/// Calls f(position in the result, positions in the operands) for each element of the result.
template <std::size_t N, class F>
void for_each_element(const Shape& out, const std::array<const Shape*, N>& in, F&& f) {
  std::array<std::vector<std::int64_t>, N> strides;
  bool aligned = true;
  for (std::size_t k = 0; k < N; ++k) {
    aligned = aligned && *in[k] == out;
    strides[k] = row_major_strides(*in[k]);
    strides[k].resize(static_cast<std::size_t>(out.size()), 0);
    for (int d = 0; d < in[k]->size(); ++d)
      if ((*in[k])[d] == 1) strides[k][static_cast<std::size_t>(d)] = 0;
  }
  const std::int64_t n = out.num_elements();
  std::array<std::int64_t, N> at{};
  if (aligned) {
    for (std::int64_t i = 0; i < n; ++i) {
      at.fill(i);
      f(i, at);
    }
    return;
  }
  std::vector<std::int64_t> index(static_cast<std::size_t>(out.size()), 0);
  for (std::int64_t i = 0; i < n; ++i) {
    f(i, at);
    for (int d = out.size() - 1; d >= 0; --d) {
      const auto e = static_cast<std::size_t>(d);
      for (std::size_t k = 0; k < N; ++k) at[k] += strides[k][e];
      if (++index[e] < out[d]) break;
      for (std::size_t k = 0; k < N; ++k) at[k] -= strides[k][e] * out[d];
      index[e] = 0;
    }
  }
}

/// Whether an operation has stored_ref.
template <class Op, std::size_t... I>
constexpr bool reads_stored(std::index_sequence<I...>) {
  using T = std::conditional_t<(Op::dtypes & kFloating) != 0, float, std::int32_t>;
  return requires(const std::array<T, sizeof...(I)>& x) { Op::stored_ref(x[I]...); };
}
/// Fills the result with Op::stored_ref of the operands, which are stored as T: of operations on the elements' bits.
template <class Op, class T, std::size_t... I>
void reference_of_stored(const ReferenceContext& c, std::index_sequence<I...>) {
  const std::array<const T*, sizeof...(I)> in{c.in[I].template as<T>()...};
  auto* const out = c.out[0].as<decltype(Op::stored_ref(in[I][0]...))>();
  for (ElementBlocks block(c); block.next();)
    for (std::size_t k = 0; k < block.size(); ++k)
      out[block.begin() + static_cast<std::int64_t>(k)] = Op::stored_ref(in[I][block.positions(I)[k]]...);
}

/// The base of all elementwise primitives with operands of one dtype.
template <class Op, std::size_t Operands>
struct Elementwise {
  static constexpr Kind kind = Kind::elementwise;
  static constexpr int operands = Operands;
  static constexpr Domain domain{};
  using Params = NoParams;
  static constexpr bool not_linear = true;
  static constexpr DType result(DType operand) { return operand; }
  static Aval abstract_eval(const OpContext& c) {
    check_operands(c, Operands, Op::dtypes);
    return elementwise_aval(c, Op::result(c.in[0].dtype));
  }
  static BatchResult batch(const BatchContext& c) { return batch_elementwise(c); }
  static void reference(const ReferenceContext& c) {
    constexpr std::make_index_sequence<Operands> all;
    if constexpr (reads_stored<Op>(all))
      with_storage(c.in[0].aval.dtype, [&]<class T>() {
        if constexpr ((kind_of_storage<T>() & Op::dtypes) != 0) reference_of_stored<Op, T>(c, all);
      });
    else
      with_compute_type(c.in[0].aval.dtype, [&]<class C>() {
        if constexpr ((kind_of_storage<C>() & Op::dtypes) != 0) compute_reference<Op, C>(c, all);
      });
  }
  template <class P>
  static KernelValue lower(KernelBuilder& b, const P& p, std::span<const KernelValue> v) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) -> KernelValue {
      if (v[0].dtype.is_complex()) {
        if constexpr (requires { Op::complex_kernel(b, v[I]...); })
          return Op::complex_kernel(b, v[I]...);
        else if constexpr (!requires { Op::kernel_takes_complex; })
          return {};
      }
      if constexpr (requires { Op::kernel(b, v[I]..., p); })
        return Op::kernel(b, v[I]..., p);
      else
        return Op::kernel(b, v[I]...);
    }(std::make_index_sequence<Operands>());
  }
};

template <class Op>
struct Unary : Elementwise<Op, 1> {
  static std::vector<Tangent> jvp(const JvpContext& c)
    requires(
        requires(const Array& a) { Op::partial(a, a, a); } ||
        requires(const Array& a, const typename Op::Params& p) { Op::partial(a, a, a, p); })
  {
    if (!c.tangents[0]) return {std::nullopt};
    if constexpr (requires(const Array& a) { Op::partial(a, a, a); })
      return {Op::partial(*c.tangents[0], c.in[0], c.out[0])};
    else
      return {Op::partial(*c.tangents[0], c.in[0], c.out[0], c.get<typename Op::Params>())};
  }
};

/// A function that is linear in its one operand: its tangent is itself, of the operand's tangent. `pull` gives the operand's cotangent.
template <class Op>
struct LinearUnary : Unary<Op> {
  static std::vector<Tangent> jvp(const JvpContext& c) {
    if (!c.tangents[0]) return {std::nullopt};
    return {bind_primitive(c.op, c.params, std::span(&*c.tangents[0], 1), c.loc)[0]};
  }
  static std::vector<Tangent> transpose(const TransposeContext& c) {
    if (!c.cotangents[0]) return {std::nullopt};
    return {Op::pull(*c.cotangents[0], c.in[0].aval)};
  }
};

/// `partial_x` and `partial_y` give what each operand's tangent t adds to the result's.
template <class Op>
struct Binary : Elementwise<Op, 2> {
  static std::vector<Tangent> jvp(const JvpContext& c)
    requires requires(const Array& a) {
      Op::partial_x(a, a, a, a);
      Op::partial_y(a, a, a, a);
    }
  {
    const Array &x = c.in[0], &y = c.in[1], &out = c.out[0];
    Tangent sum;
    if (c.tangents[0]) sum = broadcast_tangent(Op::partial_x(*c.tangents[0], x, y, out), out, c.loc);
    if (c.tangents[1]) sum = add_tangents(sum, broadcast_tangent(Op::partial_y(*c.tangents[1], x, y, out), out, c.loc), c.loc);
    return {sum};
  }
};

/// The base of comparisons, whose results are bools.
template <class Op>
struct Comparison : Binary<Op> {
  static constexpr DType result(DType) { return bool_; }
  static constexpr bool zero_tangent = true;
};

template <class Op>
ParamsRef sample_params(DType t) {
  if constexpr (requires { Op::sample(t); })
    return make_params(Op::sample(t));
  else
    return make_params(typename Op::Params{});
}
template <class Op>
ElementwiseInfo elementwise_info() {
  constexpr bool partly_differentiable = requires { Op::partly_differentiable; };
  constexpr bool predicate_first = requires { Op::predicate_first; };
  unsigned values = 0;
  if constexpr (requires { Op::values; }) values = Op::values;
  return {.op = &primitive_of<Op>,
          .operands = Op::operands,
          .dtypes = Op::dtypes,
          .domain = Op::domain,
          .differentiable = primitive_of<Op>.jvp != nullptr && !partly_differentiable,
          .predicate_first = predicate_first,
          .values = values,
          .params = sample_params<Op>};
}
template <class... Ops>
std::vector<ElementwiseInfo> elementwise_info_list() {
  return {elementwise_info<Ops>()...};
}

// The families' lists, which elementwise.cpp joins.
std::vector<ElementwiseInfo> exponential_infos();
std::vector<ElementwiseInfo> trigonometric_infos();
std::vector<ElementwiseInfo> special_infos();
std::vector<ElementwiseInfo> rounding_infos();
std::vector<ElementwiseInfo> arithmetic_infos();
std::vector<ElementwiseInfo> comparison_infos();
std::vector<ElementwiseInfo> bit_infos();
std::vector<ElementwiseInfo> complex_infos();
std::vector<ElementwiseInfo> convert_infos();
std::vector<ElementwiseInfo> select_infos();

}  // namespace weft::detail
