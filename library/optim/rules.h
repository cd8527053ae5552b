// Gradient transformations leaf by leaf, for the bodies of optim.h's functions.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weft/library/optim/optim.h"

namespace weft::optim {

/// The arrays of a state that belong to one transformation, taken from the front. Throws Error where there are not so many.
std::span<const Array> take(std::span<const Array>& state, std::size_t count);
/// The leaves of the parameters. Throws Error where there are none.
const Leaves& need_params(const Leaves* params, const char* name);
/// value^count, in float32.
Array power_of(double value, const Array& count);
/// x in the dtype of another array.
Array as(const Array& x, const Array& like);

/// One leaf's update: of the gradient, the parameter (if there is one), what is kept of this leaf (which is replaced) and the number of
/// updates including this one.
using LeafUpdate = std::function<Array(const Array& g, const Array* p, std::vector<Array>& kept, const Array& count)>;
/// What is kept of a parameter before the first update.
using LeafInit = std::function<std::vector<Array>(const Array& p)>;
struct LeafRule {
  const char* name;
  bool counts = false;  ///< whether the number of updates is kept
  bool needs_params = false;
  LeafInit init = [](const Array&) { return std::vector<Array>(); };
  LeafUpdate update;
};
GradientTransformation by_leaf(LeafRule rule);
/// The updates of a transformation where the condition holds, else zeros and its state as it was. Its new state is put behind `next`.
std::vector<Array> update_where(const Array& condition, const GradientTransformation& inner, const Leaves& updates,
                                std::span<const Array>& state, const Leaves* params, std::vector<Array>& next);
/// `count` copies of a leaf's zeros.
LeafInit zeros_for(std::size_t count);

}  // namespace weft::optim
