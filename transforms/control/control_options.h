// Options of loops: how their reverse mode saves states.
#pragma once
#include <optional>

#include "weft/core/array/axis.h"
#include "weft/core/array/integer.h"

namespace weft {

/// How many of a loop's states reverse-mode differentiation keeps at a time (binomial checkpointing). The others are computed again from
/// the last kept state before them: steps run more than once, so differentiating a loop with an io_callback throws TracerError.
class Checkpoints {
 public:
  /// No limit: the residuals of each step are kept (of a while loop: the states at about sqrt(max_steps) steps).
  constexpr Checkpoints() = default;
  /// At most this many, 2 or more; throws Error for fewer. With c checkpoints, n steps run about t more times, where t is the least number
  /// for which the binomial coefficient (c + t over c) is at least n.
  Checkpoints(detail::WholeNumber auto at_most, SourceLoc loc = SourceLoc::here()) : parameter_(checked(Int(at_most, loc), loc)) {}
  /// floor(log2(n)) + 4 of n steps, where n need not be known beforehand: 1000 steps run about 2.5 times more, a million about 5.5 times.
  /// Memory for the states is allocated in advance: 66 states for a loop without a bound.
  static const Checkpoints logarithmic;

  /// For the library: the parameter of the loop's equation.
  constexpr int parameter() const { return parameter_; }

 private:
  struct Parameter {
    int value;
  };
  constexpr explicit Checkpoints(Parameter p) : parameter_(p.value) {}
  static int checked(std::int64_t at_most, SourceLoc loc);
  int parameter_ = 0;
};
inline constexpr Checkpoints Checkpoints::logarithmic{Parameter{-1}};

/// Options of while_loop.
struct WhileOptions {
  std::optional<Int> max_steps = {};  ///< an upper bound on the number of steps; reverse-mode differentiation needs it or `checkpoints`
  Checkpoints checkpoints = {};       ///< how many states reverse mode keeps
};
/// Options of scan (jax.lax.scan).
struct ScanOptions {
  std::optional<Int> length = {};  ///< needed only where xs is none
  bool reverse = false;            ///< from the last slice to the first
  Int unroll = 1;                  ///< steps per iteration of the compiled loop; the result is the same
  Checkpoints checkpoints = {};    ///< how many states reverse-mode differentiation keeps
};
/// Options of map (jax.lax.map).
struct MapOptions {
  std::optional<Int> batch_size = {};  ///< the number of elements that are computed at a time, by vmap; absent: one
};
/// Options of associative_scan (jax.lax.associative_scan).
struct AssociativeScanOptions {
  bool reverse = false;  ///< from the last element to the first
  AxisNumber axis = 0;   ///< along which
};

}  // namespace weft
