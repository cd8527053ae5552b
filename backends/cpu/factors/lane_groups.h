// How many small matrices are brought into lanes, for side_by_side.h.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "weft/backends/cpu/factors/side_by_side.h"
#include "weft/backends/cpu/scratch.h"
#include "weft/core/base/lapack.h"
#include "weft/runtime/host/thread_pool.h"

namespace weft::detail::lapack {

template <class T>
constexpr bool is_complex_number = !std::is_same_v<T, Real<T>>;

inline std::int64_t area(int m, int n) { return std::int64_t{m} * n; }

template <class T>
void fill_nan(T* x, std::int64_t n) {
  std::fill_n(x, n, T(std::numeric_limits<Real<T>>::quiet_NaN()));
}

/// Up to which number of columns matrices go side by side, which takes as long for one matrix as for all lanes: a single one, which may be
/// spared a library's preparations; how many columns more for each further matrix; and as many matrices as there are lanes.
struct Columns {
  int alone, more, together;
};
template <class R>
bool go_side_by_side(int n, std::int64_t count, Columns most) {
  if (count >= side_by_side<R>().lanes) return n > 0 && n <= most.together;
  return n > 0 && n <= std::min<std::int64_t>(most.alone + most.more * (count - 1), most.together);
}

/// Memory for lanes, aligned for the widest vectors.
template <class R>
class LaneMemory {
 public:
  explicit LaneMemory(std::int64_t n)
      : memory_(n + 64), next_(reinterpret_cast<R*>((reinterpret_cast<std::uintptr_t>(memory_.get()) + 63) / 64 * 64)) {}
  /// n vectors.
  R* take(std::int64_t n, int lanes) {
    R* const r = next_;
    next_ += n * lanes;
    return r;
  }

 private:
  Scratch<R> memory_;
  R* next_;
};

/// `size` numbers of each of `used` matrices into lanes, those of the other lanes 0.
template <class R>
void bring(const R* a, std::int64_t size, int used, R* to) {
  const SideBySide<R>& code = side_by_side<R>();
  if (used == code.lanes) return code.bring(a, size, to);
  std::fill_n(to, size * code.lanes, R(0));
  for (int l = 0; l < used; ++l)
    for (std::int64_t e = 0; e < size; ++e) to[e * code.lanes + l] = a[l * size + e];
}
template <class R>
void take_back(const R* from, std::int64_t size, int used, R* a) {
  const SideBySide<R>& code = side_by_side<R>();
  if (used == code.lanes) return code.take_back(from, size, a);
  for (int l = 0; l < used; ++l)
    for (std::int64_t e = 0; e < size; ++e) a[l * size + e] = from[e * code.lanes + l];
}
/// `outer` x `inner` numbers of `parts` vectors each become `inner` x `outer` of them, in other memory.
template <class R>
void transpose_lanes(const R* from, int outer, int inner, int parts, R* to) {
  const std::int64_t length = std::int64_t{parts} * side_by_side<R>().lanes;
  for (int i = 0; i < outer; ++i)
    for (int j = 0; j < inner; ++j) std::copy_n(from + (area(i, inner) + j) * length, length, to + (area(j, outer) + i) * length);
}

/// How the matrices in lanes are scaled so that no product of four elements over- or underflows.
template <class R>
struct Scales {
  static constexpr int kMostLanes = 16;
  alignas(64) R largest[kMostLanes], finite[kMostLanes], unscaled[kMostLanes];

  Scales(R* lanes, std::int64_t size) {
    constexpr R large = sizeof(R) == 8 ? R(0x1p120) : R(0x1p15);
    const SideBySide<R>& code = side_by_side<R>();
    code.extent(lanes, size, largest, finite);
    for (int l = 0; l < code.lanes; ++l) {
      unscaled[l] = 1;
      if (finite[l] != 0 && (largest[l] <= large && (largest[l] >= 1 / large || largest[l] == 0))) continue;
      if (finite[l] != 0) {
        int exponent = 0;
        std::frexp(largest[l], &exponent);
        unscaled[l] = std::ldexp(R(1), std::max(exponent, std::numeric_limits<R>::min_exponent));
      }
      for (std::int64_t e = 0; e < size; ++e) {
        R& x = lanes[e * code.lanes + l];
        x = finite[l] != 0 ? x / unscaled[l] : R(0);
      }
    }
  }
};

/// Multiply-adds of a task of a parallel loop, at least.
constexpr std::int64_t kTask = 20000;

/// Calls f(first, used) for groups of `lanes` of `count` matrices, by several threads where that pays off. `work` is that of a group.
template <class F>
void each_group(std::int64_t count, int lanes, std::int64_t work, F&& f) {
  const std::int64_t groups = (count + lanes - 1) / lanes, together = std::max<std::int64_t>(1, kTask / std::max<std::int64_t>(1, work));
  const auto task = [&](std::int64_t i) {
    for (std::int64_t g = i * together; g < std::min(groups, (i + 1) * together); ++g)
      f(g * lanes, static_cast<int>(std::min<std::int64_t>(lanes, count - g * lanes)));
  };
  const std::int64_t tasks = (groups + together - 1) / together;
  if (tasks == 1) return task(0);
  parallel_for(tasks, task);
}

/// Calls f(i) for each of `count` matrices, by several threads where that pays off. A library's call may itself use several threads, which
/// is better for few matrices.
template <class F>
void each_matrix(std::int64_t count, std::int64_t work, F&& f) {
  if (count < num_threads())
    for (std::int64_t i = 0; i < count; ++i) f(i);
  else
    each_group(count, 1, work, [&](std::int64_t i, int) { f(i); });
}

}  // namespace weft::detail::lapack
