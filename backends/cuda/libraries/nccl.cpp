#include "weft/backends/cuda/libraries/nccl.h"
#include "weft/core/base/environment.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <iterator>

#include "weft/core/base/process_wide.h"
#include "weft/core/errors/error.h"

namespace weft::detail::cuda::nccl {

const Library& library() {
  static const auto& l = process_wide_from([] {
    Library r;
    const std::string_view given = word_in_environment("WEFT_LIBNCCL");
    const std::string path(given.empty() ? "libnccl.so.2" : given);
    void* file = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!file) {
      const char* reason = dlerror();
      r.problem =
          fmt::format("collectives between GPUs need NCCL: {}; install it, or set WEFT_LIBNCCL to its path", reason ? reason : path);
      return r;
    }
#define WEFT_LOOK_UP(name, parameters)                             \
  r.name = reinterpret_cast<decltype(r.name)>(dlsym(file, #name)); \
  if (!r.name && r.problem.empty()) r.problem = fmt::format("{} is too old: it has no {}", path, #name);
    WEFT_NCCL(WEFT_LOOK_UP)
#undef WEFT_LOOK_UP
    r.ncclGetErrorString = reinterpret_cast<decltype(r.ncclGetErrorString)>(dlsym(file, "ncclGetErrorString"));
    return r;
  });
  return l;
}

const Library& library_for(const std::string& what, SourceLoc loc) {
  const Library& l = library();
  if (!l.problem.empty()) throw DistributedError(what + ": " + l.problem, loc);
  return l;
}

std::string status_text(int status) {
  static constexpr const char* kNames[] = {"ncclSuccess",         "ncclUnhandledCudaError", "ncclSystemError", "ncclInternalError",
                                           "ncclInvalidArgument", "ncclInvalidUsage",       "ncclRemoteError", "ncclInProgress"};
  const Library& l = library();
  return fmt::format("{} ({}){}", status >= 0 && status < static_cast<int>(std::size(kNames)) ? kNames[status] : "an unknown status",
                     status, l.ncclGetErrorString ? fmt::format(": {}", l.ncclGetErrorString(status)) : "");
}

void check(int status, const char* call, const std::string& what, SourceLoc loc) {
  if (status != kSuccess && status != kInProgress)
    throw DistributedError(fmt::format("{}: {} gives {}", what, call, status_text(status)), loc);
}

}  // namespace weft::detail::cuda::nccl
