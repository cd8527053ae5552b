#pragma once
#include <optional>

namespace weft {

struct WhileOptions {
  std::optional<int> max_steps = {};  ///< a bound on the number of steps, which reverse-mode differentiation needs
};
struct ScanOptions {
  std::optional<int> length = {};  ///< needed only where xs is none
  bool reverse = false;            ///< from the last slice to the first
  int unroll = 1;                  ///< steps per iteration of the compiled loop; the result is the same
};
struct MapOptions {
  std::optional<int> batch_size = {};  ///< so many elements at a time, vectorised
};
struct AssociativeScanOptions {
  bool reverse = false;
  int axis = 0;
};

}  // namespace weft
