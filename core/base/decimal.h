// Numbers from decimal text as C's strtod reads them, with a point in every locale: a program that calls setlocale changes nothing of what
// weft reads and prints. std::from_chars does the same, but leaves open whether a number that is out of range is too large or too small.
#pragma once
#include <string>

namespace weft::detail {

/// The number that the text begins with, rounded once: infinite where it is too large, zero where it is too small. 0 for no number.
double decimal_double(const std::string& text);
float decimal_float(const std::string& text);

}  // namespace weft::detail
