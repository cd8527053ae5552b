// Schedules as text: printed, parsed back, stated, refused.
#include <weft/schedule.h>

#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>

#include "tests/backends/agree.h"
#include "tests/messages.h"
#include "weft/backends/codegen/schedule/schedule_text.h"
#include "weft/backends/cpu/jit.h"

using namespace weft;
using test::Arrays, test::values, test::Xs;

namespace {

detail::KernelProgram formed(const Jaxpr& j, int vector_bytes) {
  return detail::form_program(
      detail::simplify(j, nullptr),
      {.vector_bytes = vector_bytes, .matmuls_by_library = false, .partitions_scatters = true, .vectors_in_epilogue = true}, {});
}

/// How many kernels the program has, of which each schedule is what its text says.
int round_trips(const Jaxpr& j, int vector_bytes) {
  const detail::KernelProgram p = formed(j, vector_bytes);
  for (const detail::Kernel& k : p.kernels) {
    const detail::Schedule s = detail::make_schedule(k, vector_bytes);
    const std::string text = detail::to_string(s, k);
    INFO(detail::to_string(k), text);
    try {
      CHECK(detail::parse_schedule(text, k, vector_bytes) == s);
    } catch (const Error& e) {
      FAIL_CHECK(e.what());
    }
  }
  return static_cast<int>(p.kernels.size());
}

struct Case {
  std::string name;
  Jaxpr program;
  Arrays args;
};
template <class F>
Case make_case(std::string name, F f, const Arrays& args) {
  return {std::move(name), make_jaxpr([&](const Arrays& xs) { return Arrays{f(xs)}; })(args), args};
}

/// A kernel or two of each kind.
std::vector<Case> cases() {
  std::vector<Case> all;
  all.push_back(make_case("elementwise", [](Xs x) { return tanh(x[0]) * x[1] + 1.f; }, {values({37, 70}, 1), values({70}, 2)}));
  all.push_back(make_case("transpose", [](Xs x) { return transpose(x[0]) * 2.f; }, {values({67, 83}, 1)}));
  all.push_back(make_case("rows", [](Xs x) { return sum(x[0] * x[0], 1); }, {values({50, 300}, 1)}));
  all.push_back(make_case("columns", [](Xs x) { return sum(x[0], 0) + max(x[0], 0); }, {values({300, 50}, 1)}));
  all.push_back(make_case("softmax", [](Xs x) { return nn::softmax(x[0]); }, {values({9, 1100}, 1)}));
  all.push_back(make_case("layer norm",
                          [](Xs x) { return (x[0] - mean(x[0], -1, keepdims)) * rsqrt(mean(square(x[0]), -1, keepdims) + 1e-5f); },
                          {values({20, 96}, 1)}));
  all.push_back(make_case("matmul", [](Xs x) { return tanh(matmul(x[0], x[1])); }, {values({33, 20}, 1), values({20, 45}, 2)}));
  all.push_back(make_case("stencil", [](Xs x) { return pad(x[0], {{1, 1}}, 0.f)(slice(2, none)) - x[0]; }, {values({1000}, 1)}));
  all.push_back(make_case("records", [](Xs x) { return x[0](slice(), 0) * x[0](slice(), 1) + x[0](slice(), 2); }, {values({5000, 3}, 1)}));
  all.push_back(make_case("cumulative", [](Xs x) { return cumsum(x[0], 1); }, {values({20, 77}, 1)}));
  all.push_back(make_case("float64", [](Xs x) { return exp(astype(x[0], float64)); }, {values({30, 40}, 1)}));
  all.push_back(make_case("middle", [](Xs x) { return sum(x[0] * x[0], 1); }, {values({9, 40, 5}, 1)}));
  return all;
}

std::string schedule_of(const Case& c) { return detail::CpuBackend().compile(c.program, {c.name})->as_text("schedule"); }
/// Whether the results by these schedules are the same bit by bit.
bool same_bits(const Case& c, const std::string& steps) {
  const auto plain = detail::CpuBackend().compile(c.program, {c.name});
  const auto stated = detail::CpuBackend().compile(c.program, {c.name}, steps);
  const Arrays want = plain->call(c.args, 0), got = stated->call(c.args, 0);
  bool same = true;
  for (std::size_t i = 0; i < want.size(); ++i) same &= tools::difference(got[i], want[i], nullptr, {0, 0, true}).empty();
  return same;
}

std::string refusal(const Case& c, const std::string& steps) {
  try {
    detail::CpuBackend().compile(c.program, {c.name}, steps);
  } catch (const CompileError& e) {
    return std::string(e.what()).substr(0, std::string(e.what()).find('\n'));
  }
  return "";
}

}  // namespace

