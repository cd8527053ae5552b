// References to functions, as parameters.
#pragma once
#include <type_traits>
#include <utility>

namespace weft::detail {

/// A non-owning reference to a callable, two pointers in size, for parameters. The callable must outlive it.
template <class Signature>
class FunctionRef;
template <class R, class... A>
class FunctionRef<R(A...)> {
 public:
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef> && std::is_invocable_r_v<R, F&, A...>)
  FunctionRef(F&& f)
      : object_(const_cast<void*>(static_cast<const void*>(&f))),
        call_([](void* object, A... args) -> R { return (*static_cast<std::remove_reference_t<F>*>(object))(std::forward<A>(args)...); }) {}
  R operator()(A... args) const { return call_(object_, std::forward<A>(args)...); }

 private:
  void* object_;
  R (*call_)(void*, A...);
};

}  // namespace weft::detail
