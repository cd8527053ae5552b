// The limit of an array's rank, which Shape keeps for all of the library.
#pragma once

namespace weft::detail {

/// How many dimensions an array may have, as in NumPy.
inline constexpr int kMaxRank = 64;

}  // namespace weft::detail
