// Every call fails once: memory, maps, files, threads and libraries that the system doesn't give, at each place in each of these scenarios.
// Whatever fails, there is an error or a result; files are the old or the new ones, whole; no descriptor is lost; and the same done again
// is right. Run with tests/faults/inject.cpp preloaded.
//
//     test_faults                    a selection of places, for every change
//     test_faults --all              every place; hours
//     test_faults [--all] NAME...    only scenarios, or kinds of calls, whose name contains one of the words
//     test_faults SCENARIO KIND N    one place
#include <execinfo.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/faults/inject.h"
#include "tests/folder.h"
#include "weft/backends/cpu/cpu_backend.h"
#include "weft/runtime/host/executable.h"
#include "weft/weft.h"

using namespace weft;
using namespace weft::test;
namespace fs = std::filesystem;

namespace {

struct Kind {
  const char* name;
  std::vector<int> errors;
};
const Kind kKinds[kNumFaults] = {{"memory", {ENOMEM}},      {"map", {ENOMEM}},        {"open", {EMFILE, EACCES, ENOSPC}},
                                 {"read", {EIO}},           {"write", {ENOSPC, EIO}}, {"sync", {EIO, ENOSPC}},
                                 {"rename", {EIO, ENOSPC}}, {"thread", {EAGAIN}},     {"library", {ENOENT}}};

[[noreturn]] void broken(const std::string& what) {
  fmt::print(stderr, "    {}\n", what);
  std::fflush(stderr);
  _exit(3);
}
void require(bool holds, const std::string& what) {
  if (!holds) broken(what);
}

long descriptors() { return static_cast<long>(names("/proc/self/fd").size()); }

/// Something that is done with faults, and looked at afterwards without.
struct Scenario {
  std::string name;
  std::map<std::string, std::string> environment = {};
  /// Done before each time, without faults.
  std::function<void()> prepare = [] {};
  std::function<void()> act = [] {};
  /// Whether what is there is right, after an error or (true) a success.
  std::function<void(bool)> check = [](bool) {};
  bool first_use = false;  ///< each time in a process of its own, in which the library wasn't used before
};

Array wave(std::int64_t n) { return sin(arange(n, float32)); }
Array model(const Array& x, const Array& w) {
  const auto [last, all] = scan([&](const Array& c, const Array& r) { return std::pair{tanh(c * w + r), c * 2.f}; }, w, x);
  return sum(cond(sum(last) > 0, [](const Array& v) { return v * 2.f; }, [](const Array& v) { return exp(-v); }, last)) + mean(all);
}
bool close_to(const Array& a, const Array& b) { return a.shape() == b.shape() && all(abs(a - b) <= 1e-4f * (1 + abs(b))).item<bool>(); }

/// A program that was never compiled before: it has another constant.
Array program(const Array& x, float c) { return matmul(x, transpose(x)) * c + sum(sort(exp(x * c)) + sin(x), 1); }
Array input() { return reshape(wave(64), {8, 8}); }
Jaxpr new_program(float c) {
  return make_jaxpr([=](const Array& x) { return program(x, c); })(input());
}

std::vector<Scenario> scenarios(const std::string& folder) {
  std::vector<Scenario> list;
  static float constant = 1.f;
  static Array result;
  const auto add = [&](Scenario s) { list.push_back(std::move(s)); };

  static std::string text;
  add({.name = "trace",
       .act = [] { text = fmt::format("{}", make_jaxpr(grad<1>(model))(reshape(wave(40), {10, 4}), ones({4}))); },
       .check =
           [](bool good) {
             static const std::string right = fmt::format("{}", make_jaxpr(grad<1>(model))(reshape(wave(40), {10, 4}), ones({4})));
             if (good) require(text == right, "another program was traced");
           }});

  for (const char* code : {"", "baseline", "optimized"})
    add({.name = std::string("compile") + (*code ? std::string(" ") + code : ""),
         .environment = {{"WEFT_CODE", code}},
         .prepare = [] { constant += .001f; },
         .act =
             [] {
               const Jaxpr j = new_program(constant);
               result = detail::CpuBackend().compile(j, {"faults", {}})->call(std::vector<Array>{input()}, 0)[0];
             },
         .check =
             [](bool good) {
               if (good) require(close_to(result, program(input(), constant)), "a wrong result");
             }});

  add({.name = "run",
       .act =
           [] {
             static const auto f = jit([](const Array& x) { return sum(cumsum(tanh(x) * 2.f) + x); });
             result = f(wave(300000));
           },
       .check =
           [](bool good) {
             static const Array right = sum(cumsum(tanh(wave(300000)) * 2.f) + wave(300000));
             if (good) require(all(abs(result - right) <= abs(right) * 1e-3f).item<bool>(), "a wrong result");
           }});
  add({.name = "eager",
       .act = [] { result = sort(wave(1000) * 2.f + 1.f); },
       .check =
           [](bool good) {
             static const Array right = sort(wave(1000) * 2.f + 1.f);
             if (good) require(close_to(result, right), "a wrong result");
           }});
  // A factorisation without memory is no matrix that can't be factored, which would be NaN.
  add({.name = "factor",
       .act =
           [] {
             const Array a = matmul(reshape(wave(400), {20, 20}), transpose(reshape(wave(400), {20, 20}))) + eye(20) * 30.f;
             const auto [q, r] = linalg::qr(a);
             const auto [u, s, vh] = linalg::svd(a);
             const auto [values, vectors] = linalg::eigh(a);
             result = stack({sum(linalg::cholesky(a)), sum(matmul(q, r)), sum(s), sum(values), sum(linalg::solve(a, a))});
           },
       .check =
           [](bool good) {
             if (good)
               require(all(isfinite(result)).item<bool>() && std::abs((result(2) - result(3)).item<float>()) < 1e-2f, "a wrong result");
           }});
  add({.name = "pmap",
       .environment = {{"WEFT_NUM_CPU_DEVICES", "4"}},
       .act =
           [] {
             static const auto f = pmap([](const Array& x) { return psum(x, "i") + x; }, {.axis_name = "i"});
             result = f(reshape(wave(400), {4, 100}));
           },
       .check =
           [](bool good) {
             const Array x = reshape(wave(400), {4, 100});
             if (good) require(close_to(device_get(result), sum(x, 0) + x), "a wrong result");
           }});

  // Files: `old` is there before, and `now` is what is to take its place.
  static std::string npy, npz;
  npy = folder + "/w.npy", npz = folder + "/w.npz";
  static std::vector<std::string> old_files;
  static const auto save_all = [](float v) { save(npy, full({3000}, v)), save_npz(npz, {{"a", full({10}, v)}, {"b", full({2000}, v)}}); };
  const auto value_of = [](const std::string& path) {
    return path == npy ? load(npy).to_vector<float>().at(2999) : load_npz(npz).at("b").to_vector<float>().at(1999);
  };
  add({.name = "save",
       .prepare = [] { save_all(1.f); },
       .act = [] { save_all(2.f); },
       .check =
           [=](bool good) {
             require(names(folder) == std::vector<std::string>{"w.npy", "w.npz"}, "other files are there");
             for (const std::string& p : {npy, npz})
               if (const float v = value_of(p); v != 2.f) require(!good && v == 1.f, p + " holds something else");
           }});
  add({.name = "save new",
       .prepare = [=] { fs::remove(npy), fs::remove(npz); },
       .act = [] { save_all(2.f); },
       .check =
           [=](bool good) {
             for (const std::string& n : names(folder)) {
               require(n == "w.npy" || n == "w.npz", "other files are there: " + n);
               require(value_of(folder + "/" + n) == 2.f, "half a file");
             }
             require(!good || names(folder).size() == 2, "a file is not there");
           }});
  add({.name = "load",
       .prepare = [] { save_all(3.f); },
       .act = [] { result = load(npy) + load_npz(npz).at("a")(0); },
       .check = [](bool good) { require(!good || close_to(result, full({3000}, 6.f)), "a wrong result"); }});

  static std::string at;
  at = folder + "/run";
  const auto state = [](float v) { return std::pair{full({2000}, v), std::vector<Array>{full({3}, v), full({4, 5}, v)}}; };
  const auto saved = [=] { return load_checkpoint(at, state(0)).first.to_vector<float>().at(1999); };
  add({.name = "checkpoint",
       .prepare = [=] { save_checkpoint(at, state(1)); },
       .act = [=] { save_checkpoint(at, state(2)); },
       .check =
           [=](bool good) {
             if (const float v = saved(); v != 2.f) require(!good && v == 1.f, "the checkpoint holds something else");
             for (const std::string& n : names(at)) require(n == "current" || n.starts_with("save-"), "other files are there: " + n);
             save_checkpoint(at, state(3));
             require(saved() == 3.f && names(at).size() == 2, "files are left over");
           }});
  add({.name = "checkpoint new",
       .prepare = [=] { fs::remove_all(folder + "/deep"); },
       .act = [=] { save_checkpoint(folder + "/deep/er", state(2)); },
       .check =
           [=](bool good) {
             const std::string deep = folder + "/deep/er";
             const bool there = fs::exists(deep + "/current");
             require(!good || there, "it is not there");
             if (there) require(load_checkpoint(deep, state(0)).first.to_vector<float>().at(0) == 2.f, "it holds something else");
           }});
  add({.name = "checkpoint load",
       .prepare = [=] { save_checkpoint(at, state(4)); },
       .act = [=] { result = load_checkpoint(at, state(0)).first; },
       .check = [](bool good) { require(!good || close_to(result, full({2000}, 4.f)), "a wrong result"); }});

  static std::string object;
  object = folder + "/exported";
  static std::vector<std::string> before;
  static std::function<void()> exported;
  add({.name = "export",
       .prepare =
           [] {
             if (before.empty()) export_object(jit([](const Array& x) { return x * 2.f; }).lower(ones({8})).compile(), object);
             if (before.empty()) before = {contents(object + ".o"), contents(object + ".h")};
             constant += .001f;
           },
       .act = [] { export_object(jit([](const Array& x) { return exp(x) * constant; }).lower(ones({4, 4})).compile(), object); },
       .check =
           [=](bool good) {
             require(names(folder) == std::vector<std::string>{"exported.h", "exported.o"}, "other files are there");
             const std::vector<std::string> now{contents(object + ".o"), contents(object + ".h")};
             require(now[0].size() > 100 && now[1].find("exported") != std::string::npos, "half a file");
             require(!good || now[0] != before[0], "nothing was written");
             before = now;
           }});

  const auto use = [] {
    const Jaxpr j = new_program(constant);
    result = detail::CpuBackend().compile(j, {"faults", {}})->call(std::vector<Array>{input()}, 0)[0];
  };
  const auto check_cache = [=](bool good) {
    if (good) require(close_to(result, program(input(), constant)), "a wrong result");
    for (const std::string& n : names(folder + "/cache/weft-code"))
      require(n == "CACHEDIR.TAG" || n.size() == 64, "other files are there: " + n);
  };
  const std::map<std::string, std::string> cached{{"WEFT_CACHE", "on"}, {"WEFT_CACHE_DIR", folder + "/cache"}, {"WEFT_CODE", "optimized"}};
  add({.name = "cache hit", .environment = cached, .act = use, .check = check_cache});
  add({.name = "cache miss", .environment = cached, .prepare = [] { constant += .001f; }, .act = use, .check = check_cache});

  add({.name = "first use",
       .environment = {{"WEFT_CACHE", "on"}, {"WEFT_CACHE_DIR", folder + "/cache"}},
       .act =
           [] {
             result = jit([](const Array& x) { return matmul(x, x) + sum(tanh(x)); })(reshape(arange(90000, float32) * 1e-6f, {300, 300}));
             save("/dev/null", result);
           },
       .first_use = true});
  // What is made when it is first asked for, and what destroys it: each way into the library has its own.
  add({.name = "first trace",
       .act = [] { text = fmt::format("{}", make_jaxpr(grad<1>(model))(full({10, 4}, 1.f), ones({4}))); },
       .first_use = true});
  add({.name = "first eager", .act = [] { result = sort(wave(1000) * 2.f + 1.f); }, .first_use = true});
  add({.name = "first map",
       .environment = {{"WEFT_NUM_CPU_DEVICES", "4"}},
       .act = [] { result = pmap([](const Array& x) { return psum(x, "i") + x; }, {.axis_name = "i"})(ones({4, 100})); },
       .first_use = true});
  add({.name = "first file", .act = [] { save(npy, ones({3})), result = load(npy); }, .first_use = true});
  return list;
}

struct Shared {
  std::atomic<long> at, errors, successes, foreign;
  std::atomic<bool> over;
  char last[400];
};

/// Whether it went well; false: an error as it should be.
bool attempt(const Scenario& s, Shared& shared) {
  try {
    s.act();
    return true;
  } catch (const Error&) {
  } catch (const std::bad_alloc&) {
  } catch (const std::exception& e) {
    std::snprintf(shared.last, sizeof shared.last, "%s", e.what());
    ++shared.foreign;
  }
  return false;
}

/// One place: the n-th call fails. Whether there was one.
bool fault_at(const Scenario& s, WeftFault kind, long n, Shared& shared) {
  const std::vector<int>& errors = kKinds[kind].errors;
  // Every other time what is missing stays missing: a disk that is full, no descriptors, no memory for a while.
  const long more = n % 2 == 0 ? 3 : 0;
  s.prepare();
  weft_faults_arm(kind, n, more, errors[static_cast<std::size_t>(n) % errors.size()]);
  const bool good = attempt(s, shared);
  long calls = 0, failed = 0;
  weft_faults_disarm(&calls, &failed);
  ++(good ? shared.successes : shared.errors);
  require(good || failed > 0, "an error without a fault");
  s.check(good);
  return failed > 0;
}

void again(const Scenario& s, Shared& shared) {
  s.prepare();
  require(attempt(s, shared), "it can't be done again");
  s.check(true);
}

long after(long n, bool every) { return every || n < 12 ? n + 1 : n + std::max(1L, n / 4) + n % 3; }

/// In a process of its own: from place `from` on.
int walk(const Scenario& s, WeftFault kind, long from, bool every, long only, Shared& shared) {
  std::set_terminate([] {
    void* frames[60];
    backtrace_symbols_fd(frames, backtrace(frames, 60), STDERR_FILENO);
    std::abort();
  });
  for (const auto& [name, value] : s.environment) setenv(name.c_str(), value.c_str(), 1);
  if (!s.first_use)
    for (int i = 0; i < 3; ++i) again(s, shared);
  const long open_before = descriptors();
  int none = 0;
  for (long n = only ? only : from;; n = after(n, every)) {
    shared.at = n;
    const bool fired = fault_at(s, kind, n, shared);
    again(s, shared);
    require(s.first_use || descriptors() <= open_before,
            fmt::format("descriptors are lost: {} of {}", descriptors() - open_before, descriptors()));
    none = fired ? 0 : none + 1;
    if (only || s.first_use) return fired ? 0 : 4;
    if (none == 2) return 4;
  }
}

struct Outcome {
  long places = 0;
  std::vector<std::string> problems;
};

Outcome run(const Scenario& s, WeftFault kind, bool every, long only) {
  auto* shared = static_cast<Shared*>(mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  Outcome o;
  long from = only ? only : 1;
  for (;;) {
    shared->at = from;
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      _exit(walk(s, kind, from, every, s.first_use ? from : only, *shared));
    }
    int status = 0;
    long seen = -1;
    auto since = std::chrono::steady_clock::now();
    while (waitpid(child, &status, WNOHANG) == 0) {
      usleep(1000);
      if (const long now = shared->at; now != seen) seen = now, since = std::chrono::steady_clock::now();
      if (std::chrono::steady_clock::now() - since > std::chrono::seconds(180)) kill(child, SIGKILL);
    }
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (code != 0 && code != 4) {
      o.problems.push_back(fmt::format("{} {} {}: {}", s.name, kKinds[kind].name, shared->at.load(),
                                       WIFSIGNALED(status) ? (WTERMSIG(status) == SIGKILL ? "it hangs" : strsignal(WTERMSIG(status)))
                                                           : fmt::format("it ended with {}", code)));
      if (o.problems.size() >= 20 && !every) break;
    }
    if (code == 4 || only) break;
    from = after(shared->at, every);
  }
  if (shared->foreign > 0)
    o.problems.push_back(fmt::format("{} {}: {} errors that are none of weft's, such as: {}", s.name, kKinds[kind].name,
                                     shared->foreign.load(), shared->last));
  o.places = shared->errors + shared->successes;
  fmt::print("{:16} {:8} {:6} errors, {:6} in spite of it\n", s.name, kKinds[kind].name, shared->errors.load(), shared->successes.load());
  for (const std::string& p : o.problems) fmt::print("  {}\n", p);
  std::fflush(stdout);
  munmap(shared, sizeof(Shared));
  return o;
}

}  // namespace

