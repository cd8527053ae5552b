// Functions of arrays as programs.
#pragma once
#include <weft/weft.h>

#include <utility>
#include <vector>

#include "weft/core/trace/trace.h"

namespace weft::test {

/// The program of a function of arrays, traced without values.
template <class F, class... A>
Jaxpr program_of(F f, const A&... args) {
  return detail::trace_jaxpr({"test", {Array(args).aval()...}, {}}, [&](std::span<const Array> in) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) { return std::vector<Array>{f(in[I]...)}; }(std::index_sequence_for<A...>{});
  });
}
/// The function, run as its program.
template <class F>
auto staged(F f) {
  return [f](const auto&... args) { return program_of(f, args...)(args...)[0]; };
}

}  // namespace weft::test
