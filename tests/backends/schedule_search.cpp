// Schedules found by measurement: each that is proposed keeps all bits, what is chosen was measured and is kept, and what the cache holds
// is used only if it fits.
#include "weft/backends/cpu/executable/schedule_search.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <set>

#include "tests/backends/agree.h"
#include "tests/backends/ends_well.h"
#include "tests/folder.h"
#include "weft/backends/codegen/planner/planner.h"
#include "weft/backends/codegen/planner/simplify.h"
#include "weft/backends/codegen/schedule/proposals.h"
#include "weft/backends/codegen/schedule/schedule_text.h"
#include "weft/backends/cpu/expand.h"
#include "weft/backends/cpu/jit.h"
#include "weft/backends/cpu/stored_program.h"
#include "weft/schedule.h"

using namespace weft;
using detail::Kernel, detail::KernelProgram, detail::Schedule;
using test::Arrays, test::samples, test::Xs;
namespace fs = std::filesystem;

namespace {

struct Case {
  std::string name;
  Jaxpr program;
  Arrays args;
};

/// Samples, with what is special among them: zeros of both signs, infinities, NaN, the least and the greatest numbers.
Array specials(Shape shape, DType t, unsigned seed) {
  Array x = samples(shape, seed, t);
  if (!t.is_inexact() || t.is_complex()) return x;
  const float inf = std::numeric_limits<float>::infinity();
  const Array some = astype(array({0.f, -0.f, inf, -inf, std::nanf(""), 1e-40f, -1e-40f, 1e-38f, 3e38f, -88.f, 89.f}), t);
  const std::int64_t n = x.size(), step = std::max<std::int64_t>(n / 11, 1);
  x = reshape(x, {n});
  for (std::int64_t i = 0; i * step < n && i < 11; ++i) x = x.at(static_cast<int>((i * step + 3 * i) % n)).set(some(static_cast<int>(i)));
  return reshape(x, shape);
}

template <class F>
Case make_case(std::string name, F f, const Arrays& args) {
  return {std::move(name), make_jaxpr([&](const Arrays& xs) { return Arrays{f(xs)}; })(args), args};
}

/// Kernels of all kinds, in a dtype; `n`: about how long their loops are.
std::vector<Case> cases(DType t, int n) {
  std::vector<Case> all;
  const auto x = [&](Shape s, unsigned seed) { return specials(s, t, seed); };
  const auto add = [&](const char* name, auto f, const Arrays& args) { all.push_back(make_case(name, f, args)); };
  add("elementwise", [](Xs a) { return a[0] * a[1] + a[0]; }, {x({n / 2, 2 * n}, 1), x({2 * n}, 2)});
  add("long vector", [](Xs a) { return a[0] * a[1] - a[0]; }, {x({n * n + 5}, 1), x({n * n + 5}, 2)});
  add("transpose", [](Xs a) { return transpose(a[0]) * a[0](0, 0); }, {x({n + 7, n}, 1)});
  add("transposed operand", [](Xs a) { return transpose(a[0]) + a[1]; }, {x({n, n / 2}, 1), x({n / 2, n}, 2)});
  add("rows", [](Xs a) { return sum(a[0] * a[0], 1); }, {x({n, 2 * n + 1}, 1)});
  add("short rows", [](Xs a) { return sum(a[0], 1); }, {x({20 * n, 7}, 1)});
  add("columns", [](Xs a) { return sum(a[0], 0) + prod(a[0], 0); }, {x({2 * n + 3, n}, 1)});
  if (!t.is_complex()) {
    add("rows and columns", [](Xs a) { return sum(a[0], 0) * max(a[0]); }, {x({n, n + 1}, 1)});
    add("largest", [](Xs a) { return argmax(a[0], 1); }, {x({n, n}, 1)});
  }
  add("matmul", [](Xs a) { return matmul(a[0], a[1]) + a[2]; }, {x({n / 3, n / 4}, 1), x({n / 4, n / 2}, 2), x({n / 2}, 3)});
  add("small matmuls", [](Xs a) { return matmul(a[0], a[1]); }, {x({n, 5, 6}, 1), x({n, 6, 7}, 2)});
  add("stencil", [](Xs a) { return pad(a[0], {{1, 1}}, 0)(slice(2, none)) - a[0]; }, {x({50 * n}, 1)});
  add("stencil in two dimensions",
      [](Xs a) {
        const auto inner = slice(1, -1);
        return a[0](slice(none, -2), inner) + a[0](slice(2, none), inner) + a[0](inner, slice(none, -2)) - a[0](inner, inner);
      },
      {x({n, 2 * n}, 1)});
  add("records", [](Xs a) { return a[0](slice(), 0) * a[0](slice(), 1) + a[0](slice(), 2); }, {x({20 * n, 3}, 1)});
  add("outer product", [](Xs a) { return expand_dims(a[0], 1) * expand_dims(a[1], 0); }, {x({n, 8}, 1), x({n, 8}, 2)});
  add("strided", [](Xs a) { return a[0](slice(none, none, 3)) * a[0](slice(none, none, 3)); }, {x({20 * n, n / 10 + 1}, 1)});
  add("reversed", [](Xs a) { return flip(a[0]) + a[0]; }, {x({n * 3}, 1)});
  add("cumulative", [](Xs a) { return cumsum(a[0], 1); }, {x({n, n}, 1)});
  add("gather", [](Xs a) { return a[0](a[1]) * a[0](a[1]); }, {x({n}, 1), samples({20 * n}, 2, int32) % 200});
  add("compared", [](Xs a) { return where(a[0] == a[1], a[0], a[1]); }, {x({n, n}, 1), x({n}, 2)});
  if (t.is_inexact() && !t.is_complex()) {
    add("functions", [](Xs a) { return tanh(a[0]) * exp(a[0]) + log(abs(a[0]) + 1); }, {x({n / 2, 2 * n}, 1)});
    add("functions of rows", [](Xs a) { return sum(exp(a[0]), 1) + sin(a[1]); }, {x({n, n}, 1), x({n}, 2)});
    add("a function of each row", [](Xs a) { return a[0] * expand_dims(exp(a[1]), 1); }, {x({n, n}, 1), x({n}, 2)});
    add("divisions and roots", [](Xs a) { return sqrt(abs(a[0])) / (a[1] + a[0]) + rsqrt(a[1]); }, {x({n, n}, 1), x({n}, 2)});
    add("softmax", [](Xs a) { return nn::softmax(a[0]); }, {x({9, 11 * n}, 1)});
    add("softmax of columns", [](Xs a) { return nn::softmax(a[0], 0); }, {x({2 * n, n}, 1)});
    add("layer norm", [](Xs a) { return nn::layer_norm(a[0], a[1], a[2]); }, {x({n, 96}, 1), x({96}, 2), x({96}, 3)});
    add("softmax of rows times a matrix", [](Xs a) { return matmul(nn::softmax(a[0]), a[1]); }, {x({n, 20}, 1), x({20, 33}, 2)});
  }
  return all;
}

KernelProgram formed(const Jaxpr& j) {
  return detail::form_program(detail::simplify(j, nullptr),
                              {.vector_bytes = detail::native_vector_bytes(), .matmuls_by_library = false, .vectors_in_epilogue = true},
                              {});
}
std::vector<Schedule> usual(const KernelProgram& p) {
  std::vector<Schedule> all;
  for (const Kernel& k : p.kernels) all.push_back(detail::make_schedule(k, detail::native_vector_bytes()));
  return all;
}
std::vector<Schedule> proposals(const Kernel& k, const Schedule& s) {
  return detail::proposed_schedules(k, s, detail::native_vector_bytes(), 100);
}

/// Every proposal for every kernel, by code of all blocks at once and of each block alone, against the usual schedule.
int compare_bits(const Case& c, std::set<std::string>& with) {
  int compared = 0;
  const KernelProgram p = formed(c.program);
  const std::vector<Schedule> schedules = usual(p);
  const Arrays want = detail::CpuBackend().compile(c.program, {c.name}, schedules_text(p.kernels, schedules))->call(c.args, 0);
  for (std::size_t i = 0; i < p.kernels.size(); ++i)
    for (const Schedule& s : proposals(p.kernels[i], schedules[i])) {
      const std::string steps = p.kernels[i].name + ":\n" + detail::to_string(s, p.kernels[i]);
      INFO(c.name, "\n", steps, to_string(p.kernels[i]));
      try {
        const Arrays got = detail::CpuBackend().compile(c.program, {c.name}, steps)->call(c.args, 0);
        for (std::size_t r = 0; r < want.size(); ++r) CHECK(tools::difference(got[r], want[r], nullptr, {0, 0, true}) == "");
      } catch (const CompileError& e) {
        FAIL_CHECK(e.what());
      }
      ++compared, with.insert(c.name);
    }
  return compared;
}

constexpr const char* kChild = "WEFT_TEST_SEARCH_CHILD";

/// Runs a test case in a process of its own, with a cache in the folder; its exit status.
int in_child(const std::string& test, const std::string& folder, const std::string& what) {
  setenv(kChild, what.c_str(), 1), setenv("WEFT_CACHE", "1", 1), setenv("WEFT_CACHE_DIR", folder.c_str(), 1);
  std::string name = "test", words = "-tc=" + test;
  char* args[] = {name.data(), words.data(), nullptr};
  pid_t child = 0;
  const bool started = posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, args, environ) == 0;
  int status = -1;
  if (started) waitpid(child, &status, 0);
  unsetenv(kChild), setenv("WEFT_CACHE", "off", 1), unsetenv("WEFT_CACHE_DIR");
  return status;
}

