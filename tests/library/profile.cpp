// Where the time goes: Profile, and WEFT_TRACE.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/weft.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "tests/folder.h"
#include "tests/messages.h"
#include "tools/json.h"

using namespace weft;
using namespace weft::test;

namespace {

std::string contents(const std::string& path) {
  std::ifstream in(path);
  std::stringstream s;
  s << in.rdbuf();
  return s.str();
}
/// The events of a trace of this kind, by name.
std::map<std::string, int> events(const std::string& path, const std::string& kind) {
  std::map<std::string, int> out;
  const tools::Json trace = tools::parse_json(contents(path));
  for (const tools::Json& e : trace.at("traceEvents").list) {
    if (e.at("ph").string != "X") continue;
    CHECK(e.at("ts").number >= 0);
    CHECK(e.at("dur").number >= 0);
    if (e.at("cat").string == kind) ++out[e.at("name").string];
  }
  return out;
}

}  // namespace

TEST_CASE("a profile has what was traced, compiled and run, with the user's names") {
  const Folder folder;
  const std::string path = folder.path + "/trace.json";
  auto f = jit([](Array x) { return sum(sin(x) * x); }, {.name = "loss \"a\""});
  Profile profile;
  {
    const ProfileRange range("first epoch");
    f(ones(1000)).block_until_ready();
    std::thread([&] { f(ones(1000)).block_until_ready(); }).join();
  }
  linalg::cholesky(eye(50));
  device_put(ones(3), devices("cpu")[0]);
  profile.stop();
  f(ones(1000));
  profile.save(path);
  CHECK(events(path, "trace")["loss \"a\""] == 1);
  CHECK(events(path, "compile")["loss \"a\""] == 1);
  CHECK(events(path, "program")["loss \"a\""] == 2);
  CHECK(events(path, "user") == std::map<std::string, int>{{"first epoch", 1}});
  CHECK(events(path, "transfer")["device_put"] == 1);
  int kernels = 0;
  for (const auto& [name, n] : events(path, "kernel")) kernels += n;
  CHECK(kernels >= 2);
  CHECK(has(contents(path), {"\"tid\":1", "\"device\":\"cpu:0\""}));
  const std::string table = profile.table();
  CHECK(has(table, {"runs", "kernel", "%"}));
  CHECK(profile.table(0).find('\n') + 1 == profile.table(0).size());
}

TEST_CASE("profiles follow one another, and there is one at a time") {
  const Folder folder;
  const std::string path = folder.path + "/trace.json";
  {
    const Profile one;
    {
      const ProfileRange range("one");
    }
    CHECK(refuses<Error>([] { const Profile another; }, {"another profile", "profile.cpp:"}));
  }
  {
    const ProfileRange range("between");
  }
  const ProfileRange around("around");
  const Profile two;
  {
    const ProfileRange range("two");
  }
  two.save(path);
  CHECK(events(path, "user") == std::map<std::string, int>{{"two", 1}});
  CHECK_THROWS_AS(two.save("/nowhere/at/all.json"), IoError);
}

TEST_CASE("collectives of devices are in the profile") {
  if (device_count("cpu") < 2) return;
  const Folder folder;
  const std::string path = folder.path + "/trace.json";
  const auto f = pmap([](Array x) { return psum(x, "i"); }, {.axis_name = "i"});
  const Profile profile;
  f(ones({2, 3})).block_until_ready();
  profile.save(path);
  CHECK(!events(path, "collective").empty());
}

TEST_CASE("WEFT_TRACE records a whole process" * doctest::skip(std::getenv("WEFT_TRACE") != nullptr)) {
  const Folder folder;
  const std::string path = folder.path + "/trace.json";
  const pid_t child = fork();
  if (child == 0) {
    setenv("WEFT_TRACE", path.c_str(), 1);
    execl("/proc/self/exe", "test_library", "-tc=programs and keys print", static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(tools::parse_json(contents(path)).at("traceEvents").list.size() > 0);
}
