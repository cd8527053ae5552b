// Reading operations, regions and functions (see reader.h).
#include "weft/frontends/stablehlo/bytecode/reader.h"

#include <fmt/format.h>

#include <limits>
#include <map>

#include "weft/core/base/nesting.h"
#include "weft/core/base/process_wide.h"
#include "weft/frontends/stablehlo/bytecode/properties.h"
#include "weft/frontends/stablehlo/bytecode/upgrade.h"

namespace weft::detail::mlir {
namespace {

using Kind = Attribute::Kind;

// What an operation's mask says it has.
enum Part : std::uint8_t {
  kAttributes = 1,
  kResults = 2,
  kOperands = 4,
  kSuccessors = 8,
  kRegions = 16,
  kUseOrders = 32,
  kProperties = 64
};
// What came with which version of the format.
constexpr std::uint64_t kIsolatedSections = 2, kUseListOrders = 3, kOptionalLocations = 4;
constexpr std::uint8_t kOperationsSection = 4;
/// The dialect whose operations are of versions.
constexpr std::string_view kVersioned = "vhlo";

class ModuleReader {
 public:
  ModuleReader(std::string_view bytes, const Origin& origin) : c_(read_container(bytes, origin)), table_(c_, m_.sources) {}

  Module read() {
    Bytes b = c_.ir;
    scopes_.emplace_back();
    Block top;
    read_block(b, top);
    if (!top.operations.empty())
      fail_at(c_.ir.origin(), top.operations[0].place, fmt::format("`{}` is outside of functions", top.operations[0].name));
    return std::move(m_);
  }

 private:
  static constexpr ValueId kUndefined = std::numeric_limits<ValueId>::max();
  /// The values that operations may use: those of the regions around, down to one that is isolated. A region's values come one after the
  /// other; `next` is the number of the next one, `end` where they end.
  struct Scope {
    std::vector<ValueId> values;
    std::size_t next = 0, end = 0;
  };

  [[noreturn]] void fail(const Place& place, const std::string& problem) const { fail_at(c_.ir.origin(), place, problem); }

  // Operations that are no part of a function's body, or of which nothing stays.
  using Special = void (ModuleReader::*)(Bytes& b, Operation& op, std::uint8_t mask);
  static const std::map<std::string_view, Special>& special_operations() {
    static const auto& all = process_wide<std::map<std::string_view, Special>>(
        std::map<std::string_view, Special>{{"builtin.module", &ModuleReader::read_module},
                                            {"func.func", &ModuleReader::read_function},
                                            {"vhlo.func_v1", &ModuleReader::read_function},
                                            {"sdy.mesh", &ModuleReader::read_mesh},
                                            {"builtin.unrealized_conversion_cast", &ModuleReader::read_cast}});
    return all;
  }

  void read_operation(Bytes& b, Block& block) {
    Operation op;
    op.place = b.place();
    const Container::OperationName& name = c_.operations[b.index(c_.operations.size(), "name of an operation")];
    op.name = fmt::format("{}.{}", name.dialect, name.name);
    if (name.dialect == kVersioned && layouts_of(name.dialect, name.name).empty())
      fail(op.place, fmt::format("the operation {} is not known; `{}` wrote it", op.name, c_.producer));
    const std::uint8_t mask = b.byte();
    op.place.source = table_.source(b);
    op.attributes.place = op.place;
    if (mask & kAttributes) {
      const Attribute all = table_.copy(b);
      if (all.kind != Kind::dictionary) fail(op.place, fmt::format("the attributes of {} are not a dictionary", op.name));
      op.attributes.keys = all.keys, op.attributes.items = all.items;
    }
    if (mask & kProperties) {
      if (name.is_registered) {
        const Bytes data = c_.properties[b.index(c_.properties.size(), "properties")];
        read_properties(table_, data, name.dialect, name.name, c_.version, op.attributes);
      } else {
        const Attribute all = table_.copy(b);
        op.attributes.keys.insert(op.attributes.keys.end(), all.keys.begin(), all.keys.end());
        op.attributes.items.insert(op.attributes.items.end(), all.items.begin(), all.items.end());
      }
    }
    if (mask & kResults)
      for (std::size_t n = b.count("results"); n > 0; --n) op.result_types.push_back(table_.copy_type(b));
    if (mask & kOperands)
      for (std::size_t n = b.count("operands"); n > 0; --n) op.operands.push_back(operand(b, op));
    if (mask & kSuccessors && b.count("successors") > 0)
      fail(op.place, fmt::format("{} has successors; there is no control flow between blocks", op.name));
    if (c_.version >= kUseListOrders && mask & kUseOrders) skip_use_orders(b, op.result_types.size());

    if (const auto special = special_operations().find(op.name); special != special_operations().end()) {
      (this->*special->second)(b, op, mask);
      return;
    }
    if (mask & kRegions) read_regions(b, op);
    for (std::size_t i = 0; i < op.result_types.size(); ++i) op.results.push_back(define(b));
    if (name.dialect == kVersioned) upgrade(op);
    block.operations.push_back(std::move(op));
  }

