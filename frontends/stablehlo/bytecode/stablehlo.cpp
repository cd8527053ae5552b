// The encodings of StableHLO's and CHLO's own attributes and types, which files have that are not portable artifacts
// (openxla/stablehlo, stablehlo/dialect/StablehloBytecode.cpp and ChloBytecode.cpp).
#include <fmt/format.h>

#include "weft/frontends/stablehlo/bytecode/enumerators.h"
#include "weft/frontends/stablehlo/bytecode/table.h"

namespace weft::detail::mlir {
namespace {

using Kind = Attribute::Kind;

/// Names and, behind a `*`, whether it is a list of numbers; else it is one.
Attribute read_numbers(Bytes& b, std::initializer_list<std::string_view> names) {
  Attribute a = make_attribute(Kind::dictionary, b);
  for (const std::string_view name : names) {
    const bool is_list = name.front() == '*';
    add_entry(a, name.data() + is_list, is_list ? read_integer_list(b) : make_integer(b, b.signed_varint()));
  }
  return a;
}

enum AttributeCode : std::uint64_t {
  kChannelHandle = 1,
  kComparisonDirection,
  kComparisonType,
  kConvolution,
  kDot,
  kFftType,
  kGather,
  kPrecision,
  kRngAlgorithm,
  kRngDistribution,
  kScatter,
  kTranspose,
  kTypeExtensions,
  kLast = 22
};

Attribute read_attribute(Table&, Bytes& b) {
  const Place place = b.place();
  const std::uint64_t code = b.varint();
  switch (code) {
    case kChannelHandle: return read_numbers(b, {"handle", "type"});
    case kComparisonDirection: return read_enumerator(b, kComparisonDirections);
    case kComparisonType: return read_enumerator(b, kComparisonTypes);
    case kConvolution:
      return read_numbers(b, {"input_batch_dimension", "input_feature_dimension", "*input_spatial_dimensions",
                              "kernel_input_feature_dimension", "kernel_output_feature_dimension", "*kernel_spatial_dimensions",
                              "output_batch_dimension", "output_feature_dimension", "*output_spatial_dimensions"});
    case kDot:
      return read_numbers(
          b, {"*lhs_batching_dimensions", "*rhs_batching_dimensions", "*lhs_contracting_dimensions", "*rhs_contracting_dimensions"});
    case kFftType: return read_enumerator(b, kFftTypes);
    case kGather:
      return read_numbers(b, {"*offset_dims", "*collapsed_slice_dims", "*operand_batching_dims", "*start_indices_batching_dims",
                              "*start_index_map", "index_vector_dim"});
    case kPrecision: return read_enumerator(b, kPrecisions);
    case kRngAlgorithm: return read_enumerator(b, kRngAlgorithms);
    case kRngDistribution: return read_enumerator(b, kRngDistributions);
    case kScatter:
      return read_numbers(b, {"*update_window_dims", "*inserted_window_dims", "*input_batching_dims", "*scatter_indices_batching_dims",
                              "*scatter_dims_to_operand_dims", "index_vector_dim"});
    case kTranspose: return read_enumerator(b, kTransposes);
    case kTypeExtensions: return read_integer_list(b);
    default:
      if (code > kLast) fail_at(b.origin(), place, fmt::format("StableHLO has no attribute of code {}", code));
      return make_attribute(Kind::opaque, b, "stablehlo");
  }
}

Type read_type(Table& t, Bytes& b) {
  return b.varint() == 0 ? Type(Type::Kind::token, "!stablehlo.token") : future_type(read_type_list(t, b));
}

Attribute read_chlo_attribute(Table&, Bytes& b) {
  const Place place = b.place();
  const std::uint64_t code = b.varint();
  if (code == 0) return read_enumerator(b, kComparisonDirections);
  if (code == 1) return read_enumerator(b, kComparisonTypes);
  fail_at(b.origin(), place, fmt::format("CHLO has no attribute of code {}", code));
}

}  // namespace

const DialectEncoding kStablehloEncoding{"stablehlo", read_attribute, read_type};
const DialectEncoding kChloEncoding{"chlo", read_chlo_attribute, nullptr};

}  // namespace weft::detail::mlir
