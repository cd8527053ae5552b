// Texts that are almost programs: the parser must refuse them, or read a program that the checker accepts and that prints as what it is.
#pragma once
#include <cstdint>

namespace weft::fuzz {

/// Mutates the texts of random programs, and prints those that are not treated so. How many there were.
long mutate_texts(std::uint64_t seed, long count);

}  // namespace weft::fuzz
