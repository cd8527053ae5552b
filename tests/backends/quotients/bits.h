// The integer type that holds a floating-point number's bits, for tests that compare quotients bit by bit.
#pragma once
#include <cstdint>
#include <type_traits>

namespace weft::test {

template <class T>
using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

}  // namespace weft::test
