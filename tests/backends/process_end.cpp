// What goes on beside the thread that compiles does not outlive the process's memory.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/backends/ends_well.h"
#include "weft/weft.h"

using namespace weft;

TEST_CASE("a program ends well at any time after its products were compiled") {
  if (const std::optional<int> wait = test::ends_after()) {
    // Of the kind for which oneDNN takes long to make code.
    jit([](Array a, Array b) { return matmul(transpose(a), b); }).lower(zeros({512, 128}), zeros({512, 384})).compile();
    usleep(static_cast<useconds_t>(*wait) * 1000);
    std::exit(0);
  }
  test::check_ends("a program ends well at any time after its products were compiled", 30, 2);
}
