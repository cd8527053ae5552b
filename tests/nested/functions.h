// Functions to which every composition of transforms is applied.
#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "weft/core/array/array.h"
#include "weft/runtime/host/device.h"

namespace weft::test {

/// Type-erased, so that each transform's template is instantiated once.
using Fn = std::function<Array(Array)>;

struct NestedFunction {
  std::string name;
  Shape shape;  ///< of the argument, float64
  Fn f;
  Fn plain = {};        ///< the same without custom rules, for the reference; empty: f
  bool forward = true;  ///< has a forward derivative
  bool smooth = true;   ///< its derivatives are those of its values
};

/// Of smooth values that differ.
inline Array argument(const Shape& shape) {
  std::vector<double> v;
  for (std::int64_t i = 0; i < shape.num_elements(); ++i) v.push_back(0.8 * std::sin(1.7 * static_cast<double>(i) + 0.4));
  return array(v, shape);
}

/// The first n devices; the host's, where there are not so many.
inline std::vector<Device> some_devices(int n) {
  const std::vector<Device> all = device_count() >= n ? devices() : devices("cpu");
  return {all.begin(), all.begin() + std::min<std::ptrdiff_t>(n, std::ssize(all))};
}

std::vector<NestedFunction> scalar_functions();
std::vector<NestedFunction> vector_functions();
std::vector<NestedFunction> matrix_functions();
std::vector<NestedFunction> indexing_functions();
std::vector<NestedFunction> tree_functions();
std::vector<NestedFunction> control_functions();
std::vector<NestedFunction> transforming_functions();

}  // namespace weft::test
