// ulp [--stride N] [NAME...]: the largest error of compiled float32 functions, in units in the last place, over all 2^32 inputs (or each
// N-th bit pattern) against the C library in double precision. Results too small for normal numbers count in the smallest normal one's
// units. One JSON object a function.
#include <fmt/format.h>
#include <weft/weft.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <vector>

using namespace weft;

namespace {

double ulps(float got, double want) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : 1e9;
  const auto rounded = static_cast<float>(want);
  if (std::isinf(rounded) || std::isinf(got)) {
    if (got == rounded) return 0;
    // One step from overflow is a step, not infinity.
    return std::abs(std::isinf(got) ? static_cast<double>(rounded) : got) >= .999999 * std::numeric_limits<float>::max() ? 1 : 1e9;
  }
  const int exponent = rounded == 0 ? -126 : std::max(std::ilogb(rounded), -126);
  return std::abs(got - want) / std::ldexp(1., exponent - 23);
}

struct Worst {
  double error = 0;
  float at = 0, got = 0;
};

template <class F>
void measure(const char* name, F f, double (*reference)(double), std::uint64_t stride) {
  constexpr std::size_t kChunk = 1 << 22;
  auto compiled = jit([=](Array x) { return f(x); });
  const unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  std::vector<Worst> worst(threads);
  std::uint64_t inputs = 0;
  for (std::uint64_t begin = 0; begin < std::uint64_t{1} << 32; begin += kChunk * stride) {
    std::vector<float> x(kChunk);
    for (std::size_t i = 0; i < kChunk; ++i) x[i] = std::bit_cast<float>(static_cast<std::uint32_t>(begin + i * stride));
    const std::vector<float> y = compiled(array(x)).template to_vector<float>();
    inputs += kChunk;
    std::vector<std::thread> team;
    for (unsigned t = 0; t < threads; ++t)
      team.emplace_back([&, t] {
        for (std::size_t i = t; i < kChunk; i += threads)
          if (const double u = ulps(y[i], reference(x[i])); u > worst[t].error) worst[t] = {u, x[i], y[i]};
      });
    for (std::thread& t : team) t.join();
  }
  Worst all;
  for (const Worst& w : worst)
    if (w.error > all.error) all = w;
  fmt::print("{{\"function\": \"{}\", \"inputs\": {}, \"ulp\": {:.4f}, \"at\": {:.9g}, \"got\": {:.9g}}}\n", name, inputs, all.error,
             all.at, all.got);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t stride = 1;
  std::vector<std::string> only;
  for (int i = 1; i < argc; ++i) {
    if (!std::strcmp(argv[i], "--stride") && i + 1 < argc)
      stride = std::max(1ULL, std::strtoull(argv[++i], nullptr, 10));
    else
      only.emplace_back(argv[i]);
  }
#define WEFT_ULP(name)                                                          \
  if (only.empty() || std::find(only.begin(), only.end(), #name) != only.end()) \
  measure(                                                                      \
      #name, [](const Array& x) { return name(x); }, [](double x) { return std::name(x); }, stride)
  WEFT_ULP(exp);
  WEFT_ULP(exp2);
  WEFT_ULP(expm1);
  WEFT_ULP(log);
  WEFT_ULP(log1p);
  WEFT_ULP(log2);
  WEFT_ULP(tanh);
  WEFT_ULP(sin);
  WEFT_ULP(cos);
  WEFT_ULP(tan);
  WEFT_ULP(asin);
  WEFT_ULP(acos);
  WEFT_ULP(atan);
  WEFT_ULP(sinh);
  WEFT_ULP(cosh);
  WEFT_ULP(asinh);
  WEFT_ULP(acosh);
  WEFT_ULP(atanh);
  WEFT_ULP(erf);
  WEFT_ULP(erfc);
  WEFT_ULP(cbrt);
#undef WEFT_ULP
}
