// The parser of operations, blocks and functions (see parser.h). The pretty forms have one grammar, which is looser than what is printed:
// operands, named attributes (`dims = [0]`), words, lists and dictionaries in any order, then types behind a colon. Loops and reductions,
// which write their regions out, have their own.
#include "weft/frontends/stablehlo/text/parser.h"

#include <fmt/format.h>

#include <map>
#include <optional>

#include "weft/core/base/nesting.h"
#include "weft/core/base/process_wide.h"
#include "weft/frontends/stablehlo/text/locations.h"
#include "weft/frontends/stablehlo/text/reader.h"

namespace weft::detail::mlir {
namespace {

using Kind = Attribute::Kind;

class Parser : public AttributeReader {
 public:
  using AttributeReader::AttributeReader;

  Module read_all() {
    Module m;
    while (c.peek()) {
      if (read_alias()) continue;
      read_top_level(m);
    }
    m.sources = lines_.finish(*this);
    return m;
  }

 private:
  struct Definition {
    ValueId first;
    std::size_t count;
  };
  using Scope = std::map<std::string, Definition, std::less<>>;

  void read_top_level(Module& m) {
    check_nesting("modules inside modules");
    const bool quoted = c.looking_at("\"");
    const Place place = c.place();
    const std::string name = quoted ? c.string() : std::string(c.name());
    if (name == "module" || name == "builtin.module") {
      if (quoted) {
        read_generic_module(m);
        return;
      }
      if (c.looking_at("@")) m.name = c.symbol();
      if (c.take_name("attributes")) read_dictionary(m.attributes);
      c.expect("{");
      while (!c.take("}")) {
        if (!c.peek()) c.fail("a module is never closed");
        read_top_level(m);
      }
      skip_location();
    } else if (name == "func.func" || name == "func") {
      add(m, quoted ? read_generic_function(place) : read_function(place));
    } else if (name == "sdy.mesh") {
      m.meshes.push_back(quoted ? read_generic_mesh(place) : read_named_mesh());
      skip_location();
    } else {
      c.fail_at(place, fmt::format("`{}` is outside of functions, where only modules and functions are read", name));
    }
  }

  void add(Module& m, Function f) {
    if (m.find(f.name)) c.fail_at(f.place, fmt::format("there are two functions @{}", f.name));
    m.functions.push_back(std::move(f));
  }

  /// `@mesh = <["x"=2]> {...}`
  NamedMesh read_named_mesh() {
    NamedMesh named;
    named.name = c.symbol();
    c.expect("=");
    named.mesh = read_mesh();
    Attribute ignored;
    if (c.looking_at("{")) read_dictionary(ignored);
    return named;
  }
  /// `"sdy.mesh"() <{mesh = #sdy.mesh<...>, sym_name = "mesh"}> : () -> ()`
  NamedMesh read_generic_mesh(Place place) {
    Operation op;
    op.name = "sdy.mesh", op.place = place;
    begin_function();
    read_generic_rest(op);
    const Attribute *name = op.attributes.find("sym_name"), *mesh = op.attributes.find("mesh");
    if (!name || name->kind != Kind::string || !mesh || mesh->kind != Kind::dictionary) c.fail_at(place, "a mesh has no name, or no axes");
    return {name->text, *mesh};
  }

  void read_generic_module(Module& m) {
    c.expect("("), c.expect(")");
    if (c.take("<")) read_dictionary(m.attributes), c.expect(">");
    if (const Attribute* name = m.attributes.find("sym_name")) m.name = name->text;
    c.expect("("), c.expect("{");
    if (c.take("^")) c.name(), c.expect(":");
    while (!c.take("}")) {
      if (!c.peek()) c.fail("a module is never closed");
      read_top_level(m);
    }
    c.expect(")");
    if (c.looking_at("{")) read_dictionary(m.attributes);
    c.expect(":");
    read_type();
    skip_location();
  }

