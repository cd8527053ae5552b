// Every program of data/jaxprs, exported from JAX with its results, as a test case of its own on each backend.
//
// The file `skipped` lists those that cannot run yet, `SET/NAME BACKEND reason` a line, sorted; BACKEND is interp, cpu, text (printing and
// parsing) or all. They are run all the same: one that passes is a failure, so that the list can only shrink.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/named_cases.h"
#include "tools/json.h"
#include "tools/programs.h"
#include "weft/core/base/files.h"
#include "weft/core/errors/error.h"
#include "weft/core/io/io.h"
#include "weft/runtime/host/device.h"

namespace weft::test {
namespace {

using tools::ProgramEntry;

struct GoldenProgram {
  std::string test_name, set;
  ProgramEntry entry;
  std::string platform;  ///< a backend, or "text": the program is printed and parsed
  std::vector<int> exact;
};
struct Skip {
  std::string program, platform, reason;
};

std::string data_folder() {
  const char* tests = std::getenv("WEFT_TEST_DATA");
  return std::string(tests ? tests : "tests") + "/golden/";
}
std::string folder_of(const std::string& set) { return data_folder() + "data/jaxprs/" + set; }

std::vector<Skip> read_skips() {
  std::vector<Skip> skips;
  std::ifstream file(data_folder() + "skipped");
  REQUIRE(file.good());
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    Skip s;
    std::istringstream words(line);
    words >> s.program >> s.platform;
    std::getline(words >> std::ws, s.reason);
    skips.push_back(s);
  }
  return skips;
}
const std::vector<Skip>& skips() {
  static const std::vector<Skip> all = read_skips();
  return all;
}
const Skip* find_skip(const GoldenProgram& p) {
  for (const Skip& s : skips())
    if (s.program == p.set + "/" + p.entry.name && (s.platform == "all" || s.platform == p.platform)) return &s;
  return nullptr;
}

/// Results whose floats must be equal, by program: the lists `bit_exact` of cases.json, which name results.
std::map<std::string, std::vector<int>> exact_results() {
  std::map<std::string, std::vector<int>> exact;
  for (const tools::Json& c : tools::parse_json(detail::read_file(data_folder() + "data/cases.json", {})).list) {
    const tools::Json* names = c.find("bit_exact");
    if (!names) continue;
    const auto& outputs = c.at("outputs").list;
    for (const tools::Json& name : names->list)
      for (std::size_t k = 0; k < outputs.size(); ++k)
        if (outputs[k].string == name.string) exact[c.at("name").string].push_back(static_cast<int>(k));
  }
  return exact;
}

std::vector<GoldenProgram>& programs() {
  static std::vector<GoldenProgram> all;
  return all;
}

/// What is wrong, or an empty text.
std::string print_and_parse(const GoldenProgram& p) {
  const std::string path = folder_of(p.set) + "/" + p.entry.name;
  const Jaxpr program = load_jaxpr(path + ".jaxpr", path + ".npz");
  program.check();
  const std::string text = program.to_string(), again = parse(text).to_string();
  return again == text ? "" : "printed\n" + text + "\nwhich is read as\n" + again;
}

void run_case(const GoldenProgram& p) {
  std::string wrong;
  try {
    wrong = p.platform == "text" ? print_and_parse(p) : tools::check_program(folder_of(p.set), p.entry, p.platform, p.exact);
  } catch (const std::exception& e) {
    wrong = e.what();
  }
  if (const Skip* skip = find_skip(p)) {
    CHECK_MESSAGE(!wrong.empty(), p.test_name << " is on the list of skipped programs (" << skip->reason << ") and passes: take it off");
    MESSAGE("skipped: ", p.test_name, ": ", skip->reason);
    return;
  }
  CHECK_MESSAGE(wrong.empty(), p.test_name << ": " << wrong);
}

std::string register_all() try {
  // The environment may say fewer devices: then those programs run that need no more.
  if (!std::getenv("WEFT_NUM_CPU_DEVICES")) config.num_cpu_devices = 8;
  const auto exact = exact_results();
  for (const std::string set : {"cases", "random"})
    for (const ProgramEntry& entry : tools::read_index(folder_of(set)))
      for (const std::string platform : {"text", "interp", "cpu"}) {
        if (entry.devices_needed > device_count()) continue;
        const auto found = exact.find(entry.name);
        programs().push_back(
            {platform + ": " + set + "/" + entry.name, set, entry, platform, found == exact.end() ? std::vector<int>() : found->second});
      }
  for (const GoldenProgram& p : programs()) add_case(p.test_name, [p] { run_case(p); }, __FILE__, __LINE__);
  return {};
} catch (const std::exception& e) {
  return e.what();
}
const std::string not_registered = register_all();

}  // namespace

TEST_CASE("the list of skipped programs is sorted, without doubles, and names programs that exist") {
  REQUIRE_MESSAGE(not_registered.empty(), not_registered);
  std::string last;
  for (const Skip& s : skips()) {
    const std::string line = s.program + " " + s.platform;
    CHECK(last < line);
    CHECK(!s.reason.empty());
    const bool known = std::any_of(programs().begin(), programs().end(), [&](const GoldenProgram& p) {
      return s.program == p.set + "/" + p.entry.name && (s.platform == "all" || s.platform == p.platform);
    });
    CHECK_MESSAGE(known, line);
    last = line;
  }
  MESSAGE(skips().size(), " lines of skipped programs");
}

}  // namespace weft::test

TEST_CASE("the number of devices of a pmap may be set to what it is, wherever it came from") {
  const int before = weft::config.num_cpu_devices, now = weft::device_count();
  weft::config.num_cpu_devices = now;
  CHECK(weft::device_count() == now);
  weft::config.num_cpu_devices = now + 9;
  CHECK_THROWS_AS(weft::device_count(), weft::DeviceError);
  weft::config.num_cpu_devices = before;
}
