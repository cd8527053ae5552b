// Roots of unity, for the factors of Fourier transforms.
#pragma once
#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>
#include <type_traits>
#include <vector>

namespace weft::detail {

/// exp(-2 pi i k / n) for any k < n in more digits than T has. Angles are reduced exactly, to an eighth of a turn; there a root is the
/// product of two from tables of about sqrt(n).
template <class T>
class UnitRoots {
 public:
  using Wide = std::conditional_t<std::is_same_v<T, float>, double, long double>;
  explicit UnitRoots(std::int64_t n) : n_(n) {
    while (step_ * step_ < n) step_ *= 2;
    const Wide unit = std::numbers::pi_v<Wide> / 4 / static_cast<Wide>(n);
    const auto root = [&](std::int64_t k) { return Root{std::cos(unit * static_cast<Wide>(k)), std::sin(unit * static_cast<Wide>(k))}; };
    for (std::int64_t k = 0; k < step_; ++k) fine_.push_back(root(k));
    for (std::int64_t k = 0; k <= n / step_; ++k) coarse_.push_back(root(k * step_));
  }
  std::complex<T> operator()(std::int64_t k) const {
    const std::int64_t octant = 8 * k / n_, rest = 8 * k - octant * n_, at = octant % 2 == 0 ? rest : n_ - rest;
    const Root a = coarse_[static_cast<std::size_t>(at / step_)], b = fine_[static_cast<std::size_t>(at % step_)];
    Wide x = a.x * b.x - a.y * b.y, y = a.x * b.y + a.y * b.x;
    if (octant % 4 == 1 || octant % 4 == 2) std::swap(x, y);
    if (octant >= 2 && octant < 6) x = -x;
    if (octant >= 4) y = -y;
    return {static_cast<T>(x), static_cast<T>(-y)};
  }

 private:
  struct Root {
    Wide x, y;
  };
  std::int64_t n_, step_ = 1;
  std::vector<Root> coarse_, fine_;
};

}  // namespace weft::detail
