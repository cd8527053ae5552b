// Arrays in .npy and .npz files, and programs in text files.
#pragma once
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/array/array.h"
#include "weft/core/ir/jaxpr.h"
#include "weft/core/trees/pytree_kinds.h"
#include "weft/core/trees/tree_paths.h"

namespace weft {

/// Arrays by name, in the order of the names: what an .npz file holds. Made from a list of pairs or any map of strings to arrays, and
/// converts to any such map. A pytree.
class NamedArrays {
 public:
  using Entry = std::pair<std::string, Array>;
  NamedArrays() = default;
  /// Of entries with one name the last one counts.
  NamedArrays(std::initializer_list<Entry> entries) : NamedArrays(std::vector<Entry>(entries)) {}
  explicit NamedArrays(std::vector<Entry> entries);
  template <class Map>
    requires requires { typename Map::mapped_type; }
  NamedArrays(const Map& map) : NamedArrays(std::vector<Entry>(map.begin(), map.end())) {}
  template <class Map>
    requires requires { typename Map::mapped_type; }
  operator Map() const {
    return Map(begin(), end());
  }

  /// The array of that name, or null.
  const Array* find(std::string_view name) const;
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  /// Throws Error, with the names that there are, if there is none of that name.
  const Array& at(std::string_view name, SourceLoc loc = SourceLoc::here()) const;
  const Array& operator[](std::string_view name) const { return at(name, {}); }
  std::size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  std::vector<Entry>::const_iterator begin() const { return entries_.begin(); }
  std::vector<Entry>::const_iterator end() const { return entries_.end(); }

  WEFT_PYTREE(NamedArrays, entries_)

 private:
  std::vector<Entry> entries_;
};

/// Reads an array from a .npy file (numpy.load): versions 1 to 3, either byte order, C or Fortran order. Throws IoError, with the path,
/// where the file cannot be read, is not such a file, is cut short, or holds what is not a number (objects, strings, records).
/// bfloat16, which NumPy does not have, is stored as numpy.save does for ml_dtypes' type: 2-byte items without a type, '<V2'.
Array load(const std::string& path, SourceLoc loc = SourceLoc::here());
/// Writes an array as a .npy file (numpy.save; the path is taken as it is). Throws IoError where it cannot be written.
void save(const std::string& path, const Array& x, SourceLoc loc = SourceLoc::here());
template <class T>
  requires(!std::is_convertible_v<const T&, Array>)
void save(const std::string&, const T&) {
  static_assert(!sizeof(T), "weft: save writes one array; save_npz(path, tree) and save_checkpoint(folder, tree) write a tree");
}

template <class T>
T load(const std::string&) {
  static_assert(!sizeof(T), "weft: load reads one array; load_npz(path, like) reads a tree with the structure of `like`");
}

namespace detail {
/// The arrays of a tree by their paths: `layers[0].w`; a tree that is one array has the name `arr_0`.
NamedArrays named_leaves(const std::vector<std::string>& paths, std::span<const Array> leaves);
std::vector<Array> npz_leaves(const std::string& path, const std::vector<std::string>& paths, std::span<const Array> like, SourceLoc loc);
}  // namespace detail

/// Reads the arrays of an .npz file by name, compressed or not. An array of uint16 named `x.bf16` is the bfloat16 array `x`.
NamedArrays load_npz(const std::string& path, SourceLoc loc = SourceLoc::here());
/// Writes arrays as an .npz file, not compressed (numpy.savez); bfloat16 arrays as load_npz reads them.
void save_npz(const std::string& path, const NamedArrays& arrays, SourceLoc loc = SourceLoc::here());
/// Writes the arrays of a tree, each by its path: `layers[0].w` for a field of a struct in a vector in a field, `arr_0` for a tree that is
/// one array.
template <class T>
  requires(!std::is_convertible_v<const T&, NamedArrays>)
void save_npz(const std::string& path, const T& tree, SourceLoc loc = SourceLoc::here()) {
  const auto& arrays = detail::to_traced(tree);
  save_npz(path, detail::named_leaves(detail::leaf_paths(detail::skeleton_of(arrays)), detail::leaves_of(arrays)), loc);
}
/// The tree that save_npz wrote, with the structure, shapes and dtypes of `like`, whose arrays may be abstract (ShapeDtypeStruct). Throws
/// IoError if the file holds other arrays.
template <class T>
  requires(!std::is_same_v<T, SourceLoc>)
detail::traced_t<T> load_npz(const std::string& path, const T& like, SourceLoc loc = SourceLoc::here()) {
  const auto& arrays = detail::to_traced(like);
  const std::vector<Array> leaves =
      detail::npz_leaves(path, detail::leaf_paths(detail::skeleton_of(arrays)), detail::leaves_of(arrays), loc);
  return detail::with_leaves<detail::traced_t<T>>(arrays, std::span<const Array>(leaves));
}

/// Reads a program from a file in JAX's notation, see parse. The values of its constants are const0, const1, ... in the .npz file
/// `constants`.
Jaxpr load_jaxpr(const std::string& path, const std::string& constants = {}, SourceLoc loc = SourceLoc::here());

}  // namespace weft
