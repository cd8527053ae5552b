// What lives as long as the process: tables, caches, libraries that were opened.
//
// Such a thing is made when it is first needed and never destroyed, so that exit handlers, destructors of static objects and threads that
// go on while the process ends find it as it was. `scripts/check-destructors` looks for variables that break this rule. What has to be done
// when the process ends is in runtime/host/process_end.h.
#pragma once
#include <utility>

namespace weft::detail {

/// A new T, never destroyed, for a static variable of reference type.
template <class T, class... A>
T& process_wide(A&&... args) {
  return *new T(std::forward<A>(args)...);
}
/// A copy of what `make` returns, never destroyed.
template <class F>
auto& process_wide_from(F&& make) {
  return *new auto(std::forward<F>(make)());
}

}  // namespace weft::detail
