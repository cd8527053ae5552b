// What goes on beside the thread that compiles does not outlive the process's memory.
#include <doctest/doctest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "weft/weft.h"

using namespace weft;

TEST_CASE("a program ends well at any time after its products were compiled") {
  constexpr const char* kChild = "WEFT_TEST_ENDS_AFTER";  // milliseconds
  if (const char* wait = std::getenv(kChild)) {
    // Of the kind for which oneDNN takes long to make code.
    jit([](Array a, Array b) { return matmul(transpose(a), b); }).lower(zeros({512, 128}), zeros({512, 384})).compile();
    usleep(static_cast<useconds_t>(std::atoi(wait)) * 1000);
    std::exit(0);
  }
  std::string name = "test", words = "-tc=a program ends well at any time after its products were compiled";
  char* args[] = {name.data(), words.data(), nullptr};
  for (int wait = 0; wait < 30; wait += 2) {
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
