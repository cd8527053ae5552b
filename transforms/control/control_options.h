#pragma once
#include <optional>

#include "weft/core/array/integer.h"

namespace weft {

struct WhileOptions {
  std::optional<Int> max_steps = {};  ///< a bound on the number of steps, which reverse-mode differentiation needs
};
struct ScanOptions {
  std::optional<Int> length = {};  ///< needed only where xs is none
  bool reverse = false;            ///< from the last slice to the first
  Int unroll = 1;                  ///< steps per iteration of the compiled loop; the result is the same
};
struct MapOptions {
  std::optional<Int> batch_size = {};  ///< so many elements at a time, vectorised
};
struct AssociativeScanOptions {
  bool reverse = false;
  int axis = 0;
};

}  // namespace weft
