// Sorting: any number of arrays along one dimension, ordered by the first `num_keys` of them. Numbers ascend, NaN comes last, -0 equals 0,
// complex numbers go by their real, then their imaginary parts.
#pragma once
#include "weft/core/ir/primitive.h"

namespace weft::detail {

struct Sort {
  static constexpr std::string_view name = "sort", doc = "Arrays sorted along a dimension, by the first of them.";
  static constexpr Kind kind = Kind::sort;
  static constexpr bool not_linear = true;
  struct Params {
    int dimension = 0;
    bool is_stable = true;
    int num_keys = 1;
    friend bool operator==(const Params&, const Params&) = default;
  };
  static std::vector<Aval> abstract_eval(const OpContext& c);
  static JvpResult jvp_call(const JvpContext& c);
  static JvpResult linearize_call(const JvpContext& c);
  static BatchResult batch(const BatchContext& c);
  static void reference(const ReferenceContext& c);
};

struct TopKLargest {
  static constexpr int num_operands = 1;
  static constexpr std::string_view name = "top_k", doc = "The k largest elements along an axis, largest first, and their positions.";
  static constexpr Kind kind = Kind::library;
  static constexpr bool not_linear = true;
  struct Params {
    int axis = 0;
    std::int64_t k = 0;
    friend bool operator==(const Params&, const Params&) = default;
  };
  static std::vector<Aval> abstract_eval(const OpContext& c);
  static std::vector<Tangent> jvp(const JvpContext& c);
  static BatchResult batch(const BatchContext& c);
  static void reference(const ReferenceContext& c);
};
/// Its equation on x, without results: for a backend's rules, which say how they would run it.
Eqn top_k_equation(const TopKLargest::Params& p, Atom x, SourceLoc loc);

}  // namespace weft::detail
