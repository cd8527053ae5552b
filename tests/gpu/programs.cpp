// The emulated device computes what the interpreter computes, and what JAX did: every sample of an operation, every golden program.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/ops/program_checks.h"
#include "tests/ops/samples.h"
#include "tools/programs.h"
#include "weft/core/errors/error.h"
#include "weft/core/io/io.h"
#include "weft/runtime/host/device.h"
#include "weft/runtime/host/executable.h"
#include "weft/runtime/sharded/spmd_body.h"

namespace weft::test {
namespace {

using namespace detail;

int gpu() {
  static const int id = devices("cuda")[0].id();
  return id;
}

/// Programs that do not run on the CPU either.
std::set<std::string> skipped(const std::string& folder) {
  std::set<std::string> names;
  std::ifstream file(folder + "skipped");
  REQUIRE(file.good());
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name, platform;
    words >> name >> platform;
    if (!line.empty() && line[0] != '#' && (platform == "cpu" || platform == "all")) names.insert(name);
  }
  return names;
}

bool spans_only(const std::string& title) { return title.starts_with("svd ") || title.starts_with("eigh ") || title.starts_with("qr "); }

void check_samples(DType dtype) {
  for (const Sample& s : samples_in(dtype)) {
    INFO(s.title);
    if (communicates(s.program)) continue;
    const std::vector<Array> inputs = s.arguments();
    const auto want = backend("interp").compile(s.program, {s.title})->call(inputs, 0);
    try {
      const auto got = backend("cuda").compile(s.program, {s.title})->call(inputs, gpu());
      REQUIRE(got.size() == want.size());
      for (std::size_t k = 0; k < want.size(); ++k) {
        CHECK(got[k].aval() == want[k].aval());
        // Singular vectors and the like are what they are up to a factor of modulus 1.
        const Array here = spans_only(s.title) ? abs(device_get(got[k])) : got[k], wanted = spans_only(s.title) ? abs(want[k]) : want[k];
        const std::string wrong = wrong_in(here, wanted, 16 * epsilon(want[k].dtype()));
        CHECK_MESSAGE(wrong.empty(), s.title << ": result " << k << ": " << wrong);
      }
    } catch (const Error& e) {
      FAIL_CHECK(s.title << ": " << std::string(e.what()));
    }
  }
}

}  // namespace

TEST_CASE("gpu: samples of all operations agree with the interpreter, in float32") { check_samples(float32); }
TEST_CASE("gpu: samples of all operations agree with the interpreter, in float64") { check_samples(float64); }
TEST_CASE("gpu: samples of all operations agree with the interpreter, in bfloat16") { check_samples(bfloat16); }
TEST_CASE("gpu: samples of all operations agree with the interpreter, in float16") { check_samples(float16); }
TEST_CASE("gpu: samples of all operations agree with the interpreter, in complex64") { check_samples(complex64); }
TEST_CASE("gpu: samples of all operations agree with the interpreter, in int32") { check_samples(int32); }
TEST_CASE("gpu: samples of all operations agree with the interpreter, in uint8") { check_samples(uint8); }
TEST_CASE("gpu: samples of all operations agree with the interpreter, in bool") { check_samples(bool_); }

TEST_CASE("gpu: golden programs give JAX's results") {
  const char* tests = std::getenv("WEFT_TEST_DATA");
  const std::string folder = std::string(tests ? tests : "tests") + "/golden/";
  const std::set<std::string> skip = skipped(folder);
  int passed = 0;
  for (const auto& set : std::filesystem::directory_iterator(folder + "data/jaxprs")) {
    if (!set.is_directory()) continue;
    for (const tools::ProgramEntry& entry : tools::read_index(set.path().string())) {
      if (skip.count(set.path().filename().string() + "/" + entry.name) > 0) continue;
      const std::string path = (set.path() / entry.name).string();
      if (communicates(load_jaxpr(path + ".jaxpr", path + ".npz"))) continue;
      try {
        const std::string wrong = tools::check_program(set.path().string(), entry, "cuda");
        CHECK_MESSAGE(wrong.empty(), entry.name << ": " << wrong);
        passed += wrong.empty();
      } catch (const Error& e) {
        FAIL_CHECK(entry.name << ": " << std::string(e.what()));
      }
    }
  }
  CHECK(passed > 100);
}

}  // namespace weft::test
