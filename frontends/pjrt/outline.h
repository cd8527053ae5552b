// How a program for several devices looks from outside: what frameworks read of an executable's program to learn its shardings.
#pragma once
#include <string>

#include "weft/frontends/pjrt/compiled.h"

namespace weft::pjrt {

/// A module in MLIR's text form with the program's name, types and shardings, as XLA writes these, whose function gives zeros.
std::string outline_of(const Compiled& compiled);

}  // namespace weft::pjrt
