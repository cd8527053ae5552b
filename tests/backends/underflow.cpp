// Where a function's result is a normal number or 0, nothing on the way to it underflows: that would take a processor a hundred cycles for
// each vector, as in a softmax with a mask, or a sigmoid of a large number.
#include <doctest/doctest.h>
#if defined(__SSE2__)
#include <xmmintrin.h>

#include "tests/backends/agree.h"
#include "tests/backends/code_from.h"
#include "weft/backends/cpu/jit.h"

using namespace weft;
using namespace weft::test;

namespace {

constexpr unsigned kSubnormalOperand = 0x02, kUnderflow = 0x10;

template <class F>
bool underflows(F f, const Array& x) {
  const Jaxpr j = make_jaxpr([&](const Arrays& xs) { return Arrays{f(xs[0])}; })(Arrays{x});
  detail::CpuBackend backend;
  const auto cpu = backend.compile(j, {"f"});
  const Arrays args{x};
  cpu->call(args, 0);
  _mm_setcsr(_mm_getcsr() & ~0x3fu);
  cpu->call(args, 0);
  return (_mm_getcsr() & (kSubnormalOperand | kUnderflow)) != 0;
}

}  // namespace

TEST_CASE("underflow: none on the way to zeros and normal numbers") {
  for (const char* const quality : {"baseline", "optimized"}) {
    const CodeFrom code(quality);
    for (const DType t : {float32, float64})
      for (const int n : {5, 64}) {
        CAPTURE(quality);
        CAPTURE(t.name());
        CAPTURE(n);
        // Far below what has an exponential, as masks of attention are.
        const auto far = [&](double v) { return full({n}, v, t); };
        for (const double v : {-1e3, -1e4, -1e9, -1e30}) {
          CAPTURE(v);
          // Of float32 it may be an instruction that reports an underflow at no cost.
          if (t == float64) CHECK_FALSE(underflows([](Array x) { return exp(x); }, far(v)));
          CHECK_FALSE(underflows([](Array x) { return exp2(x * 4.); }, far(v)));
          CHECK_FALSE(underflows([](Array x) { return sigmoid(x); }, far(v)));
        }
        for (const double v : {20., 50., 95., 200., 720., 740., 1e4, 1e30}) {
          CAPTURE(v);
          CHECK_FALSE(underflows([](Array x) { return sigmoid(x); }, far(v)));
        }
      }
    if (quality == std::string("optimized"))
      for (const double v : {-50., -40., 40., 50., 60.}) CHECK_FALSE(underflows([](Array x) { return nn::softplus(x); }, full({64}, v)));
    // Subnormal results of float32 are put together from integers where there are lookups in registers.
    if (detail::native_vector_bytes() >= 64)
      for (const double v : {-88., -95., -103.}) CHECK_FALSE(underflows([](Array x) { return exp(x); }, full({64}, v)));
    // It is seen where a result is subnormal.
    CHECK(underflows([](Array x) { return exp(x); }, full({64}, -720., float64)));
  }
}

#endif
