// Compiled programs against the interpreter.
#pragma once
#include <cmath>
#include <string>
#include <vector>

#include "backends/cpu/cpu_backend.h"
#include "core/array_impl.h"
#include "runtime/executable.h"
#include "tests/ops/checks.h"

namespace weft::test {

using Xs = const std::vector<Array>&;
using Arrays = std::vector<Array>;

/// Compiles the function for the arguments, compares all results with the interpreter's, and gives a form of the compiled program.
template <class F>
std::string same(F f, const Arrays& args, double tolerance = 1e-5, const char* form = "kernels") {
  const Jaxpr j = make_jaxpr([&](const Arrays& xs) { return Arrays(f(xs)); })(args);
  detail::CpuBackend backend;
  const auto cpu = backend.compile(j, {"f"});
  const auto oracle = detail::backend("interp").compile(j, {"f"});
  for (int round = 0; round < 2; ++round) {
    const Arrays got = cpu->call(args, 0), want = oracle->call(args, 0);
    CHECK(got.size() == want.size());
    for (std::size_t k = 0; k < want.size(); ++k) {
      CHECK(got[k].aval() == want[k].aval());
      const std::vector<double> a = got[k].to_vector<double>(), b = want[k].to_vector<double>();
      int wrong = 0;
      for (std::size_t i = 0; i < b.size(); ++i)
        wrong += !(a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])) || std::abs(a[i] - b[i]) <= tolerance * (1 + std::abs(b[i])));
      INFO(j.to_string(), k, cpu->as_text("kernels"));
      CHECK(wrong == 0);
    }
  }
  return cpu->as_text(form);
}

inline Array values(Shape shape, unsigned seed) { return samples(shape, seed, float32); }

}  // namespace weft::test