  Function read_function(Place place) {
    Function f;
    f.place = place;
    for (const char* visibility : {"public", "private", "nested"}) c.take_name(visibility);
    f.name = c.symbol();
    begin_function();
    scopes_.emplace_back();
    c.expect("(");
    if (!c.take(")")) {
      do {
        std::string name;
        Place at = c.place();
        if (c.looking_at("%")) {
          name = value_name();
          c.expect(":");
        }
        const Type type = read_type();
        f.body.arguments.push_back(define(name, 1, at));
        f.body.types.push_back(type);
        f.argument_attributes.emplace_back(Kind::dictionary, at);
        if (c.looking_at("{")) read_dictionary(f.argument_attributes.back());
        f.argument_names.push_back(read_location_name());
      } while (c.take(","));
      c.expect(")");
    }
    if (c.take("->")) f.results = c.looking_at("(") ? read_types_in_parentheses(&f.result_attributes) : std::vector<Type>{read_type()};
    Attribute ignored;
    if (c.take_name("attributes")) read_dictionary(ignored);
    f.is_declaration = !c.looking_at("{");
    if (!f.is_declaration) {
      c.expect("{");
      read_operations(f.body);
      c.expect("}");
    }
    skip_location();
    scopes_.pop_back();
    f.num_values = num_values_;
    return f;
  }

  /// `"func.func"() <{function_type = ..., sym_name = "main"}> ({ ... }) : () -> ()`
  Function read_generic_function(Place place) {
    begin_function();
    Operation op;
    op.name = "func.func", op.place = place;
    read_generic_rest(op);
    const Attribute* name = op.attributes.find("sym_name");
    if (!name || name->kind != Kind::string) c.fail_at(place, "a function has no sym_name");
    Function f;
    f.name = name->text, f.place = place, f.num_values = num_values_;
    f.is_declaration = op.regions.empty() || op.regions[0].operations.empty();
    if (f.is_declaration) return f;
    f.body = std::move(op.regions[0]);
    const Attribute* type = op.attributes.find("function_type");
    if (!type || type->kind != Kind::type || type->type.kind != Type::Kind::function) c.fail_at(place, "a function has no function_type");
    f.results = type->type.elements;
    if (const Attribute* attributes = op.attributes.find("arg_attrs")) f.argument_attributes = attributes->items;
    if (const Attribute* attributes = op.attributes.find("res_attrs")) f.result_attributes = attributes->items;
    return f;
  }

  void begin_function() {
    num_values_ = 0;
    scopes_.clear();
  }

  // Values.

  std::string value_name() {
    c.expect("%");
    std::string name(c.name());
    while (c.next() == '-') {
      c.seek(c.offset() + 1);
      name += '-';
      name += c.name();
    }
    return name;
  }
  ValueId define(const std::string& name, std::size_t count, Place place) {
    const ValueId first = num_values_;
    num_values_ += static_cast<ValueId>(count);
    if (name.empty()) return first;
    for (const Scope& s : scopes_)
      if (s.count(name)) c.fail_at(place, fmt::format("%{} is defined twice", name));
    scopes_.back()[name] = {first, count};
    return first;
  }
  ValueId operand() {
    const Place place = c.place();
    const std::string name = value_name();
    const Definition* found = nullptr;
    for (auto s = scopes_.rbegin(); s != scopes_.rend() && !found; ++s)
      if (const auto d = s->find(name); d != s->end()) found = &d->second;
    if (!found) c.fail_at(place, fmt::format("%{} is not defined before it is used", name));
    std::size_t which = 0;
    if (c.next() == '#') {
      c.expect("#");
      const std::int64_t n = c.integer();
      if (n < 0 || static_cast<std::size_t>(n) >= found->count) c.fail_at(place, fmt::format("%{} has {} values", name, found->count));
      which = static_cast<std::size_t>(n);
    } else if (found->count != 1) {
      c.fail_at(place, fmt::format("%{} has {} values; one of them is named by `#` and its number", name, found->count));
    }
    return found->first + static_cast<ValueId>(which);
  }

  // Blocks.

  void read_operations(Block& block) {
    check_nesting("regions inside regions");
    scopes_.emplace_back();
    while (!c.looking_at("}")) {
      if (!c.peek()) c.fail("a region is never closed");
      if (c.looking_at("^")) c.fail("a region of several blocks");
      block.operations.push_back(read_operation());
    }
    scopes_.pop_back();
  }
  /// `{ ^bb0(%a: type, ...): operations }`
  Block read_region() {
    Block block;
    c.expect("{");
    scopes_.emplace_back();
    if (c.take("^")) {
      c.name();
      if (c.looking_at("(")) read_block_arguments(block);
      c.expect(":");
    }
    read_operations(block);
    scopes_.pop_back();
    c.expect("}");
    return block;
  }
  void read_block_arguments(Block& block) {
    c.expect("(");
    if (c.take(")")) return;
    do {
      const Place place = c.place();
      block.arguments.push_back(define(value_name(), 1, place));
      c.expect(":");
      block.types.push_back(read_type());
      skip_location();
    } while (c.take(","));
    c.expect(")");
  }