TEST_CASE("schedules: each is what its text says, for the kernels of all programs") {
  int kernels = 0;
  for (const int vector_bytes : {16, 32, 64})
    for (const Case& c : cases()) kernels += round_trips(c.program, vector_bytes);
  CHECK(kernels >= 33);
  const char* folder = std::getenv("WEFT_TEST_DATA");
  REQUIRE(folder);
  for (const char* set : {"cases", "random"}) {
    const std::string path = std::string(folder) + "/golden/data/jaxprs/" + set;
    for (const tools::ProgramEntry& entry : tools::read_index(path)) {
      if (entry.devices_needed > 1) continue;
      std::ifstream file(path + "/" + entry.name + ".jaxpr");
      std::stringstream text;
      text << file.rdbuf();
      INFO(entry.name);
      for (const int vector_bytes : {32, 64}) try {
          kernels += round_trips(parse(text.str()), vector_bytes);
        } catch (const Error&) {
          // Operations that are expanded by a backend.
        }
    }
  }
  CHECK(kernels > 1500);
}

TEST_CASE("schedules: what is stated is what the code is made from, and keeps all bits") {
  for (const Case& c : cases()) {
    INFO(c.name);
    const std::string text = schedule_of(c);
    const auto again = detail::CpuBackend().compile(c.program, {c.name}, text);
    CHECK(again->as_text("schedule") == text);
    CHECK(again->as_text("asm") == detail::CpuBackend().compile(c.program, {c.name})->as_text("asm"));
    // Nothing but loops.
    std::string plain;
    for (std::size_t at = 0; (at = text.find("kernel", at)) != std::string::npos; at += 6)
      plain += text.substr(at, text.find('\n', at) + 1 - at);
    const auto bare = detail::CpuBackend().compile(c.program, {c.name}, plain);
    CHECK(bare->as_text("schedule") == plain);
    CHECK(bare->as_text("asm") != again->as_text("asm"));
    const Arrays want = again->call(c.args, 0), got = bare->call(c.args, 0);
    for (std::size_t i = 0; i < want.size(); ++i) CHECK(tools::difference(got[i], want[i], nullptr, {2e-6, 2e-6}) == "");
  }
}

TEST_CASE("schedules: of sums that one vector of lanes computes several go side by side") {
  const Case middle = make_case("middle", [](Xs x) { return max(x[0], 1); }, {values({40, 30, 5}, 1)});
  const std::string chosen = schedule_of(middle);
  INFO(chosen);
  CHECK(chosen.find("unroll i0 by 4") != std::string::npos);
  CHECK(same_bits(middle, "kernel0:\n  vectorize i1 by 8\n"));
}

TEST_CASE("schedules: matmuls that share a kernel are tiled, and tiles leave little over") {
  const auto schedule = [](auto f, const std::vector<Shape>& shapes) {
    Arrays x;
    for (const Shape& s : shapes) x.push_back(values(s, static_cast<unsigned>(x.size() + 1)));
    return test::same(f, x, 1e-4, "schedule");
  };
  const int lanes = detail::native_vector_bytes() / 4;
  if (lanes < 8) return;
  // A step of a recurrent network, of which both matmuls are in one kernel.
  const auto step = [](Xs a) { return Arrays{tanh(matmul(a[0], a[1]) + matmul(a[2], a[3]))}; };
  const std::string both = schedule(step, {{12, 60}, {60, 111}, {12, 111}, {111, 111}});
  CHECK_FALSE(test::has(both, "kernel1"));
  CHECK(test::has(both, "unroll i0 by "));
  // Seven vectors of columns: by fours three would be left over, one by one.
  const std::string seven = schedule([](Xs a) { return Arrays{matmul(a[0], a[1])}; }, {{12, 100}, {100, 7 * lanes}});
  CHECK_FALSE(test::has(seven, "unroll i1 by 4"));
}

