// Writes programs as StableHLO. How an operation is spelled is in an open table by primitive (core/ir/rules.h):
//
//     const Spelling rev_spelling("rev", [](ExportCall& c) -> Names {
//       return {c.op("stablehlo.reverse", c.in, attribute("dimensions", c.get<RevParams>().dimensions))};
//     });
//
// A rule writes operations and gives the names of the equation's results. One that has no operation of its own writes itself in others:
// `c.expand` traces a function of arrays and writes its equations. Calls without a rule are functions of the module; any other primitive
// without one is an Error that names it and the user's line.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/base/function_ref.h"
#include "weft/core/ir/mesh_axes.h"
#include "weft/core/ir/rules.h"
#include "weft/frontends/stablehlo/write.h"

namespace weft::detail::mlir {

/// A value of the text: %3 or %5#1, and its type. Keys of random numbers are written as the ui64 that their two words are.
struct Name {
  std::string text;
  Aval aval;
};
using Names = std::vector<Name>;

class ExportCall;
/// How an operation is written down.
struct StablehloTransform {
  static constexpr std::string_view name = "stablehlo", doc = "How it is written in StableHLO.";
  using Function = Names(ExportCall&);
};
/// The declaration of one operation's spelling, by the primitive's name.
struct Spelling {
  Spelling(std::string_view primitive, StablehloTransform::Function* rule);
};

// Texts of types and attributes.

/// tensor<2x3xf32>
std::string type_text(const Aval& aval);
std::string type_text(DType dtype);
/// `(types) -> types`
std::string function_type(std::span<const Aval> in, std::span<const Aval> out);
std::string function_type(const Names& in, std::span<const Aval> out);
std::vector<Aval> avals_of(const Names& names);
/// `1, 2, 3`
std::string list_text(std::span<const std::int64_t> values);
std::string list_text(const std::vector<int>& values);
/// `name = array<i64: 1, 2>`
std::string attribute(std::string_view name, const std::vector<std::int64_t>& values);
std::string attribute(std::string_view name, const std::vector<int>& values);
std::string attribute(std::string_view name, const Shape& values);
/// `name = 1 : i64`
std::string attribute(std::string_view name, std::int64_t value);
/// `name = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>`: rows of one length.
std::string matrix_attribute(std::string_view name, const std::vector<std::vector<std::int64_t>>& rows, std::size_t columns);
/// With the quotes and escapes of a string.
std::string quoted(std::string_view text);
/// @name, quoted where it is not a plain word.
std::string symbol(const std::string& name);
/// `dense<...>`: elements in row-major order. Floats that a short decimal number is not exactly are written by their bits.
std::string dense_text(const void* elements, const Aval& aval);

/// Within the program of one device of a mesh.
struct ManualMesh {
  std::string name;  ///< of the module's sdy.mesh
  MeshAxes axes;
};

/// The module that is being written: its functions and meshes.
class ModuleWriter {
 public:
  explicit ModuleWriter(StablehloTextOptions options) : options_(std::move(options)) {}
  /// The module whose @main is the program.
  std::string write(const Jaxpr& j);

  /// The symbol of a function that is the program, written the first time. `within`: the mesh of the program that calls it, or null.
  std::string function(const std::string& name, const Jaxpr& j, const ManualMesh* within);
  /// A mesh of these axes, declared the first time, whose devices have the numbers of the program's partitions.
  ManualMesh mesh(MeshAxes axes);
  const StablehloTextOptions& options() const { return options_; }

 private:
  struct Written {
    std::string name, symbol;
    Jaxpr program;
    std::optional<MeshAxes> within;
  };
  std::string function_text(const std::string& symbol, const Jaxpr& j, const ManualMesh* within, bool is_main,
                            const std::vector<bool>& donated);
  std::string unused(const std::string& name);

  const StablehloTextOptions options_;
  std::map<int, int> partition_of_;  // by the device: the program's devices are numbered in the order of its meshes, as in JAX
  std::vector<Written> written_;
  std::set<std::string> symbols_;
  std::vector<std::string> functions_;
  std::vector<std::pair<std::string, MeshAxes>> meshes_;
  std::int64_t num_partitions_ = 1;
};

/// A block of operations, within which names are counted on from its function's.
class BlockWriter {
 public:
  BlockWriter(ModuleWriter& module, int& next_name, int depth, const ManualMesh* manual, BlockWriter* around = nullptr)
      : module_(module), next_name_(next_name), depth_(depth), manual_(manual), around_(around) {}

