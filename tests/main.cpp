// The main function of the test programs.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdlib>

int main(int argc, char** argv) {
  // Tests see code as it is made now.
  setenv("WEFT_CACHE", "off", 0);
  // What tests say of devices holds for the host's, on a machine with a GPU too.
  setenv("WEFT_PLATFORM", "cpu", 0);
  return doctest::Context(argc, argv).run();
}