  // Operations.

  struct Result {
    std::string name;
    std::size_t count;
    Place place;
  };

  Operation read_operation() {
    std::vector<Result> results;
    std::size_t count = 0;
    if (c.looking_at("%")) {
      do {
        Result r{{}, 1, c.place()};
        r.name = value_name();
        if (c.next() == ':') {
          c.expect(":");
          const std::int64_t n = c.integer();
          if (n < 1 || n > (1 << 20)) c.fail_at(r.place, "an operation has at least one result and at most a million");
          r.count = static_cast<std::size_t>(n);
        }
        count += r.count;
        results.push_back(std::move(r));
      } while (c.take(","));
      c.expect("=");
    }
    Operation op;
    op.place = c.place();
    if (c.looking_at("\"")) {
      op.name = c.string();
      read_generic_rest(op);
    } else {
      if (!c.at_name()) c.fail("an operation is missing");
      op.name = std::string(c.name());
      if (op.name.find('.') == std::string::npos) op.name = "func." + op.name;
      const auto special = special_forms().find(op.name);
      if (special == special_forms().end())
        read_pretty(op, count);
      else
        (this->*special->second)(op, count);
    }
    if (c.looking_at_name("loc")) op.place.source = lines_.number_of(read_attribute());
    if (op.result_types.size() != count)
      c.fail_at(op.place, fmt::format("{} has {} results by its type, {} are named", op.name, op.result_types.size(), count));
    for (const Result& r : results) {
      const ValueId first = define(r.name, r.count, r.place);
      for (std::size_t i = 0; i < r.count; ++i) op.results.push_back(first + static_cast<ValueId>(i));
    }
    return op;
  }

  /// Operations whose pretty form is not the common one.
  using Form = void (Parser::*)(Operation& op, std::size_t results);
  static const std::map<std::string, Form, std::less<>>& special_forms() {
    static const auto& forms = process_wide<std::map<std::string, Form, std::less<>>>(
        std::map<std::string, Form, std::less<>>{{"stablehlo.while", &Parser::read_while},
                                                 {"stablehlo.reduce", &Parser::read_reduce},
                                                 {"chlo.scan", &Parser::read_scan},
                                                 {"sdy.manual_computation", &Parser::read_manual_computation}});
    return forms;
  }

  void read_generic_rest(Operation& op) {
    c.expect("(");
    if (!c.take(")")) {
      do op.operands.push_back(operand());
      while (c.take(","));
      c.expect(")");
    }
    if (c.looking_at("[")) c.fail(fmt::format("{} has successors; there is no control flow between blocks", op.name));
    if (c.take("<")) read_dictionary(op.attributes), c.expect(">");
    if (c.take("(")) {
      do op.regions.push_back(read_region());
      while (c.take(","));
      c.expect(")");
    }
    if (c.looking_at("{")) read_dictionary(op.attributes);
    c.expect(":");
    read_function_type(op);
  }
  void read_function_type(Operation& op) {
    op.operand_types = read_types_in_parentheses();
    c.expect("->");
    op.result_types = c.looking_at("(") ? read_types_in_parentheses() : std::vector<Type>{read_type()};
    if (op.operand_types.size() != op.operands.size())
      c.fail_at(op.place, fmt::format("{} has {} operands, its type {}", op.name, op.operands.size(), op.operand_types.size()));
  }

  /// `: (types) -> types`, `: types -> types`, or just types, of which the results' follow.
  void read_types(Operation& op, std::size_t results) {
    if (!c.take(":")) {
      // A constant's type is behind its elements.
      for (const Attribute& w : op.words)
        if (w.kind == Kind::dense && results == 1) op.result_types = {w.type};
      return;
    }
    if (c.looking_at("(")) {
      read_function_type(op);
      return;
    }
    const std::vector<Type> types = read_type_list();
    if (c.take("->")) {
      if (types.size() == op.operands.size()) op.operand_types = types;
      op.result_types = c.looking_at("(") ? read_types_in_parentheses() : std::vector<Type>{read_type()};
    } else if (results == types.size()) {
      op.result_types = types;
    } else {
      op.result_types.assign(results, types.back());
    }
  }

