// A user's function from arrays to arrays as a value.
#pragma once
#include <type_traits>
#include <utility>

#include "weft/core/array/array.h"
#include "weft/core/base/ref.h"

namespace weft {

/// A function from an array to an array, kept by value.
class ArrayFunction {
 public:
  template <class F>
    requires(!std::is_same_v<F, ArrayFunction> && !std::is_convertible_v<F, Array> && std::is_invocable_r_v<Array, F&, const Array&>)
  ArrayFunction(F f) : function_(detail::make_ref<Kept<F>>(std::move(f))) {}
  Array operator()(const Array& x) const { return function_->call(x); }

 private:
  struct Function : detail::RefCounted {
    virtual Array call(const Array& x) const = 0;
  };
  template <class F>
  struct Kept final : Function {
    explicit Kept(F f) : function(std::move(f)) {}
    Array call(const Array& x) const override { return Array(function(x)); }
    mutable F function;
  };
  detail::KeptRef<const Function> function_;
};

}  // namespace weft
