// Turns operations of a StableHLO module into operations on arrays, which the thread's trace records. Each operation's importer stands in
// an open table by name:
//
//     const Import reverse_import("stablehlo.reverse", [](OpCall& c) -> Values { return {reverse(c.in(0), c.dims("dimensions", "dims"),
//     c.loc)}; });
//
// What it gives is checked against the types that the text states, so that a mistake here or there is an error and no wrong number.
#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/ir/mesh_axes.h"
#include "weft/core/ops/control/composite.h"
#include "weft/core/trace/trace.h"
#include "weft/frontends/stablehlo/module/module.h"
#include "weft/frontends/stablehlo/program.h"
#include "weft/frontends/stablehlo/stablehlo.h"

namespace weft::detail::mlir {

/// What a name of a module stands for: an array, or a tuple of values. A token, which says that one operation comes after another, is an
/// array without elements: operations with effects keep their order anyway, so that it goes wherever arrays go.
struct Value {
  Value() = default;
  Value(Array x) : array(std::move(x)) {}
  Array array;
  std::vector<Value> elements;
  int positions_along = -1;              ///< of an array that is known to hold positions: the dimension that they count
  const NarrowFormat* narrow = nullptr;  ///< of an array whose elements are fewer numbers than those of its dtype: which
};
using Values = std::vector<Value>;
using Arrays = std::vector<Array>;

class Importer;

/// One operation with its operands: what an importer gets.
class OpCall {
 public:
  OpCall(Importer& importer, const Operation& operation, Values operands, SourceLoc where)
      : op(operation), loc(where), importer_(importer), operands_(std::move(operands)) {}

  std::size_t num_operands() const { return operands_.size(); }
  /// Operand i, an array; an Error where there is none or it is a tuple.
  const Array& in(std::size_t i) const;
  const Value& value(std::size_t i) const;
  /// Operands [begin, end), arrays.
  Arrays ins(std::size_t begin, std::size_t end) const;
  Arrays ins() const { return ins(0, num_operands()); }
  /// The type that the text states for result i.
  const ShapeDtypeStruct& result(std::size_t i = 0) const;
  /// Its dtype, also where sizes are open.
  DType result_dtype(std::size_t i = 0) const;
  /// The shape of the only result; a size that is open is this array's in the same place.
  Shape result_shape(const Array& like) const;

  /// An attribute by its name, or by that of the pretty form; null where there is none.
  const Attribute* find(std::string_view name, std::string_view pretty = {}) const;
  const Attribute& need(std::string_view name, std::string_view pretty = {}) const;
  std::int64_t integer(std::string_view name, std::string_view pretty = {}) const;
  std::int64_t integer_or(std::string_view name, std::int64_t otherwise) const;
  bool flag(std::string_view name) const;
  /// Integers; empty where there is no such attribute.
  std::vector<std::int64_t> integers(std::string_view name, std::string_view pretty = {}) const;
  /// The same as dimensions, which are small.
  std::vector<int> dims(std::string_view name, std::string_view pretty = {}) const;
  /// `count` integers; all `otherwise` where there is no such attribute.
  std::vector<std::int64_t> integers_or(std::string_view name, std::size_t count, std::int64_t otherwise) const;
  /// Pairs of numbers, one for each dimension: padding. (0, 0) where there is no such attribute.
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs(std::string_view name, std::size_t count, std::string_view pretty = {}) const;
  /// An enumerator: by name, or word `position` of the pretty form.
  std::string word(std::string_view name, std::size_t position, std::string_view otherwise) const;
  std::string symbol(std::string_view name) const;

  /// The region as a program of inputs of these types.
  Jaxpr region(std::size_t which, const std::vector<Aval>& inputs) const;
  /// The region as a program of its arguments' types.
  Jaxpr region(std::size_t which) const;
  /// The region with arguments in place.
  Arrays run_region(std::size_t which, std::span<const Array> arguments) const;
  /// A call of another function of the module; with a name, as a composite of it.
  Values call(const std::string& function, const std::optional<CompositeParams>& composite = {}) const;
  Importer& importer() const { return importer_; }

  [[noreturn]] void fail(const std::string& problem) const;
  /// An Error where the operation is not defined for the first operand's elements.
  void check_kind() const;

  const Operation& op;
  const SourceLoc loc;  ///< the operation's line in the text

