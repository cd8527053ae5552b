// The comparators of vectors of 64 bytes.
#include "weft/backends/cpu/instruction_sets.h"
#include "weft/backends/cpu/sorting/networks.h"

WEFT_BEGIN_INSTRUCTIONS(WEFT_AVX512)
#define WEFT_SORT_BYTES 64
#define WEFT_SORT_SPACE sort_512
#include "weft/backends/cpu/sorting/network_of_vectors.h"
WEFT_END_INSTRUCTIONS

namespace weft::detail {
template <class U>
const ColumnSorter<U>* column_sorter_512() {
  return uses_avx512() ? &sort_512::kSorter<U> : nullptr;
}
template const ColumnSorter<std::uint8_t>* column_sorter_512();
template const ColumnSorter<std::uint16_t>* column_sorter_512();
template const ColumnSorter<std::uint32_t>* column_sorter_512();
template const ColumnSorter<std::uint64_t>* column_sorter_512();
}  // namespace weft::detail
