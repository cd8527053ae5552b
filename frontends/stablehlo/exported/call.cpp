// Calling functions that JAX exported: trees of C++ matched with those of the file.
#include <fmt/format.h>

#include <algorithm>

#include "weft/core/array/array_impl.h"
#include "weft/core/base/files.h"
#include "weft/core/errors/boundary.h"
#include "weft/core/ir/rewrite.h"
#include "weft/frontends/stablehlo/exported/program.h"

namespace weft::detail {
namespace {

using Kind = ExportedTree::Kind;

std::string describe(const ExportedTree& t) {
  switch (t.kind) {
    case Kind::leaf: return "an array";
    case Kind::none: return "None";
    case Kind::tuple: return fmt::format("a tuple of {}", t.children.size());
    case Kind::list: return fmt::format("a list of {}", t.children.size());
    case Kind::dict:
      return fmt::format("a dict with {}", t.names.empty() ? "nothing in it" : fmt::format("`{}`", fmt::join(t.names, "`, `")));
    case Kind::custom: return fmt::format("a node of {}", t.children.size());
  }
  return {};
}

/// `.w` and `["w"]` as `w`.
std::string bare(const std::string& label) {
  if (label.starts_with(".")) return label.substr(1);
  if (label.starts_with("[\"") && label.ends_with("\"]")) return label.substr(2, label.size() - 4);
  return label;
}

/// For each leaf of JAX's tree, in its order, the number of the same one in the tree of C++.
class Matching {
 public:
  Matching(const ExportedFile& file, SourceLoc loc) : file_(file), loc_(loc) {}

  void match(const Skeleton& ours, const ExportedTree& theirs, const std::string& path, std::size_t first) {
    if (theirs.kind == Kind::leaf) {
      if (ours.kind != Skeleton::Kind::leaf) throw_exported_mismatch(file_, path, theirs, "another tree", loc_);
      order.push_back(first);
      return;
    }
    if (ours.kind == Skeleton::Kind::leaf) throw_exported_mismatch(file_, path, theirs, "an array", loc_);
    if (theirs.kind == Kind::none) {
      if (ours.num_leaves() > 0) throw_exported_mismatch(file_, path, theirs, "another tree", loc_);
      return;
    }
    std::vector<std::size_t> begin;
    for (const Skeleton& child : ours.children) begin.push_back(first), first += child.num_leaves();
    if (ours.children.size() != theirs.children.size())
      throw_exported_mismatch(file_, path, theirs, fmt::format("a tree of {}", ours.children.size()).c_str(), loc_);
    for (std::size_t i = 0; i < theirs.children.size(); ++i) {
      std::size_t at = i;
      if (theirs.kind == Kind::dict) {
        const auto found =
            std::find_if(ours.children.begin(), ours.children.end(), [&](const Skeleton& s) { return bare(s.label) == theirs.names[i]; });
        if (found == ours.children.end())
          throw_exported_mismatch(file_, path, theirs, fmt::format("a tree without `{}`", theirs.names[i]).c_str(), loc_);
        at = static_cast<std::size_t>(found - ours.children.begin());
      }
      match(ours.children[at], theirs.children[i], path + ours.children[at].label, begin[at]);
    }
  }

  std::vector<std::size_t> order;

 private:
  const ExportedFile& file_;
  SourceLoc loc_;
};

std::size_t num_leaves(const ExportedTree& t) {
  if (t.kind == Kind::leaf) return 1;
  std::size_t n = 0;
  for (const ExportedTree& child : t.children) n += num_leaves(child);
  return n;
}

}  // namespace

void throw_exported_mismatch(const ExportedFile& file, const std::string& path, const ExportedTree& tree, const char* wanted,
                             SourceLoc loc) {
  throw PytreeError(fmt::format("load_exported: {} of `{}` is {} in JAX, and {} here", path, file.name, describe(tree), wanted), loc);
}

const ExportedTree* exported_child(const ExportedTree& tree, std::string_view name) {
  for (std::size_t i = 0; i < tree.names.size(); ++i)
    if (tree.names[i] == name) return &tree.children[i];
  return nullptr;
}

ExportedFile read_exported_file(const std::string& path, SourceLoc loc) {
  return guarded("load_exported", loc, [&] {
    auto program = make_ref<ExportedProgram>(read_file(path, loc, "load_exported"), path, loc);
    ExportedParts& parts = program->parts;
    ExportedFile file{std::move(parts.function), program, std::move(parts.kept), std::move(parts.arguments), std::move(parts.result)};
    const std::size_t given = num_leaves(file.arguments), inputs = program->num_inputs(), outputs = program->num_outputs();
    if (std::any_of(file.kept.begin(), file.kept.end(), [&](std::size_t k) { return k >= given; }) || file.kept.size() != inputs)
      throw Error(fmt::format("{}: the program takes {} arrays, of {} arguments {} are kept", path, inputs, given, file.kept.size()), loc);
    if (num_leaves(file.result) != outputs)
      throw Error(fmt::format("{}: the program gives {} arrays, the result has {}", path, outputs, num_leaves(file.result)), loc);
    if (file.arguments.children.size() != 2)
      throw Error(fmt::format("{}: the arguments are not a pair of positional and keyword arguments", path), loc);
    return file;
  });
}

static ExportedProgram& program_of(const ExportedFile& file) { return static_cast<ExportedProgram&>(*file.program); }

const Jaxpr& exported_program(const ExportedFile& file) {
  const std::optional<Jaxpr>& only = program_of(file).only();
  if (!only)
    throw Error(fmt::format("program: `{}` was exported with symbolic shapes: there is a program for the shapes of each call; "
                            "make_jaxpr of a call gives it",
                            file.name),
                {});
  return *only;
}

std::vector<Array> call_exported(const ExportedFile& file, const Skeleton& arguments, std::span<const Array> leaves, const Skeleton& result,
                                 SourceLoc loc) {
  // Those by position, and one more tree for those by name.
  ExportedTree given = file.arguments.children[0];
  const ExportedTree& named = file.arguments.children[1];
  if (!named.children.empty()) given.children.push_back(named);
  Matching in(file, loc), out(file, loc);
  ExportedProgram& program = program_of(file);
  in.match(arguments, given, "args", 0);
  std::vector<Array> inputs;
  for (std::size_t i = 0; i < file.kept.size(); ++i) {
    const std::size_t at = in.order.at(file.kept[i]);
    const Array& x = leaves[at];
    const auto told = [&] {
      return fmt::format("`{}`: {} is {}, the function takes {}", file.name, leaf_paths(arguments)[at], to_string(x.aval()),
                         program.type_text(i));
    };
    if (!program.admits_shape(i, x.shape())) throw ShapeError(told(), loc);
    if (x.dtype() != program.dtype(i)) throw DTypeError(told(), loc);
    inputs.push_back(x);
  }
  out.match(result, file.result, "result", 0);
  std::vector<Aval> types;
  for (const Array& x : inputs) types.push_back({x.shape(), x.dtype()});
  const std::vector<Array> values = eval_jaxpr(program.of_inputs(types, loc), inputs);
  std::vector<Array> ordered(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) ordered.at(out.order[i]) = values[i];
  return ordered;
}

}  // namespace weft::detail
