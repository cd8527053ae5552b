// See upgrade.h (openxla/stablehlo, docs/vhlo.md and stablehlo/transforms/VhloLegalizeToStablehlo.cpp).
#include "weft/frontends/stablehlo/bytecode/upgrade.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace weft::detail::mlir {
namespace {

/// Operations that are another dialect's, by their names without the version.
struct Renamed {
  std::string_view from, to;
};
constexpr std::array kRenamed{Renamed{"call", "func.call"}, Renamed{"return", "stablehlo.return"}};

/// Attributes that become entries of one.
struct Gathered {
  std::string_view operation, into;
  std::string_view names;  ///< each between spaces
};
constexpr std::string_view kConvolution =
    " input_batch_dimension input_feature_dimension input_spatial_dimensions kernel_input_feature_dimension "
    "kernel_output_feature_dimension "
    "kernel_spatial_dimensions output_batch_dimension output_feature_dimension output_spatial_dimensions ";
constexpr std::string_view kGather =
    " offset_dims collapsed_slice_dims operand_batching_dims start_indices_batching_dims start_index_map index_vector_dim ";
constexpr std::string_view kScatter =
    " update_window_dims inserted_window_dims input_batching_dims scatter_indices_batching_dims scatter_dims_to_operand_dims "
    "index_vector_dim ";
constexpr std::array kGathered{
    Gathered{"convolution", "dimension_numbers", kConvolution},
    Gathered{"dynamic_conv", "dimension_numbers", kConvolution},
    Gathered{"gather", "dimension_numbers", kGather},
    Gathered{"dynamic_gather", "dimension_numbers", kGather},
    Gathered{"scatter", "scatter_dimension_numbers", kScatter},
    Gathered{"dot_general", "dot_dimension_numbers",
             " lhs_batching_dimensions rhs_batching_dimensions lhs_contracting_dimensions rhs_contracting_dimensions "}};

/// Whether the attribute says that there is nothing: a type `none`, or a comparison of no type.
bool is_nothing(const Attribute& a) {
  return (a.kind == Attribute::Kind::type && a.type.text == "none") || (a.kind == Attribute::Kind::word && a.text == "NOTYPE");
}

}  // namespace

void upgrade(Operation& op) {
  constexpr std::string_view kDialect = "vhlo.";
  std::string base = op.name.substr(kDialect.size());
  if (const std::size_t version = base.rfind("_v"); version != std::string::npos) base.resize(version);

  const auto gathered = std::find_if(kGathered.begin(), kGathered.end(), [&](const Gathered& g) { return g.operation == base; });
  Attribute out(Attribute::Kind::dictionary, op.place), numbers(Attribute::Kind::dictionary, op.place);
  for (std::size_t i = 0; i < op.attributes.keys.size(); ++i) {
    std::string& key = op.attributes.keys[i];
    Attribute& value = op.attributes.items[i];
    if (is_nothing(value)) continue;
    Attribute* into = &out;
    if (gathered != kGathered.end() && gathered->names.find(" " + key + " ") != std::string_view::npos) into = &numbers;
    if (key == "channel_id") {
      Attribute handle(Attribute::Kind::dictionary, value.place);
      handle.keys.emplace_back("handle");
      handle.items.push_back(std::move(value));
      key = "channel_handle", value = std::move(handle);
    }
    into->keys.push_back(std::move(key));
    into->items.push_back(std::move(value));
  }
  if (gathered != kGathered.end()) {
    out.keys.emplace_back(gathered->into);
    out.items.push_back(std::move(numbers));
  }
  op.attributes = std::move(out);
  const auto renamed = std::find_if(kRenamed.begin(), kRenamed.end(), [&](const Renamed& r) { return r.from == base; });
  op.name = renamed != kRenamed.end() ? std::string(renamed->to) : "stablehlo." + base;
}

}  // namespace weft::detail::mlir
