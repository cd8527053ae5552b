// Compiled programs against the interpreter.
#pragma once
#include <string>
#include <type_traits>
#include <vector>

#include "tests/ops/checks.h"
#include "tools/programs.h"
#include "weft/backends/cpu/cpu_backend.h"
#include "weft/core/array/array_impl.h"
#include "weft/runtime/host/executable.h"

namespace weft::test {

using Xs = const std::vector<Array>&;
using Arrays = std::vector<Array>;

/// Compiles the function for the arguments, compares all results with the interpreter's, and gives a form of the compiled program.
template <class F>
std::string same(F f, const Arrays& args, double tolerance = 1e-5, const char* form = "kernels") {
  const Jaxpr j = make_jaxpr([&](const Arrays& xs) {
    if constexpr (std::is_same_v<decltype(f(xs)), Array>)
      return Arrays{f(xs)};
    else
      return Arrays(f(xs));
  })(args);
  detail::CpuBackend backend;
  const auto cpu = backend.compile(j, {"f"});
  const auto oracle = detail::backend("interp").compile(j, {"f"});
  for (int round = 0; round < 2; ++round) {
    const Arrays got = cpu->call(args, 0), want = oracle->call(args, 0);
    CHECK(got.size() == want.size());
    for (std::size_t k = 0; k < want.size(); ++k) {
      INFO(j.to_string(), k, cpu->as_text("kernels"));
      CHECK(tools::difference(got[k], want[k], nullptr, {tolerance, tolerance}) == "");
    }
  }
  return cpu->as_text(form);
}

inline Array values(Shape shape, unsigned seed) { return samples(shape, seed, float32); }

}  // namespace weft::test
