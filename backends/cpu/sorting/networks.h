// Many short lines of unsigned numbers are sorted side by side: lane l of a vector belongs to line l, and a network says which elements are
// compared, the same for all lines. K. E. Batcher, "Sorting networks and their applications" (1968): odd-even merge sort.
#pragma once
#include <cstdint>
#include <vector>

namespace weft::detail {

/// Each of `count` neighbouring elements from `low` on is compared with the one `high - low` behind it; the lesser one comes first.
struct Comparators {
  std::int32_t low = 0, high = 0, count = 0;
};
/// What sorts n elements. Parts that stay in a near cache are sorted before they are merged.
std::vector<Comparators> sorting_network(std::int64_t n);

/// Sorts by vectors of the processor.
template <class U>
struct ColumnSorter {
  std::int64_t lanes = 0;
  /// Element i of line l is columns[i * lanes + l], aligned for vectors.
  void (*sort)(U* columns, const Comparators* network, std::int64_t steps) = nullptr;
};
/// Null where the processor has no vectors of at least 32 bytes. U: an unsigned integer.
template <class U>
const ColumnSorter<U>* column_sorter();
template <class U>
const ColumnSorter<U>* column_sorter_512();
template <class U>
const ColumnSorter<U>* column_sorter_256();

}  // namespace weft::detail
