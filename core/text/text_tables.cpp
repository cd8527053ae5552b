#include "weft/core/text/text_tables.h"

#include "weft/core/ops/elementwise/bitcast.h"

namespace weft::detail {
namespace {

struct Entry {
  std::string_view primitive;  // empty: any
  std::string_view param;
  std::string_view text;  // empty: any
};
bool matches(const Entry& e, std::string_view primitive, std::string_view param, std::string_view text) {
  return e.param == param && (e.primitive.empty() || e.primitive == primitive) && (e.text.empty() || e.text == text);
}

// Keep sorted by parameter.
constexpr Entry kLeftOut[] = {
    {"", "accuracy", "None"},
    {"all_to_all", "axis_size", "0"},
    {"broadcast_in_dim", "broadcast_dimensions", "()"},
    {"jit", "donated_invars", "()"},
    {"", "lanes", "()"},
    {"while", "max_steps", "0"},
    {"custom_jvp_call", "num_consts", "0"},
    {"custom_vjp_call", "num_consts", "0"},
    {"mul", "out_dtype", "None"},
    {"dot_general", "precision", "None"},
    {"dot_general", "preferred_element_type", "None"},
    {"broadcast_in_dim", "shape", ""},
};
constexpr Entry kAdded[] = {
    {"eigh", "algorithm", "None"},
    {"svd", "algorithm", "None"},
    {"sharding_constraint", "context_mesh", "Mesh()"},
    {"reshape", "dimensions", "None"},
    {"empty2", "memory_space", "MemorySpace.Device"},
    {"reduce_window", "consts", "()"},
    {"sharding_constraint", "layout", "None"},
    {"conv_general_dilated", "out_sharding", "None"},
    {"reduce_sum", "out_sharding", "None"},
    {"qr", "pivoting", "False"},
    {"conv_general_dilated", "precision", "None"},
    {"iota", "sharding", "None"},
    {"reshape", "sharding", "None"},
    {"eigh", "sort_eigenvalues", "True"},
    {"eigh", "subset_by_index", "None"},
    {"svd", "subset_by_index", "None"},
    {"custom_jvp_call", "symbolic_zeros", "False"},
    {"custom_vjp_call", "symbolic_zeros", "False"},
    {"sharding_constraint", "unconstrained_dims", "frozenset({})"},
    {"scatter", "update_consts", "()"},
    {"scatter-mul", "update_consts", "()"},
    {"scatter-add", "update_consts", "()"},
    {"scatter-max", "update_consts", "()"},
    {"scatter-min", "update_consts", "()"},
    {"scatter-sub", "update_consts", "()"},
    {"scatter", "update_jaxpr", "None"},
    {"qr", "use_magma", "None"},
};
constexpr Entry kIgnorable[] = {
    {"", "accuracy", ""},
    {"eigh", "algorithm", ""},
    {"svd", "algorithm", ""},
    {"", "axis_index_groups", "None"},
    {"cond", "branches_platforms", ""},
    {"reduce", "computation", ""},
    {"jit", "compiler_options_kvs", ""},
    {"reduce_window", "consts", "()"},
    {"", "context_mesh", ""},
    {"", "ctx_mesh", ""},
    {"remat2", "differentiated", ""},
    {"jit", "donated_invars", ""},
    {"custom_vjp_call", "fwd", ""},
    {"", "in_layouts", ""},
    {"", "in_shardings", ""},
    {"", "indices_are_sorted", ""},
    {"jit", "inline", ""},
    {"conj", "input_dtype", ""},
    {"sort", "is_stable", "True"},
    {"jit", "keep_unused", ""},
    {"", "layout", ""},
    {"", "memory_space", ""},
    {"mul", "out_dtype", "None"},
    {"", "out_layouts", ""},
    {"", "out_sharding", ""},
    {"", "out_shardings", ""},
    {"qr", "pivoting", "False"},
    {"", "policy", ""},
    {"", "precision", ""},
    {"", "preferred_element_type", "None"},
    {"remat2", "prevent_cse", ""},
    {"reshape", "dimensions", "None"},
    {"", "sharding", ""},
    {"eigh", "sort_eigenvalues", "True"},
    {"eigh", "subset_by_index", "None"},
    {"svd", "subset_by_index", "None"},
    {"", "symbolic_zeros", "False"},
    {"", "unconstrained_dims", ""},
    {"", "unique_indices", ""},
    {"", "update_consts", ""},
    {"", "update_jaxpr", ""},
    {"qr", "use_magma", ""},
};

}  // namespace

bool is_left_out(std::string_view primitive, std::string_view param, std::string_view text) {
  for (const Entry& e : kLeftOut)
    if (matches(e, primitive, param, text)) return true;
  return false;
}

std::vector<FixedParam> added_params(std::string_view primitive) {
  std::vector<FixedParam> out;
  for (const Entry& e : kAdded)
    if (e.primitive == primitive) out.push_back({e.param, e.text});
  return out;
}

std::string_view name_in_text(std::string_view primitive) { return primitive == bitcast_between_sizes().name ? kBitcastName : primitive; }

bool is_identity(std::string_view primitive) {
  // Placement of values is the caller's affair, and no pass moves equations across a barrier's operands.
  return primitive == "reshard" || primitive == "optimization_barrier";
}

std::string_view update_operation(std::string_view primitive) {
  if (primitive == "scatter-add") return "add";
  if (primitive == "scatter-sub") return "sub";
  if (primitive == "scatter-mul") return "mul";
  if (primitive == "scatter-min") return "min";
  if (primitive == "scatter-max") return "max";
  return {};
}

bool is_ignorable(std::string_view primitive, std::string_view param, std::string_view text) {
  for (const Entry& e : kIgnorable)
    if (matches(e, primitive, param, text)) return true;
  return false;
}

}  // namespace weft::detail
