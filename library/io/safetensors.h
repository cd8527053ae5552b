// Files of named arrays in the safetensors format (https://github.com/huggingface/safetensors).
#pragma once
#include <map>
#include <string>

#include "weft/core/array/array.h"

namespace weft {

/// The contents of a safetensors file.
struct Safetensors {
  std::map<std::string, Array> arrays;               ///< by their names
  std::map<std::string, std::string> metadata = {};  ///< the texts below `__metadata__`
  /// The array of that name. Throws IoError, with the names that there are, if there is none.
  const Array& at(const std::string& name, SourceLoc loc = SourceLoc::here()) const;
  const Array& operator[](TextArg name) const { return at(name.str(), name.where()); }
};

/// Reads a safetensors file. The file is mapped into memory and not copied: its pages are read when they are used. Writing to the file in
/// place changes the arrays, and truncating it ends the process; replacing it by a rename, as save_safetensors does, is safe. An array
/// whose elements are not aligned is copied, as are all if the default device has memory of its own. Throws IoError, with the path and the
/// reason, for a file that can't be read or is malformed: offsets that overlap, leave gaps or go beyond the end, wrong sizes, duplicate
/// names, and dtypes that weft lacks (F8_E4M3, ...).
Safetensors load_safetensors(const std::string& path, SourceLoc loc = SourceLoc::here());
/// Writes arrays and texts as a safetensors file: to a temporary file first, which then replaces the old one. Throws DTypeError for dtypes
/// that the format lacks (complex128, keys), IoError if the file can't be written.
void save_safetensors(const std::string& path, const std::map<std::string, Array>& arrays,
                      const std::map<std::string, std::string>& metadata = {}, SourceLoc loc = SourceLoc::here());

namespace detail {
/// The same for bytes in memory, which are copied; `name` stands for the path in IoErrors.
Safetensors decode_safetensors(std::string_view bytes, const std::string& name, SourceLoc loc);
}  // namespace detail

}  // namespace weft
