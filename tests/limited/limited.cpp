// Memory that ends in the middle of what the library does: every scenario under limits of the address space from almost nothing upwards.
// Each run must succeed or throw a weft::Error, and afterwards everything must work. `limited [SCENARIO...] [--few]`
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/weft.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <typeinfo>
#include <vector>

using namespace weft;

namespace {

struct Scenario {
  std::string_view name;
  void (*run)();
};

const std::string& folder() {
  static const std::string path = [] {
    std::string name = "/tmp/weft-limited-" + std::string(6, 'X');
    if (!mkdtemp(name.data())) std::abort();
    return name;
  }();
  return path;
}

constexpr Scenario kScenarios[] = {
    {"trace",
     [] {
       jit([](Array x) {
         for (int i = 0; i < 200000; ++i) x = x * 1.0001f + 1;
         return x;
       }).trace(1.f);
     }},
    {"compile",
     [] {
       static int distinct;
       const float c = static_cast<float>(++distinct);
       jit([=](Array x) {
         Array s = x;
         for (int i = 0; i < 100; ++i) s = s + sin(x * (c + static_cast<float>(i))) * cumsum(s);
         return sum(s);
       })(ones(300));
     }},
    {"run", [] { jit([](Array x) { return sort(x) + cumsum(x); })(ones(4000000)).block_until_ready(); }},
    {"eager",
     [] {
       std::vector<Array> keep;
       for (int i = 0; i < 1000; ++i) keep.push_back(ones(50000) + i);
     }},
    {"products", [] { matmul(ones({1500, 1500}), ones({1500, 1500})).block_until_ready(); }},
    {"other products",
     [] {
       static int distinct = 20;
       distinct += 3;
       matmul(ones({distinct, 700}), ones({700, distinct + 1})).block_until_ready();
       conv(ones({4, 16, distinct, 40}), ones({16, 16, 3, 3}), {1, 1}, "SAME").block_until_ready();
     }},
    {"algebra",
     [] {
       const Array a = random::normal(random::key(0), {300, 300});
       linalg::svd(a), linalg::eigh(a + transpose(a));
     }},
    {"gradients",
     [] {
       grad([](Array w) {
         const auto [last, rows] =
             scan([](Array c, Array r) { return std::pair{tanh(c + r), c * r}; }, zeros(1000), reshape(w, {200, 1000}));
         return sum(last) + sum(rows);
       })(ones(200000));
     }},
    {"devices", [] { pmap([](Array x) { return psum(x * 2, "i"); }, {.axis_name = "i"})(ones({4, 100000})); }},
    {"text",
     [] { parse(make_jaxpr([](Array x) { return grad([](Array v) { return sum(sin(v) * cumsum(v)); })(x); })(ones(100)).to_string()); }},
    {"files",
     [] {
       save(folder() + "/x.npy", arange(1000000, float32));
       load(folder() + "/x.npy");
       save_npz(folder() + "/x.npz", {{"a", arange(1000000, float32)}});
       load_npz(folder() + "/x.npz");
     }},
    {"checkpoint",
     [] {
       const Array x = arange(1000000, float32);
       save_checkpoint(folder() + "/checkpoint", x);
       load_checkpoint(folder() + "/checkpoint", x);
     }},
};

std::int64_t address_space() {
  std::ifstream f("/proc/self/statm");
  std::int64_t pages = 0;
  f >> pages;
  return pages * getpagesize();
}

/// Whether old and new functions give what they should.
bool works(const auto& known) {
  static int distinct;
  const float c = static_cast<float>(++distinct % 7);
  return known(ones(1000)).template item<float>() == 2000 &&
         jit([=](Array x) { return sum(x * x + c); })(ones(500)).template item<float>() == 500 + 500 * c;
}

struct Counts {
  int succeeded = 0, thrown = 0, failed = 0;
};

/// The first compilation of a process, in which LLVM makes what it keeps. Each has a process of its own.
void compile_first(int kilobytes, Counts& counts) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    setenv("WEFT_CODE", "optimized", 1);
    const auto limit = static_cast<rlim_t>(address_space() + (std::int64_t{kilobytes} << 10));
    const rlimit l{limit, limit};
    setrlimit(RLIMIT_AS, &l);
    int status = 2;
    try {
      status =
          std::abs(jit([](Array x) { return sum(matmul(x, x) * sin(x)); })(ones({300, 300})).item<float>() - 27e6f * std::sin(1.f)) > 1e3
              ? 3
              : 0;
    } catch (const Error&) {
      status = 1;
    } catch (...) {
    }
    _exit(status);
  }
  int status = -1;
  waitpid(child, &status, 0);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  ++(code == 0 ? counts.succeeded : code == 1 ? counts.thrown : counts.failed);
  if (code != 0 && code != 1) fmt::print("first compilation with {} KB more: status {}\n", kilobytes, status);
}

}  // namespace

int main(int argc, char** argv) {
  setenv("WEFT_CACHE", "off", 0), setenv("WEFT_PLATFORM", "cpu", 0);
  config.num_cpu_devices = 4;
  std::vector<std::string_view> names(argv + 1, argv + argc);
  const bool few = std::erase(names, "--few") > 0;
  Counts counts;
  auto& [succeeded, thrown, failed] = counts;
  if (names.empty())
    for (int kilobytes = 0; kilobytes < 12288; kilobytes += few ? 256 : 64) compile_first(kilobytes, counts);
  const auto known = jit([](Array x) { return sum(x * 2); });
  if (!works(known)) return 1;
  const std::vector<int> steps = few ? std::vector{1, 16, 64} : std::vector{0, 1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256};
  for (const Scenario& s : kScenarios) {
    if (!names.empty() && std::find(names.begin(), names.end(), s.name) == names.end()) continue;
    for (const int megabytes : steps) {
      rlimit before{};
      getrlimit(RLIMIT_AS, &before);
      const rlimit limit{static_cast<rlim_t>(address_space() + (std::int64_t{megabytes} << 20)), before.rlim_max};
      std::string wrong;
      bool done = false;
      setrlimit(RLIMIT_AS, &limit);
      try {
        s.run();
        done = true;
      } catch (const Error&) {
      } catch (const std::exception& e) {
        wrong = fmt::format("an exception that is no weft::Error: {} {}", typeid(e).name(), e.what());
      }
      setrlimit(RLIMIT_AS, &before);
      if (wrong.empty() && !works(known)) wrong = "afterwards something else is wrong";
      ++(wrong.empty() ? done ? succeeded : thrown : failed);
      if (!wrong.empty()) fmt::print("{} with {} MB more: {}\n", s.name, megabytes, wrong);
      std::fflush(stdout);
    }
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder(), ignored);
  fmt::print("{} runs succeeded, {} threw a weft::Error, {} failed\n{} passed, {} failed\n", succeeded, thrown, failed, succeeded + thrown,
             failed);
  return failed != 0;
}
