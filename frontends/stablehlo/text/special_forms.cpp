// Operations that write their regions out, in forms of their own: loops, reductions, maps over a mesh.
#include <fmt/format.h>

#include <optional>

#include "weft/core/base/process_wide.h"
#include "weft/frontends/stablehlo/text/operations.h"

namespace weft::detail::mlir {

using Kind = Attribute::Kind;

const std::map<std::string, OperationReader::Form, std::less<>>& OperationReader::special_forms() {
  static const auto& forms = process_wide<std::map<std::string, Form, std::less<>>>(
      std::map<std::string, Form, std::less<>>{{"stablehlo.while", &OperationReader::read_while},
                                               {"stablehlo.reduce", &OperationReader::read_reduce},
                                               {"chlo.scan", &OperationReader::read_scan},
                                               {"sdy.manual_computation", &OperationReader::read_manual_computation}});
  return forms;
}

/// `while(%a = %init, ...) : types attributes {...} cond { ... } do { ... }`
void OperationReader::read_while(Operation& op, std::size_t) {
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
void OperationReader::read_reduce(Operation& op, std::size_t results) {
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
void OperationReader::read_scan(Operation& op, std::size_t) {
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
void OperationReader::read_manual_computation(Operation& op, std::size_t) {
  c.expect("(");
  if (!c.take(")")) {
    do op.operands.push_back(operand());
    while (c.take(","));
    c.expect(")");
  }
  auto named = [&](const char* name, Attribute (OperationReader::*read)()) {
    if (!c.take_name(name)) c.fail(fmt::format("`{}` is missing", name));
    c.expect("=");
    op.attributes.keys.emplace_back(name);
    op.attributes.items.push_back((this->*read)());
  };
  named("in_shardings", &OperationReader::read_shardings);
  named("out_shardings", &OperationReader::read_shardings);
  named("manual_axes", &OperationReader::read_axes);
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

}  // namespace weft::detail::mlir
