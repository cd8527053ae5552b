// Loops of fewer iterations than a vector has lanes: narrower vectors, several points of other loops side by side.
#include <doctest/doctest.h>

#include "tests/backends/agree.h"
#include "tests/backends/code_from.h"
#include "tests/messages.h"
#include "weft/backends/codegen/planner/program.h"
#include "weft/backends/codegen/planner/simplify.h"
#include "weft/backends/codegen/schedule/schedule_text.h"
#include "weft/backends/cpu/jit.h"

using namespace weft;
using namespace weft::test;

namespace {

/// The schedules of a function's kernels for vectors of 64 bytes, whatever processor this is.
template <class F>
std::string schedules(F f, const Arrays& args) {
  const Jaxpr j = make_jaxpr([&](const Arrays& xs) { return Arrays{f(xs)}; })(args);
  const detail::KernelProgram p = detail::form_program(
      detail::simplify(j, nullptr),
      {.vector_bytes = 64, .matmuls_by_library = false, .row_blocks = true, .partitions_loops = true, .vectors_in_epilogue = true}, {});
  std::string text;
  for (const detail::Kernel& k : p.kernels) text += detail::to_string(detail::make_schedule(k, 64), k);
  return text;
}

Array counted(std::int64_t rows, std::int64_t n) { return convert(arange(n) * 7 % rows - rows / 2, int32); }

Array rows_times(Xs x) { return einsum("bij,bj->bi", x[0], x[1]); }
Array gathered(Xs x) { return x[0](x[1]); }
Array dots(Xs x) { return sum(x[0] * x[1], 1); }

}  // namespace

TEST_CASE("short loops: a vector has as many lanes as the loop has iterations") {
  const std::string records = schedules(gathered, {values({3000, 6}, 1), counted(3000, 20000)});
  CHECK(has(records, "vectorize i1 by 8\n  unroll i0 by 4"));
  CHECK(has(schedules([](Xs x) { return swapaxes(x[0], 0, 1); }, {values({200, 300, 3}, 1)}), "vectorize i2 by 4\n  unroll i1 by 4"));
  CHECK(has(schedules(rows_times, {values({1000, 12, 12}, 1), values({1000, 12}, 2)}), "vectorize i2 by 8\n  unroll i1 by 4"));
  CHECK(has(schedules(dots, {values({20000, 9}, 1), values({20000, 9}, 2)}), "transpose a0 a1"));
  // Long loops fill vectors, and functions have formulas for whole ones.
  CHECK(has(schedules(gathered, {values({3000, 200}, 1), counted(3000, 2000)}), "vectorize i1 by 16"));
  CHECK(has(schedules([](Xs x) { return exp(swapaxes(x[0], 0, 1)); }, {values({200, 300, 3}, 1)}), " by 16"));
  // What is gathered decides the lanes, not how wide its indices are.
  const auto columns = [](Xs x) { return x[0](slice(), x[1]) * 2; };
  CHECK(has(schedules(columns, {samples({200, 300}, 1, float64), counted(300, 200)}), "vectorize i1 by 8"));
  CHECK(has(schedules(columns, {values({200, 300}, 1), counted(300, 200)}), "vectorize i1 by 16"));
  // Channels that lie side by side are shuffled from whole vectors.
  const std::string masked = schedules([](Xs x) { return where(x[0](ellipsis, slice(1, 2)) > 100, x[0], x[0] * 0); },
                                       {convert(values({480, 640, 3}, 1) * 50 + 100, uint8)});
  CHECK(has(masked, "by 64"));
  CHECK(has(masked, "flatten_records"));
}

TEST_CASE("short loops: short rows that are reduced in a nest of their own are transposed in registers, too") {
  const auto descend = [](Xs x) {
    return fori_loop(0, 3, [&](Array, Array q) { return q - 0.01f * matmul(tanh(matmul(x[0], q)), x[0]); }, x[1]);
  };
  for (const int n : {16, 23, 40}) {
    const std::string schedule = same([=](Xs x) { return Arrays{descend(x)}; }, {values({700, n}, 1), values({n}, 2)}, 1e-4, "schedule");
    // Rows of whole vectors are reduced along lanes.
    if (n == 23 && detail::native_vector_bytes() == 64) CHECK(has(schedule, "transpose a"));
  }
}

TEST_CASE("short loops: neighbours along an axis in front of a short one are read row by row") {
  const auto along = [](const Array& x, int axis, std::int64_t n) {
    Array sum = zeros_like(axis == 0 ? x(slice(0, n)) : x(slice(), slice(0, n)));
    for (std::int64_t i = 0; i < 7; ++i)
      sum = sum + (axis == 0 ? x(slice(i, i + n)) : x(slice(), slice(i, i + n))) * static_cast<float>(1 + i * (6 - i));
    return sum;
  };
  const auto blurred = [&](Xs x) { return along(along(x[0], 0, 120), 1, 160); };
  for (const DType t : {uint8, int32, float32, float64, bfloat16})
    for (const int channels : {2, 3, 5}) {
      CAPTURE(t.name());
      CAPTURE(channels);
      const Array x = convert(abs(round(values({126, 166, channels}, 1) * 9)), t);
      const std::string kernels = same(blurred, {x}, 0);
      if (detail::native_vector_bytes() == 64) CHECK(has(kernels, "outer for i0 < 120\n"));
    }
  // A result that also depends on the column alone has no single loop along the row.
  const auto weighted = [&](Xs x) { return blurred(x) * x[1]; };
  CHECK(has(same(weighted, {values({126, 166, 3}, 1), values({160, 1}, 2)}, 0), "outer for i0 < 120 for i1 < 3\n"));
  CHECK(has(same(blurred, {values({126, 166, 32}, 1)}, 0), "outer for i0 < 120 for i1 < 32\n"));
}