 private:
  Importer& importer_;
  Values operands_;
};

using ImportFunction = Values (*)(OpCall&);

/// Where the elements of an operation's results come from: they are computed, and rounded where their type is a small float; or each is an
/// element of an operand, of a constant or of a region's result, which are numbers of that type already.
enum class Elements { computed, moved };

/// The kinds of elements that StableHLO's specification tells apart: a set of them is what an operation is defined for.
enum class Kinds : unsigned {
  bools = 1,
  signed_integers = 2,
  unsigned_integers = 4,
  integers = 6,
  bits = 7,  ///< bools and integers
  floats = 8,
  complex = 16,
  inexact = 24,  ///< floats and complex numbers
  signed_numbers = 26,
  numbers = 30,
  any = 31
};

/// The declaration of one operation's importer; the later of two for one name holds. `kinds`: those that its first operand may be of, where
/// it is an array; others are an error.
struct Import {
  Import(const char* name, ImportFunction function, Elements elements = Elements::computed)
      : Import(name, Kinds::any, function, elements) {}
  Import(const char* name, Kinds kinds, ImportFunction function, Elements elements = Elements::computed);
};
/// Null where there is none.
ImportFunction find_import(std::string_view name);
/// What the importer of that name declares.
Elements elements_of(std::string_view name);
Kinds kinds_of(std::string_view name);

std::vector<std::int64_t> integers_of(const Attribute& a, const OpCall& c);

/// Within the program of one device of a mesh: the mesh, and the axes along which it is of one device.
struct ManualScope {
  MeshAxes mesh;
  std::vector<std::string> axes;
  bool of_replicas = false;  ///< the mesh's devices are replicas of the whole program, not its partitions
  friend bool operator==(const ManualScope&, const ManualScope&) = default;
};

/// What becomes of a scatter's window that lies partly outside of the operand: StableHLO's specification leaves out the elements that do;
/// XLA, and so what JAX promises of its programs, the whole window.
enum class PartialWindows { by_element, dropped };

/// Whether the program may be differentiated here, or is what its writer runs, who has its derivatives.
enum class Derivatives { wanted, none };

class Importer {
 public:
  /// `file` names the text in equations' lines and lives as long as the process.
  Importer(const Module& module, const char* file, SourceLoc loc, PartialWindows partial_windows = PartialWindows::by_element,
           Derivatives derivatives = Derivatives::wanted)
      : module_(module), file_(file), loc_(loc), partial_windows_(partial_windows), derivatives_(derivatives) {}

  PartialWindows partial_windows() const { return partial_windows_; }

  const Module& module() const { return module_; }
  /// A mesh that the module declares. Throws where there is none of the name.
  ProgramMesh mesh(const std::string& name, Place from) const;
  /// The program of one device that is being imported, or null.
  const ManualScope* manual() const { return manual_; }
  /// f() within one.
  template <class F>
  auto within(const ManualScope& scope, F&& f) {
    const Restore restore{manual_, std::exchange(manual_, &scope)};
    return f();
  }

  /// A function as a program. Checks that it does on the way are behind its results.
  StablehloProgram import_function(const std::string& name);
  /// A function of which sizes are open, for inputs of these types. The functions that it calls become part of it, as the sizes that it
  /// gives them are constants.
  StablehloProgram import_function(const std::string& name, const std::vector<Aval>& inputs);
  /// The same, as what `from` calls.
  const StablehloProgram& function(const std::string& name, Place from);
  /// Applies a function of the module: a call in the trace. Its checks become checks of the function that is being imported.
  Arrays call(const std::string& name, std::span<const Array> arguments, const std::optional<CompositeParams>& composite, Place from,
              SourceLoc loc);

  /// The other value of the block that has that mark, where it was noted before; notes this one otherwise.
  std::optional<ValueId> marked(std::int64_t mark, ValueId value);
  const Value& value(ValueId v) const { return values_.at(v); }
  /// Another array in place of a value, for the operations of the block that follow.
  void replace(ValueId v, Array x);

  void add_check(StablehloCheck check, const Array& actual, const Array& expected, Place place);
  [[noreturn]] void fail(Place place, const std::string& problem) const;

  /// The block's operations with its arguments in place; what it returns.
  Values run_block(const Block& block, Values arguments);
  Arrays run_block_of_arrays(const Block& block, std::span<const Array> arguments, Place place);
  Jaxpr block_program(const Block& block, const std::vector<Aval>& inputs, Place place);

 private:
  struct Checks {
    std::vector<StablehloCheck> list;
    Arrays compared;
  };
  struct BlockScope {
    std::map<std::int64_t, ValueId> marked;
    std::vector<std::pair<ValueId, Value>> replaced;  ///< what they were, in order
  };
  template <class T>
  struct Restore {
    T& place;
    T before;
    ~Restore() { place = before; }
  };
  SourceLoc line_of(const Place& place) const;
  /// A function that can be imported here.
  const Function& function_named(const std::string& name, Place from) const;
  void check_arguments(const Function& f, const std::vector<Aval>& given, Place from) const;
  /// What the function gives for these arguments, in the trace.
  Arrays results_of(const Function& f, std::span<const Array> arguments);
  /// What is traced here, for whom it is.
  Jaxpr differentiable(Jaxpr j) const;
  StablehloProgram traced(const Function& f, const std::vector<Aval>& inputs);
  Values run_operations(const Block& block, Values arguments);
  Values run(const Operation& op);
  Values run_checked(const Operation& op, ImportFunction import);
  void check_type(const Operation& op, const Value& value, const Type& type, std::size_t which) const;

  const Module& module_;
  const char* const file_;
  const SourceLoc loc_;
  std::map<std::string, StablehloProgram, std::less<>> programs_;  // by name and, within programs of one device, by their mesh
  std::vector<std::string> in_progress_;
  Values values_;  // of the function that is being imported, by number
  BlockScope* block_ = nullptr;
  Checks* checks_ = nullptr;  // null inside regions, from which nothing can be taken out
  const PartialWindows partial_windows_;
  const Derivatives derivatives_;
  const ManualScope* manual_ = nullptr;
  bool inlines_calls_ = false;
};

/// A name that lives as long as the process.
const char* kept_name(const std::string& name);

/// The type as that of an array: a tensor's, or a token's, bool[0], as JAX passes it to programs. Throws Error through the importer for
/// others.
Aval aval_of(const Type& type, const Importer& importer, Place place);
/// Whether a value of the type, of which sizes may be open, can be such an array.
bool admits(const Type& type, const Aval& aval);

}  // namespace weft::detail::mlir
