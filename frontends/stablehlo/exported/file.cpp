// See file.h. Flatbuffers: flatbuffers.dev/internals.
#include "weft/frontends/stablehlo/exported/file.h"

#include <fmt/format.h>

#include "weft/core/base/nesting.h"
#include "weft/frontends/stablehlo/bytecode/reader.h"

namespace weft::detail {
namespace {

// Where a table of the schema has its fields, by their place in its list of offsets.
enum ExportedField : std::size_t { kFunctionName = 6, kInTree = 8, kOutTree = 12, kPlatforms = 22, kModule = 30, kKept = 34 };
enum TreeField : std::size_t { kKind = 4, kChildren = 6, kNames = 8 };

class Flat {
 public:
  Flat(std::string_view bytes, std::string file, SourceLoc loc) : bytes_(bytes), file_(std::move(file)), loc_(loc) {}

  [[noreturn]] void fail(std::size_t at, const std::string& problem) const {
    throw Error(fmt::format("{}:byte {}: {}", file_, at, problem), loc_);
  }
  std::uint64_t number(std::size_t at, std::size_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at) fail(at, "an offset is outside of the file");
    std::uint64_t v = 0;
    for (std::size_t i = 0; i < size; ++i) v |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes_[at + i])) << (8 * i);
    return v;
  }
  /// What an offset at that place leads to.
  std::size_t follow(std::size_t at) const { return at + static_cast<std::size_t>(number(at, 4)); }
  std::size_t root() const { return follow(0); }
  /// The place of a table's field; 0 if it has none.
  std::size_t field(std::size_t table, std::size_t slot) const {
    // The list of offsets is before or behind the table.
    const auto back = static_cast<std::int32_t>(number(table, 4));
    const std::int64_t list = static_cast<std::int64_t>(table) - back;
    if (list < 0) fail(table, "a table's fields are outside of the file");
    const auto offsets = static_cast<std::size_t>(list);
    if (slot + 2 > number(offsets, 2)) return 0;
    const auto offset = static_cast<std::size_t>(number(offsets + slot, 2));
    return offset ? table + offset : 0;
  }
  struct Vector {
    std::size_t first = 0, count = 0;
  };
  Vector vector(std::size_t table, std::size_t slot, std::size_t element) const {
    const std::size_t at = field(table, slot);
    if (!at) return {};
    const std::size_t begin = follow(at);
    const std::uint64_t count = number(begin, 4);
    if (count > (bytes_.size() - begin) / element) fail(begin, "a list continues past the end of the file");
    return {begin + 4, static_cast<std::size_t>(count)};
  }
  std::string_view bytes_of(const Vector& v) const {
    if (v.first > bytes_.size() || v.count > bytes_.size() - v.first) fail(v.first, "a list continues past the end of the file");
    return bytes_.substr(v.first, v.count);
  }
  std::string text(std::size_t at) const {
    const std::size_t begin = follow(at);
    return std::string(bytes_of({begin + 4, static_cast<std::size_t>(number(begin, 4))}));
  }

  /// Tables may be shared, so that what is made of them is counted.
  ExportedTree tree(std::size_t table, std::size_t& budget) const {
    check_nesting("trees inside trees");
    if (budget-- == 0) fail(table, "its trees have more nodes than a file of this size may hold");
    ExportedTree out;
    const std::size_t kind = field(table, kKind);
    const std::uint64_t code = kind ? number(kind, 1) : 0;
    if (code > static_cast<std::uint64_t>(ExportedTree::Kind::custom)) fail(kind, fmt::format("unknown kind {} of tree node", code));
    out.kind = static_cast<ExportedTree::Kind>(code);
    const Vector children = vector(table, kChildren, 4), names = vector(table, kNames, 4);
    for (std::size_t i = 0; i < children.count; ++i) out.children.push_back(tree(follow(children.first + 4 * i), budget));
    for (std::size_t i = 0; i < names.count; ++i) {
      out.names.push_back(text(names.first + 4 * i));
      if (out.names.back().size() > budget) fail(table, "its names are longer than a file of this size may hold");
      budget -= out.names.back().size();
    }
    if (out.kind == ExportedTree::Kind::dict && out.names.size() != out.children.size())
      fail(table, "a dict must have one name for each entry");
    return out;
  }

 private:
  std::string_view bytes_;
  std::string file_;
  SourceLoc loc_;
};

}  // namespace

std::string_view module_of_exported(std::string_view bytes, const std::string& file, SourceLoc loc) {
  const Flat flat(bytes, file, loc);
  return flat.bytes_of(flat.vector(flat.root(), kModule, 1));
}

bool is_exported(std::string_view bytes) {
  try {
    return mlir::is_bytecode(module_of_exported(bytes, "", {}));
  } catch (const Error&) {
    return false;
  }
}

ExportedParts read_exported(std::string_view bytes, const std::string& file, SourceLoc loc) {
  if (!is_exported(bytes)) throw Error(fmt::format("{}: this is not a file of jax.export", file), loc);
  const Flat flat(bytes, file, loc);
  const std::size_t root = flat.root();
  ExportedParts parts;
  parts.module = module_of_exported(bytes, file, loc);
  if (const std::size_t name = flat.field(root, kFunctionName)) parts.function = flat.text(name);
  std::size_t budget = 4 * bytes.size();
  for (const auto& [slot, tree] : {std::pair(std::size_t{kInTree}, &parts.arguments), std::pair(std::size_t{kOutTree}, &parts.result)}) {
    const std::size_t at = flat.field(root, slot);
    if (!at) flat.fail(root, "the tree of the arguments or of the result is missing");
    *tree = flat.tree(flat.follow(at), budget);
  }
  const Flat::Vector kept = flat.vector(root, kKept, 2), platforms = flat.vector(root, kPlatforms, 4);
  for (std::size_t i = 0; i < kept.count; ++i) parts.kept.push_back(static_cast<std::size_t>(flat.number(kept.first + 2 * i, 2)));
  for (std::size_t i = 0; i < platforms.count; ++i) parts.platforms.push_back(flat.text(platforms.first + 4 * i));
  return parts;
}

}  // namespace weft::detail