  void read_pretty(Operation& op, std::size_t results) {
    int depth = 0;
    bool goes_on = true;  // whether the operation may go on in the next line
    for (;;) {
      const bool new_line = c.line_ends() && !goes_on && depth == 0;
      goes_on = false;
      const char ch = c.peek();
      if (ch == '{' || c.looking_at("<{")) {
        const bool angle = c.take("<");
        read_dictionary(op.attributes);
        if (angle) c.expect(">");
      } else if (ch == ':' && !c.looking_at("::")) {
        break;
      } else if (new_line && !at_named_attribute()) {
        break;
      } else if (ch == ',') {
        c.expect(",");
        goes_on = true;
      } else if (ch == '(') {
        c.expect("(");
        ++depth;
      } else if (ch == ')' && depth > 0) {
        c.expect(")");
        --depth;
      } else if (ch == '%') {
        op.operands.push_back(operand());
      } else if (ch == '[') {
        op.words.push_back(read_ranges());
      } else if (c.looking_at_name("loc") || ch == '}' || ch == '\0') {
        break;
      } else if (at_named_attribute()) {
        op.attributes.keys.emplace_back(c.name());
        c.expect("=");
        op.attributes.items.push_back(read_attribute());
        goes_on = true;
      } else {
        op.words.push_back(read_attribute());
        goes_on = op.words.back().kind == Kind::word;
      }
    }
    if (depth > 0) c.fail("a parenthesis is never closed");
    read_types(op, results);
  }
  bool at_named_attribute() {
    if (!c.at_name()) return false;
    const std::size_t here = c.offset();
    const bool plain = c.name().find('.') == std::string_view::npos;
    const bool named = plain && c.looking_at("=") && !c.looking_at("==");
    c.seek(here);
    return named;
  }
  /// `[0:1, 2:3:1]`: a list of lists; entries without colons are numbers.
  Attribute read_ranges() {
    Attribute list(Kind::list, c.place());
    c.expect("[");
    if (c.take("]")) return list;
    do {
      Attribute first = read_attribute();
      if (!c.looking_at(":")) {
        list.items.push_back(std::move(first));
        continue;
      }
      Attribute range(Kind::list, first.place);
      range.items.push_back(std::move(first));
      while (c.take(":")) {
        Attribute bound(Kind::integer, c.place());
        bound.integer = c.integer();
        range.items.push_back(std::move(bound));
      }
      list.items.push_back(std::move(range));
    } while (c.take(","));
    c.expect("]");
    return list;
  }

  /// `while(%a = %init, ...) : types attributes {...} cond { ... } do { ... }`
  void read_while(Operation& op, std::size_t) {
    std::vector<std::pair<std::string, Place>> names;
    c.expect("(");
    if (!c.take(")")) {
      do {
        const Place place = c.place();
        names.emplace_back(value_name(), place);
        c.expect("=");
        op.operands.push_back(operand());
      } while (c.take(","));
      c.expect(")");
    }
    if (c.take(":")) op.operand_types = op.result_types = read_type_list();
    if (op.result_types.size() != names.size())
      c.fail_at(op.place, fmt::format("a loop carries {} values and has {} types", names.size(), op.result_types.size()));
    if (c.take_name("attributes")) read_dictionary(op.attributes);
    for (const char* part : {"cond", "do"}) {
      if (!c.take_name(part)) c.fail(fmt::format("the region `{}` of a loop is missing", part));
      Block block;
      block.types = op.result_types;
      c.expect("{");
      scopes_.emplace_back();
      for (const auto& [name, place] : names) block.arguments.push_back(define(name, 1, place));
      read_operations(block);
      scopes_.pop_back();
      c.expect("}");
      op.regions.push_back(std::move(block));
    }
  }

