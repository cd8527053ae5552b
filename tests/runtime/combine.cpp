// Reductions of two operands at once have the bits of the general reduction.
#include "weft/runtime/host/reduce.h"

#include <cstring>
#include <string>

#include "tests/runtime/devices.h"

using namespace weft;
using namespace weft::detail;

TEST_CASE("two operands at once have the bits of the general reduction") {
  constexpr int n = 37;  // a piece of the vector code, and a rest
  const ReductionOrder two = balanced_order(2);
  for (int id = 0; id < DType::count; ++id) {
    const DType dtype(id);
    const auto bytes = static_cast<std::size_t>(n * dtype.itemsize());
    for (const Combiner what : {Combiner::sum, Combiner::max, Combiner::min}) {
      if (dtype.is_complex() && what != Combiner::sum) continue;
      CAPTURE(std::string(dtype.name()));
      CAPTURE(static_cast<int>(what));
      const CombineTwo combine = combine_two(what, dtype);
      CHECK((combine == nullptr) == (dtype == float16 || dtype == bfloat16));
      if (!combine) continue;
      alignas(16) char a[n * 16], b[n * 16], wanted[n * 16] = {}, got[n * 16] = {};
      // Any bits, NaNs and infinities among them; a bool is 0 or 1.
      for (std::size_t i = 0; i < bytes; ++i) {
        a[i] = static_cast<char>(dtype.is_bool() ? i % 2 : i * 7919 >> 3);
        b[i] = static_cast<char>(dtype.is_bool() ? i / 2 % 2 : i * i * 104729 >> 5);
      }
      std::memset(a + bytes - static_cast<std::size_t>(dtype.itemsize()), dtype.is_bool() ? 1 : -1,
                  static_cast<std::size_t>(dtype.itemsize()));
      const void* const sources[] = {a, b};
      ArrayReduction{what, dtype, two, sources, dtype, wanted, dtype}.run(0, n);
      combine(a, b, got, n);
      CHECK(std::memcmp(wanted, got, bytes) == 0);
    }
  }
}
