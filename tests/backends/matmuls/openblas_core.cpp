// Which of OpenBLAS's codes runs, in processes that choose one and that don't.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "weft/backends/cpu/openblas_core.h"

#if defined(__x86_64__)

namespace {

std::string core() {
  const auto name = reinterpret_cast<char* (*)()>(dlsym(RTLD_DEFAULT, "openblas_get_corename"));
  REQUIRE(static_cast<bool>(name));
  return name();
}

}  // namespace

TEST_CASE("OpenBLAS: processors with AVX2 don't run the code for the oldest ones") {
  if (std::getenv("OPENBLAS_CORETYPE") || !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return;
  CHECK(core() != "Prescott");
  CHECK(std::getenv("OPENBLAS_CORETYPE") == nullptr);
}

TEST_CASE("OpenBLAS: what the environment chooses is kept") {
  const pid_t child = fork();
  if (child == 0) {
    setenv("OPENBLAS_CORETYPE", "Prescott", 1);
    execl("/proc/self/exe", "test_backends", "-tc=OpenBLAS: the code that was chosen", "--no-skip", nullptr);
    _exit(99);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("OpenBLAS: the code that was chosen" * doctest::skip()) {
  weft::detail::use_avx2_if_unknown();
  CHECK(core() == "Prescott");
}

#endif
