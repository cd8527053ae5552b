// Vectors of 16 bytes, which every processor has.
#include "weft/backends/cpu/factors/side_by_side.h"

namespace weft::detail::lapack {
namespace {
inline float root_of(float x) { return __builtin_sqrtf(x); }
inline double root_of(double x) { return __builtin_sqrt(x); }
template <class V>
inline V root_of_each(V x) {
  for (unsigned i = 0; i < sizeof(x) / sizeof(x[0]); ++i) x[i] = root_of(x[i]);
  return x;
}
}  // namespace
}  // namespace weft::detail::lapack

#define WEFT_LANES_BYTES 16
#define WEFT_LANES_SPACE lanes_128
#define WEFT_LANES_ROOT_F64 root_of_each
#define WEFT_LANES_ROOT_F32 root_of_each
#include "weft/backends/cpu/factors/side_by_side_of_vectors.h"

namespace weft::detail::lapack {

template <class R>
const SideBySide<R>& side_by_side() {
  static const SideBySide<R>& widest = side_by_side_512<R>()   ? *side_by_side_512<R>()
                                       : side_by_side_256<R>() ? *side_by_side_256<R>()
                                                               : lanes_128::kSideBySide<R>;
  return widest;
}
template const SideBySide<float>& side_by_side();
template const SideBySide<double>& side_by_side();

}  // namespace weft::detail::lapack
