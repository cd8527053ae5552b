#include "weft/library/plot/plot_scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "weft/core/errors/error.h"

namespace weft::detail {
namespace {

// Numbers beyond these are not drawn: what is computed of an axis's ends is to stay finite.
constexpr double kLargest = 1e300, kLeastPositive = 1e-300;

bool is_drawn(double v, bool log) { return std::abs(v) <= kLargest && (!log || v >= kLeastPositive); }  // no NaN is

/// 1, 2, 2.5 or 5 times a power of ten, near the number.
double round_step(double step) {
  const double power = std::pow(10, std::floor(std::log10(step))), lead = step / power;
  return power * (lead < 1.5 ? 1 : lead < 2.25 ? 2 : lead < 3.5 ? 2.5 : lead < 7.5 ? 5 : 10);
}

/// The places after the point that multiples of a step need.
int digits_of(double step) {
  int digits = 0;
  for (double scaled = std::abs(step); digits < 12 && std::abs(scaled - std::round(scaled)) > 1e-6 * scaled; scaled *= 10) ++digits;
  return digits;
}

std::string fixed(double v, int digits) {
  std::string s = fmt::format("{:.{}f}", v, digits);
  if (s.find_first_not_of("-0.") == std::string::npos && s[0] == '-') s.erase(0, 1);
  if (s[0] == '-') s.replace(0, 1, "\xe2\x88\x92");  // a minus sign
  return s;
}

Ticks linear_ticks(double low, double high, int wanted) {
  Ticks out;
  if (low > high) std::swap(low, high);
  const double step = round_step((high - low) / std::max(wanted, 1));
  if (!(step > 0) || !std::isfinite(step)) return out;
  const double largest = std::max(std::abs(low), std::abs(high));
  // A common factor for what is very large or very small.
  int exponent = 0;
  if (largest >= 1e5 || largest < 1e-3) exponent = static_cast<int>(std::floor(std::log10(largest) + 1e-9));
  const double factor = std::pow(10, exponent);
  const double first = std::ceil(low / step - 1e-6);
  const int digits = digits_of(step / factor);
  for (int i = 0; i < 60; ++i) {
    const double v = (first + i) * step;
    if (v > high + 1e-6 * step) break;
    out.ticks.push_back({v, fixed(v / factor, digits)});
  }
  if (exponent != 0) out.factor = "\xc3\x97" + power_of_ten(exponent);
  return out;
}

Ticks log_ticks(double low, double high, int wanted) {
  if (low > high) std::swap(low, high);
  const double first = std::log10(low), last = std::log10(high), decades = last - first;
  if (decades < 1.3) {
    // Numbers at even steps, or at steps of a factor where they would crowd at one end.
    Ticks even = linear_ticks(low, high, wanted);
    std::erase_if(even.ticks, [](const Tick& t) { return !(t.value > 0); });
    return even;
  }
  Ticks out;
  const bool plain = first > -3.01 && last < 4.01;  // 0.001 to 10000 read better than their powers
  const int every = std::max(1, static_cast<int>(std::ceil(decades / std::max(wanted, 2))));
  for (int k = static_cast<int>(std::floor(first)); k <= static_cast<int>(std::ceil(last)); ++k) {
    const double power = std::pow(10.0, k);
    const bool labeled = (k % every + every) % every == 0;
    if (power >= low * (1 - 1e-9) && power <= high * (1 + 1e-9))
      out.ticks.push_back({power, labeled ? (plain ? short_number(power) : power_of_ten(k)) : ""});
    if (every > 1 || decades > 7) continue;
    for (int m = 2; m < 10; ++m)
      if (const double v = m * power; v >= low && v <= high)
        out.ticks.push_back({v, decades < 2.2 && (m == 2 || m == 5) ? short_number(v) : ""});
  }
  return out;
}

}  // namespace

void Extent::add(double v, bool log) {
  if (!is_drawn(v, log)) return;
  low = empty ? v : std::min(low, v), high = empty ? v : std::max(high, v);
  empty = false;
}

Scale::Scale(double low, double high, bool log, double from, double to) : low_(low), high_(high), from_(from), to_(to), log_(log) {}

double Scale::operator()(double v) const {
  if (!is_drawn(v, log_)) return std::nan("");
  const double t = log_ ? (std::log(v) - std::log(low_)) / (std::log(high_) - std::log(low_)) : (v / 2 - low_ / 2) / (high_ / 2 - low_ / 2);
  return from_ + t * (to_ - from_);
}
double Scale::at(double t) const {
  return log_ ? std::exp(std::log(low_) + t * (std::log(high_) - std::log(low_))) : low_ + t * (high_ - low_);
}

PlotRange axis_range(const Extent& extent, bool log, double margin) {
  if (extent.empty) return log ? PlotRange{0.1, 10} : PlotRange{0, 1};
  double low = extent.low, high = extent.high;
  if (log) {
    if (!(high > low * (1 + 1e-12))) return {std::max(low / 3, kLeastPositive / 10), std::min(high * 3, kLargest * 10)};
    const double more = std::pow(high / low, margin);
    return {std::max(low / more, kLeastPositive / 10), std::min(high * more, kLargest * 10)};
  }
  if (!(high - low > 1e-12 * std::max(std::abs(low), std::abs(high)))) {
    const double room = low == 0 ? 1 : 0.1 * std::abs(low);
    return {low - room, high + room};
  }
  const double more = margin * (high - low);
  return {low - more, high + more};
}

void check_range(const PlotRange& range, bool log, const char* what, SourceLoc loc) {
  const auto [a, b] = range;
  if (!std::isfinite(a) || !std::isfinite(b) || a == b || std::abs(a) > kLargest || std::abs(b) > kLargest)
    throw Error(fmt::format("Plot: {} is ({}, {}); its ends must be two different finite numbers of at most 1e300", what, a, b), loc);
  if (log && (a <= 0 || b <= 0))
    throw Error(fmt::format("Plot: {} is ({}, {}), on a logarithmic axis; both ends must be positive", what, a, b), loc);
}

Ticks ticks_of(const Scale& scale, int wanted) {
  return scale.log() ? log_ticks(scale.low(), scale.high(), wanted) : linear_ticks(scale.low(), scale.high(), wanted);
}

std::string short_number(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v > 0 ? "inf" : "\xe2\x88\x92inf";
  const double size = std::abs(v);
  if (size != 0 && (size >= 1e5 || size < 1e-3)) {
    const int exponent = static_cast<int>(std::floor(std::log10(size)));
    const std::string lead = fmt::format("{:.3g}", v / std::pow(10, exponent));
    return (lead == "1" ? "" : lead == "-1" ? "\xe2\x88\x92" : lead + "\xc3\x97") + power_of_ten(exponent);
  }
  std::string s = fmt::format("{:.4g}", v);
  if (s[0] == '-') s.replace(0, 1, "\xe2\x88\x92");
  return s;
}

std::string power_of_ten(int exponent) {
  static constexpr const char* digits[] = {"\xe2\x81\xb0", "\xc2\xb9",     "\xc2\xb2",     "\xc2\xb3",     "\xe2\x81\xb4",
                                           "\xe2\x81\xb5", "\xe2\x81\xb6", "\xe2\x81\xb7", "\xe2\x81\xb8", "\xe2\x81\xb9"};
  std::string s = "10";
  for (const char c : std::to_string(exponent)) s += c == '-' ? "\xe2\x81\xbb" : digits[c - '0'];
  return s;
}

}  // namespace weft::detail
