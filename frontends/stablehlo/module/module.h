// A StableHLO module as a tree: functions, blocks, operations, types and attributes. A reader, of text or of bytecode, makes it, once and
// whole; importing reads it.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/array/aval.h"
#include "weft/frontends/stablehlo/module/narrow.h"

namespace weft::detail::mlir {

/// A place in what was read: in a text a line and a column, counted from 1; in bytecode a byte, counted from 0.
struct Place {
  int line = 0, column = 0;
  std::int64_t byte = -1;    ///< in a text -1
  std::uint32_t source = 0;  ///< where the program that was written down had it: an entry of Module::sources, 0 where that is not known
};
/// `FILE:LINE:COLUMN` or `FILE:byte N`.
std::string place_text(const std::string& file, const Place& place);

/// The value of a float of 16, 32 or 64 bits.
double float_of_bits(std::uint64_t bits, DType dtype);

struct Type {
  enum class Kind {
    tensor,
    open_tensor,  ///< a tensor of which some sizes are not stated
    tuple,
    token,
    function,
    other,  ///< what weft has no type for: bounded sizes, quantized elements; an error where such a value is made
  };
  Type() = default;
  Type(Kind k, std::string written) : kind(k), text(std::move(written)) {}
  Kind kind = Kind::other;
  ShapeDtypeStruct tensor = {};          ///< of an open tensor only the dtype
  std::vector<std::int64_t> sizes = {};  ///< of an open tensor; -1: not stated (`?`)
  const NarrowFormat* narrow = nullptr;  ///< of a tensor whose elements are fewer numbers than those of `tensor.dtype`: which
  std::vector<Type> elements = {};       ///< of a tuple; of a function, its results'
  std::string text = {};                 ///< as it is written
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
    opaque,  ///< of a dialect that the importer knows nothing of: `text` is what is written
  };
  Attribute() = default;
  Attribute(Kind k, Place at, std::string words = {}) : kind(k), text(std::move(words)), place(at) {}
  Kind kind = Kind::unit;
  std::int64_t integer = 0;  ///< of an integer or a boolean
  double real = 0;
  std::string text = {};              ///< of a string, a symbol, a word; the bytes of a dense one's elements in row-major order
  std::vector<Attribute> items = {};  ///< of a list, or a dictionary's values
  std::vector<std::string> keys = {};
  bool is_splat = false;          ///< of a dense one: there is one element, which stands for all
  std::string_view outside = {};  ///< of a dense one: its elements in bytes that outlive the module, in place of `text`
  Type type = {};                 ///< of a dense one, or a type
  Place place = {};

  /// The bytes of a dense one's elements.
  std::string_view elements() const { return outside.empty() ? std::string_view(text) : outside; }

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
  std::vector<Attribute> words;  ///< what is in a pretty form beside operands and named attributes, in order
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
  std::vector<Attribute> argument_attributes, result_attributes;  ///< a dictionary for each, or empty
  std::vector<std::string> argument_names;                        ///< what locations call the arguments; empty where they don't
  bool is_declaration = false;
  std::uint32_t num_values = 0;
  Place place;
};

/// Devices in a grid of named axes, as `sdy.mesh` declares them.
struct NamedMesh {
  std::string name;
  Attribute mesh;  ///< what sdy.mesh holds (see sharding.h)
};

/// A line of the program that was written down: of the Python program, if JAX wrote it.
struct SourceLine {
  std::string file;
  int line = 0, column = 0;
};

struct Module {
  std::string name;
  Attribute attributes = Attribute(Attribute::Kind::dictionary, {});
  std::vector<NamedMesh> meshes;
  std::vector<SourceLine> sources = std::vector<SourceLine>(1);  ///< the first one is none
  std::vector<Function> functions;
  /// By name, or null.
  const Function* find(std::string_view function) const {
    for (const Function& f : functions)
      if (f.name == function) return &f;
    return nullptr;
  }
};

}  // namespace weft::detail::mlir
