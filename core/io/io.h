#pragma once
#include <map>
#include <string>

#include "weft/core/array/array.h"
#include "weft/core/ir/jaxpr.h"

namespace weft {

/// Reads an array from a .npy file (numpy.load): versions 1 to 3, either byte order, C or Fortran order. Throws IoError, with the path,
/// where the file cannot be read, is not such a file, is cut short, or holds what is not a number (objects, strings, records).
/// bfloat16, which NumPy does not have, is stored as numpy.save does for ml_dtypes' type: 2-byte items without a type, '<V2'.
Array load(const std::string& path, SourceLoc loc = SourceLoc::here());
/// Writes an array as a .npy file (numpy.save; the path is taken as it is). Throws IoError where it cannot be written.
void save(const std::string& path, const Array& x, SourceLoc loc = SourceLoc::here());

/// Reads the arrays of an .npz file by name, compressed or not. An array of uint16 named `x.bf16` is the bfloat16 array `x`.
std::map<std::string, Array> load_npz(const std::string& path, SourceLoc loc = SourceLoc::here());
/// Writes arrays as an .npz file, not compressed (numpy.savez); bfloat16 arrays as load_npz reads them.
void save_npz(const std::string& path, const std::map<std::string, Array>& arrays, SourceLoc loc = SourceLoc::here());

/// Reads a program from a file in JAX's notation, see parse. The values of its constants are const0, const1, ... in the .npz file
/// `constants`.
Jaxpr load_jaxpr(const std::string& path, const std::string& constants = {}, SourceLoc loc = SourceLoc::here());

}  // namespace weft
