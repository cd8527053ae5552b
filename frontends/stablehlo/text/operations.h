// The reader of operations, and of the values and regions that are in them. The pretty forms have one grammar, which is looser than what is
// printed: operands, named attributes (`dims = [0]`), words, lists and dictionaries in any order, then types behind a colon.
#pragma once
#include <map>
#include <string>

#include "weft/frontends/stablehlo/module/module.h"
#include "weft/frontends/stablehlo/text/locations.h"
#include "weft/frontends/stablehlo/text/reader.h"

namespace weft::detail::mlir {

class OperationReader : public AttributeReader {
 public:
  using AttributeReader::AttributeReader;

 protected:
  /// Forgets the values of the function before.
  void begin_function();
  void open_scope() { scopes_.emplace_back(); }
  void close_scope() { scopes_.pop_back(); }
  ValueId num_values() const { return num_values_; }
  std::string value_name();
  /// Numbers for `count` values that are called by the name, if it is not empty, until the scope ends.
  ValueId define(const std::string& name, std::size_t count, Place place);
  /// A value that was defined before.
  ValueId operand();

  /// The operations of a block, up to its closing brace.
  void read_operations(Block& block);
  /// Operands, attributes, regions and types of an operation in the generic form, behind its name.
  void read_generic_rest(Operation& op);
  std::vector<SourceLine> source_lines() { return lines_.finish(*this); }

 private:
  struct Definition {
    ValueId first;
    std::size_t count;
  };
  using Scope = std::map<std::string, Definition, std::less<>>;
  /// Reads an operation of its own form, behind its name; `results` are the names before it.
  using Form = void (OperationReader::*)(Operation& op, std::size_t results);
  static const std::map<std::string, Form, std::less<>>& special_forms();

  Operation read_operation();
  void read_pretty(Operation& op, std::size_t results);
  void read_function_type(Operation& op);
  /// `: (types) -> types`, `: types -> types`, or just types, of which the results' follow.
  void read_types(Operation& op, std::size_t results);
  bool at_named_attribute();
  /// `[0:1, 2:3:1]`: a list of lists; entries without colons are numbers.
  Attribute read_ranges();
  /// `{ ^bb0(%a: type, ...): operations }`
  Block read_region();
  void read_block_arguments(Block& block);

  // Forms of their own (special_forms.cpp).
  void read_while(Operation& op, std::size_t results);
  void read_reduce(Operation& op, std::size_t results);
  void read_scan(Operation& op, std::size_t results);
  void read_manual_computation(Operation& op, std::size_t results);

  std::vector<Scope> scopes_;
  ValueId num_values_ = 0;
  SourceLines lines_;
};

}  // namespace weft::detail::mlir
