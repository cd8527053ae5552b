// Once weft is loaded nothing of it or of LLVM registers a destructor for the end of the process, whatever is compiled: it would come
// before destructors and handlers of the program's that are older (backends/cpu/llvm_statics.cpp). This program has the function by which
// they do.
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>

#include "weft/weft.h"

using namespace weft;

namespace {
std::atomic<bool> watches{false};
std::atomic<int> found{0}, registered{0};
}  // namespace

extern "C" int __cxa_atexit(void (*function)(void*), void* object, void* library) {
  static const auto next = reinterpret_cast<int (*)(void (*)(void*), void*, void*)>(dlsym(RTLD_NEXT, "__cxa_atexit"));
  ++registered;
  Dl_info caller{};
  if (watches && dladdr(__builtin_return_address(0), &caller) && caller.dli_fname) {
    const char* const file = std::strrchr(caller.dli_fname, '/');
    if (std::strstr(file ? file : caller.dli_fname, "libLLVM") || std::strstr(file ? file : caller.dli_fname, "libweft")) {
      ++found;
      std::printf("%s registers a destructor in %s\n", caller.dli_fname, caller.dli_sname ? caller.dli_sname : "a function without a name");
    }
  }
  return next(function, object, library);
}

namespace {

template <class F, class... A>
void compile(F f, A... args) {
  const auto jitted = jit(f);
  for (int i = 0; i < 3; ++i) jitted(args...);
  const auto compiled = jitted.lower(args...).compile();
  for (const char* form : {"jaxpr", "kernels", "llvm", "asm", "ptx", "tiers"}) try {
      compiled.as_text(form);
    } catch (const Error&) {  // not every program has every form
    }
  try {
    export_object(compiled, "/dev/null/object");
  } catch (const Error&) {
  }
}

void compile_all() {
  const Array x = linspace(0.1, 1, 1000), m = ones({40, 40});
  for (const DType d : {float32, float64, float16, bfloat16, int32, uint8, complex64})
    compile([](Array v) { return sum(v * v + v); }, convert(x, d));
  compile([](Array v) { return std::tuple{sin(v) + exp(v) * log(v), tanh(v), erf(v), pow(v, v), lgamma(v), cbrt(v)}; }, x);
  compile([](Array v) { return std::tuple{sort(v), cumsum(v), argmax(v), max(v), v[slice(3, 500)]}; }, x);
  compile([](Array a) { return std::tuple{matmul(a, a), linalg::cholesky(a + 50.f * eye(40)), fft::fft(a)}; }, m);
  compile([](Array v) { return fori_loop(0, 10, [](Array, Array c) { return sin(c) * 2; }, v); }, x);
  compile([](Array v) { return scan([](Array c, Array a) { return std::pair{c + a, c * a}; }, Array(0.f), v).second; }, x);
  compile([](Array v) { return cond(sum(v) > 0, [](Array a) { return a * 2; }, [](Array a) { return -a; }, v); }, x);
  compile([](Array v) { return grad([](Array a) { return sum(nn::softmax(a) * a); })(v); }, x);
  compile([](Array v) { return vmap([](Array row) { return dot(row, row) + row(0); })(v); }, m);
  compile([](Array k) { return random::normal(k, {200}); }, random::key(1));
}

}  // namespace

int main() {
  if (registered == 0) return std::puts("the libraries don't register here what they destroy"), 1;
  watches = true;
  for (const char* tier : {"", "baseline", "optimized"}) {
    setenv("WEFT_CODE", tier, 1);
    compile_all();
  }
  std::thread(compile_all).join();
  std::printf("%d destructors registered\n", found.load());
  return found == 0 ? 0 : 1;
}
