// Compiled programs in the cache of code: found again as they were, and never taken for others.
#include "weft/backends/cpu/stored_program.h"

#include <doctest/doctest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <weft/weft.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <thread>

#include "tests/folder.h"
#include "weft/backends/codegen/planner/simplify.h"
#include "weft/backends/common/code_cache.h"
#include "weft/backends/cpu/cpu_backend.h"
#include "weft/backends/cpu/expand.h"
#include "weft/backends/cpu/jit.h"
#include "weft/backends/interp/interp.h"

using namespace weft;
using detail::CodeCache;
using weft::sharding::P;
namespace fs = std::filesystem;

namespace {

using Arrays = std::vector<Array>;
using Function = std::function<Arrays(const Arrays&)>;

Jaxpr program(const Function& f, const Arrays& args) {
  return make_jaxpr([&](const Arrays& x) { return f(x); })(args);
}
std::string key(const Function& f, const Arrays& args, const std::vector<bool>& donated = {}) {
  const auto k = detail::program_key(detail::simplify(program(f, args), nullptr), donated);
  REQUIRE(k.has_value());
  return *k;
}

Array wave(Shape shape, float scale = 1) { return sin(reshape(arange(shape.num_elements(), float32), shape) * .7f) * scale; }

Arrays looped(const Array& x, const Array& bias, int length, bool reverse, float factor) {
  const auto step = [&](const Array& c, const Array& row) {
    const Array next = tanh(c * factor + row + bias);
    return std::pair{next, sort(next)};
  };
  ScanOptions options{.reverse = reverse};
  options.length = length;
  const auto [last, rows] = scan(step, x, reshape(arange(length * 5, float32), {length, 5}), options);
  return {last, rows};
}

}  // namespace