Case stencil() {
  return make_case("stencil", [](Xs a) { return a[0](slice(2, none)) * a[0](slice(none, -2)) + a[0](slice(1, -1)); },
                   {samples({60000}, 1, float32)});
}

}  // namespace

TEST_CASE("schedule search: every proposal keeps all bits") {
  const char* const before = std::getenv("WEFT_CODE");
  const std::string tier = before ? before : "";
  setenv("WEFT_CODE", "optimized", 1);  // simpler code has simpler schedules
  int compared = 0;
  std::set<std::string> with;
  for (const DType t : {float32, float64, bfloat16, float16, int32, int8, complex64})
    for (const int n : t == float32 ? std::vector{61, 130} : std::vector{61})
      for (const Case& c : cases(t, n)) {
        CAPTURE(t);
        CAPTURE(n);
        compared += compare_bits(c, with);
      }
  MESSAGE(compared, " proposals for ", with.size(), " kinds of kernels");
  CHECK(compared > 300);
  CHECK(with.size() >= 20);
  setenv("WEFT_CODE", tier.c_str(), 1);
}

TEST_CASE("schedule search: what it finds is a proposal or the usual schedule and was measured") {
  for (const Case& c : cases(float32, 61)) {
    const KernelProgram p = formed(c.program);
    for (const Kernel& k : p.kernels) {
      INFO(c.name, to_string(k));
      const Schedule s = detail::make_schedule(k, detail::native_vector_bytes());
      const auto others = detail::proposed_schedules(k, s, detail::native_vector_bytes(), 3);
      const auto found = detail::search_schedule(k, s, others, [] { return false; });
      if (!found) continue;  // other work has the processor
      CHECK(found->different == 0);
      CHECK(found->after <= found->before);
      CHECK(found->measured == static_cast<int>(others.size()));
      CHECK((found->schedule == s || detail::contains(others, found->schedule)));
    }
  }
}