  // Values.

  ValueId operand(Bytes& b, const Operation& op) {
    const std::vector<ValueId>& values = scopes_.back().values;
    const ValueId v = values[b.index(values.size(), "value")];
    if (v == kUndefined) fail(op.place, fmt::format("{} uses a value before it is defined", op.name));
    return v;
  }
  ValueId define(const Bytes& b) {
    bind(b, num_values_);
    return num_values_++;
  }
  void bind(const Bytes& b, ValueId value) {
    Scope& s = scopes_.back();
    if (s.next == s.end) b.fail("a region defines more values than it declares");
    s.values[s.next++] = value;
  }

  /// Orders of uses, which mean nothing here: for each value its number (where there are several), and numbers.
  void skip_use_orders(Bytes& b, std::size_t values) {
    for (std::size_t n = values > 1 ? b.count("orders of uses") : 1; n > 0; --n) {
      if (values > 1) b.varint();
      bool pairs = false;
      const std::uint64_t count = b.varint_with_flag(pairs);
      if (count > b.left()) b.fail("a use-list order is longer than the rest of the file");
      for (std::uint64_t i = 0; i < count; ++i) b.varint();
    }
  }

  // Regions and blocks.

  void read_regions(Bytes& b, Operation& op) {
    check_nesting("regions inside regions");
    bool isolated = false;
    const std::uint64_t n = b.varint_with_flag(isolated);
    if (n > b.left()) b.fail(fmt::format("{} regions are declared, which {} bytes cannot hold", n, b.left()));
    Bytes own;
    Bytes* from = &b;
    if (isolated && c_.version >= kIsolatedSections && n > 0) {
      std::uint8_t id = 0;
      own = b.section(id);
      if (id != kOperationsSection) own.fail("a region's section is not a section of operations");
      from = &own;
    }
    if (isolated) scopes_.emplace_back();
    for (std::uint64_t i = 0; i < n; ++i) op.regions.push_back(read_region(*from));
    if (isolated) scopes_.pop_back();
  }

  Block read_region(Bytes& b) {
    Block block;
    const Place place = b.place();
    const std::uint64_t blocks = b.varint();
    if (blocks == 0) return block;
    if (blocks > 1) fail(place, "a region of several blocks");
    const std::size_t values = b.count("values");
    Scope& s = scopes_.back();
    const std::size_t next = s.next, end = s.end, size = s.values.size();
    s.next = size, s.end = size + values;
    s.values.resize(s.end, kUndefined);
    read_block(b, block);
    // Regions within may have made the list of scopes longer, and so moved it.
    Scope& same = scopes_.back();
    same.values.resize(size);
    same.next = next, same.end = end;
    return block;
  }

  void read_block(Bytes& b, Block& block) {
    bool has_arguments = false;
    const std::uint64_t operations = b.varint_with_flag(has_arguments);
    if (operations > b.left()) b.fail(fmt::format("{} operations are declared, which {} bytes cannot hold", operations, b.left()));
    if (has_arguments) read_arguments(b, block);
    for (std::uint64_t i = 0; i < operations; ++i) read_operation(b, block);
  }

