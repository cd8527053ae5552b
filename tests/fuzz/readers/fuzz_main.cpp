// The readers under libFuzzer: fuzz_readers NAME [libFuzzer's arguments]. Needs clang; see scripts/fuzz.
#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "tests/fuzz/readers/readers.h"

namespace {
const weft::fuzz::InputReader* reader = nullptr;
constexpr const char* kVariable = "WEFT_FUZZ_READER";
}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  // libFuzzer starts itself again for some tasks; its children know the reader by the environment.
  if (*argc > 1 && (*argv)[1][0] != '-' && !std::getenv(kVariable)) {
    setenv(kVariable, (*argv)[1], 1);
    (*argv)[1] = (*argv)[0];
    ++*argv, --*argc;
  }
  const char* const name = std::getenv(kVariable);
  try {
    reader = &weft::fuzz::input_reader(name ? name : "");
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    std::exit(2);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  reader->read({reinterpret_cast<const char*>(data), size});
  return 0;
}