TEST_CASE("schedule search: it ends when it is told to") {
  const Case c = stencil();
  const KernelProgram p = formed(c.program);
  const Schedule s = usual(p)[0];
  const auto others = proposals(p.kernels[0], s);
  REQUIRE(!others.empty());
  for (int after = 0; after < 24; ++after) {
    int asked = 0;
    CHECK_FALSE(detail::search_schedule(p.kernels[0], s, others, [&] { return ++asked > after; }));
    CHECK(asked <= after + 1);
  }
}

TEST_CASE("schedule search: schedules with another order of sums or other formulas are told apart") {
  const KernelProgram p = formed(make_case("rows", [](Xs a) { return sum(a[0], 1); }, {samples({64, 1000}, 1, float32)}).program);
  const Schedule s = usual(p)[0];
  CHECK(detail::same_bits(p.kernels[0], s, s));
  Schedule other = s;
  other.nests[0].reduce.back().unroll *= 2;
  CHECK_FALSE(detail::same_bits(p.kernels[0], s, other));
  other = s;
  other.lanes /= 2;
  CHECK_FALSE(detail::same_bits(p.kernels[0], s, other));
  const KernelProgram q = formed(make_case("exp", [](Xs a) { return exp(a[0]); }, {samples({6400}, 1, float32)}).program);
  other = usual(q)[0];
  other.lanes /= 2;
  CHECK_FALSE(detail::same_bits(q.kernels[0], usual(q)[0], other));
}

