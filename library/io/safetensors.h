// Files of named arrays in the safetensors format (https://github.com/huggingface/safetensors).
#pragma once
#include <map>
#include <string>

#include "weft/core/array/array.h"

namespace weft {

/// What a safetensors file holds.
struct Safetensors {
  std::map<std::string, Array> arrays;               ///< by their names
  std::map<std::string, std::string> metadata = {};  ///< the texts below `__metadata__`
};

/// Reads a safetensors file. The file is mapped into memory and not copied: its pages are read when they are used, and whoever changes the
/// file in place changes the arrays, or ends the process if it is cut short; what replaces it by a rename, as save_safetensors does,
/// changes nothing. Where an element doesn't begin at a multiple of its size, or the default device has memory of its own, that array is
/// copied. Throws IoError, with the path, where the file can't be read or is not such a file: offsets that overlap, leave gaps or go beyond
/// the end, sizes that don't fit, names given twice, and dtypes that weft hasn't (F8_E4M3, ...) are told.
Safetensors load_safetensors(const std::string& path, SourceLoc loc = SourceLoc::here());
/// Writes arrays and texts as a safetensors file, beside the file first, which is then replaced as a whole. Throws DTypeError for dtypes
/// that the format hasn't (complex128, keys), IoError where it can't be written.
void save_safetensors(const std::string& path, const std::map<std::string, Array>& arrays,
                      const std::map<std::string, std::string>& metadata = {}, SourceLoc loc = SourceLoc::here());

namespace detail {
/// Of bytes in memory, which are copied; `name` is what IoErrors call them.
Safetensors decode_safetensors(std::string_view bytes, const std::string& name, SourceLoc loc);
}  // namespace detail

}  // namespace weft
