// Random well-typed programs, traced from the library's own functions: every family of operations, in all dtypes, with nested control flow,
// calls, rules of the user's own and transforms inside.
//
// They are tame by design, so that what two backends compute may be compared: operands are brought to where a function is well conditioned,
// growth is bounded again. What remains sensitive (rounding to integers, comparisons, ...) is found out by disturbing the program
// (interpret.h).
#pragma once
#include <string>
#include <vector>

#include "tools/fuzz/random.h"
#include "weft/core/array/array.h"
#include "weft/core/ir/jaxpr.h"
#include "weft/transforms/control/control_options.h"

namespace weft::fuzz {

struct GeneratorOptions {
  int steps = 10;               ///< operations of the outermost program, about
  int depth = 2;                ///< of sub-programs within each other
  int largest = 600;            ///< elements of an array
  bool heavy = true;            ///< with factorisations, Fourier transforms, convolutions, sorts
  bool differentiable = false;  ///< only what has derivatives of any order in both modes
  /// Inputs may be infinite or NaN: without complex numbers, whose operations on such have no agreed results, and without what reads a
  /// NaN's sign.
  bool special = false;
};

using Arrays = std::vector<Array>;

class Generator {
 public:
  Generator(std::uint64_t seed, GeneratorOptions options) : random_(seed), options_(options) {}

  /// Types of a program's inputs.
  std::vector<detail::Aval> input_types();
  /// Applies random operations to the inputs, and gives some of what came out.
  Arrays body(std::span<const Array> inputs, int steps);

 private:
  // Which values.
  const Array& pick();
  Array pick_inexact();  ///< floating or complex
  Array pick_floating();
  Array pick_number();  ///< no bool
  Array pick_integer();
  Array pick_matrix(int min_ndim);                         ///< of that many dimensions at least, none of size 0
  Array pick_positive_size();                              ///< at least one dimension and one element
  Array partner(const Array& x, bool same_shape = false);  ///< of x's dtype, with a shape that broadcasts to x's
  Array as(const Array& x, DType dtype);
  Array fitted(const Array& x, const detail::Aval& aval);  ///< x's elements in a value of that type
  Array within(const Array& x, double lo, double hi);
  Array tame(const Array& x);
  Array scalar_index(int n);  ///< an int32 scalar, mostly in [0, n)
  DType dtype();
  DType floating();
  Shape shape();
  int axis_of(const Array& x) { return random_.below(x.ndim()); }
  std::vector<int> some_axes(int ndim);
  void keep(const Array& x);

  // One operation each; they may put several values into the pool. Elementwise:
  void step();
  void elementwise();
  void combine();
  void choose();
  void convert_dtype();
  void bits();
  void complex_parts();
  // Movement and positions (generate_shapes.cpp):
  void movement();
  void join();
  void cut();
  void dynamic();
  void gathered();
  void scattered();
  void made();
  // Reductions, products, the library's routines (generate_sums.cpp):
  void reduced();
  void reduced_quotient();
  void cumulative();
  void softmax();
  void product();
  void sorted();
  void windows();
  void convolution();
  void fourier();
  void matrices();
  void drawn();
  // Sub-programs (generate_control.cpp):
  void control();
  void branches();
  void counted_loop();
  void while_loop_of_counter();
  void scanned();
  void mapped();
  void called();
  void ruled();
  void derived();
  void prefixes();
  // Named axes, updates in place, named functions (generate_named.cpp):
  void named_map();
  void updated_in_loop();
  void composed();
  void attention();
  Array across(const Array& value, const std::string& axis, std::int64_t n);
  Checkpoints some_checkpoints();

  // Operations with all that their parameters allow (generate_general.cpp):
  void general();
  void any_windows();
  void several_at_once();
  void solved();
  void decomposed();
  void ruled_by_several();

  /// A function of arrays that applies random operations, each time the same ones, and gives values of the wanted types.
  struct Body;
  Body new_body(std::vector<detail::Aval> wanted);
  Arrays some(int n);

  Random random_;
  GeneratorOptions options_;
  Arrays pool_;
};

/// The function's own random operations, made anew at every call.
struct Generator::Body {
  std::uint64_t seed;
  GeneratorOptions options;
  std::vector<detail::Aval> wanted;  ///< empty: any
  Arrays captured;
  Arrays operator()(const Arrays& in) const;
  /// One floating scalar.
  Array scalar(const Arrays& in) const;
};

}  // namespace weft::fuzz
