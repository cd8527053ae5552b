// Functions that JAX exported (jax.export), as C++ functions of trees.
#pragma once
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "weft/core/errors/source_loc.h"
#include "weft/core/ir/jaxpr.h"
#include "weft/core/trees/pytree.h"

namespace weft {

namespace detail {

/// A pytree of JAX's as the file has it.
struct ExportedTree {
  enum class Kind { leaf, none, tuple, list, dict, custom };
  Kind kind = Kind::leaf;
  std::vector<std::string> names = {};  ///< of a dict's children
  std::vector<ExportedTree> children = {};
};

/// What a file holds: the program takes the arguments of `kept`, by their numbers among the leaves of all, and gives the leaves of the
/// result.
struct ExportedFile {
  std::string name;
  Ref<RefCounted> program;  ///< an ExportedProgram
  std::vector<std::size_t> kept;
  ExportedTree arguments;  ///< a tuple of those by position and a dict of those by name
  ExportedTree result;
};

ExportedFile read_exported_file(const std::string& path, SourceLoc loc);
const Jaxpr& exported_program(const ExportedFile& file);
/// The leaves of the result in the order of the tree `result`, from those of the arguments. Trees are matched by names and positions.
std::vector<Array> call_exported(const ExportedFile& file, const Skeleton& arguments, std::span<const Array> leaves, const Skeleton& result,
                                 SourceLoc loc);
[[noreturn]] void throw_exported_mismatch(const ExportedFile& file, const std::string& path, const ExportedTree& tree, const char* wanted,
                                          SourceLoc loc);
const ExportedTree* exported_child(const ExportedTree& tree, std::string_view name);

/// Field i's name.
template <class T, std::size_t I>
std::string exported_field_name() {
  if constexpr (Registered<T>)
    return label_of_field(T::weft_field_names(), I).substr(1);
  else
    return label_of_field(field_name<T, I>).substr(1);
}

/// Gives the tree as many elements and the keys that the file's tree has.
template <class T>
void shape_like(T& t, const ExportedTree& tree, const ExportedFile& file, const std::string& path, SourceLoc loc) {
  constexpr TreeKind kind = tree_kind<T>;
  using Kind = ExportedTree::Kind;
  const bool by_position = tree.kind == Kind::tuple || tree.kind == Kind::list || tree.kind == Kind::custom;
  if constexpr (std::is_same_v<T, Array>) {
    if (tree.kind != Kind::leaf) throw_exported_mismatch(file, path, tree, "an array", loc);
  } else if constexpr (kind == TreeKind::optional) {
    if (tree.kind == Kind::none) return;
    t.emplace();
    shape_like(*t, tree, file, path, loc);
  } else if constexpr (kind == TreeKind::sequence) {
    if (!by_position) throw_exported_mismatch(file, path, tree, "a list", loc);
    t.resize(tree.children.size());
    std::size_t i = 0;
    for (auto& e : t) shape_like(e, tree.children[i], file, path + label_of_position(i), loc), ++i;
  } else if constexpr (kind == TreeKind::map) {
    if (tree.kind != Kind::dict) throw_exported_mismatch(file, path, tree, "a map", loc);
    for (std::size_t i = 0; i < tree.children.size(); ++i)
      shape_like(t[typename T::key_type(tree.names[i])], tree.children[i], file, path + label_of_key(tree.names[i]), loc);
  } else if constexpr (kind == TreeKind::product) {
    if (!by_position || tree.children.size() != std::tuple_size_v<T>) throw_exported_mismatch(file, path, tree, "a tuple", loc);
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (shape_like(std::get<I>(t), tree.children[I], file, path + label_of_position(I), loc), ...);
    }(std::make_index_sequence<std::tuple_size_v<T>>{});
  } else if constexpr (kind == TreeKind::fields) {
    auto fields = tie_fields(t);
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (
          [&] {
            const std::string name = exported_field_name<T, I>();
            const ExportedTree* const child = by_position && I < tree.children.size() ? &tree.children[I] : exported_child(tree, name);
            if (!child) throw_exported_mismatch(file, path + "." + name, tree, "a field", loc);
            shape_like(std::get<I>(fields), *child, file, path + "." + name, loc);
          }(),
          ...);
    }(std::make_index_sequence<std::tuple_size_v<decltype(fields)>>{});
  } else {
    static_assert(kind == TreeKind::array,
                  "weft: a function that JAX exported takes and gives arrays, structs, tuples, vectors and maps of them");
  }
}

}  // namespace detail

/// A function that JAX exported, as one of C++. Transforms take it like any other function.
template <class Signature>
class Exported;

template <class R, class... A>
class Exported<R(A...)> {
 public:
  Exported(detail::ExportedFile file, SourceLoc loc) : file_(std::move(file)) {
    detail::shape_like(result_, file_.result, file_, "result", loc);
  }
  /// The result for these arguments: first those that the function takes by position, then those by name, as the fields of one struct or
  /// the entries of one map. Throws PytreeError for trees that are not the function's, ShapeError and DTypeError for arrays of other types.
  R operator()(const A&... arguments) const {
    detail::Skeleton tree(detail::Skeleton::Kind::node, "args");
    std::vector<Array> leaves;
    (
        [&](const auto& a) {
          tree.children.push_back(detail::skeleton_of(a, detail::label_of_position(tree.children.size())));
          detail::for_each_leaf(a, [&](const Array& x) { leaves.push_back(x); });
        }(arguments),
        ...);
    const std::vector<Array> out = detail::call_exported(file_, tree, leaves, detail::skeleton_of(result_, "result"), {});
    return detail::with_leaves(result_, std::span<const Array>(out));
  }
  /// The function's name in JAX.
  const std::string& name() const { return file_.name; }
  /// The program, of the arrays that it uses in JAX's order. Throws Error where there is one for the shapes of each call.
  const Jaxpr& program() const { return detail::exported_program(file_); }

 private:
  detail::ExportedFile file_;
  R result_{};  // its structure
};

/// Reads a function out of a file that `jax.export.export(jax.jit(f))(...).serialize()` wrote:
///
///     struct Weights { Array w, b; };
///     const auto f = load_exported<Array(Weights, Array)>("model.bin");
///     const auto df = grad([&](const Weights& weights) { return f(weights, x); });
///
/// Dicts of JAX's are structs, by the names of the fields, or maps; tuples and lists are std::tuple, pair, array or vector, or structs by
/// the order of the fields; None is a std::optional without a value. Named tuples and classes that were registered are taken by position.
/// A function that was exported with symbolic shapes (jax.export.symbolic_shape) takes arrays of any sizes that these permit; its program
/// is made when it is first called with them. Throws IoError for a file that can't be read, PytreeError where the result's tree is none
/// such as R, and Error for a file that is damaged, or for operations that weft doesn't know (as parse_stablehlo).
template <class Signature>
Exported<Signature> load_exported(const std::string& path, SourceLoc loc = SourceLoc::here()) {
  return Exported<Signature>(detail::read_exported_file(path, loc), loc);
}

}  // namespace weft
