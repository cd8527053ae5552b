// The scatters: an operand with windows at computed positions overwritten, or combined with updates.
#pragma once
#include <optional>

#include "weft/core/ops/movement/gather.h"

namespace weft::detail {

struct ScatterParams {
  ScatterDimensionNumbers dimension_numbers;
  bool indices_are_sorted = false;
  GatherScatterMode mode = GatherScatterMode::fill_or_drop;
  bool unique_indices = false;
  friend bool operator==(const ScatterParams&, const ScatterParams&) = default;
};

/// The function that jnp's `x.at[i].apply(f)` applies to each element it comes by, in place of overwriting it: a program of two scalars,
/// the element and the update. Absent for an ordinary scatter.
struct UpdateFunction {
  std::optional<Jaxpr> jaxpr;
  friend bool operator==(const UpdateFunction&, const UpdateFunction&) = default;
};
std::string print_param(const UpdateFunction& v);
void read_param(ParamReader& r, UpdateFunction& v);

/// What all scatters have in common. Operands: the array, the indices, the updates.
struct ScatterCommon {
  static constexpr int num_operands = 3;
  using Params = ScatterParams;
  static constexpr Kind kind = Kind::scatter;
  static Aval abstract_eval(const OpContext& c);
};

struct Scatter {
  static constexpr int num_operands = 3;
  static constexpr std::string_view name = "scatter", doc = "An array with windows at computed positions overwritten.";
  static constexpr Kind kind = Kind::scatter;
  struct Params {
    ScatterDimensionNumbers dimension_numbers;
    bool indices_are_sorted = false;
    GatherScatterMode mode = GatherScatterMode::fill_or_drop;
    bool unique_indices = false;
    UpdateFunction update_jaxpr;
    friend bool operator==(const Params&, const Params&) = default;
  };
  static Aval abstract_eval(const OpContext& c);
  static std::vector<Tangent> jvp(const JvpContext& c);
  static std::vector<Tangent> transpose(const TransposeContext& c);
  static BatchResult batch(const BatchContext& c);
  static void reference(const ReferenceContext& c);
};
struct ScatterAdd : ScatterCommon {
  static constexpr std::string_view name = "scatter-add", doc = "An array with updates added to windows at computed positions.";
  static constexpr Combiner combiner = Combiner::sum;
  static std::vector<Tangent> jvp(const JvpContext& c);
  static std::vector<Tangent> transpose(const TransposeContext& c);
  static BatchResult batch(const BatchContext& c);
  static void reference(const ReferenceContext& c);
};
struct ScatterSub : ScatterCommon {
  static constexpr std::string_view name = "scatter-sub", doc = "An array with updates subtracted from windows at computed positions.";
  static constexpr Kind kind = Kind::library;  // there is no associative combiner for it
  static std::vector<Tangent> jvp(const JvpContext& c);
  static std::vector<Tangent> transpose(const TransposeContext& c);
  static BatchResult batch(const BatchContext& c);
  static void reference(const ReferenceContext& c);
};
struct ScatterMul : ScatterCommon {
  static constexpr std::string_view name = "scatter-mul", doc = "An array with windows at computed positions multiplied by updates.";
  static constexpr Combiner combiner = Combiner::prod;
  static std::vector<Tangent> jvp(const JvpContext& c);
  static std::vector<Tangent> transpose(const TransposeContext& c);
  static BatchResult batch(const BatchContext& c);
  static void reference(const ReferenceContext& c);
};
struct ScatterMin : ScatterCommon {
  static constexpr std::string_view name = "scatter-min", doc = "The smaller of the elements and the updates, at computed positions.";
  static constexpr Combiner combiner = Combiner::min;
  static constexpr bool not_linear = true;
  static std::vector<Tangent> jvp(const JvpContext& c);
  static BatchResult batch(const BatchContext& c);
  static void reference(const ReferenceContext& c);
};
struct ScatterMax : ScatterCommon {
  static constexpr std::string_view name = "scatter-max", doc = "The larger of the elements and the updates, at computed positions.";
  static constexpr Combiner combiner = Combiner::max;
  static constexpr bool not_linear = true;
  static std::vector<Tangent> jvp(const JvpContext& c);
  static BatchResult batch(const BatchContext& c);
  static void reference(const ReferenceContext& c);
};

/// For each update the product of all others that go to the same place: what the scattered product's derivative by it is made of. Exact
/// where updates are 0, and to any order. Throws TracerError where windows may overlap in part.
Array products_of_others(const ScatterParams& p, const Shape& x, const Array& indices, const Array& updates, SourceLoc loc);

/// The parameters of any scatter, as ScatterParams.
ScatterParams scatter_params(const Primitive& op, const ParamsBase& params);

}  // namespace weft::detail
