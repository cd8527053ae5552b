#include "weft/transforms/testing.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

#include "weft/core/array/convert_elements.h"
#include "weft/core/array/half.h"
#include "weft/core/array/host.h"
#include "weft/core/array/storage.h"
#include "weft/core/base/counted.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/shaping.h"
#include "weft/runtime/host/device.h"
#include "weft/transforms/autodiff/grad.h"
#include "weft/transforms/autodiff/jvp.h"
#include "weft/transforms/autodiff/vjp.h"
#include "weft/transforms/jit/jit.h"
#include "weft/transforms/maps/pmap.h"
#include "weft/transforms/maps/vmap.h"

namespace weft::detail {
namespace {

using List = std::vector<Array>;

double default_tolerance(DType t) {
  const DType part = t.real_part();
  return part == float64 ? 1e-12 : part == float16 ? 2e-3 : part == bfloat16 ? 2e-2 : 1e-5;
}

/// How many numbers of the type are between two; of the parts of complex ones, the larger count.
template <class T>
double ulps_between(T a, T b) {
  if constexpr (is_complex_storage<T>) {
    return std::max(ulps_between(a.real(), b.real()), ulps_between(a.imag(), b.imag()));
  } else if constexpr (is_floating_storage<T>) {
    using Bits = std::conditional_t<sizeof(T) == 8, std::int64_t, std::conditional_t<sizeof(T) == 4, std::int32_t, std::int16_t>>;
    const auto place = [](T v) {
      Bits bits;
      std::memcpy(&bits, &v, sizeof v);
      // Negative numbers count downwards from zero.
      return bits < 0 ? -static_cast<double>(bits - std::numeric_limits<Bits>::min()) : static_cast<double>(bits);
    };
    return std::abs(place(a) - place(b));
  } else {
    return 0;
  }
}

template <class T>
std::string number_text(T v) {
  if constexpr (is_complex_storage<T>)
    return fmt::format("({}, {})", v.real(), v.imag());
  else if constexpr (is_floating_storage<T> && sizeof(T) == 2)
    return fmt::format("{}", static_cast<float>(v));
  else
    return fmt::format("{}", v);
}

struct Worst {
  double excess = 0;  ///< the difference as a multiple of what is allowed
  std::size_t leaf = 0;
  std::int64_t element = 0;
  std::string got, want;
  double difference = 0, ulps = 0;
  std::int64_t bad = 0, total = 0;  ///< elements
};

template <class T>
void compare_elements(const T* got, const T* want, std::int64_t n, std::size_t leaf, double rtol, double atol, Worst& worst) {
  worst.total += n;
  for (std::int64_t i = 0; i < n; ++i) {
    const T a = got[i], b = want[i];
    double excess = 0, difference = 0;
    if constexpr (is_complex_storage<T> || is_floating_storage<T>) {
      const auto x = load_element(a), y = load_element(b);
      const bool both_nan = x != x && y != y;
      if (both_nan || x == y) continue;
      difference = std::abs(x - y);
      excess = std::isfinite(difference) ? difference / (atol + rtol * std::abs(y)) : std::numeric_limits<double>::infinity();
      if (!(excess > 1)) continue;
    } else {
      if (a == b) continue;
      difference = std::abs(static_cast<double>(a) - static_cast<double>(b));
      excess = difference / std::numeric_limits<double>::min();
    }
    ++worst.bad;
    if (excess <= worst.excess) continue;
    const std::int64_t bad = worst.bad, total = worst.total;
    worst = {excess, leaf, i, number_text(a), number_text(b), difference, ulps_between(a, b), bad, total};
  }
}

/// A description of the differences between the leaves; empty if there are none.
std::string difference_of(std::span<const Array> got, std::span<const Array> want, const std::vector<std::string>& paths,
                          std::optional<double> rtol, std::optional<double> atol) {
  Worst worst;
  for (std::size_t k = 0; k < got.size(); ++k) {
    const Aval &a = got[k].aval(), &b = want[k].aval();
    if (a.shape != b.shape || a.dtype != b.dtype) return fmt::format("{} is {}, wanted {}", paths[k], to_string(a), to_string(b));
    const double r = rtol.value_or(default_tolerance(a.dtype)), s = atol.value_or(default_tolerance(a.dtype));
    with_storage(a.dtype, [&]<class T>() {
      std::vector<std::byte> x(static_cast<std::size_t>(a.bytes()) + 16), y(x.size());
      read_elements(got[k], a.dtype, x.data(), "check_close", {});
      read_elements(want[k], a.dtype, y.data(), "check_close", {});
      compare_elements(reinterpret_cast<const T*>(x.data()), reinterpret_cast<const T*>(y.data()), a.size(), k, r, s, worst);
    });
  }
  if (worst.bad == 0) return {};
  const Aval& aval = got[worst.leaf].aval();
  std::string place = paths[worst.leaf], ulps;
  if (aval.ndim() > 0) {
    std::int64_t rest = worst.element;
    place += "(";
    const std::vector<std::int64_t> strides = row_major_strides(aval.shape);
    for (int d = 0; d < aval.ndim(); ++d) {
      const std::int64_t stride = strides[static_cast<std::size_t>(d)];
      place += (d ? ", " : "") + std::to_string(rest / stride);
      rest %= stride;
    }
    place += ")";
  }
  if (aval.dtype.is_inexact() && std::isfinite(worst.difference)) ulps = fmt::format(", {:.0f} ulp", worst.ulps);
  return fmt::format("{} is {}, wanted {}: a difference of {:.3g}{} ({} of {} elements are not close)", place, worst.got, worst.want,
                     worst.difference, ulps, worst.bad, worst.total);
}

/// Numbers in [-1, 1] that depend on the seed and the position only, as an array of a's type.
Array direction_like(const Aval& a, std::uint64_t seed) {
  const bool is_complex = a.dtype.is_complex();
  std::vector<double> values(static_cast<std::size_t>(a.size()) * (is_complex ? 2 : 1));
  std::uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (double& v : values) {
    // splitmix64 (G. Steele, D. Lea, C. Flood, Fast splittable pseudorandom number generators, 2014)
    std::uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    v = static_cast<double>((z ^ (z >> 31)) >> 11) / 4503599627370496.0 - 1;
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(a.bytes()));
  convert_elements(values.data(), is_complex ? complex128 : float64, bytes.data(), a.dtype, a.size());
  Aval strong = a;
  strong.weak = false;
  return make_concrete(strong, bytes.data());
}
List directions_like(const List& xs, std::uint64_t seed) {
  List out;
  for (const Array& x : xs) out.push_back(direction_like(x.aval(), seed++));
  return out;
}

double largest(const Array& x) {
  double m = 0;
  for (const std::complex<double>& v : x.to_vector<std::complex<double>>())
    if (std::isfinite(v.real()) && std::isfinite(v.imag())) m = std::max(m, std::abs(v));
  return m;
}

class LawChecker {
 public:
  LawChecker(FlatFunction& f, const LawOptions& options) : f_(f), options_(options) {
    // Numbers count as arrays of their type: a batch of them is one.
    for (const Array& x : f.args) args_.push_back(convert(x, x.dtype()));
    results_ = f.run(args_);
    result_paths_ = leaf_paths(f.result());
    for (std::size_t i = 0; i < args_.size(); ++i)
      if (args_[i].dtype().is_inexact()) active_.push_back(i);
    for (std::size_t i = 0; i < results_.size(); ++i)
      if (results_[i].dtype().is_inexact()) smooth_.push_back(i);
  }

