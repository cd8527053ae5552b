// Pictures: PNG files (https://www.w3.org/TR/png-3/).
#pragma once
#include <string>

#include "weft/core/array/array.h"

namespace weft {

/// Reads a PNG file as its samples, without any conversion of colours: [height, width] for grey pictures, [height, width, channels]
/// otherwise, with 2 channels (grey, alpha), 3 (red, green, blue) or 4 (and alpha). uint8, or uint16 where the file has 16 bits a sample;
/// samples of fewer bits are stretched to 8, palettes are looked up, and a transparent colour becomes an alpha channel. Throws IoError,
/// with the path, for a file that is not a PNG, is damaged or truncated.
Array load_png(const std::string& path, SourceLoc loc = SourceLoc::here());
/// Writes [height, width] or [height, width, 1 to 4] as a PNG file: uint8 and uint16 as they are, bools as black and white, floats from 0
/// to 1 in 8 bits, others are limited to that range. Throws ShapeError or DTypeError for other arrays, IoError if the file can't be
/// written.
void save_png(const std::string& path, const Array& picture, SourceLoc loc = SourceLoc::here());

namespace detail {
/// The same for bytes in memory; `name` stands for the path in IoErrors.
Array decode_png(std::string_view bytes, const std::string& name, SourceLoc loc);
/// A picture as save_png writes it; `who` begins the messages.
std::string encode_png(const Array& picture, const std::string& who, SourceLoc loc);
}  // namespace detail

}  // namespace weft
