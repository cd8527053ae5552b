// Scales from numbers to pixels, and the ticks and labels of an axis.
#pragma once
#include <string>
#include <vector>

#include "weft/library/plot/plot_options.h"

namespace weft::detail {

/// The least and the largest of the numbers that can be drawn.
struct Extent {
  double low = 0, high = 0;
  bool empty = true;
  void add(double v, bool log);
};

/// The scale of an axis that runs from `from` to `to` pixels.
class Scale {
 public:
  Scale() = default;
  Scale(double low, double high, bool log, double from, double to);
  /// The position in pixels; NaN for numbers that can't be drawn: not finite, beyond 1e300, or below 1e-300 on a logarithmic axis. Numbers
  /// outside of the range give positions outside.
  double operator()(double v) const;
  /// The number at a place from 0 to 1 between the ends.
  double at(double t) const;
  double low() const { return low_; }
  double high() const { return high_; }
  bool log() const { return log_; }

 private:
  double low_ = 0, high_ = 1, from_ = 0, to_ = 1;
  bool log_ = false;
};

/// The range of an axis for these numbers, with this fraction of it as a margin on both sides; never empty.
PlotRange axis_range(const Extent& extent, bool log, double margin);

/// Throws Error for a range whose ends are equal, not finite, or not positive where they must be. `what` names it in the message.
void check_range(const PlotRange& range, bool log, const char* what, SourceLoc loc);

struct Tick {
  double value;
  std::string label;  ///< empty: a small one without a number
};
struct Ticks {
  std::vector<Tick> ticks;
  std::string factor;  ///< the common factor of all labels, such as `×10⁶`; empty: none
};
/// About `wanted` numbers that are easy to read, between the ends of the axis.
Ticks ticks_of(const Scale& scale, int wanted);

/// A number in few digits.
std::string short_number(double v);
/// 10 to a power, with the exponent as a superscript.
std::string power_of_ten(int exponent);

}  // namespace weft::detail
