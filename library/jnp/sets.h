// Sets as sorted vectors: unique with positions and counts, union, intersection and differences.
#pragma once
#include <optional>

#include "weft/core/array/array.h"
#include "weft/core/array/axis.h"
#include "weft/core/functions/sorting.h"

namespace weft {

/// Options of unique_all and its relatives.
struct UniqueAllOptions {
  std::optional<Int> size = {};          ///< of the results, the smallest values first; absent: their number, which takes x's value
  std::optional<Array> fill_value = {};  ///< is behind if there are fewer; absent: the smallest value
  bool equal_nan = false;                ///< whether all NaNs count as one value
};
/// Result of unique_all.
struct UniqueAll {
  Array values;           ///< the different elements, sorted
  Array indices;          ///< where each occurs first in the flattened x, int32
  Array inverse_indices;  ///< of x's shape: the position of each element among the values, int32
  Array counts;           ///< how often each occurs, int32; 0 behind the last
};
/// The different elements of x, where they are and how many there are of each (jnp.unique with all its results).
UniqueAll unique_all(Arg x, UniqueAllOptions options = {});
/// Result of unique_counts.
struct UniqueCounts {
  Array values;  ///< as of unique_all
  Array counts;  ///< as of unique_all
};
/// The different elements of x, and how many there are of each.
UniqueCounts unique_counts(Arg x, UniqueAllOptions options = {});
/// Result of unique_inverse.
struct UniqueInverse {
  Array values;           ///< as of unique_all
  Array inverse_indices;  ///< as of unique_all
};
/// The different elements of x, and which of them each element is.
UniqueInverse unique_inverse(Arg x, UniqueAllOptions options = {});
/// The different elements of x, sorted; NaNs count as different values unless `equal_nan`.
Array unique_values(Arg x, UniqueAllOptions options = {});
/// The different slices of x along an axis, sorted by their elements in order: `unique(x, 0)` are the different rows.
Array unique(Arg x, AxisNumber axis, UniqueOptions options = {});

/// Options of union1d and its relatives.
struct SetOptions {
  std::optional<Int> size = {};          ///< of the result, the smallest values first; absent: their number, which takes the values
  std::optional<Array> fill_value = {};  ///< is behind if there are fewer; absent: the smallest value of the result, of setdiff1d 0
};
// The operands are flattened and promoted; the results are sorted, and hold each value once.
/// The values that are in x or in y.
Array union1d(Arg x, Arg y, SetOptions options = {});
/// The values that are in both.
Array intersect1d(Arg x, Arg y, SetOptions options = {});
/// The values of x that are not in y.
Array setdiff1d(Arg x, Arg y, SetOptions options = {});
/// The values that are in one of them only.
Array setxor1d(Arg x, Arg y, SetOptions options = {});

}  // namespace weft