TEST_CASE("short loops: two loops of a tile share loads where lanes are points of a third") {
  const auto outer = [](Xs x) { return einsum("ni,nj,nk->ijk", x[0], x[1], x[2]); };
  const Arrays args{samples({200, 20}, 1, float64), samples({200, 20}, 2, float64), samples({200, 20}, 3, float64)};
  CHECK(has(schedules(outer, args), "unroll i4 by 4\n  unroll i5 by 4"));
  for (const DType t : {float32, float64, complex64})
    for (const std::int64_t n : {1, 3, 8, 9, 20})
      same(outer, {samples({33, n}, 1, t), samples({33, 5}, 2, t), samples({33, n + 2}, 3, t)}, 1e-4);
}

TEST_CASE("short loops: records that lanes write are transposed in registers") {
  const auto products = [](Xs x) { return matmul(x[0], x[1]); };
  CHECK(has(schedules(products, {values({2000, 4, 4}, 1), values({2000, 4, 4}, 2)}), "transpose_records a0 a1 a2 by 5"));
  const CodeFrom code("optimized");
  for (const std::int64_t n : {1, 2, 3, 4, 5, 6, 7})
    for (const std::int64_t rows : {1, 5, 16, 37, 5000})
      for (const DType t : {float32, float64, complex64, int32}) {
        CAPTURE(n);
        CAPTURE(rows);
        CAPTURE(t.name());
        same(products, {samples({rows, n, 3}, 1, t), samples({rows, 3, n}, 2, t)}, 1e-5);
        same([](Xs x) { return vmap([](const Array& a, const Array& b) { return matmul(a, b); })(x[0], x[1]); },
             {samples({rows, n, n}, 1, t), samples({rows, n, 1}, 2, t)}, 1e-5);
      }
  for (const std::int64_t n : {3, 4, 5})
    for (const std::int64_t rows : {3, 40, 3000}) {
      same([](Xs x) { return linalg::inv(x[0] + 4.f * eye(static_cast<int>(x[0].shape(-1)))); }, {values({rows, n, n}, 1)}, 1e-3);
      same([](Xs x) { return linalg::cholesky(matmul(x[0], swapaxes(x[0], 1, 2)) + eye(static_cast<int>(x[0].shape(-1)))); },
           {values({rows, n, n}, 1)}, 1e-4);
    }
}

TEST_CASE("short loops: values of every width") {
  const CodeFrom code("optimized");
  for (const std::int64_t n : {2, 3, 4, 5, 6, 7, 9, 12, 15, 17, 20, 33}) {
    CAPTURE(n);
    for (const DType t : {uint8, int16, float16, int32, float32, int64, float64}) {
      CAPTURE(t.name());
      const auto of = [&](Shape s, unsigned seed) { return astype(samples(s, seed) * 10 + 50, t); };
      for (const std::int64_t rows : {1, 37, 900}) {
        CAPTURE(rows);
        same(gathered, {of({41, n}, 1), counted(41, rows)}, 0);
        same([](Xs x) { return x[0](x[1]) + x[0](0); }, {of({41, n}, 1), counted(41, rows)}, 0);
        same([](Xs x) { return swapaxes(x[0], 0, 1); }, {of({rows, 9, n}, 1)}, 0);
        same([](Xs x) { return flip(swapaxes(x[0], 0, 1) + 1, 0); }, {of({rows, 9, n}, 1)}, 0);
        same([](Xs x) { return where(x[0](ellipsis, slice(0, 1)) > 50, x[0], x[0] + 1); }, {of({rows, 9, n}, 1)}, 0);
        same([](Xs x) { return pad(x[0], {{0, 0}, {1, 0}}, 3); }, {of({rows, n}, 1)}, 0);
      }
    }
    for (const DType t : {float32, float64}) {
      same(rows_times, {samples({40, n, n}, 1, t), samples({40, n}, 2, t)}, 1e-5);
      same(dots, {samples({900, n}, 1, t), samples({900, n}, 2, t)}, 1e-5);
      same([](Xs x) { return sum(x[0] * x[1](x[2]), 1); },
           {samples({900, n}, 1, t), samples({50}, 2, t), reshape(counted(50, 900 * n), {900, n})}, 1e-5);
      same([](Xs x) { return max(x[0], 1) + convert(argmax(x[0], 1), x[0].dtype()); }, {samples({900, n}, 1, t)}, 0);
    }
  }
}
