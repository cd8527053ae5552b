#include "tools/fuzz/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>

#include "tools/fuzz/interpret.h"
#include "tools/fuzz/values.h"
#include "weft/core/functions/elementwise.h"

namespace weft::fuzz {

using namespace detail;

namespace {

using Parts = std::vector<double>;

constexpr double kUlps = 32;   // that are no difference
constexpr double kTimes = 16;  // what a disturbance may change more
constexpr int kRuns = 8, kMoreRuns = 40, kMixedRuns = 24;

double epsilon(DType t) {
  const DType part = t.real_part();
  return part == float16 ? 0x1p-11 : part == bfloat16 ? 0x1p-8 : part == float32 ? 0x1p-23 : part == float64 ? 0x1p-52 : 0;
}
double smallest(DType t) {
  const DType part = t.real_part();
  return part == float16 ? 0x1p-24 : part == float64 ? 0x1p-1070 : part.is_floating() ? 0x1p-126 : 0;
}

/// The numbers that the elements are made of. Integers and keys of 64 bits give their two halves.
Parts parts_of(const Array& x) {
  if (x.dtype().is_complex()) {
    Parts out;
    for (const std::complex<double>& v : x.to_vector<std::complex<double>>()) out.insert(out.end(), {v.real(), v.imag()});
    return out;
  }
  if (x.dtype().itemsize() < 8 || x.dtype() == float64) return x.to_vector<double>();
  Parts out;
  const std::vector<std::byte> bytes = bytes_of(x);
  for (std::size_t i = 0; i < bytes.size(); i += 4) {
    std::uint32_t half;
    std::memcpy(&half, &bytes[i], 4);
    out.push_back(half);
  }
  return out;
}
bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }
double distance(double a, double b) {
  if (same(a, b)) return 0;
  return std::isfinite(a) && std::isfinite(b) ? std::abs(a - b) : std::numeric_limits<double>::infinity();
}
/// The size that an element's last place is counted of: a complex number's is its modulus.
double size_at(const Parts& p, std::size_t i, bool complex) {
  const double s = complex ? std::max(std::abs(p[i & ~std::size_t{1}]), std::abs(p[i | 1])) : std::abs(p[i]);
  return std::isfinite(s) ? s : 0;
}

struct Compared {
  Parts got, want, limit;
  bool exact, complex;
  DType dtype;
  bool wrong_at(std::size_t i) const { return !(distance(got[i], want[i]) <= limit[i]); }
  bool wrong() const {
    for (std::size_t i = 0; i < want.size(); ++i)
      if (wrong_at(i)) return true;
    return false;
  }
};

}  // namespace

CompareCounts& compare_counts() {
  static CompareCounts counts;
  return counts;
}

std::string differing(const Jaxpr& program, const std::vector<Array>& inputs, const std::vector<Array>& got,
                      const std::vector<Array>& want) {
  ++compare_counts().compared;
  if (got.size() != want.size()) return fmt::format("{} results, wanted {}", got.size(), want.size());
  std::vector<Compared> all;
  bool any = false;
  for (std::size_t k = 0; k < want.size(); ++k) {
    const DType t = want[k].dtype();
    if (got[k].shape() != want[k].shape() || got[k].dtype() != t)
      return fmt::format("result {} is {}, wanted {}", k, to_string(got[k].aval()), to_string(want[k].aval()));
    Compared c{parts_of(got[k]), parts_of(want[k]), {}, !t.is_inexact(), t.is_complex(), t};
    for (std::size_t i = 0; i < c.want.size(); ++i)
      c.limit.push_back(c.exact ? 0 : kUlps * epsilon(t) * size_at(c.want, i, c.complex) + smallest(t));
    any = any || c.wrong();
    all.push_back(std::move(c));
  }
  if (!any) return {};

  ++compare_counts().disturbed;
  Decisions decisions;
  for (int run = 0; run < kMoreRuns + kMixedRuns && any; ++run) {
    const bool overflows = run % 2 != 0, mixed = run >= kMoreRuns;
    const std::vector<Array> other = disturbed(program, inputs, static_cast<std::uint64_t>(run), overflows, decisions, mixed);
    any = run < kRuns;
    for (std::size_t k = 0; k < all.size(); ++k) {
      Compared& c = all[k];
      const Parts p = parts_of(other[k]);
      double most = 0;
      for (std::size_t i = 0; i < p.size(); ++i) {
        const double d = distance(p[i], c.want[i]);
        if (c.exact && d > 0) c.limit[i] = std::numeric_limits<double>::infinity();
        if (std::isfinite(d)) most = std::max(most, d);
        if (!c.exact) c.limit[i] = std::max(c.limit[i], kTimes * d);
      }
      // Elements of one array mostly are alike: what moves one may move the others; but an overflow moves its own.
      if (!c.exact && !overflows)
        for (double& limit : c.limit) limit = std::max(limit, 2 * most);
      any = any || c.wrong();
    }
  }
  bool ill = false;
  for (std::size_t k = 0; k < all.size(); ++k) {
    const Compared& c = all[k];
    for (std::size_t i = 0; i < c.want.size(); ++i) {
      if (c.wrong_at(i))
        return fmt::format("result {} ({}): element {} is {:.17g}, wanted {:.17g} within {:.3g}", k, to_string(want[k].aval()), i, c.got[i],
                           c.want[i], c.limit[i]);
      ill = ill || (c.limit[i] > 0.05 * std::max(size_at(c.want, i, c.complex), 1.) && epsilon(c.dtype) < 1e-6);
    }
  }
  compare_counts().ill_conditioned += ill;
  return {};
}

}  // namespace weft::fuzz
