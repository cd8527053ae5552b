// The .npy format in memory (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html).
#pragma once
#include <string>
#include <string_view>

#include "weft/core/array/array.h"

namespace weft::detail {

/// `name` is what IoError calls the bytes: the path.
Array decode_npy(std::string_view bytes, const std::string& name, SourceLoc loc);
/// The bytes up to the data, and the data.
std::string npy_header(const Aval& aval);
std::string npy_data(const Array& x, SourceLoc loc);

}  // namespace weft::detail