int main(int argc, char** argv) {
  if (!weft_faults_arm) {
    fmt::print("libfaults.so is not preloaded\n");
    return 77;
  }
  setenv("WEFT_CACHE", "off", 1), setenv("WEFT_NUM_THREADS", "3", 1);
  std::vector<std::string> words(argv + 1, argv + argc);
  const auto every = std::find(words.begin(), words.end(), "--all");
  const bool all_places = every != words.end();
  if (all_places) words.erase(every);
  long only = 0;
  if (words.size() == 3 && (only = std::atol(words[2].c_str())) > 0) words.pop_back();
  const auto wanted = [&](const std::string& scenario, const std::string& kind) {
    if (only) return scenario == words[0] && kind == words[1];
    return words.empty() || std::any_of(words.begin(), words.end(),
                                        [&](const std::string& w) { return (scenario + " " + kind).find(w) != std::string::npos; });
  };
  long places = 0, wrong = 0;
  const test::Folder top;
  const std::size_t count = scenarios(top.path).size();
  for (std::size_t i = 0; i < count; ++i)
    for (int k = 0; k < kNumFaults; ++k) {
      const std::string folder = fmt::format("{}/{}-{}", top.path, i, k);
      fs::create_directory(folder);
      const Scenario s = scenarios(folder)[i];
      if (!wanted(s.name, kKinds[k].name)) continue;
      const Outcome o = run(s, static_cast<WeftFault>(k), all_places, only);
      places += o.places, wrong += static_cast<long>(o.problems.size());
    }
  fmt::print("{} passed, {} failed\n", places, wrong);
  return wrong > 0;
}
