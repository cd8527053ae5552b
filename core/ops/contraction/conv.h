// conv_general_dilated, the primitive behind every convolution.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "weft/core/ops/reduce/windows.h"

namespace weft::detail {

/// Where the dimensions stand: (batch, features, spatial ...) of lhs and out, (output features, input features, spatial ...) of rhs.
struct ConvDimensions {
  std::vector<int> lhs_spec, rhs_spec, out_spec;
  friend bool operator==(const ConvDimensions&, const ConvDimensions&) = default;
};
std::string print_param(const ConvDimensions& v);
void read_param(ParamReader& r, ConvDimensions& v);

struct ConvParams {
  std::int64_t batch_group_count = 1;
  ConvDimensions dimension_numbers;
  std::int64_t feature_group_count = 1;
  std::vector<std::int64_t> lhs_dilation;
  PadPairs padding;
  std::optional<DType> preferred_element_type;  ///< of the sums and the result; absent: the operands' dtype
  std::vector<std::int64_t> rhs_dilation;
  std::vector<std::int64_t> window_strides;
  friend bool operator==(const ConvParams&, const ConvParams&) = default;
};

/// The geometry of each spatial dimension.
std::vector<WindowDim> conv_windows(const ConvParams& p, const Shape& lhs, const Shape& rhs);

Array convolve_of(const Array& lhs, const Array& rhs, ConvParams params, SourceLoc loc);
/// The values, computed block by block as products of matrices (core/ops/contraction/conv_reference.cpp).
void conv_reference(const ReferenceContext& c);

const Primitive& convolution_primitive();

}  // namespace weft::detail
