// Loads whole arrays, for reference rules that read their elements many times.
#pragma once
#include <cstdint>
#include <type_traits>
#include <vector>

#include "weft/core/array/storage.h"
#include "weft/core/ir/primitive.h"

namespace weft::detail {

/// All elements, in the type in which products are computed; integers as 64 bits, which wrap around.
template <class V>
std::vector<V> load_all(const HostTensor& x) {
  std::vector<V> values(static_cast<std::size_t>(x.aval.size()));
  with_storage(x.aval.dtype, [&]<class T>() {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto v = load_element(x.as<T>()[i]);
      if constexpr (!is_complex_storage<T>)
        values[i] = V(static_cast<std::conditional_t<std::is_same_v<V, std::uint64_t>, V, double>>(v));
      else if constexpr (is_complex_storage<V>)
        values[i] = v;
    }
  });
  return values;
}

}  // namespace weft::detail
