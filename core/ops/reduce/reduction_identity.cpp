#include "weft/core/ops/reduce/reduction_identity.h"

#include <cstring>

#include "weft/core/array/array_impl.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/reduce/combine.h"

namespace weft::detail {
namespace {

template <Combiner C>
Array identity_of(DType dtype) {
  alignas(16) ScalarBits bits{};
  with_storage(dtype, [&]<class T>() {
    if constexpr (combines<C, T>) {
      const T v = store_element<T>(reduction_identity<C, T>());
      std::memcpy(bits.data(), &v, sizeof v);
    }
  });
  return make_literal(Aval{{}, dtype}, bits);
}

}  // namespace

Array identity_of(Combiner c, DType dtype) {
  switch (c) {
    case Combiner::prod: return identity_of<Combiner::prod>(dtype);
    case Combiner::max: return identity_of<Combiner::max>(dtype);
    case Combiner::min: return identity_of<Combiner::min>(dtype);
    default: return identity_of<Combiner::sum>(dtype);
  }
}

Array combine_arrays(Combiner c, const Array& x, const Array& y) {
  switch (c) {
    case Combiner::prod: return x * y;
    case Combiner::max: return maximum(x, y);
    case Combiner::min: return minimum(x, y);
    default: return x + y;
  }
}

}  // namespace weft::detail
