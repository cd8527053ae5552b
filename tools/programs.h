// A folder of programs in JAX's notation with inputs and results: index.json lists them, NAME.jaxpr is the text, NAME.npz holds the inputs
// in0, in1, ..., the constants const0, ... and the results out0, ..., beside some of which stands out0.f64, their value in float64.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "weft/core/ir/jaxpr.h"

namespace weft::tools {

struct ProgramEntry {
  std::string name, kind;
  double rtol = 0, atol = 0;
  int devices_needed = 1;
};

/// The programs that the folder's index.json lists.
std::vector<ProgramEntry> read_index(const std::string& folder);

/// The arrays named prefix0, prefix1, ... out of an .npz file's.
std::vector<Array> numbered(const std::map<std::string, Array>& arrays, const std::string& prefix);

/// Throws ShapeError for inputs of other types than the program's.
void check_inputs(const std::string& name, const Jaxpr& program, const std::vector<Array>& inputs);
/// Compiles the program for a backend ("interp", "cpu") and runs it; checks its types.
std::vector<Array> run_on(const std::string& platform, const std::string& name, const Jaxpr& program, const std::vector<Array>& inputs);

struct Tolerance {
  double rtol = 0, atol = 0;
  bool exact = false;  ///< floats too must be equal
};
/// What is wrong with an array, or an empty text: shape and dtype are the same; integers and bools are equal; floats are within
/// atol + rtol |want|, NaN where NaN is wanted, infinities of the same sign; a complex number's parts are within that of its modulus. Where
/// `wide` is given, the same in float64, each element may agree with either.
std::string difference(const Array& got, const Array& want, const Array* wide, Tolerance tolerance);

/// Runs one program of the folder and compares its results; what is wrong, or an empty text. `exact` lists results whose floats must be
/// equal; `change`, if there is one, makes the program that is run of the folder's.
std::string check_program(const std::string& folder, const ProgramEntry& entry, const std::string& platform,
                          const std::vector<int>& exact = {}, const std::function<Jaxpr(const Jaxpr&)>& change = {});

/// Runs a program, which the file `path` holds, on in0, in1, ... of the .npz file of its name beside it, and compares the results with
/// out0, out1, ... there; floats within a hundred units of their dtype's precision, relative to the larger of 1 and the wanted one. What is
/// wrong, or an empty text. Throws IoError where there is no such file.
std::string check_beside(const std::string& path, const Jaxpr& program, const std::string& platform);

}  // namespace weft::tools
