// The interpreter with a hook behind each equation, at any depth: to record values, or to disturb them.
#pragma once
#include <functional>
#include <vector>

#include "random.h"
#include "weft/core/ir/jaxpr.h"

namespace weft::fuzz {

/// Called before and behind each equation; may replace values by others of their types.
struct Hook {
  virtual ~Hook() = default;
  virtual void before(const Eqn&, std::vector<Array>& /*operands*/) {}
  virtual void after(const Eqn&, std::vector<Array>& /*results*/) {}
};
std::vector<Array> interpret_with(Hook& hook, const Jaxpr& program, std::span<const Array> inputs);

/// The values of the outermost program's variables.
std::vector<Array> all_values(const Jaxpr& program, std::span<const Array> inputs);

/// The program's results where each operation that rounds is wrong by some units in the last place: as a backend may compute it that works
/// in another order. What differs from the undisturbed results is ill-conditioned. `overflows`: sums and products that are too much for
/// their type half way, too, and give infinities, NaN or numbers by the order. `conversions`: those to narrower floats too, whose rounding
/// no backend may change, but a law of real numbers doesn't know.
std::vector<Array> disturbed(const Jaxpr& program, std::span<const Array> inputs, std::uint64_t seed, bool overflows,
                             bool conversions = false);

/// What rounding decides: the integers and bools that a program's elementwise operations make of floats, each as it came out in one or the
/// other disturbed run. A result of many of them may need several that seldom come out otherwise to do so at once.
class Decisions {
 public:
  /// The next run begins.
  void begin() { next_ = 0; }
  /// The result of the next operation that decides. With `random`, each element becomes one of those that were seen.
  void met(Array& result, Random* random);

 private:
  std::vector<std::vector<Array>> decisions_;  // of each, the results that differ in some element
  std::size_t next_ = 0;
};
/// Disturbed as above; `decisions` learns from it, or where `mixed` is set replaces what is decided by any of what it learnt.
std::vector<Array> disturbed(const Jaxpr& program, std::span<const Array> inputs, std::uint64_t seed, bool overflows, Decisions& decisions,
                             bool mixed);

}  // namespace weft::fuzz