  void read_arguments(Bytes& b, Block& block) {
    std::vector<std::string> names;
    for (std::size_t n = b.count("arguments"); n > 0; --n) {
      bool has_location = true;
      std::uint64_t type = 0;
      if (c_.version >= kOptionalLocations)
        type = b.varint_with_flag(has_location);
      else
        type = b.varint();
      if (type >= c_.types.size()) b.fail(fmt::format("there is no type {}; there are {}", type, c_.types.size()));
      const Type& t = table_.type(static_cast<std::size_t>(type));
      table_.spend(1 + t.elements.size(), b);
      block.types.push_back(t);
      block.arguments.push_back(define(b));
      names.push_back(has_location ? table_.location_name(b.index(c_.attributes.size(), "attribute")) : std::string());
    }
    if (c_.version >= kUseListOrders && b.byte() != 0) skip_use_orders(b, block.arguments.size());
    if (argument_names_.empty()) argument_names_ = std::move(names);
  }

  // Modules, functions and meshes.

  void read_module(Bytes& b, Operation& op, std::uint8_t mask) {
    if (const Attribute* name = op.attributes.find("sym_name"); name && m_.name.empty()) m_.name = name->text;
    for (std::size_t i = 0; i < op.attributes.keys.size(); ++i)
      if (!m_.attributes.find(op.attributes.keys[i])) {
        m_.attributes.keys.push_back(op.attributes.keys[i]);
        m_.attributes.items.push_back(op.attributes.items[i]);
      }
    if (mask & kRegions) read_regions(b, op);
    for (const Block& block : op.regions)
      for (const Operation& inner : block.operations)
        fail(inner.place, fmt::format("`{}` is outside of functions, where only modules and functions are read", inner.name));
  }

  void read_function(Bytes& b, Operation& op, std::uint8_t mask) {
    const Attribute *const name = op.attributes.find("sym_name"), *const type = op.attributes.find("function_type");
    if (!name || name->kind != Kind::string) fail(op.place, "a function has no sym_name");
    if (!type || type->kind != Kind::type || type->type.kind != Type::Kind::function) fail(op.place, "a function has no function_type");
    if (in_function_) fail(op.place, "a function is inside another one");
    Function f;
    f.name = name->text, f.place = op.place, f.results = type->type.elements;
    if (m_.find(f.name)) fail(op.place, fmt::format("there are two functions @{}", f.name));
    if (const Attribute* a = op.attributes.find("arg_attrs")) f.argument_attributes = a->items;
    if (const Attribute* a = op.attributes.find("res_attrs")) f.result_attributes = a->items;
    num_values_ = 0;
    in_function_ = true;
    argument_names_.clear();
    if (mask & kRegions) read_regions(b, op);
    in_function_ = false;
    f.num_values = num_values_;
    f.is_declaration = op.regions.empty() || op.regions[0].operations.empty();
    if (!f.is_declaration)
      f.body = std::move(op.regions[0]), f.argument_names = std::move(argument_names_), f.argument_names.resize(f.body.arguments.size());
    m_.functions.push_back(std::move(f));
  }

  void read_mesh(Bytes&, Operation& op, std::uint8_t mask) {
    const Attribute *const name = op.attributes.find("sym_name"), *const mesh = op.attributes.find("mesh");
    if (!name || name->kind != Kind::string || !mesh || mesh->kind != Kind::dictionary || mask & kRegions)
      fail(op.place, "a mesh has no name, or no axes");
    m_.meshes.push_back({name->text, *mesh});
  }

  /// Between types of VHLO and those of the dialects beside it, which are the same here.
  void read_cast(Bytes& b, Operation& op, std::uint8_t mask) {
    if (op.operands.size() != op.result_types.size() || mask & kRegions)
      fail(op.place, "a type conversion must have one result for each operand");
    for (const ValueId v : op.operands) bind(b, v);
  }

  const Container c_;
  Module m_;
  Table table_;
  std::vector<Scope> scopes_;
  ValueId num_values_ = 0;
  bool in_function_ = false;
  std::vector<std::string> argument_names_;  // of the function that is being read, once its own block's are known
};

}  // namespace

bool is_bytecode(std::string_view bytes) { return bytes.substr(0, kBytecodeMagic.size()) == kBytecodeMagic; }

Module read_bytecode(std::string_view bytes, const std::string& file, SourceLoc loc) {
  const Origin origin{file, loc};
  return ModuleReader(bytes, origin).read();
}

}  // namespace weft::detail::mlir