  void run() {
    const auto f = [this](const List& x) { return f_.run(x); };
    agree("jit of f gives what f gives", jit(f)(args_), results_, result_paths_);
    if (!args_.empty()) maps(f, results_, "f", result_paths_);
    if (options_.order < 1 || active_.empty() || smooth_.empty()) return;
    first_order();
    if (options_.reverse) gradients();
  }

 private:
  [[noreturn]] void broken(const std::string& law, const std::string& how) const {
    throw Error(fmt::format("check_laws: {}: it is not so that {}: {}", f_.name, law, how), f_.loc);
  }
  /// Both are computed, in different orders: the tolerance is that of the dtype, relative to the largest element.
  void agree(const std::string& law, const List& got, const List& want, const std::vector<std::string>& paths,
             std::optional<double> tolerance = {}) const {
    if (got.size() != want.size()) broken(law, fmt::format("{} instead of {}", counted(got.size(), "array"), want.size()));
    for (std::size_t k = 0; k < got.size(); ++k) {
      const double scale = want[k].dtype().is_inexact() ? largest(want[k]) : 0;
      const double t = tolerance.value_or(default_tolerance(want[k].dtype()));
      const std::string how =
          difference_of(std::span(&got[k], 1), std::span(&want[k], 1), {paths[k]}, t, t * std::max(scale, tolerance ? 1.0 : 1e-30));
      if (!how.empty()) broken(law, how);
    }
  }

