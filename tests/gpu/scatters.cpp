// Scatters by many threads: with indices that come several times and ones out of range, in every mode, against the interpreter.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <cstdlib>
#include <limits>

#include "tests/lcg.h"
#include "tests/ops/program_checks.h"
#include "weft/backends/codegen/schedule/gpu_schedule.h"
#include "weft/backends/cuda/ptx.h"
#include "weft/core/array/array_impl.h"
#include "weft/core/ops/movement/scatter.h"
#include "weft/core/trace/trace.h"
#include "weft/runtime/host/device.h"
#include "weft/runtime/host/executable.h"

namespace weft::test {
namespace {

using namespace detail;

/// Numbers from 0 to n - 1, in no order.
std::vector<std::int64_t> mixed(std::size_t count, std::int64_t n, unsigned seed) {
  std::vector<std::int64_t> v(count);
  Lcg random{seed * 2654435761u + 12345};
  for (auto& e : v) e = static_cast<std::int64_t>((random.next() >> 33) % static_cast<std::uint64_t>(n));
  return v;
}
Array integers(const Shape& s, std::int64_t low, std::int64_t high, unsigned seed, DType t) {
  const auto v = mixed(static_cast<std::size_t>(s.num_elements()), high - low, seed);
  return convert(reshape(array(std::vector<int>(v.begin(), v.end())) + static_cast<int>(low), s), t);
}

/// Where windows go: single elements, rows, windows in front of the indices, batches.
struct Form {
  const char* name;
  ScatterDimensionNumbers dims;
  Shape operand, indices, updates;
};
std::vector<Form> forms(std::int64_t n) {
  return {{"elements", {{}, {0}, {0}}, {40}, {n, 1}, {n}},
          {"rows", {{1}, {0}, {0}}, {40, 7}, {n, 1}, {n, 7}},
          {"columns in front", {{0}, {1}, {1}}, {6, 40}, {n, 1}, {6, n}},
          {"places of a matrix", {{}, {0, 1}, {1, 0}}, {7, 9}, {n, 2}, {n}},
          {"whole windows", {{1}, {1}, {1, 0}}, {7, 9}, {n, 2}, {n, 7}},
          {"batches", {{}, {1}, {1}, {0}, {0}}, {3, 30}, {3, n, 1}, {3, n}},
          {"batches behind, two dimensions of indices", {{3}, {1}, {1}, {0}, {1}}, {3, 20, 4}, {n, 3, 2, 1}, {n, 3, 2, 4}},
          {"windows that meet in part", {{1}, {}, {0}}, {40}, {n, 1}, {n, 3}}};
}

template <class Op>
Jaxpr program_of(const Form& f, GatherScatterMode mode, bool unique, const Array& x, const Array& at, const Array& u) {
  typename Op::Params p;
  p.dimension_numbers = f.dims;
  p.mode = mode;
  p.unique_indices = unique;
  return make_jaxpr([&](const std::vector<Array>& xs) { return bind_one<Op>(p, {xs[0], xs[1], xs[2]}, {}); })(std::vector<Array>{x, at, u});
}

template <class Op>
void same(const Form& f, GatherScatterMode mode, const Array& x, const Array& at, const Array& u, bool unique = false) {
  INFO(Op::name << ", " << f.name << ", " << print_param(mode) << ", " << x.dtype().name() << ", " << u.shape());
  const Jaxpr j = program_of<Op>(f, mode, unique, x, at, u);
  const auto want = backend("interp").compile(j, {"f"})->call(std::vector<Array>{x, at, u}, 0);
  const auto got = backend("cuda").compile(j, {"f"})->call(std::vector<Array>{x, at, u}, devices("cuda")[0].id());
  const std::string wrong = wrong_in(got[0], want[0], 0);
  CHECK_MESSAGE(wrong.empty(), wrong);
}

constexpr GatherScatterMode kModes[] = {GatherScatterMode::clip, GatherScatterMode::fill_or_drop, GatherScatterMode::promise_in_bounds};

/// Loops of the program that run one after the other.
int loops_in_order(const Jaxpr& j) {
  const TargetTraits traits = gpu_traits();
  const KernelProgram p = form_program(simplify(j, traits.expansion), traits, {});
  int n = 0;
  for (const Kernel& k : p.kernels)
    for (const GpuLaunch& l : gpu_launches(k, true))
      for (const GpuNestSchedule& nest : l.schedule.nests)
        for (int d : nest.in_order) n += static_cast<int>(l.kernel.sequential >> d & 1);
  return n;
}

}  // namespace

TEST_CASE("gpu schedules: scatters of updates that come to one place again and again") {
  // Sums and products of these are exact in every order.
  for (const std::int64_t n : {5, 60, 1500})
    for (const Form& f : forms(n))
      for (const GatherScatterMode mode : kModes) {
        const Array at = integers(f.indices, -3, 12, static_cast<unsigned>(n), int32);
        for (const DType t : {float32, float16, int8, complex64}) {
          if (n == 1500 && t == float16 && f.operand.num_elements() < 50) continue;  // too many for exact sums
          const Array x = integers(f.operand, -4, 5, 1, t), u = integers(f.updates, -2, 3, 2, t);
          same<Scatter>(f, mode, x, at, u);
          same<ScatterAdd>(f, mode, x, at, u);
          same<ScatterSub>(f, mode, x, at, u);
          same<ScatterMul>(f, mode, x, at, where(real(u) > 0.f, ones_like(u), -ones_like(u)));
          if (t.is_complex()) continue;
          same<ScatterMin>(f, mode, x, at, u);
          same<ScatterMax>(f, mode, x, at, u);
        }
      }
}

TEST_CASE("gpu schedules: scatters in every dtype, with indices of every dtype") {
  const Form f = forms(60)[3];
  for (int id = 0; id < DType::count; ++id) {
    const DType t(id);
    if (t.is_key()) continue;
    const Array at = integers(f.indices, -3, 12, 9, int32), x = integers(f.operand, 0, 2, 1, t), u = integers(f.updates, 0, 2, 2, t);
    same<Scatter>(f, GatherScatterMode::fill_or_drop, x, at, u);
    if (!t.is_complex()) same<ScatterMin>(f, GatherScatterMode::clip, x, at, u);
    if (!t.is_complex()) same<ScatterMax>(f, GatherScatterMode::clip, x, at, u);
    if (t.is_bool()) continue;
    same<ScatterAdd>(f, GatherScatterMode::clip, x, at, u);
    same<ScatterMul>(f, GatherScatterMode::clip, x, at, u);
    if (t.is_inexact() || t.is_bool()) continue;
    for (const GatherScatterMode mode : kModes)
      for (const std::int64_t n : {60, 1500}) {
        const Form g = forms(n)[3];
        const Array v = integers(g.updates, 0, 100, 4, float32), y = integers(g.operand, 0, 100, 5, float32);
        same<Scatter>(g, mode, y, integers(g.indices, t.is_signed() ? -3 : 0, 12, 6, t), v);
      }
  }
}

TEST_CASE("gpu schedules: extrema of zeros of both signs and of NaN are the same in every run") {
  const Form f = forms(1500)[0];
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<std::int64_t> which = mixed(1500, 3, 5);
  std::vector<float> zeros_of_both(1500), with_nan(1500);
  for (std::size_t i = 0; i < 1500; ++i)
    zeros_of_both[i] = which[i] == 0 ? 0.f : -0.f, with_nan[i] = i % 97 == 0 ? nan : static_cast<float>(i % 5);
  const Array at = integers(f.indices, 0, 40, 3, int32);
  for (const DType t : {float32, bfloat16}) {
    const Array x = full(f.operand, -0.f, t);
    same<ScatterMax>(f, GatherScatterMode::clip, x, at, convert(array(with_nan), t));
    same<ScatterMin>(f, GatherScatterMode::clip, x, at, convert(array(with_nan), t));
    const Array u = convert(array(zeros_of_both), t);
    const auto signs = [&](const Jaxpr& j) {
      const auto got = backend("cuda").compile(j, {"f"})->call(std::vector<Array>{x, at, u}, devices("cuda")[0].id());
      return sum(convert(signbit(device_get(got[0])), int32)).item<int>();
    };
    CHECK(signs(program_of<ScatterMax>(f, GatherScatterMode::clip, false, x, at, u)) == 0);
    CHECK(signs(program_of<ScatterMin>(f, GatherScatterMode::clip, false, x, at, u)) == 40);
  }
}

TEST_CASE("gpu schedules: scatters in order are those that must be, or are asked to be") {
  const auto loops = [](int form, DType t, auto op, std::int64_t n = 60, bool unique = false) {
    const Form f = forms(n)[static_cast<std::size_t>(form)];
    return loops_in_order(program_of<decltype(op)>(f, GatherScatterMode::fill_or_drop, unique, zeros(f.operand, t), zeros(f.indices, int32),
                                                   zeros(f.updates, t)));
  };
  for (const std::int64_t n : {60, 1500})
    for (int form = 0; form < 7; ++form) CHECK(loops(form, float32, Scatter{}, n) == 0);
  CHECK(loops(7, float32, Scatter{}) == 1);
  CHECK(loops(0, float32, Scatter{}, 5) == 1);
  CHECK(loops(7, float32, Scatter{}, 60, true) == 0);
  for (const DType t : {float16, bfloat16, float32, float64, int8, uint64}) {
    CHECK(loops(1, t, ScatterAdd{}) == 0);
    CHECK(loops(1, t, ScatterSub{}) == 0);
    CHECK(loops(1, t, ScatterMul{}) == 0);
    CHECK(loops(1, t, ScatterMax{}) == 0);
    setenv("WEFT_CUDA_DETERMINISTIC", "1", 1);
    CHECK(loops(1, t, ScatterAdd{}) == t.is_floating());
    CHECK(loops(1, t, ScatterMul{}) == t.is_floating());
    CHECK(loops(1, t, ScatterMin{}) == 0);
    unsetenv("WEFT_CUDA_DETERMINISTIC");
  }
  CHECK(loops(1, complex64, ScatterAdd{}) == 0);
}

}  // namespace weft::test
