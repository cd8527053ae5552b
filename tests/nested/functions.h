// Functions to which every composition of transforms is applied.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "core/array.h"

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

std::vector<NestedFunction> scalar_functions();
std::vector<NestedFunction> vector_functions();
std::vector<NestedFunction> matrix_functions();
std::vector<NestedFunction> indexing_functions();
std::vector<NestedFunction> tree_functions();
std::vector<NestedFunction> control_functions();
std::vector<NestedFunction> transforming_functions();

}  // namespace weft::test
