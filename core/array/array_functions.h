// The types that a transform's parameter has where the name of an overloaded function is passed to it: vmap(sin), jit(pow).
#pragma once
#include "weft/core/array/array.h"

namespace weft {

/// A function of one array, such as `sin`, `sum` and `nn::softmax` without their further parameters. A name that means both one of weft's
/// functions and one of the caller's own is ambiguous, and does not compile: weft's is never taken in place of the caller's.
class UnaryFunction {
 public:
  UnaryFunction(Array (*f)(Arg)) : takes_arg_(f) {}
  UnaryFunction(Array (*f)(const Array&)) : takes_reference_(f) {}
  UnaryFunction(Array (*f)(Array)) : takes_value_(f) {}
  Array operator()(Arg x) const;

 private:
  Array (*takes_arg_)(Arg) = nullptr;
  Array (*takes_reference_)(const Array&) = nullptr;
  Array (*takes_value_)(Array) = nullptr;
};

/// A function of two arrays, such as `add`, `pow` and `atan2`; the same holds of its name.
class BinaryFunction {
 public:
  BinaryFunction(Array (*f)(Arg, Arg)) : takes_args_(f) {}
  BinaryFunction(Array (*f)(const Array&, const Array&)) : takes_references_(f) {}
  BinaryFunction(Array (*f)(Array, Array)) : takes_values_(f) {}
  Array operator()(Arg x, Arg y) const;

 private:
  Array (*takes_args_)(Arg, Arg) = nullptr;
  Array (*takes_references_)(const Array&, const Array&) = nullptr;
  Array (*takes_values_)(Array, Array) = nullptr;
};

}  // namespace weft