TEST_CASE("schedules: several vectors go through a counted loop side by side, with the same bits") {
  const Case orbit = make_case(
      "orbit", [](Xs x) { return fori_loop(0, 30, [](Array, Array c) { return c * (1.5f - c * c) + 0.1f; }, x[0]); }, {values({517}, 1)});
  const std::string chosen = schedule_of(orbit);
  INFO(chosen);
  CHECK(chosen.find("unroll i0 by 4") != std::string::npos);
  CHECK(same_bits(orbit, "kernel0:\n  vectorize i0 by 8\n"));
  // Where lanes differ in how often they go on, fewer wait for the others.
  const Case varying = make_case(
      "varying",
      [](Xs x) {
        return vmap([](Array v) { return while_loop([](Array c) { return c < 9.f; }, [](Array c) { return c * c + c + 0.3f; }, v); })(x[0]);
      },
      {abs(values({517}, 2))});
  CHECK(schedule_of(varying).find("by 4") == std::string::npos);
}

TEST_CASE("schedules: columns of large matrices have their rows prefetched, sums along with what is summed") {
  // The sum is taken by chunks of one matrix each: it shares the loops of what it sums.
  const Case both = make_case("both", [](Xs x) { return Arrays{x[0] * x[1], sum(x[0] * x[1], {.axis = {0, 1}})}; },
                              {values({8, 64, 512}, 1), values({8, 64, 512}, 2)});
  const auto program = detail::CpuBackend().compile(both.program, {both.name});
  const std::string kernels = program->as_text("kernels");
  INFO(kernels);
  CHECK(kernels.find("  nest") == kernels.find("  nest reduce i2 < 64"));
  CHECK(program->as_text("schedule").find("prefetch by 8 beyond 1024") != std::string::npos);
  const Case running = make_case("running", [](Xs x) { return cumsum(x[0], 0); }, {values({900, 400}, 1)});
  const std::string chosen = schedule_of(running);
  INFO(chosen);
  CHECK(chosen.find("prefetch by 16 beyond 1024") != std::string::npos);
  // Few rows, or all of them in a core's caches: they are there in time.
  for (const Shape& small : {Shape{9, 40000}, Shape{100, 300}})
    CHECK(schedule_of(make_case("small", [](Xs x) { return cumsum(x[0], 0); }, {values(small, 1)})).find("prefetch by") ==
          std::string::npos);
}

TEST_CASE("schedules: short rows of large matrices are summed whole") {
  const auto columns = [](const Shape& shape, const char* kernels) {
    return test::same([](Xs a) { return Arrays{sum(a[0], {.axis = {0, 1}})}; }, {values(shape, 1)}, 1e-4, kernels);
  };
  const int lanes = detail::native_vector_bytes() / 4;
  if (lanes < 16) return;
  // Sums in two steps, whose second one is in scratch; nine vectors, of which four and four would leave one.
  CHECK(test::has(columns({301, 19, 151}, "schedule"), "unroll i0 by 9"));
  // In a core's caches, and longer rows.
  CHECK_FALSE(test::has(columns({30, 19, 151}, "schedule"), "unroll i0 by 9"));
  CHECK_FALSE(test::has(columns({61, 19, 900}, "schedule"), "unroll i0 by 56"));
}

TEST_CASE("schedules: squares that are stored across lines are prefetched") {
  const auto transposed = [](const Shape& shape) {
    return make_case("transposed", [](Xs x) { return transpose(x[0]) * 2.f; }, {values(shape, 1)});
  };
  const Case across = transposed({300, 500});
  CHECK(schedule_of(across).find("prefetch_steps by 3") != std::string::npos);
  CHECK(same_bits(across, "kernel0:\n  vectorize i1 by 8\n"));
  // Whole lines, and what is in a core's caches.
  for (const Shape& shape : {Shape{320, 500}, Shape{100, 300}})
    CHECK(schedule_of(transposed(shape)).find("prefetch_steps") == std::string::npos);
}

