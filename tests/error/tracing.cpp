// Errors of values that a trace doesn't know.
#include "refused.h"

using namespace weft;

namespace {

std::string line(int n) { return "tracing.cpp:" + std::to_string(n); }

constexpr int kBranch = __LINE__ + 2;
Array branch_on_traced(Array x) {
  if (x > 0) return x;
  return -x;
}
Array leaked_from_jit() {
  Array kept;
  jit(
      [&](Array x) {
        kept = x * 2;
        return x;
      },
      {.name = "keeper"})(ones(3));
  return kept;
}
constexpr int kBodies = __LINE__;
auto sized = [](Array n) { return zeros(n.item<int>()); };
auto to_host = [](Array x) { return array(x.to_vector<float>()); };
auto masked = [](Array x) { return x(x > 0); };

}  // namespace

// The line is that of the condition, within the function.
static const weft::test::Covers covers_bool("bool_of_tracer_in_if");
TEST_CASE("bool_of_tracer_in_if") {
  test::refused(typeid(ConcretizationError), "bool_of_tracer_in_if", [] { jit(branch_on_traced, {.name = "f"})(1.f); },
                {"gt", "bool[]", "cond", "where", "f", line(kBranch)});
}
static const weft::test::Covers covers_size("int_of_tracer_as_size");
TEST_CASE("int_of_tracer_as_size") {
  test::refused(typeid(ConcretizationError), "int_of_tracer_as_size", [] { jit(sized)(3); },
                {"item", "i32[]", "declare the parameter as int", line(kBodies + 1)});
}
static const weft::test::Covers covers_conversion("numpy_conversion_of_tracer");
TEST_CASE("numpy_conversion_of_tracer") {
  test::refused(typeid(ConcretizationError), "numpy_conversion_of_tracer", [] { vmap(to_host)(ones(3)); },
                {"to_vector", "f32[]", line(kBodies + 2)});
}
static const weft::test::Covers covers_mask("boolean_mask_under_jit");
TEST_CASE("boolean_mask_under_jit") {
  test::refused(typeid(ConcretizationError), "boolean_mask_under_jit", [] { jit(masked)(arange(4, float32)); },
                {"bool[4]", "where", line(kBodies + 3)});
}
REFUSED(leaked_tracer, LeakedTracerError, leaked_from_jit() + 1, "add", "f32[3]", "keeper")

TEST_CASE("a traced value that outlives each transform") {
  for (int kind = 0; kind < 4; ++kind) {
    Array kept;
    auto f = [&](Array x) { return kept = sum(sin(x)), kept; };
    if (kind == 0) grad(f)(ones(2));
    if (kind == 1) vmap(f)(ones({2, 2}));
    if (kind == 2) (void)make_jaxpr(f)(ones(2));
    if (kind == 3) (void)scan([&](Array c, Array x) { return std::pair{f(x) + c, x}; }, 0.f, ones({3, 2}));
    test::refused(typeid(LeakedTracerError), "leak", [&] { (void)(kept * 2); }, {"mul", "f32[]"});
    test::refused(typeid(LeakedTracerError), "leak", [&] { (void)kept.item<float>(); }, {"item", "f32[]"});
    test::refused(typeid(LeakedTracerError), "leak", [&] { jit([&](Array x) { return x + kept; })(1.f); }, {"add", "f32[]"});
  }
}

TEST_CASE("a condition on a value that grad computes on demand") {
  const Array x = array({-1.5f, 2.f});
  CHECK(tree::all_close(grad(branch_on_traced)(-2.f), Array(-1.f)));
  CHECK(tree::all_close(jvp(branch_on_traced, std::tuple{3.f}, std::tuple{2.f}).second, Array(2.f)));
  CHECK(tree::all_close(grad(grad([](Array v) { return branch_on_traced(v * v * v); }))(-2.f), Array(12.f)));
  test::refused(typeid(ConcretizationError), "vmap", [&] { vmap(grad(branch_on_traced))(x); }, {"gt", "bool[]"});
  test::refused(typeid(ConcretizationError), "jit", [&] { grad(jit(branch_on_traced))(1.f); }, {"gt", "bool[]"});
  test::refused(typeid(ConcretizationError), "scan",
                [&] { scan([](Array c, Array v) { return std::pair{c, branch_on_traced(v)}; }, 0.f, x); }, {"gt", "bool[]"});
}
