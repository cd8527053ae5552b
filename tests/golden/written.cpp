// The programs of data/jaxprs written in StableHLO and read again, against the stored results.
#include <doctest/doctest.h>

#include <cstdlib>

#include "tests/named_cases.h"
#include "tools/programs.h"
#include "tools/written.h"
#include "weft/core/errors/error.h"
#include "weft/core/io/io.h"
#include "weft/runtime/host/device.h"

namespace weft::test {
namespace {

using tools::ProgramEntry;

std::string folder_of(const std::string& set) {
  const char* tests = std::getenv("WEFT_TEST_DATA");
  return std::string(tests ? tests : "tests") + "/golden/data/jaxprs/" + set;
}

void run_written(const std::string& set, const ProgramEntry& entry) {
  std::string wrong;
  try {
    wrong = tools::check_program(folder_of(set), entry, "interp", {}, tools::written_and_read);
  } catch (const std::exception& e) {
    wrong = e.what();
  }
  CHECK_MESSAGE(wrong.empty(), wrong);
}

std::string register_all() try {
  if (!std::getenv("WEFT_NUM_CPU_DEVICES")) config.num_cpu_devices = 8;
  for (const std::string set : {"cases", "random"}) {
    for (const ProgramEntry& entry : tools::read_index(folder_of(set))) {
      if (entry.devices_needed > device_count()) continue;
      add_case("written: " + set + "/" + entry.name, [=] { run_written(set, entry); }, __FILE__, __LINE__);
    }
  }
  return {};
} catch (const std::exception& e) {
  return e.what();
}
const std::string not_registered = register_all();

}  // namespace

TEST_CASE("the programs to be written in StableHLO are there") { REQUIRE_MESSAGE(not_registered.empty(), not_registered); }

}  // namespace weft::test
