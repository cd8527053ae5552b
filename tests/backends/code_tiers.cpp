// A function's first calls may be interpreted or run by baseline code, later ones by optimised code: with the same results.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tests/backends/agree.h"
#include "tests/backends/code_from.h"
#include "tests/backends/ends_well.h"
#include "tests/folder.h"
#include "tests/messages.h"
#include "tests/together.h"
#include "weft/backends/codegen/planner/simplify.h"
#include "weft/backends/common/code_cache.h"
#include "weft/backends/cpu/code_tiers.h"
#include "weft/backends/cpu/tier_runs.h"
#include "weft/runtime/host/buffer.h"

using namespace weft;
using namespace weft::test;

namespace {

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// A number near 1 that no program before had, so that no code of it is in the cache.
float unseen() {
  static int count = 0;
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  return 1 + static_cast<float>((now / 1000 + 7919 * count++) % 100003) * 0x1p-22f;
}

using Function = std::function<Array(const Array&, float)>;

struct Code {
  detail::Ref<detail::Executable> program;
  Array result;
  std::string tier;
};
/// What is compiled where WEFT_CODE is this, and its first call.
Code compiled(const Jaxpr& j, const Array& x, const char* least) {
  const CodeFrom code(least);
  detail::Ref<detail::Executable> program = detail::CpuBackend().compile(j, {"f"});
  std::string tier = program->as_text("tiers");
  return {program, program->call(Arrays{x}, 0)[0], tier};
}

bool says(const std::string& tier, const char* word) { return tier.find(word) != std::string::npos; }

bool same_bits(const Array& a, const Array& b) {
  return a.aval() == b.aval() && std::memcmp(detail::host_data(a), detail::host_data(b), static_cast<std::size_t>(a.aval().bytes())) == 0;
}

/// Compares the results by code of each tier. Whether some of it was interpreted at first.
bool check_all_alike(const Function& f, const Array& x) {
  const float c = unseen();
  const Jaxpr j = make_jaxpr([&](const Array& a) { return f(a, c); })(x);
  const Code first = compiled(j, x, ""), baseline = compiled(j, x, "baseline"), optimized = compiled(j, x, "optimized");
  CHECK_FALSE(says(baseline.tier, "interpreted"));
  CHECK_FALSE(says(optimized.tier, "interpreted"));
  CHECK_FALSE(says(optimized.tier, "baseline"));
  CHECK(same_bits(first.result, optimized.result));
  CHECK(same_bits(baseline.result, optimized.result));
  // And what the operations give one by one.
  const Array eager = f(x, c);
  CHECK(max(abs(convert(optimized.result, float64) - convert(eager, float64))).item<double>() < 2e-4);
  return says(first.tier, "interpreted");
}

Array wave(Shape shape, DType t = float32) { return sin(reshape(convert(arange(shape.num_elements()), t), shape) * array(0.37, t)); }

}  // namespace

TEST_CASE("interpreted, baseline and optimized code give the same bits") {
  const std::vector<std::pair<std::string, Function>> functions{
      {"arithmetic", [](const Array& x, float c) { return x * c + 1 / (x + 3) - sqrt(abs(x)); }},
      {"functions", [](const Array& x, float c) { return tanh(x * c) + sin(x) * exp(x) + log1p(abs(x)) + erf(x); }},
      {"underflow", [](const Array& x, float c) { return exp((x - 3) * (c * 30)) + sigmoid(x * 100); }},
      {"quotients", [](const Array& x, float c) { return x / 3 + (x * c) / 1e-3f; }},
      {"large angles", [](const Array& x, float c) { return cos(x * (c * 1e6f)); }},
      {"selections", [](const Array& x, float c) { return where(x > 0.1f, x * c, maximum(-x, array(0.25f))); }},
      {"integers",
       [](const Array& x, float c) {
         const Array n = convert(x * (1000 * c), int32);
         return convert((n << 3) ^ (n >> 2) ^ minimum(n, array(17)), float32) * 1e-6f;
       }},
      {"comparisons",
       [](const Array& x, float c) {
         const Array n = convert(x * (1000 * c), int32);
         return where((n > -300) & (n <= 200), x * c, -x) + where(isnan(sqrt(x)), array(c), sqrt(abs(x))) +
                where(convert(n, uint32) > 2000000000, array(2.f), x);
       }},
      {"conversions",
       [](const Array& x, float c) {
         const Array large = x * (c * 1e30f), nan = sqrt(-abs(x) - c);
         return convert(convert(large, int32), float32) * 1e-10f + convert(convert(large, uint32), float32) * 1e-10f +
                convert(convert(nan, int32), float32) + convert(convert(x * (100 * c), int8), float32) * 0.01f;
       }},
      {"sums", [](const Array& x, float c) { return exp(x * c - max(x, -1, keepdims)) / sum(exp(x), -1, keepdims); }},
      {"positions", [](const Array& x, float c) { return convert(argmax(x * c, -1), float32); }},
      {"running sums", [](const Array& x, float c) { return cumsum(x * c, x.ndim() - 1); }},
      {"turned", [](const Array& x, float c) { return transpose(x) * c + transpose(exp(x)); }},
      {"products", [](const Array& x, float c) { return einsum("ij,ik->jk", x * c, x); }},
  };
  for (const auto& [name, f] : functions)
    for (const Array& x : {wave({1, 3}), wave({1, 5}), wave({1, 16}), wave({3, 37}), wave({40, 33})}) {
      CAPTURE(name);
      CAPTURE(x.shape().num_elements());
      const bool interpreted = check_all_alike(f, x);
      if (x.size() < 20) CHECK(interpreted);
    }
}

