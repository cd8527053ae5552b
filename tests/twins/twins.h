// Programs that stand in twins.py as well: the results of TWIN(name, tolerance) { ... }, of the inputs x[0], x[1], ..., are those that JAX
// gives, in every way of executing a function (tools/modes.h). Inputs and JAX's results are in values.npz.
#pragma once
#include <weft/weft.h>

#include <span>
#include <string>
#include <vector>

namespace weft::test {

using sharding::P;
using Arrays = std::vector<Array>;
using In = std::span<const Array>;

/// The shapes of its results depend on values: it can't be traced.
inline constexpr bool eager_only = true;

/// Adds the cases of a program, before main.
struct AddTwin {
  AddTwin(const char* name, Arrays (*program)(In), double tolerance, bool only_eager = false);
};

#define TWIN(name, ...)                                        \
  Arrays name##_twin(In x);                                    \
  const AddTwin name##_added(#name, name##_twin, __VA_ARGS__); \
  Arrays name##_twin([[maybe_unused]] In x)

}  // namespace weft::test