TEST_CASE("schedule search: kernels that update what they read or are large are not searched") {
  const auto worth = [](auto f, const Arrays& args) {
    const KernelProgram p = formed(make_case("f", f, args).program);
    return detail::is_worth_searching(p.kernels[0], usual(p)[0]);
  };
  CHECK(worth([](Xs a) { return a[0] * a[0]; }, {zeros({100000})}));
  CHECK_FALSE(worth([](Xs a) { return a[0] * a[0]; }, {zeros({100})}));
  CHECK_FALSE(worth([](Xs a) { return a[0] * a[0]; }, {zeros({20 << 20})}));
  CHECK_FALSE(worth([](Xs a) { return a[0].at(a[1]).add(a[2]); }, {zeros({5000}), zeros({100000}, int32), zeros({100000})}));
}

TEST_CASE("schedule search: a later process uses what was found and nothing that does not fit") {
  const std::string test = "schedule search: a later process uses what was found and nothing that does not fit";
  const Case c = stencil();
  if (const char* what = std::getenv(kChild)) {
    const std::string_view does = what;
    search_schedules(true);
    const auto plain = [&] { return detail::CpuBackend().compile(c.program, {c.name}); };
    const KernelProgram p = formed(c.program);
    const Kernel& k = p.kernels[0];
    const Schedule s = usual(p)[0];
    const Schedule other = proposals(k, s).at(0);
    const auto as_compiled = [&] { return plain()->as_text("schedule"); };
    const std::string with_usual = detail::schedules_text({k}, {s}), with_other = detail::schedules_text({k}, {other});
    REQUIRE(with_usual != with_other);
    if (does == "keep") {
      CHECK(as_compiled() == with_usual);
      detail::keep_schedule(k, {other, 2e-6, 1e-6, 1, 0});
      CHECK(as_compiled() == with_other);
    } else if (does == "use") {
      CHECK(as_compiled() == with_other);
      search_schedules(false);
      CHECK(as_compiled() == with_usual);
      const Arrays want = plain()->call(c.args, 0);
      search_schedules(true);
      CHECK(tools::difference(plain()->call(c.args, 0)[0], want[0], nullptr, {0, 0, true}) == "");
    } else if (does == "misfit") {  // a schedule of other bits, and one that the kernel can't have
      const KernelProgram q = formed(make_case("rows", [](Xs a) { return sum(a[0], 1); }, {samples({640, 100}, 1, float32)}).program);
      Schedule sums = usual(q)[0];
      sums.nests[0].reduce.back().unroll *= 2;
      detail::keep_schedule(q.kernels[0], {sums, 2e-6, 1e-6, 1, 0});
      CHECK_FALSE(detail::found_schedule(q.kernels[0], usual(q)[0]));
      Schedule wrong = s;
      wrong.block.back() += 1;
      detail::keep_schedule(k, {wrong, 2e-6, 1e-6, 1, 0});
      CHECK_FALSE(detail::found_schedule(k, s));
      CHECK(as_compiled() == with_usual);
    } else {
      CHECK(as_compiled() == with_usual);
    }
    return;
  }
  const test::Folder folder;
  CHECK(in_child(test, folder.path, "keep") == 0);
  CHECK(in_child(test, folder.path, "use") == 0);
  for (const auto& e : fs::directory_iterator(folder.path + "/weft-code")) {
    if (e.path().extension() != "" || e.path().filename() == "CACHEDIR.TAG") continue;
    std::fstream file(e.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-1, std::ios::end), file.put('#');
  }
  CHECK(in_child(test, folder.path, "damaged") == 0);
  CHECK(in_child(test, folder.path, "misfit") == 0);
}

