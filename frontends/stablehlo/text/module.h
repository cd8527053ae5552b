// A StableHLO module as a tree: functions, blocks, operations, types and attributes. The parser makes it, once and whole; importing reads
// it.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/array/aval.h"

namespace weft::detail::mlir {

/// A place in the text, counted from 1.
struct Place {
  int line = 0, column = 0;
};

struct Type {
  enum class Kind {
    tensor,
    tuple,
    token,
    function,
    other,  ///< what weft has no type for: dynamic sizes, quantized and 4- or 8-bit elements; an error where such a value is made
  };
  Type() = default;
  Type(Kind k, std::string written) : kind(k), text(std::move(written)) {}
  Kind kind = Kind::other;
  ShapeDtypeStruct tensor = {};
  std::vector<Type> elements = {};  ///< of a tuple; of a function, its results'
  std::string text = {};            ///< as it is written
};

/// A constant beside an operation.
struct Attribute {
  enum class Kind {
    unit,
    boolean,
    integer,
    real,
    string,
    symbol,  ///< @name
    word,    ///< an enumerator: LT, DEFAULT
    type,
    list,
    dictionary,
    dense,   ///< elements of a tensor
    opaque,  ///< of a dialect that the importer knows nothing of
  };
  Attribute() = default;
  Attribute(Kind k, Place at, std::string words = {}) : kind(k), text(std::move(words)), place(at) {}
  Kind kind = Kind::unit;
  std::int64_t integer = 0;  ///< of an integer or a boolean
  double real = 0;
  std::string text = {};              ///< of a string, a symbol, a word; the bytes of a dense one's elements in row-major order
  std::vector<Attribute> items = {};  ///< of a list, or a dictionary's values
  std::vector<std::string> keys = {};
  bool is_splat = false;  ///< of a dense one: `text` holds one element, which stands for all
  Type type = {};         ///< of a dense one, or a type
  Place place = {};

  /// The value under a key, or null.
  const Attribute* find(std::string_view key) const {
    for (std::size_t i = 0; i < keys.size(); ++i)
      if (keys[i] == key) return &items[i];
    return nullptr;
  }
};

/// Values are numbered within a function, in order of definition.
using ValueId = std::uint32_t;

struct Block;

struct Operation {
  std::string name;  ///< with its dialect: stablehlo.add
  std::vector<ValueId> operands, results;
  std::vector<Type> operand_types;  ///< empty where the text doesn't give them one by one
  std::vector<Type> result_types;
  Attribute attributes = Attribute(Attribute::Kind::dictionary, {});
  std::vector<Attribute> words;  ///< what stands in a pretty form beside operands and named attributes, in order
  std::vector<Block> regions;    ///< of one block each
  Place place;
};

struct Block {
  std::vector<ValueId> arguments;
  std::vector<Type> types;
  std::vector<Operation> operations;
};

struct Function {
  std::string name;
  Block body;
  std::vector<Type> results;
  bool is_declaration = false;
  std::uint32_t num_values = 0;
  Place place;
};

struct Module {
  std::vector<Function> functions;
  /// By name, or null.
  const Function* find(std::string_view name) const {
    for (const Function& f : functions)
      if (f.name == name) return &f;
    return nullptr;
  }
};

}  // namespace weft::detail::mlir
