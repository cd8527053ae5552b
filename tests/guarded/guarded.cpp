// The memory guard catches what leaves an array: without this, the tests that run under it would prove nothing.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <functional>

#include "weft/runtime/host/buffer.h"
#include "weft/weft.h"

using namespace weft;

namespace {

/// How a child process ends that does this.
int exit_code(const std::function<void()>& f) {
  const pid_t child = fork();
  if (child == 0) {
    std::freopen("/dev/null", "w", stderr);
    f();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

volatile float* memory(const Array& x) { return static_cast<float*>(const_cast<void*>(detail::host_data(x))); }

}  // namespace

TEST_CASE("guarded memory: one element past the end, far before the start, and after the end of its life") {
  for (int n : {1, 3, 100, 5000}) {
    const Array x = ones(n) * 2;
    CHECK(exit_code([&] { memory(x)[n - 1] = 1; }) == 0);
    CHECK(exit_code([&] { memory(x)[n] = 1; }) == 99);
    CHECK(exit_code([&] { (void)memory(x)[n]; }) == 99);
    CHECK(exit_code([&] { (void)memory(x)[n - 1 - (n + 1023) / 1024 * 1024]; }) == 99);
    CHECK(exit_code([&] {
            Array y = x + 1;
            volatile float* p = memory(y);
            y = x;
            (void)p[0];
          }) == 99);
  }
}
