#include "weft/backends/cpu/sorting/networks.h"

#include <algorithm>

namespace weft::detail {
namespace {

/// Sorts `size` elements from `begin` on, a power of two, of which those from n on are greater than all others.
void sort_part(std::vector<Comparators>& network, std::int32_t begin, std::int32_t size, std::int32_t n) {
  if (size < 2 || begin >= n) return;
  const std::int32_t half = size / 2;
  sort_part(network, begin, half, n);
  sort_part(network, begin + half, half, n);
  for (std::int32_t apart = half; apart >= 1; apart /= 2)
    for (std::int32_t i = begin + apart % half; i + apart < std::min(begin + size, n); i += 2 * apart)
      network.push_back({i, i + apart, std::min(apart, n - i - apart)});
}

}  // namespace

std::vector<Comparators> sorting_network(std::int64_t n) {
  std::int32_t size = 1;
  while (size < n) size *= 2;
  std::vector<Comparators> network;
  sort_part(network, 0, size, static_cast<std::int32_t>(n));
  return network;
}

template <class U>
const ColumnSorter<U>* column_sorter() {
  static const ColumnSorter<U>* const sorter = column_sorter_512<U>() ? column_sorter_512<U>() : column_sorter_256<U>();
  return sorter;
}
template const ColumnSorter<std::uint8_t>* column_sorter();
template const ColumnSorter<std::uint16_t>* column_sorter();
template const ColumnSorter<std::uint32_t>* column_sorter();
template const ColumnSorter<std::uint64_t>* column_sorter();

}  // namespace weft::detail