  /// The arguments of one lane: floating-point ones differ from lane to lane.
  List lane(int k) const {
    List out;
    for (const Array& x : args_) out.push_back(x.dtype().is_inexact() && k > 0 ? convert(x * (1 + 0.0625 * k), x.dtype()) : x);
    return out;
  }
  static List stacked(const std::vector<List>& lanes) {
    List out;
    for (std::size_t i = 0; i < lanes[0].size(); ++i) {
      std::vector<Array> rows;
      for (const List& l : lanes) rows.push_back(l[i]);
      out.push_back(stack(rows));
    }
    return out;
  }

  /// vmap against a loop, jit around and inside of it, and pmap.
  template <class G>
  void maps(const G& g, const List& at_lane_0, const std::string& name, const std::vector<std::string>& paths) const {
    std::vector<List> lanes, results;
    for (int k = 0; k < 3; ++k) {
      lanes.push_back(lane(k));
      results.push_back(k == 0 ? at_lane_0 : g(lanes.back()));
    }
    if (results[0].empty()) return;
    const List batch = stacked(lanes), want = stacked(results);
    const List mapped = vmap(g)(batch);
    agree(fmt::format("vmap of {} gives what a loop gives", name), mapped, want, paths);
    agree(fmt::format("jit of vmap of {} gives what vmap gives", name), jit(vmap(g))(batch), mapped, paths);
    agree(fmt::format("vmap of jit of {} gives what vmap gives", name), vmap(jit(g))(batch), mapped, paths);
    if (!options_.pmap) return;
    const int devices = std::min(3, local_device_count());
    const List some = stacked({lanes.begin(), lanes.begin() + devices});
    agree(fmt::format("pmap of {} gives what vmap gives", name), pmap(g)(some), vmap(g)(some), paths);
  }

  List chosen(const List& all, const std::vector<std::size_t>& which) const {
    List out;
    for (std::size_t i : which) out.push_back(all[i]);
    return out;
  }
  template <class T>
  std::vector<T> chosen_of(const std::vector<T>& all, const std::vector<std::size_t>& which) const {
    std::vector<T> out;
    for (std::size_t i : which) out.push_back(all[i]);
    return out;
  }
  /// The floating-point results as a function of the floating-point arguments; the others as in `rest`.
  List smooth(const List& x, List rest) const {
    for (std::size_t k = 0; k < active_.size(); ++k) rest[active_[k]] = x[k];
    return chosen(f_.run(rest), smooth_);
  }

  double step() const {
    double h = 1e-2;
    for (std::size_t i : active_) {
      const DType part = args_[i].dtype().real_part();
      h = std::min(h, part == float64 ? 6e-6 : part == float32 ? 5e-3 : 1e-1);
    }
    return h;
  }
  double difference_tolerance() const {
    if (options_.tolerance) return *options_.tolerance;
    double t = 1e-7;
    for (std::size_t i : active_) {
      const DType part = args_[i].dtype().real_part();
      t = std::max(t, part == float64 ? 1e-7 : part == float32 ? 1e-2 : 2e-1);
    }
    for (std::size_t i : smooth_)
      if (results_[i].dtype().real_part() != float64) t = std::max(t, results_[i].dtype().real_part() == float32 ? 1e-2 : 2e-1);
    return t;
  }
  /// (g(x + h v) - g(x - h v)) / 2h
  template <class G>
  List differences(const G& g, const List& x, const List& v) const {
    const double h = step();
    const auto moved = [&](double by) {
      List out;
      for (std::size_t k = 0; k < x.size(); ++k) out.push_back(convert(x[k] + v[k] * by, x[k].dtype()));
      return g(out);
    };
    const List plus = moved(h), minus = moved(-h);
    List out;
    // An element that is infinite on both sides does not change.
    for (std::size_t k = 0; k < plus.size(); ++k)
      out.push_back(convert(where(plus[k] == minus[k], 0, (plus[k] - minus[k]) / (2 * h)), plus[k].dtype()));
    return out;
  }
  /// The real part of the sum of all products.
  static double inner(const List& a, const List& b) {
    std::complex<double> s = 0;
    for (std::size_t k = 0; k < a.size(); ++k) {
      const auto x = a[k].to_vector<std::complex<double>>(), y = b[k].to_vector<std::complex<double>>();
      for (std::size_t i = 0; i < x.size(); ++i) s += x[i] * y[i];
    }
    return s.real();
  }
  static double norm(const List& a) {
    double s = 0;
    for (const Array& x : a)
      for (const std::complex<double>& v : x.to_vector<std::complex<double>>()) s += std::norm(v);
    return std::sqrt(s);
  }

