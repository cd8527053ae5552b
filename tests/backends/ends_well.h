// Programs that end while something is under way in the background.
#pragma once
#include <doctest/doctest.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cstdlib>
#include <optional>
#include <string>

namespace weft::test {

inline constexpr const char* kChild = "WEFT_TEST_ENDS_AFTER";  // milliseconds

/// In a process that check_ends started: after how many milliseconds it is to end.
inline std::optional<int> ends_after() {
  const char* wait = std::getenv(kChild);
  return wait ? std::optional(std::atoi(wait)) : std::nullopt;
}

/// Runs the test case of this name in processes of its own that end after 0, step, ... milliseconds, fewer than `last`.
inline void check_ends(const std::string& test, int last, int step) {
  std::string name = "test", words = "-tc=" + test;
  char* args[] = {name.data(), words.data(), nullptr};
  for (int wait = 0; wait < last; wait += step) {
    CAPTURE(wait);
    setenv(kChild, std::to_string(wait).c_str(), 1);
    pid_t child = 0;
    REQUIRE(posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, args, environ) == 0);
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  unsetenv(kChild);
}

}  // namespace weft::test
