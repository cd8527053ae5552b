// How a program for several devices, or of arrays in other orders than rows, looks from outside: what frameworks read of an executable to
// learn its shardings and layouts.
#pragma once
#include <string>

#include "weft/frontends/pjrt/compiled.h"

namespace weft::pjrt {

/// A module in MLIR's text form with the program's name, types, shardings and layouts, as XLA writes these, whose function gives zeros.
std::string outline_of(const Compiled& compiled);
/// The sharding of an argument or a result as a serialised xla.OpSharding message (xla/xla_data.proto).
std::string sharding_message(const Port& p);

}  // namespace weft::pjrt