TEST_CASE("an unknown tier of code is refused") {
  const Jaxpr j = make_jaxpr([](const Array& a) { return a + 1; })(wave({3}));
  CHECK(refuses<Error>([&] { compiled(j, wave({3}), "best"); }, {"WEFT_CODE is `best`; it may be baseline, optimized"}));
}

TEST_CASE("optimized code that an earlier program left in the cache is used from the first call on") {
  const bool has_cache = std::getenv("WEFT_TEST_CACHE") != nullptr;  // of the process that this one starts, as tests have none
  if (!has_cache) {
    const test::Folder own;
    const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
    const std::string command = fmt::format(
        "WEFT_TEST_CACHE=1 WEFT_CACHE=on WEFT_CACHE_DIR={}/code {} -tc='optimized code that an earlier*' >/dev/null", own.path, self);
    CHECK(std::system(command.c_str()) == 0);
    return;
  }
  REQUIRE(detail::CodeCache::of_process().enabled());
  const Array x = wave({200});
  const float c = unseen();
  const Jaxpr j = make_jaxpr([&](const Array& a) { return exp(cos(a) * c); })(x);
  CHECK(compiled(j, x, "").tier == "kernel0: interpreted\n");
  CHECK(compiled(j, x, "optimized").tier == "kernel0: optimized\n");
  CHECK(compiled(j, x, "baseline").tier == "kernel0: optimized\n");
  CHECK(compiled(j, x, "").tier == "kernel0: optimized\n");
}

TEST_CASE("code that is called again and again is optimized, and its results stay what they were") {
  const Array x = wave({200});
  const float c = unseen();
  const Code code = compiled(make_jaxpr([&](const Array& a) { return exp(sin(a) * c) + tanh(a); })(x), x, "");
  REQUIRE(code.tier == "kernel0: interpreted\n");
  constexpr double kMost = 300;  // of what takes a hundredth of a second
  for (const double end = seconds() + kMost; code.program->as_text("tiers") != "kernel0: optimized\n" && seconds() < end;)
    code.program->call(Arrays{x}, 0);
  CHECK(code.program->as_text("tiers") == "kernel0: optimized\n");
  CHECK(same_bits(code.program->call(Arrays{x}, 0)[0], code.result));
}

