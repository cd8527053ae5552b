#include "weft/backends/cuda/driver.h"
#include "weft/core/base/environment.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <cstdlib>
#include <mutex>
#include <optional>

#include "weft/core/errors/error.h"

namespace weft::detail::cuda {
namespace {

constexpr int kConditionsSince = 12040;

struct Opened {
  Driver driver;
  std::string problem;  ///< empty: it works
};

Opened open() {
  Opened o;
  const std::string_view given = word_in_environment("WEFT_LIBCUDA");
  const std::string path(given.empty() ? "libcuda.so.1" : given);
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* reason = dlerror();
    o.problem = fmt::format("there is no CUDA driver: {}", reason ? reason : path);
    return o;
  }
#define WEFT_LOOK_UP(name, parameters)                                              \
  o.driver.name = reinterpret_cast<decltype(o.driver.name)>(dlsym(library, #name)); \
  if (!o.driver.name && o.problem.empty()) o.problem = fmt::format("{} is too old: it has no {}", path, #name);
  WEFT_CUDA_DRIVER(WEFT_LOOK_UP)
#undef WEFT_LOOK_UP
  if (!o.problem.empty()) return o;
  if (const Result r = o.driver.cuInit(0); r != kSuccess) {
    const char* name = nullptr;
    o.driver.cuGetErrorName(r, &name);
    o.problem = fmt::format("the CUDA driver does not start: cuInit gives {}", name ? name : std::to_string(r));
    return o;
  }
  o.driver.cuDriverGetVersion(&o.driver.version);
  o.driver.has_conditions = o.driver.version >= kConditionsSince;
#define WEFT_LOOK_UP(name, parameters)                                              \
  o.driver.name = reinterpret_cast<decltype(o.driver.name)>(dlsym(library, #name)); \
  o.driver.has_conditions &= o.driver.name != nullptr;
  WEFT_CUDA_CONDITIONS(WEFT_LOOK_UP)
#undef WEFT_LOOK_UP
  return o;
}

const Opened& opened() {
  static const Opened& o = *new Opened(open());  // never destroyed: memory may be given back when the process ends
  return o;
}

}  // namespace

const Driver& driver() {
  if (!opened().problem.empty()) throw DeviceError("cuda: " + opened().problem);
  return opened().driver;
}

bool has_driver(std::string& why_not) {
  why_not = opened().problem;
  return why_not.empty();
}

void check(Result r, const char* call, const std::string& what, SourceLoc loc) {
  if (r == kSuccess) return;
  const char *name = nullptr, *text = nullptr;
  opened().driver.cuGetErrorName(r, &name);
  opened().driver.cuGetErrorString(r, &text);
  throw DeviceError(
      fmt::format("{}: {} gives {} ({}){}", what, call, name ? name : "an unknown code", r, text ? fmt::format(": {}", text) : ""), loc);
}

}  // namespace weft::detail::cuda