TEST_CASE("schedules: independent work in another order gives the same bits") {
  const std::vector<Case> all = cases();
  for (const char* steps :
       {"kernel0:\n vectorize i1 by 4", "kernel0:\n reorder i1 i0\n vectorize i0 by 8", "kernel0:\n unroll i0 by 3",
        "kernel0:\n vectorize i1 by 16\n unroll i0 i1 by 2\n split i0 by 4\n parallel by 2\n interleave by 4\n call tanh"})
    CHECK_MESSAGE(same_bits(all[0], steps), steps);
  for (const char* steps : {"kernel0:\n vectorize i0 by 8", "kernel0:\n vectorize i1 by 4\n unroll i0 by 4\n transpose a0",
                            "kernel0:\n vectorize i0 by 8\n unroll i1 by 8\n transpose a1"})
    CHECK_MESSAGE(same_bits(all[1], steps), steps);
  CHECK(same_bits(all[3], "kernel0:\n vectorize i0 by 8\n unroll i0 by 2\n split i0 by 16\n parallel by 1"));
  CHECK(same_bits(all[8], "kernel0:\n vectorize i0 by 8\n transpose_records a0 by 5"));
  CHECK(same_bits(all[8], "kernel0:\n vectorize i0 by 8\n transpose_records a0 by 1"));
  CHECK(same_bits(all[0], "kernel0:\n vectorize i1 by 8\n unroll i1 by 2\n prefetch_stored a2 by 4096"));
}

TEST_CASE("schedules: those that can't be followed are refused by kernel and step") {
  const std::vector<Case> all = cases();
  const auto has = [](const std::string& text, std::string_view what) { return text.find(what) != std::string::npos; };
  const auto why = [&](std::size_t which, const std::string& step) {
    const std::string text = refusal(all[which], "kernel0:\n" + step);
    CHECK_MESSAGE(has(text, "schedule: kernel0: step `"), text);
    return text;
  };
  CHECK(has(why(0, "vectorise i1 by 16"), "there is no such step; available: `reorder`, "));
  CHECK(has(why(0, "vectorize i1"), "`by` and a number are missing"));
  CHECK(has(why(0, "vectorize i1 by sixteen"), "`by` must be followed by a number"));
  CHECK(has(why(0, "vectorize i7 by 16"), "`i7` is not a loop of the kernel"));
  CHECK(has(why(0, "vectorize i1 by 6"), "a power of two of lanes"));
  CHECK(has(why(0, "vectorize i0 i1 by 8"), "is run by vectors"));
  CHECK(has(why(0, "vectorize i1 by 8\nvectorize i0 by 4"), "other vectors of the kernel have 8 lanes"));
  CHECK(has(why(0, "reorder i0"), "must name each of the loops i0 i1 once"));
  CHECK(has(why(0, "vectorize i1 by 8\nsplit i0 by 1\nsplit i1 by 12"), "whole steps of the loop, which are 8 iterations"));
  CHECK(has(why(0, "split i1 by 8"), "the loops outside of it must be split"));
  CHECK(has(why(0, "parallel by 2"), "there are no blocks"));
  CHECK(has(why(0, "stream a0"), "does not write it"));
  CHECK(has(why(0, "stream a2"), "no whole vectors"));
  CHECK(has(why(0, "transpose a0"), "there is no block to transpose"));
  CHECK(has(why(0, "call exp"), "no function `exp`"));
  CHECK(has(why(0, "peel i1"), "it has no borders"));
  CHECK(has(why(0, "by_inverse %3"), "not a quotient by a sum"));
  CHECK(has(why(0, "partition_rows by 8 into 16"), "can't be split by rows"));
  CHECK(has(why(0, "unroll i0 by 4096\nunroll i1 by 4096"), "more than 4096 times"));
  CHECK(has(why(1, "interleave by 8"), "has no functions"));
  CHECK(has(why(2, "prefetch by 16 beyond 1024"), "no vectors are read or written"));
  CHECK(has(why(0, "prefetch_gathered a0 by 4"), "lanes gather no elements of rows of a0"));
  CHECK(has(why(0, "prefetch_steps by 3"), "no innermost loop goes through memory by vectors"));
  CHECK(has(why(0, "prefetch_stored a2 by 4096"), "no innermost loop writes a2 by vectors"));
  CHECK(has(why(2, "reduce_by_rows i0"), "is not a reducing loop"));
  CHECK(has(refusal(all[0], "kernel7:\n unroll i0 by 2"), "no kernel `kernel7`; available: `kernel0`"));
  CHECK(has(refusal(all[0], "unroll i0 by 2"), "before the name of a kernel"));
  CHECK(has(refusal(all[0], "kernel0:\nkernel0:"), "two lists of steps"));
}

