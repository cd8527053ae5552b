// The parser of modules and functions (see parser.h).
#include "weft/frontends/stablehlo/text/parser.h"

#include <fmt/format.h>

#include "weft/core/base/nesting.h"
#include "weft/frontends/stablehlo/text/operations.h"

namespace weft::detail::mlir {
namespace {

using Kind = Attribute::Kind;

class Parser : public OperationReader {
 public:
  using OperationReader::OperationReader;

  Module read_all() {
    Module m;
    while (c.peek()) {
      if (read_alias()) continue;
      read_top_level(m);
    }
    m.sources = source_lines();
    return m;
  }

 private:
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
    open_scope();
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
    close_scope();
    f.num_values = num_values();
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
    f.name = name->text, f.place = place, f.num_values = num_values();
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
};

}  // namespace

Module parse_module(std::string_view text, const std::string& file, SourceLoc loc) { return Parser(text, file, loc).read_all(); }

}  // namespace weft::detail::mlir