  /// `reduce(%a init: %i), ... across dimensions = [0] : types reducer(%x: type, %y: type) ... { ... }`, or with `applies NAME` for the
  /// region.
  void read_reduce(Operation& op, std::size_t results) {
    std::vector<ValueId> starts;
    do {
      c.expect("(");
      op.operands.push_back(operand());
      if (!c.take_name("init")) c.fail("`init:` is missing");
      c.expect(":");
      starts.push_back(operand());
      c.expect(")");
    } while (c.take(","));
    op.operands.insert(op.operands.end(), starts.begin(), starts.end());
    std::optional<std::string> applied;
    if (c.take_name("applies")) applied = std::string(c.name());
    c.take_name("across");
    op.attributes.keys.emplace_back(c.name());
    c.expect("=");
    op.attributes.items.push_back(read_attribute());
    if (c.looking_at("{")) read_dictionary(op.attributes);
    read_types(op, results);
    Block block;
    const std::size_t n = starts.size();
    scopes_.emplace_back();
    if (applied) {
      // A region of that one operation.
      if (n != 1 || op.operand_types.size() != 2) c.fail_at(op.place, "`applies` is for one operand, with its type");
      const Type scalar = op.operand_types[1];
      for (int i = 0; i < 2; ++i) block.arguments.push_back(define({}, 1, op.place)), block.types.push_back(scalar);
      Operation inner, end;
      inner.name = *applied, inner.operands = block.arguments, inner.result_types = {scalar}, inner.place = op.place;
      inner.results = {define({}, 1, op.place)};
      end.name = "stablehlo.return", end.operands = inner.results, end.place = op.place;
      block.operations.push_back(std::move(inner));
      block.operations.push_back(std::move(end));
    } else {
      if (!c.take_name("reducer")) c.fail("the region `reducer` of a reduction is missing");
      Block pairs;
      while (c.looking_at("(")) read_block_arguments(pairs);
      if (pairs.arguments.size() != 2 * n) c.fail("a reducer takes two values for each operand");
      for (std::size_t side = 0; side < 2; ++side)
        for (std::size_t i = 0; i < n; ++i)
          block.arguments.push_back(pairs.arguments[2 * i + side]), block.types.push_back(pairs.types[2 * i + side]);
      c.expect("{");
      read_operations(block);
      c.expect("}");
    }
    scopes_.pop_back();
    op.regions.push_back(std::move(block));
  }

  /// `scan(%x, ...) inits(%c, ...) dimension=0 attributes {...} { ^bb0(...): ... } : types`. As in the generic form,
  /// operandSegmentSizes separates the operands.
  void read_scan(Operation& op, std::size_t) {
    Attribute sizes(Kind::list, c.place());
    for (const char* word : {"", "inits"}) {
      if (*word && !c.take_name(word)) c.fail(fmt::format("`{}` is missing", word));
      Attribute size(Kind::integer, c.place());
      c.expect("(");
      if (!c.take(")")) {
        do op.operands.push_back(operand()), ++size.integer;
        while (c.take(","));
        c.expect(")");
      }
      sizes.items.push_back(std::move(size));
    }
    op.attributes.keys.emplace_back("operandSegmentSizes");
    op.attributes.items.push_back(std::move(sizes));
    if (!c.take_name("dimension")) c.fail("`dimension` is missing");
    c.expect("=");
    op.attributes.keys.emplace_back("dimension");
    op.attributes.items.push_back(read_attribute());
    if (c.take_name("attributes")) read_dictionary(op.attributes);
    op.regions.push_back(read_region());
    c.expect(":");
    read_function_type(op);
  }

  /// `manual_computation(%x, ...) in_shardings=[<...>] out_shardings=[<...>] manual_axes={"x"} (%a: type, ...) { ... } : types`
  void read_manual_computation(Operation& op, std::size_t) {
    c.expect("(");
    if (!c.take(")")) {
      do op.operands.push_back(operand());
      while (c.take(","));
      c.expect(")");
    }
    auto named = [&](const char* name, Attribute (Parser::*read)()) {
      if (!c.take_name(name)) c.fail(fmt::format("`{}` is missing", name));
      c.expect("=");
      op.attributes.keys.emplace_back(name);
      op.attributes.items.push_back((this->*read)());
    };
    named("in_shardings", &Parser::read_shardings);
    named("out_shardings", &Parser::read_shardings);
    named("manual_axes", &Parser::read_axes);
    Block block;
    scopes_.emplace_back();
    read_block_arguments(block);
    c.expect("{");
    read_operations(block);
    c.expect("}");
    scopes_.pop_back();
    op.regions.push_back(std::move(block));
    if (c.looking_at("{")) read_dictionary(op.attributes);
    c.expect(":");
    read_function_type(op);
  }

  std::vector<Scope> scopes_;
  ValueId num_values_ = 0;
  SourceLines lines_;
};

}  // namespace

Module parse_module(std::string_view text, const std::string& file, SourceLoc loc) { return Parser(text, file, loc).read_all(); }

}  // namespace weft::detail::mlir