  void first_order() {
    const auto g = [this](const List& x) { return smooth(x, args_); };
    const List x = chosen(args_, active_), v = directions_like(x, 1), numeric = differences(g, x, v);
    const std::vector<std::string> paths = chosen_of(result_paths_, smooth_);
    const double t = difference_tolerance();
    if (options_.forward) {
      const auto push = [&](const List& at) { return jvp(g, std::make_tuple(at), std::make_tuple(v)).second; };
      const List tangent = push(x);
      agree("the forward derivative is the limit of differences", tangent, numeric, paths, t);
      agree("jit of the forward derivative gives what it gives", jit(push)(x), tangent, paths);
    }
    if (!options_.reverse) return;
    auto [y, pull] = vjp(g, x);
    const List ct = directions_like(y, 100), back = std::get<0>(pull(ct));
    const double a = inner(ct, numeric), b = inner(back, v);
    if (!(std::abs(a - b) <= t * std::max({1.0, norm(ct) * norm(numeric), norm(back) * norm(v)})))
      broken("the reverse derivative is the transpose of the limit of differences", fmt::format("<ct, J v> is {}, <J' ct, v> is {}", a, b));
  }

  void gradients() {
    std::vector<std::string> paths;
    const std::vector<std::string> arg_paths = leaf_paths(f_.arguments());
    for (std::size_t i : active_) paths.push_back("gradient of " + arg_paths[i]);
    const List weights = directions_like(chosen(results_, smooth_), 200);
    // One number made of all results, so that there is a gradient.
    const auto loss = [this, weights](const List& x, const List& rest) {
      const List y = smooth(x, rest);
      Array s = 0.0;
      for (std::size_t k = 0; k < y.size(); ++k) s = s + sum(real(y[k] * weights[k]));
      return s;
    };
    const auto gradient = [this, loss](const List& all) { return grad([&](const List& x) { return loss(x, all); })(chosen(all, active_)); };
    const List at = gradient(args_);
    agree("jit of the gradient gives what it gives", jit(gradient)(args_), at, paths);
    agree("the gradient of jit gives what the gradient gives",
          grad(jit([&](const List& x) { return loss(x, args_); }))(chosen(args_, active_)), at, paths);
    maps(gradient, at, "the gradient", paths);
    if (options_.order < 2) return;
    const List x = chosen(args_, active_), v = directions_like(x, 300);
    const auto g = [&](const List& p) { return grad([&](const List& q) { return loss(q, args_); })(p); };
    const List numeric = differences(g, x, v);
    const double t = difference_tolerance();
    if (!options_.forward) {
      const auto along = [&](const List& p) {
        const List s = g(p);
        Array total = 0.0;
        for (std::size_t k = 0; k < s.size(); ++k) total = total + sum(real(s[k] * v[k]));
        return total;
      };
      agree("the second derivative, reverse over reverse, is the limit of differences", grad(along)(x), numeric, paths, t);
      return;
    }
    const List forward_over_reverse = jvp(g, std::make_tuple(x), std::make_tuple(v)).second;
    agree("the second derivative, forward over reverse, is the limit of differences", forward_over_reverse, numeric, paths, t);
    const auto tangent = [&](const List& p) {
      return jvp([&](const List& q) { return loss(q, args_); }, std::make_tuple(p), std::make_tuple(v)).second;
    };
    agree("reverse over forward gives what forward over reverse gives", grad(tangent)(x), forward_over_reverse, paths);
  }

  FlatFunction& f_;
  const LawOptions options_;
  List args_, results_;
  std::vector<std::string> result_paths_;
  std::vector<std::size_t> active_, smooth_;  // leaves of the arguments and results that derivatives are about
};

}  // namespace

void check_close_leaves(std::span<const Array> got, std::span<const Array> want, const std::vector<std::string>& paths,
                        const CloseOptions& options, SourceLoc loc) {
  const std::string how = difference_of(got, want, paths, options.rtol, options.atol);
  if (!how.empty()) throw Error("check_close: " + how, loc);
}

void flat_check_laws(FlatFunction& f, const LawOptions& options) { LawChecker(f, options).run(); }

}  // namespace weft::detail
