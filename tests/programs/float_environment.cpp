// What a program computes doesn't depend on the floating-point settings of the thread that calls it: rounding modes, subnormal numbers taken
// as zero, traps. It runs itself under each of them, and compares all bits.
#include <fmt/format.h>
#include <weft/weft.h>

#include <cfenv>
#include <cstdio>
#include <cstring>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

using namespace weft;

namespace {

void set(const std::string& mode) {
  if (mode == "upward") std::fesetround(FE_UPWARD);
  if (mode == "to_zero") std::fesetround(FE_TOWARDZERO);
#if defined(__x86_64__)
  if (mode == "flush") _mm_setcsr(_mm_getcsr() | 0x8040);  // results and operands
#endif
  if (mode == "traps") feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
}

/// What the thread has set, but for the flags of what has happened.
std::string settings() {
#if defined(__x86_64__)
  return fmt::format("{} {} {:x}", std::fegetround(), fegetexcept(), _mm_getcsr() & ~0x3fu);
#else
  return fmt::format("{} {}", std::fegetround(), fegetexcept());
#endif
}

std::uint64_t hash_of(const Array& x) {
  std::uint64_t h = 14695981039346656037ull;
  const auto add = [&](const auto& values) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(values.data());
    for (std::size_t i = 0; i < values.size() * sizeof values[0]; ++i) h = (h ^ bytes[i]) * 1099511628211ull;
  };
  if (x.dtype() == float64)
    add(bitcast_convert(x, int64).to_vector<std::int64_t>());
  else if (x.dtype() == float32)
    add(bitcast_convert(x, int32).to_vector<std::int32_t>());
  else
    add(convert(x, int32).to_vector<std::int32_t>());
  return h;
}

using Function = std::function<Array(Array)>;
struct Case {
  const char* name;
  Function f;
};
/// Functions of a square matrix of positive and negative numbers, some of them tiny.
const std::vector<Case> kCases = {
    {"arithmetic", [](Array x) { return x * 1.1 + x / 3 - x * x * .7; }},
    {"tiny numbers", [](Array x) { return x * 1e-40 + x * 3e-42; }},
    {"functions", [](Array x) { return exp(x) + sin(x * 100) * log(abs(x) + 1) + tanh(x) + erf(x) + pow(abs(x), .3) + lgamma(x); }},
    {"half precision", [](Array x) { return convert(convert(x, float16) * 1.1 + convert(x, bfloat16) * 1e-3, float32); }},
    {"sums", [](Array x) { return sum(x, 0) + mean(x, 1) + var(x, 0) + cumsum(x, 1)(3) + logsumexp(x, 1); }},
    {"products", [](Array x) { return matmul(x, x) * .1 + matmul(x, transpose(x)); }},
    {"double precision", [](Array x) { return convert(matmul(convert(x, float64) / 3, convert(x, float64)), float32); }},
    {"convolution", [](Array x) { return conv(reshape(x, {1, 1, 40, 40}), ones({2, 1, 3, 3}) / 7, {1, 1}, "SAME"); }},
    {"transforms", [](Array x) { return real(fft::ifft(fft::fft(x, {.norm = "ortho"}) * .3f)) + fft::fftfreq(40, .3); }},
    {"algebra",
     [](Array x) {
       const Array a = matmul(x, transpose(x)) + 3 * eye(40);
       return linalg::cholesky(a) + linalg::solve(a, x) + linalg::svd(x).s + linalg::eigh(a).eigenvalues + linalg::inv(a);
     }},
    {"random numbers",
     [](Array x) {
       const Array k = random::key(3);
       return random::uniform(k, {40, 40}, float32, -.1, .7) + random::normal(k, {40, 40}) + random::gamma(k, 1.3, {40, 40}) +
              convert(random::poisson(k, 3.7, {40, 40}), float32) + x;
     }},
    {"order", [](Array x) { return sort(x, 1) + convert(argsort(x, 0), float32) + quantile(x, .3); }},
    {"loops",
     [](Array x) {
       return fori_loop(0, 7, [](Array, Array v) { return v * .9 + sin(v); }, x) +
              while_loop([](Array v) { return max(abs(v)) > .1; }, [](Array v) { return v * .7; }, x, {.max_steps = 20});
     }},
    {"literals", [](Array x) { return x + linspace(.1, .9, 40) + array({.1, .2, .3, .7}, float32)(1) + full({40}, 1e-3, bfloat16) * .7; }},
    {"not a number", [](Array x) { return where(isnan(sqrt(x)), 1 / (x - x), convert(convert(sqrt(x) * 1e30, int32), float32)); }},
};

