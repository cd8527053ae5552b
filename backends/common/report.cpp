#include "weft/backends/common/report.h"

#include <dnnl.h>
#include <fmt/format.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/TargetParser/Host.h>

#include "weft/backends/common/code_cache.h"
#include "weft/core/base/environment.h"

extern "C" char* openblas_get_config();

namespace weft::detail {

std::vector<std::pair<std::string, std::string>> build_report() {
  const dnnl_version_t* const dnnl = dnnl_version();
  std::string blas = openblas_get_config();
  while (blas.ends_with(' ')) blas.pop_back();
  return {{"processor", llvm::sys::getHostCPUName().str()},
          {"LLVM", LLVM_VERSION_STRING},
          {"oneDNN", fmt::format("{}.{}.{}", dnnl->major, dnnl->minor, dnnl->patch)},
          {"BLAS and LAPACK", blas},
          {"fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
          {"compiler",
#ifdef __clang__
           "clang " __clang_version__
#else
           "g++ " __VERSION__
#endif
          }};
}

std::vector<VariableReport> variable_report() {
  std::vector<VariableReport> all;
  for (const EnvironmentVariable& v : environment_variables()) {
    const std::string name(v.name);
    all.push_back({name, problem_in_environment(name.c_str()).value_or("")});
  }
  return all;
}

CacheReport cache_report() {
  const CodeCache::Contents c = CodeCache::of_process().contents();
  return {CodeCache::wanted_folder(), !c.folder.empty(), c.entries, c.bytes, c.limit};
}

}  // namespace weft::detail