TEST_CASE("optimized code takes over in parts: each kernel once, and the results stay what they were") {
  const float c = unseen();
  constexpr int kResults = 24;
  const auto f = [&](const Array& x) {
    Arrays out;
    for (int k = 0; k < kResults; ++k) {
      const Array part = x(slice(none, 40 * (k + 1)));
      out.push_back(erf(sin(part * c) + tanh(part) * (k + 2)) + digamma(exp(part) + 1) * cos(part * 30));
    }
    return out;
  };
  const Array x = wave({40 * kResults});
  const Jaxpr j = make_jaxpr(f)(x);
  const detail::KernelProgram p = detail::form_program(detail::simplify(j, nullptr), {detail::native_vector_bytes()}, {});
  std::vector<detail::Schedule> schedules;
  for (const detail::Kernel& k : p.kernels) schedules.push_back(detail::make_schedule(k, detail::native_vector_bytes()));
  detail::CodeTiers made;
  made.kernels.assign(p.kernels.size(), detail::CodeTier::interpreted);
  made.kernels[1] = detail::CodeTier::optimized;
  const detail::Improvement i = detail::improvement(p, schedules, made);
  const std::size_t kernels = p.kernels.size();
  REQUIRE(kernels > 2);
  CHECK(i.stages.size() > 1);
  std::vector<std::size_t> stage_of(kernels, i.stages.size());
  for (std::size_t s = 0; s < i.stages.size(); ++s)
    for (std::size_t k = 0; k < kernels; ++k)
      if (i.stages[s].tiers.kernels[k]) {
        CHECK(*i.stages[s].tiers.kernels[k] == detail::CodeTier::optimized);
        CHECK(stage_of[k] == i.stages.size());
        stage_of[k] = s;
      }
  for (std::size_t k = 0; k < kernels; ++k) CHECK((stage_of[k] < i.stages.size()) == (k != 1));
  for (std::size_t s = 1; s < i.stages.size(); ++s) CHECK(i.stages[s - 1].runs <= i.stages[s].runs);
  // Whatever part of it is optimised by now, the results are the same.
  const Code code = compiled(j, x, "");
  const Arrays first = code.program->call(Arrays{x}, 0);
  constexpr double kMost = 300;  // of what takes less than a second
  bool same = true;
  const auto all_optimized = [&] {
    return !says(code.program->as_text("tiers"), "baseline") && !says(code.program->as_text("tiers"), "interpreted");
  };
  for (const double end = seconds() + kMost; !all_optimized() && seconds() < end;) {
    const Arrays now = code.program->call(Arrays{x}, 0);
    for (std::size_t k = 0; k < now.size(); ++k) same &= same_bits(now[k], first[k]);
  }
  CHECK(all_optimized());
  CHECK(same);
}

TEST_CASE("the next part of a program's code is due once, however many threads run it") {
  constexpr int kThreads = 4, kRounds = 3000;
  detail::TierRuns runs;
  std::atomic<int> dues = 0, wrong = 0;
  std::barrier start(kThreads), stop(kThreads);
  test::together(kThreads, [&](int t) {
    for (int round = 0; round < kRounds; ++round) {
      if (t == 0) runs.wait_for(runs.count() + 10), dues = 0;
      start.arrive_and_wait();
      for (int k = 0; k < 5; ++k) dues += runs.is_due();
      stop.arrive_and_wait();
      if (t == 0) wrong += dues != 1;
    }
  });
  CHECK(wrong == 0);
  detail::TierRuns second(2);
  CHECK_FALSE(second.is_due());
  CHECK(second.is_due());
  CHECK_FALSE(second.is_due());
  second.wait_for(1);  // that run is over
  CHECK(second.is_due());
  second.wait_for(0);
  CHECK_FALSE(second.is_due());
  CHECK_FALSE(detail::TierRuns().is_due());
}

TEST_CASE("a process that was forked while there is a background thread ends well") {
  const Array x = wave({200});
  const float c = unseen();
  const Code code = compiled(make_jaxpr([&](const Array& a) { return exp(sin(a) * c) - tanh(a); })(x), x, "");
  constexpr double kMost = 300;  // of what takes a hundredth of a second
  for (const double end = seconds() + kMost; code.program->as_text("tiers") != "kernel0: optimized\n" && seconds() < end;)
    code.program->call(Arrays{x}, 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    alarm(60);  // ends it where it would wait for ever
    std::exit(0);
  }
  int status = 1;
  waitpid(child, &status, 0);
  CHECK(status == 0);
}

TEST_CASE("a program ends well at any time while better code is made") {
  if (const std::optional<int> wait = test::ends_after()) {
    const double end = seconds() + *wait * 1e-3;
    do {
      const float c = unseen();
      const auto f = jit([&](const Array& a) { return exp(sin(a) * c) + tanh(a); });
      for (int i = 0; i < 100; ++i) f(wave({8}));
    } while (seconds() < end);
    std::exit(0);
  }
  test::check_ends("a program ends well at any time while better code is made", 60, 4);
}