TEST_CASE("schedules: whatever random steps are followed gives the right results") {
  std::mt19937 random(5);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  int followed = 0, refused = 0;
  for (const Case& c : cases()) {
    const auto plain = detail::CpuBackend().compile(c.program, {c.name});
    const Arrays want = plain->call(c.args, 0);
    for (int round = 0; round < 150; ++round) {
      std::string steps = "kernel0:\n";
      const int lanes = 2 << below(4);
      for (int i = 1 + below(3); i > 0; --i) {
        const int loop = below(4), other = below(3), arg = below(4);
        switch (below(9)) {
          case 0:
          case 1: steps += fmt::format("vectorize i{} by {}\n", loop, lanes); break;
          case 2: steps += fmt::format("unroll i{} by {}\n", loop, below(2) ? lanes : 1 + below(5)); break;
          case 3: steps += fmt::format("reorder i{} i{}\n", loop, other); break;
          case 4: steps += fmt::format("transpose a{}\n", arg); break;
          case 5: steps += fmt::format("split i0 by {}\nparallel by {}\n", lanes * (1 + below(3)), 1 + below(3)); break;
          case 6: steps += fmt::format("reduce_by_rows i{}\n", loop); break;
          case 7: steps += fmt::format("transpose_records a{} by {}\n", arg, 1 + below(6)); break;
          case 8: steps += fmt::format("peel i{}\n", loop); break;
        }
      }
      detail::Ref<detail::Executable> stated;
      try {
        stated = detail::CpuBackend().compile(c.program, {c.name}, steps);
      } catch (const CompileError& e) {
        REQUIRE_MESSAGE(std::string_view(e.what()).starts_with("schedule: kernel0: step `"), steps << e.what());
        ++refused;
        continue;
      }
      ++followed;
      const Arrays got = stated->call(c.args, 0);
      for (std::size_t k = 0; k < want.size(); ++k)
        CHECK_MESSAGE(tools::difference(got[k], want[k], nullptr, {5e-6, 5e-6}) == "", c.name << "\n"
                                                                                              << steps << plain->as_text("kernels"));
    }
  }
  CHECK(followed > 150);
  CHECK(refused > 60);
}

TEST_CASE("schedules: a jitted function runs by what is stated") {
  const auto f = jit([](Array x) { return tanh(x) + 1.f; });
  const Array x = values({100, 64}, 1);
  const auto compiled = f.lower(x).compile();
  const std::vector<float> want = f(x).to_vector<float>();
  const std::string chosen = compiled.as_text("schedule"), code = compiled.as_text("asm");
  schedule(compiled, "kernel0:\n  vectorize i0 by 4  # lanes\n\n  unroll i0 by 2\n");
  CHECK(compiled.as_text("schedule") == "kernel0:\n  vectorize i0 by 4\n  unroll i0 by 2\n");
  CHECK(compiled.as_text("asm") != code);
  CHECK(compiled(x).to_vector<float>() == want);
  CHECK(f(x).to_vector<float>() == want);
  CHECK_THROWS_AS(schedule(compiled, "kernel0:\n unroll i5 by 2"), CompileError);
  CHECK(compiled.as_text("schedule").find("by 4") != std::string::npos);
  schedule(compiled, "");
  CHECK(compiled.as_text("schedule") == chosen);
}

TEST_CASE("schedules: kernels of several loops that compute nothing") {
  // What equals constants is known, so that no loop costs anything. Of several sizes, as memory before a list of loops may hold anything.
  for (int rows = 8; rows < 40; ++rows) {
    const auto constants = [=](Xs) {
      const Array ones = full({rows}, 1, int32), none = rem(ones, ones);
      return broadcast_to(expand_dims(astype(where(none >= ones, none, ones), float32), 1), {rows, 16});
    };
    CHECK(formed(make_jaxpr([&] { return constants({}); })(), 64).kernels.at(0).nests.size() == 2);
    test::same(constants, {}, 0, "asm");
  }
}
