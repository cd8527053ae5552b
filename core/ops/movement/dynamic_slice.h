// Windows of fixed size at a position that is computed: operands are the array, (the update,) and one scalar integer a dimension.
#pragma once
#include "weft/core/ir/primitive.h"

namespace weft::detail {

struct DynamicSlice {
  static constexpr std::string_view name = "dynamic_slice", doc = "A window of fixed size at a computed position, moved inside the array.";
  static constexpr Kind kind = Kind::dynamic_slice;
  struct Params {
    Shape slice_sizes;
    friend bool operator==(const Params&, const Params&) = default;
  };
  static Aval abstract_eval(const OpContext& c);
  static std::vector<Tangent> jvp(const JvpContext& c);
  static std::vector<Tangent> transpose(const TransposeContext& c);
  static BatchResult batch(const BatchContext& c);
  static void reference(const ReferenceContext& c);
};

struct DynamicUpdateSlice {
  static constexpr std::string_view name = "dynamic_update_slice",
                                    doc = "An array with a window at a computed position, moved inside, replaced by another array.";
  static constexpr Kind kind = Kind::dynamic_update_slice;
  using Params = NoParams;
  static Aval abstract_eval(const OpContext& c);
  static std::vector<Tangent> jvp(const JvpContext& c);
  static std::vector<Tangent> transpose(const TransposeContext& c);
  static BatchResult batch(const BatchContext& c);
  static void reference(const ReferenceContext& c);
};

}  // namespace weft::detail
