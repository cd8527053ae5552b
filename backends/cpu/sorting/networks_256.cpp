// Vectors of 32 bytes.
#include "weft/backends/cpu/jit.h"
#include "weft/backends/cpu/sorting/networks.h"

#ifdef __x86_64__

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif

#define WEFT_SORT_BYTES 32
#define WEFT_SORT_SPACE sort_256
#include "weft/backends/cpu/sorting/network_of_vectors.h"

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

namespace weft::detail {
template <class U>
const ColumnSorter<U>* column_sorter_256() {
  static const bool possible = native_vector_bytes() >= 32 && __builtin_cpu_supports("avx2");
  return possible ? &sort_256::kSorter<U> : nullptr;
}
}  // namespace weft::detail

#else

namespace weft::detail {
template <class U>
const ColumnSorter<U>* column_sorter_256() {
  return nullptr;
}
}  // namespace weft::detail

#endif

namespace weft::detail {
template const ColumnSorter<std::uint8_t>* column_sorter_256();
template const ColumnSorter<std::uint16_t>* column_sorter_256();
template const ColumnSorter<std::uint32_t>* column_sorter_256();
template const ColumnSorter<std::uint64_t>* column_sorter_256();
}  // namespace weft::detail
