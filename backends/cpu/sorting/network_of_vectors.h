// Comparators of vectors of WEFT_SORT_BYTES, in namespace WEFT_SORT_SPACE: compiled once for each kind of vector, with the processor's
// instructions. No pragma once.
namespace weft::detail::WEFT_SORT_SPACE {

template <class U>
void sort_columns(U* columns, const Comparators* network, std::int64_t steps) {
  using V [[gnu::vector_size(WEFT_SORT_BYTES)]] = U;
  V* const all = reinterpret_cast<V*>(columns);
  for (std::int64_t s = 0; s < steps; ++s) {
    V *low = all + network[s].low, *high = all + network[s].high;
    for (const V* const end = low + network[s].count; low != end; ++low, ++high) {
      const V x = *low, y = *high;
      *low = y < x ? y : x;
      *high = y < x ? x : y;
    }
  }
}

template <class U>
constexpr ColumnSorter<U> kSorter{WEFT_SORT_BYTES / sizeof(U), sort_columns<U>};

}  // namespace weft::detail::WEFT_SORT_SPACE
