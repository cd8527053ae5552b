// Where the time goes: Profile, and WEFT_TRACE.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/weft.h>

#include <cstdlib>
#include <thread>

#include "tests/folder.h"
#include "tests/messages.h"
#include "tools/json.h"

using namespace weft;
using namespace weft::test;

namespace {

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

TEST_CASE("kernels have the names of their programs and scopes, their lines, their rates and their share of the roofline") {
  const Folder folder;
  const std::string path = folder.path + "/trace.json";
  auto f = jit(
      [](Array x, Array y) {
        const auto scope = named_scope("decoder");
        const auto inner = named_scope("attention");
        return sum(exp(matmul(x, y)), 1);
      },
      {.name = "scoring"});
  const Array x = ones({400, 400});
  f(x, x);
  Profile profile;
  for (int i = 0; i < 3; ++i) f(x, x).block_until_ready();
  profile.stop();
  const std::string table = profile.table();
  CHECK(has(table, {"GFLOP/s", "roofline", "scoring: matmul 400x400x400 (decoder/attention; profile.cpp:",
                    "scoring: kernel0 (decoder/attention; profile.cpp:", "FLOP/s, ", "B/s\n"}));
  // Rates are those of the operations and the time in the same line.
  for (std::size_t at = 0, end; at < table.size(); at = end + 1) {
    end = table.find('\n', at);
    double runs = 0, total = 0, one = 0, share = 0, flops = 0, bytes = 0, roof = 0;
    if (std::sscanf(table.c_str() + at, "%lf %lf %lf %lf%% %lf %lf %lf%%", &runs, &total, &one, &share, &flops, &bytes, &roof) != 7)
      continue;
    CHECK(runs == 3);
    CHECK(roof > 0);
    if (table.substr(at, end - at).find("matmul") != std::string::npos)
      CHECK(flops * one * 1e3 == doctest::Approx(2 * 400. * 400 * 400).epsilon(0.02));
  }
  profile.save(path);
  CHECK(has(contents(path), {"\"flops\":128000000", "\"name\":\"scoring: kernel0"}));
}

TEST_CASE("named scopes are ranges of the profile where they stand outside of traced functions") {
  const Folder folder;
  const std::string path = folder.path + "/trace.json";
  const Profile profile;
  {
    const auto scope = named_scope("loading");
  }
  profile.save(path);
  CHECK(events(path, "user") == std::map<std::string, int>{{"loading", 1}});
}

TEST_CASE("equations keep the names of their scopes through transforms, calls and threads") {
  const auto inner = jit([](Array x) { return sin(x) * 2; });
  const auto f = [&](Array x) {
    const auto scope = named_scope("outer");
    return sum(inner(x));
  };
  Profile profile;
  jit(grad(f), {.name = "gradient"})(ones(1000)).block_until_ready();
  std::thread([] { jit([](Array x) { return x + 1; }, {.name = "elsewhere"})(ones(10)); }).join();
  const std::string table = profile.table();
  CHECK(has(table, "gradient: kernel0 (outer; profile.cpp:"));
  CHECK(has(table, "elsewhere: kernel0 (profile.cpp:"));
}

TEST_CASE("the memory in use is in the profile, over time and at its most") {
  const Folder folder;
  const std::string path = folder.path + "/trace.json";
  Profile profile;
  const std::int64_t before = devices("cpu")[0].memory_stats().bytes_in_use;
  {
    const Array large = zeros({1 << 22});
    CHECK(jit([](Array x) { return sum(x); })(large).item<float>() == 0);
  }
  profile.stop();
  profile.save(path);
  double most = 0, last = 0, time = 0;
  const tools::Json trace = tools::parse_json(contents(path));
  for (const tools::Json& e : trace.at("traceEvents").list) {
    if (e.at("ph").string != "C" || e.at("name").string != "memory of cpu:0") continue;
    CHECK(e.at("ts").number >= time);
    time = e.at("ts").number, last = e.at("args").at("bytes").number;
    most = std::max(most, last);
  }
  CHECK(most >= static_cast<double>(before + (16 << 20)));
  CHECK(last < most - (8 << 20));
  CHECK(has(profile.table(), "most memory in use: cpu:0 "));
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

TEST_CASE("WEFT_TRACE is the process's own file, as it was named when it began" * doctest::skip(std::getenv("WEFT_TRACE") != nullptr)) {
  // In a process of its own, which moves elsewhere, forgets the variable, and has a child that ends before it or after it.
  for (const std::string how : {"before", "after"}) {
    INFO(how);
    const Folder folder;
    const pid_t child = fork();
    if (child == 0) {
      setenv("WEFT_TRACE", "trace.json", 1), setenv("WEFT_TEST_TRACED", how.c_str(), 1);
      if (chdir(folder.path.c_str()) != 0) _exit(126);
      execl("/proc/self/exe", "test_library", "-tc=a process that is traced", "-ns", static_cast<char*>(nullptr));
      _exit(127);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(how == "after" ? 600 : 0));
    const std::string text = contents(folder.path + "/trace.json");
    REQUIRE_FALSE(text.empty());
    CHECK(has(text, "by the parent"));
    CHECK_FALSE(has(text, "by the child"));
  }
}

TEST_CASE("a process that is traced" * doctest::skip()) {
  const char* const how = std::getenv("WEFT_TEST_TRACED");
  REQUIRE(how);
  const bool after = std::string(how) == "after";
  const pid_t child = fork();
  if (child == 0) {
    {
      const ProfileRange range("by the child");
    }
    if (after) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    std::exit(0);
  }
  if (int status = 0; !after) CHECK(waitpid(child, &status, 0) == child);
  {
    const ProfileRange range("by the parent");
  }
  unsetenv("WEFT_TRACE");
  CHECK(chdir("/") == 0);
}