void report(const std::string& name, const Array& value) { std::printf("%s %016llx\n", name.c_str(), static_cast<unsigned long long>(hash_of(value))); }

int run(const std::string& mode) {
  set(mode);
  const std::string before = settings();
  const Array x = sin(reshape(arange(1600, float32), {40, 40}) * .37) * 2, large = sin(arange(300000, float32)) * 1e-38f;
  for (const Case& c : kCases) {
    const std::string name = c.name;
    report(name + ", eagerly", c.f(x));
    report(name + ", compiled", jit(c.f)(x));
    if (name != "random numbers" && name != "literals") report(name + ", differentiated", jit(grad([&](Array v) { return sum(c.f(v)); }))(name == "order" ? x * 2 : x));
    const Jaxpr program = make_jaxpr(c.f)(x);
    report(name + ", step by step", eval_jaxpr(program, std::vector<Array>{x})[0]);
  }
  report("read", eval_jaxpr(parse(make_jaxpr([](Array v) { return v * .1234567 + 1e-39; })(x).to_string()), std::vector<Array>{x})[0]);
  // More elements than one thread computes.
  report("large, compiled", jit([](Array v) { return v * .01f + v * v; })(large));
  report("large, eagerly", large * .01f);
  report("mapped", vmap([](Array v) { return sum(v * v) / 3; })(x));
  report("on devices", pmap([](Array v) { return psum(v / 3, "i"); }, {.axis_name = "i"})(reshape(x, {8, 200})));
  report("on another thread", [&] {
    Array y;
    std::thread([&] { y = jit([](Array v) { return v / 7 * 1e-38f; })(x); }).join();
    return y;
  }());
  // A callback finds the standard settings, and what it changes is undone.
  Array found = zeros(1);
  const auto callback = [&](Array v) {
    report("in a callback", v / 3 * 1e-38f);
    std::printf("callback %d %d\n", std::fegetround(), fegetexcept());
    std::fesetround(FE_DOWNWARD);
    return v;
  };
  report("around a callback", jit([&](Array v) { return pure_callback(callback, v, v * .3) / 7; })(x));
  std::printf("text %s\n", fmt::format("{:.3} {}", x(0) * .1, x(1)).c_str());
  if (settings() != before) return std::printf("the settings were %s and are %s\n", before.c_str(), settings().c_str()), 1;
  return 0;
}

std::string output_of(const std::string& self, const std::string& mode) {
  std::string text;
  std::FILE* child = popen((self + " " + mode).c_str(), "r");
  char line[4096];
  while (child && std::fgets(line, sizeof line, child)) text += line;
  if (!child || pclose(child) != 0) text += "it failed\n";
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) return run(argv[1]);
  setenv("WEFT_CACHE", "0", 1), setenv("WEFT_NUM_CPU_DEVICES", "8", 1), setenv("WEFT_NUM_THREADS", "4", 1);
  const std::string want = output_of(argv[0], "standard");
  int failures = want.find("it failed") != std::string::npos;
  if (failures) std::printf("%s", want.c_str());
  for (const char* mode : {"flush", "upward", "to_zero", "traps"}) {
    const std::string got = output_of(argv[0], mode);
    if (got == want) continue;
    ++failures;
    // The first line that differs.
    std::size_t at = 0;
    while (at < got.size() && at < want.size() && got[at] == want[at]) ++at;
    const std::size_t begin = got.rfind('\n', at) + 1;
    std::printf("%s: `%s` should be `%s`\n", mode, got.substr(begin, got.find('\n', begin) - begin).c_str(),
                want.substr(begin, want.find('\n', begin) - begin).c_str());
  }
  if (failures == 0) std::printf("the same bits under all settings\n");
  return failures;
}
