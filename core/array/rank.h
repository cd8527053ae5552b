// The limit of an array's rank, which Shape enforces for the whole library.
#pragma once

namespace weft::detail {

/// The largest number of dimensions of an array, as in NumPy.
inline constexpr int kMaxRank = 64;

}  // namespace weft::detail
