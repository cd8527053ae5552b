#include "tests/twins/twins.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <map>

#include "tests/named_cases.h"
#include "tools/modes.h"
#include "tools/programs.h"

namespace weft::test {
namespace {

const std::map<std::string, Array>& stored() {
  static const std::map<std::string, Array> all = [] {
    if (!std::getenv("WEFT_NUM_CPU_DEVICES")) config.num_cpu_devices = 8;
    const char* tests = std::getenv("WEFT_TEST_DATA");
    return load_npz(std::string(tests ? tests : "tests") + "/twins/values.npz");
  }();
  return all;
}
Arrays stored(const std::string& prefix) {
  Arrays out;
  for (auto at = stored().end(); (at = stored().find(prefix + std::to_string(out.size()))) != stored().end();) out.push_back(at->second);
  return out;
}

void compare(const Arrays& got, const Arrays& want, double tolerance) {
  REQUIRE(got.size() == want.size());
  for (std::size_t k = 0; k < got.size(); ++k) {
    CAPTURE(k);
    CHECK(tools::difference(got[k], want[k], nullptr, {tolerance, tolerance, false}) == "");
  }
}

void against_jax(const std::string& name, Arrays (*program)(In), double tolerance) {
  const Arrays inputs = stored(name + ".in"), want = stored(name + ".out");
  REQUIRE(!want.empty());
  compare(program(inputs), want, tolerance);
}

void in_every_mode(const std::string& name, Arrays (*program)(In), double tolerance) {
  const Arrays inputs = stored(name + ".in");
  const std::vector<Arrays> lanes = {inputs, tools::other_lane(inputs)};
  std::vector<Arrays> want;
  for (const Arrays& in : lanes) want.push_back(program(in));
  for (const tools::Mode& mode : tools::modes()) {
    if (mode.name == "eager") continue;
    CAPTURE(mode.name);
    std::vector<Arrays> got;
    REQUIRE_NOTHROW(got = mode.run(program, lanes));
    for (std::size_t k = 0; k < lanes.size(); ++k) compare(got[k], want[k], tolerance);
  }
}

}  // namespace

AddTwin::AddTwin(const char* name, Arrays (*program)(In), double tolerance, bool only_eager) {
  add_case(name, [=] { against_jax(name, program, tolerance); }, __FILE__, __LINE__);
  if (!only_eager) add_case("modes: " + std::string(name), [=] { in_every_mode(name, program, tolerance); }, __FILE__, __LINE__);
}

}  // namespace weft::test
