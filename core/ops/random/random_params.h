// The parameters of the primitives on keys.
#pragma once
#include <string>

#include "weft/core/ir/params.h"

namespace weft::detail {

/// JAX's name for the generator of the keys.
struct GeneratorParams {
  std::string impl = "fry";
  friend bool operator==(const GeneratorParams&, const GeneratorParams&) = default;
};
struct SplitKeyParams {
  Shape shape;
  friend bool operator==(const SplitKeyParams&, const SplitKeyParams&) = default;
};
struct BitsParams {
  int bit_width = 32;
  Shape shape;
  friend bool operator==(const BitsParams&, const BitsParams&) = default;
};

}  // namespace weft::detail
