// The programs of data/jaxprs in every way of executing a function (tools/modes.h), against the stored results, and for a second lane of
// other numbers against the interpreter.
#include <doctest/doctest.h>

#include <cstdlib>

#include "tests/named_cases.h"
#include "tools/modes.h"
#include "tools/programs.h"
#include "weft/core/errors/error.h"
#include "weft/core/io/io.h"
#include "weft/runtime/host/device.h"

namespace weft::test {
namespace {

using tools::Arrays;
using tools::Mode;
using tools::ProgramEntry;

std::string folder_of(const std::string& set) {
  const char* tests = std::getenv("WEFT_TEST_DATA");
  return std::string(tests ? tests : "tests") + "/golden/data/jaxprs/" + set;
}

/// Floats of a second lane, whose problem may be worse conditioned than that of the stored one.
constexpr double kOther = 4;

void run_modes(const std::string& set, const ProgramEntry& entry) {
  const std::string path = folder_of(set) + "/" + entry.name;
  const Jaxpr program = load_jaxpr(path + ".jaxpr", path + ".npz");
  const std::map<std::string, Array> arrays = load_npz(path + ".npz");
  const Arrays in = tools::numbered(arrays, "in"), want = tools::numbered(arrays, "out"), other = tools::other_lane(in);
  const Arrays of_other = tools::run_on("interp", entry.name, program, other);
  for (const Mode& mode : tools::modes()) {
    if (!tools::runs(mode, in) || mode.name == "interp" || mode.name == "cpu") continue;  // those are programs.cpp's
    CAPTURE(mode.name);
    std::vector<Arrays> got;
    REQUIRE_NOTHROW(got = mode.run(tools::function_of(program), {in, other}));
    REQUIRE(got.size() == 2);
    REQUIRE(got[0].size() == want.size());
    for (std::size_t k = 0; k < want.size(); ++k) {
      CAPTURE(k);
      const auto wide = arrays.find("out" + std::to_string(k) + ".f64");
      CHECK(tools::difference(got[0][k], want[k], wide == arrays.end() ? nullptr : &wide->second, {entry.rtol, entry.atol, false}) == "");
      CHECK(tools::difference(got[1][k], of_other[k], nullptr, {kOther * entry.rtol, kOther * entry.atol, false}) == "");
    }
  }
}

std::string register_all() try {
  if (!std::getenv("WEFT_NUM_CPU_DEVICES")) config.num_cpu_devices = 8;
  for (const std::string set : {"cases", "random"}) {
    for (const ProgramEntry& entry : tools::read_index(folder_of(set))) {
      if (entry.devices_needed > device_count()) continue;
      add_case("modes: " + set + "/" + entry.name, [=] { run_modes(set, entry); }, __FILE__, __LINE__);
    }
  }
  return {};
} catch (const std::exception& e) {
  return e.what();
}
const std::string not_registered = register_all();

}  // namespace

TEST_CASE("the programs for all modes are there") { REQUIRE_MESSAGE(not_registered.empty(), not_registered); }

}  // namespace weft::test
