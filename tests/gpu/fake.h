// The fake libraries that the environment names, and what tests of the runtime ask of them.
#pragma once
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <string>

#include "tests/fake_cuda/control.h"
#include "tests/messages.h"
#include "weft/core/errors/error.h"

namespace weft::test {

/// A function of the library that the variable names; null where it is not set: then the real one is used.
template <class F>
F* function_of(const char* variable, const char* name) {
  const char* path = std::getenv(variable);
  if (!path) return nullptr;
  void* library = dlopen(path, RTLD_NOW);
  REQUIRE((library != nullptr));
  auto* f = reinterpret_cast<F*>(dlsym(library, name));
  REQUIRE((f != nullptr));
  return f;
}

/// What all fakes offer.
struct Fake {
  Fake(const char* variable, const std::string& prefix)
      : fail(function_of<decltype(fake_cuda_fail)>(variable, (prefix + "fail").c_str())),
        calls(function_of<decltype(fake_cuda_calls)>(variable, (prefix + "calls").c_str())),
        reset(function_of<decltype(fake_cuda_reset_calls)>(variable, (prefix + "reset_calls").c_str())),
        name(function_of<decltype(fake_cuda_name)>(variable, (prefix + "name").c_str())) {}
  decltype(&fake_cuda_fail) fail;
  decltype(&fake_cuda_calls) calls;
  decltype(&fake_cuda_reset_calls) reset;
  decltype(&fake_cuda_name) name;
};
inline const Fake& fake_driver() {
  static const Fake f("WEFT_LIBCUDA", "fake_cuda_");
  return f;
}
inline const Fake& fake_cublaslt() {
  static const Fake f("WEFT_LIBCUBLASLT", "fake_cublaslt_");
  return f;
}
inline const Fake& fake_nccl() {
  static const Fake f("WEFT_LIBNCCL", "fake_nccl_");
  return f;
}
inline const Fake& fake_cusolver() {
  static const Fake f("WEFT_LIBCUSOLVER", "fake_cusolver_");
  return f;
}
inline int live(const char* kind) { return function_of<decltype(fake_cuda_live)>("WEFT_LIBCUDA", "fake_cuda_live")(kind); }

/// What exists on the devices and beside them.
struct Alive {
  int memory = live("memory"), modules = live("module"), events = live("event"), graphs = live("graph"), execs = live("exec"),
      links = live("link"), products = function_of<int()>("WEFT_LIBCUBLASLT", "fake_cublaslt_live")();
  friend bool operator==(const Alive&, const Alive&) = default;
  std::string text() const {
    return fmt::format("{} blocks, {} modules, {} events, {} graphs, {} executable graphs, {} linkers, {} parts of products", memory,
                       modules, events, graphs, execs, links, products);
  }
};

/// Runs a test case of this program in a process of its own, with a variable set; its exit status.
inline int run_again(const std::string& test, const std::string& variable, const std::string& value) {
  setenv(variable.c_str(), value.c_str(), 1);
  setenv("WEFT_TEST_CHILD", "1", 1);
  std::string name = "test", words = "-tc=" + test;
  char* args[] = {name.data(), words.data(), nullptr};
  pid_t child = 0;
  REQUIRE(posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, args, environ) == 0);
  int status = 0;
  waitpid(child, &status, 0);
  unsetenv(variable.c_str()), unsetenv("WEFT_TEST_CHILD");
  return status;
}

}  // namespace weft::test