TEST_CASE("stored programs: whatever decides what code there is is in the key") {
  const Array x = wave({8}), y = wave({8}, 2);
  const std::vector<bool> first{true, false};
  const Function f = [](const Arrays& a) { return Arrays{sin(a[0]) * 2 - a[1]}; };
  std::map<std::string, std::string> all;
  const auto add = [&](const std::string& name, const std::string& k) {
    CAPTURE(name);
    const auto [at, is_new] = all.emplace(k, name);
    CAPTURE(at->second);
    CHECK(is_new);
  };
  add("the program itself", key(f, {x, y}));
  add("another shape", key(f, {wave({9}), wave({9})}));
  add("another rank", key(f, {wave({8, 1}), wave({8, 1})}));
  add("one operand's shape", key(f, {x, wave({1})}));
  for (const DType t : {float16, bfloat16, float64, complex64, complex128}) add("another dtype", key(f, {convert(x, t), convert(y, t)}));
  add("a donated input", key(f, {x, y}, {true, false}));
  add("another donated input", key(f, {x, y}, {false, true}));
  add("a literal", key([](const Arrays& a) { return Arrays{sin(a[0]) * 3 - a[1]}; }, {x, y}));
  add("an operation", key([](const Arrays& a) { return Arrays{cos(a[0]) * 2 - a[1]}; }, {x, y}));
  add("the operands' order", key([](const Arrays& a) { return Arrays{a[1] - sin(a[0]) * 2}; }, {x, y}));
  add("which operand", key([](const Arrays& a) { return Arrays{sin(a[1]) * 2 - a[0]}; }, {x, y}));
  add("one result more", key([](const Arrays& a) { return Arrays{sin(a[0]) * 2 - a[1], sin(a[0])}; }, {x, y}));
  add("the results' order", key([](const Arrays& a) { return Arrays{sin(a[0]), sin(a[0]) * 2 - a[1]}; }, {x, y}));
  add("one input more", key(f, {x, y, y}));
  // Literals that compare equal, or not at all.
  for (const double v : {0.0, -0.0, 1e-45, std::nan("")})
    add("literal " + std::to_string(v), key([=](const Arrays& a) { return Arrays{maximum(a[0], array(v, float32))}; }, {x}));
  add("a literal's dtype", key([](const Arrays& a) { return Arrays{maximum(a[0], array(0.0, float64))}; }, {x}));
  // Parameters.
  const Array m = wave({6, 6});
  for (const int axis : {0, 1}) {
    add("the axis of a sum", key([=](const Arrays& a) { return Arrays{sum(a[0], axis)}; }, {m}));
    add("the axis of a running sum", key([=](const Arrays& a) { return Arrays{cumsum(a[0], axis)}; }, {m}));
  }
  for (const auto& [p, q] : {std::pair{0, 1}, std::pair{1, 0}, std::pair{1, 1}})
    add("the dimensions of a product",
        key([p = p, q = q](const Arrays& a) { return Arrays{tensordot(a[0], a[0], std::array{std::vector{p}, std::vector{q}})}; }, {m}));
  for (const int start : {0, 1})
    add("where a slice begins", key([=](const Arrays& a) { return Arrays{a[0](slice(start, start + 3))}; }, {m}));
  for (const float fill : {0.f, 1.f}) add("what is padded with", key([=](const Arrays& a) { return Arrays{pad(a[0], 1, fill)}; }, {m}));
  for (const DType t : {int8, int32, uint32})
    add("what is converted to", key([=](const Arrays& a) { return Arrays{convert(a[0], t)}; }, {m}));
  // Sub-programs.
  const Array c = wave({5});
  for (const int length : {3, 4})
    add("a loop's length", key([=](const Arrays& a) { return looped(a[0], a[1], length, false, .5f); }, {c, c}));
  add("a loop's direction", key([=](const Arrays& a) { return looped(a[0], a[1], 3, true, .5f); }, {c, c}));
  add("a literal in a loop", key([=](const Arrays& a) { return looped(a[0], a[1], 3, false, .25f); }, {c, c}));
  for (const float limit : {10.f, 11.f})
    add("a loop's condition",
        key(
            [=](const Arrays& a) {
              return Arrays{while_loop([=](const Array& v) { return sum(v) < limit; }, [](const Array& v) { return v * 1.5f + 1; }, a[0])};
            },
            {c}));

  CHECK(all.size() > 40);
  // And what has no bearing is not.
  CHECK(all.count(key([](const Arrays& a) { return Arrays{sin(a[0]) * 2 - a[1]}; }, {y, x})) == 1);
  const auto with_constant = [](float v) {
    const Array table = full({8}, v) + arange(8, float32);
    return key([=](const Arrays& a) { return Arrays{a[0] * table}; }, {wave({8})});
  };
  CHECK(with_constant(1) == with_constant(2));
}

