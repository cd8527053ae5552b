#include "weft/frontends/stablehlo/text/operations.h"

#include <fmt/format.h>

#include "weft/core/base/nesting.h"

namespace weft::detail::mlir {

using Kind = Attribute::Kind;

// Values.

void OperationReader::begin_function() {
  num_values_ = 0;
  scopes_.clear();
}

std::string OperationReader::value_name() {
  c.expect("%");
  std::string name(c.name());
  while (c.next() == '-') {
    c.seek(c.offset() + 1);
    name += '-';
    name += c.name();
  }
  return name;
}

ValueId OperationReader::define(const std::string& name, std::size_t count, Place place) {
  const ValueId first = num_values_;
  num_values_ += static_cast<ValueId>(count);
  if (name.empty()) return first;
  for (const Scope& s : scopes_)
    if (s.count(name)) c.fail_at(place, fmt::format("%{} is defined twice", name));
  scopes_.back()[name] = {first, count};
  return first;
}

ValueId OperationReader::operand() {
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

void OperationReader::read_operations(Block& block) {
  check_nesting("regions inside regions");
  scopes_.emplace_back();
  while (!c.looking_at("}")) {
    if (!c.peek()) c.fail("a region is never closed");
    if (c.looking_at("^")) c.fail("a region of several blocks");
    block.operations.push_back(read_operation());
  }
  scopes_.pop_back();
}

Block OperationReader::read_region() {
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

void OperationReader::read_block_arguments(Block& block) {
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

namespace {
struct Result {
  std::string name;
  std::size_t count;
  Place place;
};
}  // namespace

Operation OperationReader::read_operation() {
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

void OperationReader::read_generic_rest(Operation& op) {
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

void OperationReader::read_function_type(Operation& op) {
  op.operand_types = read_types_in_parentheses();
  c.expect("->");
  op.result_types = c.looking_at("(") ? read_types_in_parentheses() : std::vector<Type>{read_type()};
  if (op.operand_types.size() != op.operands.size())
    c.fail_at(op.place, fmt::format("{} has {} operands, its type {}", op.name, op.operands.size(), op.operand_types.size()));
}

void OperationReader::read_types(Operation& op, std::size_t results) {
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

void OperationReader::read_pretty(Operation& op, std::size_t results) {
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
      // The type of a constant was read with its elements, and ends it: the next operation may stand in the same line.
      if (op.words.back().kind == Kind::dense && op.operands.empty()) break;
      goes_on = op.words.back().kind == Kind::word;
    }
  }
  if (depth > 0) c.fail("a parenthesis is never closed");
  read_types(op, results);
}

bool OperationReader::at_named_attribute() {
  if (!c.at_name()) return false;
  const std::size_t here = c.offset();
  const bool plain = c.name().find('.') == std::string_view::npos;
  const bool named = plain && c.looking_at("=") && !c.looking_at("==");
  c.seek(here);
  return named;
}

Attribute OperationReader::read_ranges() {
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

}  // namespace weft::detail::mlir
