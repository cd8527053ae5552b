// The .npy format in memory (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html), and whole files.
#pragma once
#include <string>
#include <string_view>

#include "core/array.h"

namespace weft::detail {

/// `name` is what IoError calls the bytes: the path.
Array decode_npy(std::string_view bytes, const std::string& name, SourceLoc loc);
/// The bytes up to the data, and the data.
std::string npy_header(const Aval& aval);
std::string npy_data(const Array& x, SourceLoc loc);

std::string read_file(const std::string& path, SourceLoc loc);
/// Writes the pieces one behind the other. What a failure leaves is removed.
void write_file(const std::string& path, std::initializer_list<std::string_view> pieces, SourceLoc loc);

}  // namespace weft::detail
