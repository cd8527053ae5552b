// A pytree without its types, for messages and tree prefixes (in_axes, specs).
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/errors/source_loc.h"

namespace weft::detail {

struct Skeleton {
  enum class Kind {
    leaf,   ///< an array
    fixed,  ///< a value without arrays: static
    node,   ///< a container or a struct
  };
  explicit Skeleton(Kind k, std::string l = {}, std::string t = {}) : kind(k), label(std::move(l)), text(std::move(t)) {}
  Kind kind;
  std::string label;  ///< how its parent names it: `[0]`, `.w`, `["out"]`
  std::string text;   ///< of a static value, where it has one; what a node or a leaf is called that isn't named by its size
  std::vector<Skeleton> children = {};
  std::size_t num_leaves() const;
};

std::string describe_number(double v);
std::string describe_text(std::string_view s);
std::string describe_alternative(std::size_t i);
std::string label_of_position(std::size_t i);
std::string label_of_number(std::int64_t i);
std::string label_of_key(std::string_view key);
std::string label_of_field(std::string_view name);
/// The label of field i in WEFT_PYTREE's list.
std::string label_of_field(std::string_view names, std::size_t i);

/// The leaves' paths, in order: `args[0][2].w`.
std::vector<std::string> leaf_paths(const Skeleton& tree);
/// A description of the first difference between two trees; empty if they are equal.
std::string structure_difference(const Skeleton& a, const Skeleton& b);
[[noreturn]] void throw_structure_mismatch(const std::string& what, const Skeleton& a, const Skeleton& b, SourceLoc loc);

}  // namespace weft::detail