  ModuleWriter& module() { return module_; }
  const ManualMesh* manual() const { return manual_; }
  const std::string& text() const { return text_; }

  /// The program's equations on these operands; its results.
  Names write(const Jaxpr& j, const Names& inputs);
  /// One operation in the generic form. `properties` are `name = value, ...`, `discardable` the same, of other dialects; `regions` what
  /// region() gives, with commas between.
  Names op(std::string_view name, const Names& in, const std::string& properties, std::span<const Aval> out,
           const std::string& regions = {}, const std::string& discardable = {});
  /// One line of the text: an operation whose results have these types, written after `%1:2 = `.
  Names line(const std::string& operation, std::span<const Aval> out);
  /// One without results.
  void end(const std::string& terminator, const Names& values);
  /// A constant; one is written once in a block and what it surrounds.
  Name constant(const void* elements, const Aval& aval);
  Name constant(const Array& x);
  Name number(DType dtype, const Number& value);
  /// The value along new dimensions and those of size 1.
  Name broadcast(const Name& x, const Shape& shape);
  Name reshape(const Name& x, const Shape& shape);
  /// A region of a block: `({` to `})` without the parentheses. An isolated one sees nothing of what is around it.
  std::string region(std::span<const Aval> arguments, FunctionRef<Names(BlockWriter&, const Names&)> body, bool isolated = true,
                     std::string_view terminator = "stablehlo.return");
  /// The block's arguments with new names: `%3: tensor<f32>, ...` goes to `text`.
  Names arguments(std::span<const Aval> avals, std::string& text);
  /// The block's program run in an own block within this one, in which `manual` is the mesh.
  BlockWriter within(const ManualMesh* manual, bool isolated) {
    return {module_, next_name_, depth_ + 1, manual, isolated ? nullptr : this};
  }
  std::string indentation() const { return std::string(static_cast<std::size_t>(2 * depth_), ' '); }
  /// The user's line for what is written from here on.
  void set_line(SourceLoc loc) { loc_ = loc; }

 private:
  Names write_eqn(const Eqn& e, Names in, std::vector<Aval> out);
  const Name* find_constant(const std::string& key) const;
  std::string location() const;

  ModuleWriter& module_;
  int& next_name_;
  const int depth_;
  const ManualMesh* const manual_;
  BlockWriter* const around_;
  std::map<std::string, Name> constants_;
  std::string text_;
  SourceLoc loc_;
};

/// One equation with its operands' names: what a rule gets.
class ExportCall {
 public:
  ExportCall(const Eqn& e, Names operands, std::vector<Aval> results, BlockWriter& b)
      : eqn(e), in(std::move(operands)), out(std::move(results)), block(b) {}
  template <class P>
  const P& get() const {
    return params_as<P>(*eqn.params);
  }
  /// One operation of one result, the equation's.
  Name op(std::string_view name, const Names& operands, const std::string& properties = {}, const std::string& regions = {}) {
    return block.op(name, operands, properties, std::span(out.data(), 1), regions)[0];
  }
  /// One of one result of another type.
  Name op_of(std::string_view name, const Names& operands, const std::string& properties, const Aval& type) {
    return block.op(name, operands, properties, std::span(&type, 1))[0];
  }
  /// The operands in the result's shape.
  Names aligned() { return aligned(out[0].shape); }
  Names aligned(const Shape& shape) {
    Names all;
    for (const Name& x : in) all.push_back(block.broadcast(x, shape));
    return all;
  }
  /// What a function of arrays gives of these operands, written in its operations.
  Names expand(const Names& operands, FunctionRef<std::vector<Array>(std::span<const Array>)> f);
  Name expand_one(const Names& operands, FunctionRef<Array(std::span<const Array>)> f) {
    return expand(operands, [&](std::span<const Array> xs) { return std::vector<Array>{f(xs)}; })[0];
  }
  /// A region of two values of the dtype that is one operation of them.
  std::string combining(std::string_view name, DType dtype);
  [[noreturn]] void fail(const std::string& problem, const std::string& remedy) const;

  const Eqn& eqn;
  const Names in;
  const std::vector<Aval> out;
  BlockWriter& block;
};

}  // namespace weft::detail::mlir
