#include "weft/core/text/text_tables.h"

namespace weft::detail {
namespace {

bool any_matches(std::span<const ParamValue> list, std::string_view param, std::string_view text) {
  for (const ParamValue& p : list)
    if (p.name == param && (p.text.empty() || p.text == text)) return true;
  return false;
}

// Parameters of any operation. Keep sorted.
constexpr ParamValue kLeftOut[] = {
    {"accuracy", "None"},
    {"lanes", "()"},
};
constexpr ParamValue kIgnorable[] = {
    {"accuracy", ""},
    {"axis_index_groups", "None"},
    {"context_mesh", ""},
    {"ctx_mesh", ""},
    {"in_layouts", ""},
    {"in_shardings", ""},
    {"indices_are_sorted", ""},
    {"layout", ""},
    {"memory_space", ""},
    {"out_layouts", ""},
    {"out_sharding", ""},
    {"out_shardings", ""},
    {"policy", ""},
    {"precision", ""},
    {"preferred_element_type", "None"},
    {"sharding", ""},
    {"symbolic_zeros", "False"},
    {"unconstrained_dims", ""},
    {"unique_indices", ""},
    {"update_consts", ""},
    {"update_jaxpr", ""},
};

}  // namespace

bool is_left_out(const TextTraits& op, std::string_view param, std::string_view text) {
  return any_matches(op.left_out, param, text) || any_matches(kLeftOut, param, text);
}

bool is_identity(std::string_view primitive) {
  // Placement of values is the caller's affair, and no pass moves equations across a barrier's operands.
  return primitive == "reshard" || primitive == "optimization_barrier";
}

bool is_ignorable(const TextTraits& op, std::string_view param, std::string_view text) {
  return any_matches(op.ignored, param, text) || any_matches(kIgnorable, param, text);
}

}  // namespace weft::detail