TEST_CASE("schedule search: code by a schedule that was found takes over in a running program with the same bits") {
  const std::string test = "schedule search: code by a schedule that was found takes over in a running program with the same bits";
  if (!std::getenv(kChild)) {
    const test::Folder folder;
    for (const char* what : {"measured before", "measured now", "measured now"}) CHECK(in_child(test, folder.path + "/" + what, what) == 0);
    return;
  }
  search_schedules(true);
  const Case c = stencil();
  const auto f = detail::CpuBackend().compile(c.program, {c.name});
  const Array want = f->call(c.args, 0)[0];
  const KernelProgram p = formed(c.program);
  if (std::getenv(kChild) == std::string_view("measured before"))
    detail::keep_schedule(p.kernels[0], {proposals(p.kernels[0], usual(p)[0]).at(0), 2e-6, 1e-6, 1, 0});
  const std::string key =
      detail::program_key(detail::simplify(c.program, &detail::expand_for_cpu), {}).value() + " by schedules found by measurement";
  const auto done = [&] { return detail::is_searched_program(key); };
  // A busy machine puts measurements off, but not code for what was found before.
  for (int i = 0; i < 1000000 && !(i % 1000 == 0 && done()); ++i)
    if (const Array got = f->call(c.args, 0)[0]; i % 500 == 0) REQUIRE(tools::difference(got, want, nullptr, {0, 0, true}) == "");
  for (int i = 0; i < 100; ++i) REQUIRE(tools::difference(f->call(c.args, 0)[0], want, nullptr, {0, 0, true}) == "");
  if (std::getenv(kChild) == std::string_view("measured before")) CHECK(done());
  MESSAGE("searched: ", done());
}

TEST_CASE("schedule search: a process may end and be copied at any time of a search") {
  const std::string test = "schedule search: a process may end and be copied at any time of a search";
  if (const std::optional<int> wait = test::ends_after()) {
    search_schedules(true);
    const Case c = stencil();
    const auto f = jit([](Array x) { return x(slice(2, none)) * x(slice(none, -2)) + x(slice(1, -1)); });
    const Array want = f(c.args[0]);
    const auto start = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - start < std::chrono::milliseconds(*wait)) f(c.args[0]);
    if (*wait % 100 == 0) {
      const pid_t child = fork();
      if (child == 0) _exit(tools::difference(f(c.args[0]), want, nullptr, {0, 0, true}).empty() ? 0 : 1);
      int status = 1;
      waitpid(child, &status, 0);
      if (status != 0) std::exit(1);
    }
    std::exit(0);
  }
  const test::Folder folder;
  setenv("WEFT_CACHE", "1", 1), setenv("WEFT_CACHE_DIR", folder.path.c_str(), 1);
  test::check_ends(test, 1000, 50);
  setenv("WEFT_CACHE", "off", 1), unsetenv("WEFT_CACHE_DIR");
}