namespace {

constexpr const char* kChild = "WEFT_TEST_STORED_PROGRAMS";
constexpr const char* kTest = "stored programs: found again, they do what they did";

struct Case {
  std::string name;
  Function f;
  Arrays args;
  std::vector<bool> donated = {};
};

/// In a loop, a loop with a count of its own, of weak numbers and others.
Arrays counted(const Arrays& x) {
  const auto twice = [&](const Array& v) {
    const auto step = [&](const std::pair<Array, Array>& c) { return std::pair{cumsum(c.first) * .1f + x[0], c.second + 1}; };
    return while_loop([](const std::pair<Array, Array>& c) { return c.second < 2; }, step, std::pair{v, Array(0)}, {.max_steps = 4}).first;
  };
  return {fori_loop(0, 3, [&](const Array&, const Array& v) { return twice(v); }, x[0])};
}

std::vector<Case> cases() {
  const Array table = wave({16, 8}, 3), scale = full({8}, 1.5f);
  const Jaxpr counted_in_text = parse(program(counted, {wave({5})}).to_string());  // in which no type is weak
  return {
      {"kernels, constants, literals as results",
       [=](const Arrays& x) { return Arrays{nn::softmax(x[0] * table + scale, -1), sum(x[0], 0), array(2.5f), table, x[0], x[0]}; },
       {wave({16, 8})}},
      {"products",
       [](const Arrays& x) { return Arrays{tanh(matmul(x[0], x[1]) + 1), matmul(transpose(x[0]), x[0])}; },
       {wave({96, 80}), wave({80, 64})}},
      {"operations of the library",
       [](const Arrays& x) { return Arrays{sort(x[0] * 2) + 1, linalg::cholesky(matmul(x[0], transpose(x[0])) + eye(8) * 9)}; },
       {wave({8, 8})}},
      {"donated inputs", [](const Arrays& x) { return Arrays{x[0] * 2 + x[1], x[1] - 1}; }, {wave({100}), wave({100}, 2)}, {true, false}},
      {"updates in place before and after calls of the library",
       [](const Arrays& x) {
         const Array late = sort(x[0](7)) * 3, at = argmax(x[0](0));
         const Array v = dynamic_update_slice(x[0], sin(x[0](slice(9, 11))) * 1.25f, {at, 0});
         return Arrays{v, late, sort(v(5)) - 7, array(2.5f), x[0](20)};
       },
       {wave({64, 8})},
       {true}},
      {"updates in place in a branch",
       [](const Arrays& x) {
         const auto change = [](const Array& u) {
           const Array at = argmax(u(0)), v = dynamic_update_slice(u, sin(u(slice(9, 11))) * 1.25f, {at, 0});
           return std::pair{v, sort(v(5)) * 1.75f + u(20)};
         };
         const auto [v, row] = cond(sum(x[0]) < 1000, change, [](const Array& u) { return std::pair{u, u(3)}; }, x[0]);
         return Arrays{v, row};
       },
       {wave({64, 8})},
       {true}},
      {"loops that call the library and read constants",
       [=](const Arrays& x) {
         Arrays r = looped(x[0], scale(slice(0, 5)) * x[0], 6, false, .5f);
         r.push_back(while_loop([](const Array& v) { return sum(v) < 100; },
                                [=](const Array& v) { return v * 1.5f + table(0)(slice(0, 5)); }, x[0]));
         r.push_back(
             cond(sum(x[0]) > 0, [=](const Array& v) { return v * scale(slice(0, 5)); }, [](const Array& v) { return sort(-v); }, x[0]));
         return r;
       },
       {wave({5})}},
      {"literals that differ by a weak type", counted, {wave({5})}},
      {"literals of one type", [=](const Arrays& x) { return counted_in_text(x[0]); }, {wave({5})}},
  };
}

std::vector<fs::path> files() {
  std::vector<fs::path> all;
  for (const auto& e : fs::directory_iterator(std::string(std::getenv("WEFT_CACHE_DIR")) + "/weft-code"))
    if (e.path().filename() != "CACHEDIR.TAG") all.push_back(e.path());
  std::sort(all.begin(), all.end());
  return all;
}
std::string contents(const fs::path& p) {
  std::ifstream in(p, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

detail::Ref<detail::Executable> compiled(const Case& c) { return detail::CpuBackend().compile(program(c.f, c.args), {c.name, c.donated}); }

void check(detail::Executable& e, const Case& c) {
  CAPTURE(c.name);
  const Arrays want = detail::InterpBackend().compile(program(c.f, c.args), {c.name})->call(c.args, 0);
  for (int times = 0; times < 2; ++times) {
    Arrays args;
    for (const Array& a : c.args) args.push_back(a + 0);
    const Arrays got = e.call(args, 0);
    REQUIRE(got.size() == want.size());
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(tree::all_close(got[i], want[i], 1e-4, 1e-5));
  }
}

/// The excess of each call as the cache keeps it; nothing: the cache doesn't have it.
std::optional<std::int64_t> kept_excess(const Case& c) {
  const auto k = detail::program_key(detail::simplify(program(c.f, c.args), &detail::expand_for_cpu), c.donated);
  const std::optional<std::string> bytes = CodeCache::of_process().find({detail::code_identity(), *k});
  return bytes ? detail::stored_excess(*bytes) : std::nullopt;
}

void wait_until(const std::function<bool()>& done) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(5);  // of what takes milliseconds
  while (!done() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  CHECK(done());
}

/// One call is enough to have it kept; what is kept becomes better where it is used.
void check_kept_early(const Case& c) {
  CAPTURE(c.name);
  unsetenv("WEFT_CODE");
  const auto first = compiled(c);
  check(*first, c);
  wait_until([&] { return kept_excess(c).has_value(); });
  const auto second = compiled(c);
  CHECK(second->as_text("tiers").find("interpreted") == std::string::npos);
  check(*second, c);
  // What is kept may also have become better by the first one's calls.
  wait_until([&] {
    check(*second, c);
    return kept_excess(c) == 0 && second->as_text("tiers").find("baseline") == std::string::npos;
  });
  const std::string tier = second->as_text("tiers");
  CHECK(tier.find("baseline") == std::string::npos);
  check(*second, c);
  const auto third = compiled(c);
  CHECK(third->as_text("tiers") == tier);
  check(*third, c);
}

void check_all() {
  config.num_cpu_devices = 4;
  const auto over = [](int devices) {
    const auto mesh = make_mesh({devices}, {"i"});
    return key(
        [=](const Arrays& a) {
          return Arrays{shard_map([](const Array& v) { return psum(v, "i"); },
                                  {.mesh = mesh, .in_specs = {P()}, .out_specs = P(), .check_vma = false})(a[0])};
        },
        {wave({8})});
  };
  CHECK(over(2) != over(4));
  CHECK(over(2) == over(2));
  CodeCache& cache = CodeCache::of_process();
  REQUIRE(cache.enabled());
  for (const Case& c : cases()) {
    CAPTURE(c.name);
    // Optimised code is made at once, and the program is kept.
    setenv("WEFT_CODE", "optimized", 1);
    const auto first = compiled(c);
    check(*first, c);
    const std::vector<fs::path> kept = files();
    const std::int64_t hits = cache.hits();
    // Nothing but the program is read.
    unsetenv("WEFT_CODE");
    const auto second = compiled(c);
    CHECK(cache.hits() == hits + 1);
    CHECK(files() == kept);
    check(*second, c);
    for (const char* form : {"jaxpr", "kernels", "llvm", "tiers"}) CHECK(second->as_text(form) == first->as_text(form));
    CHECK(second->cost_analysis().flops == first->cost_analysis().flops);
    CHECK(second->cost_analysis().bytes_accessed == first->cost_analysis().bytes_accessed);
    CHECK(second->memory_analysis().temp_size_in_bytes == first->memory_analysis().temp_size_in_bytes);
  }
  // Constants are those of the program at hand.
  for (const float v : {1.f, 2.f}) {
    const Array table = full({64}, v) + arange(64, float32);
    const Case c{"constants", [=](const Arrays& x) { return Arrays{exp(x[0]) * table}; }, {wave({64})}};
    setenv("WEFT_CODE", "optimized", 1);
    check(*compiled(c), c);
  }
  // What is damaged is made again.
  const std::vector<fs::path> all = files();
  std::vector<std::string> before;
  for (const fs::path& p : all) before.push_back(contents(p));
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::string changed = before[i];
    changed[changed.size() / 2] = static_cast<char>(changed[changed.size() / 2] ^ 1);
    std::ofstream(all[i], std::ios::binary) << changed;
  }
  for (const Case& c : cases()) check(*compiled(c), c);
  // Many at once, of which the first find nothing.
  for (const fs::path& p : files()) fs::remove(p);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([] {
      for (const Case& c : cases()) check(*compiled(c), c);
    });
  for (std::thread& t : threads) t.join();
  for (const fs::path& p : files()) fs::remove(p);
  for (const Case& c : cases()) check_kept_early(c);
}

}  // namespace

TEST_CASE("stored programs: found again, they do what they did") {
  if (std::getenv(kChild)) return check_all();
  const test::Folder folder;
  setenv(kChild, "1", 1), setenv("WEFT_CACHE", "1", 1), setenv("WEFT_CACHE_DIR", folder.path.c_str(), 1);
  std::string name = "test", words = std::string("-tc=") + kTest;
  // Commas separate names.
  for (std::size_t at = 0; (at = words.find(',')) != std::string::npos;) words[at] = '*';
  char* args[] = {name.data(), words.data(), nullptr};
  for (int process = 0; process < 2; ++process) {
    pid_t child = 0;
    REQUIRE(posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, args, environ) == 0);
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  unsetenv(kChild), setenv("WEFT_CACHE", "off", 1), unsetenv("WEFT_CACHE_DIR");
}
