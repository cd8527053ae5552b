// Lanes that lie a short row apart: rows are read as vectors and transposed in registers.
#include <doctest/doctest.h>

#include "tests/backends/agree.h"
#include "tests/backends/code_from.h"

using namespace weft;
using namespace weft::test;

namespace {

Array column(const Array& x, int k) { return x(ellipsis, k); }

Array rotated(Xs x) {
  const Array &a = x[0], &b = x[1];
  const auto part = [&](int i, int k) { return column(a, i) * column(b, k) - column(a, k) * column(b, i); };
  return stack({part(1, 2), part(2, 0), part(0, 1)}, -1);
}

}  // namespace

TEST_CASE("records: some elements of each row, of all of memory's") {
  const CodeFrom code("optimized");
  for (const std::int64_t rows : {1, 5, 16, 37, 5000}) {
    CAPTURE(rows);
    same(rotated, {values({rows, 3}, 1), values({rows, 3}, 2)});
    same(rotated, {values({rows, 5}, 1), values({rows, 21}, 2)});
    // More of a row than a vector holds; some far from others; and rows that reach into one another.
    same([](Xs x) { return column(x[0], 0) * column(x[0], 7) - column(x[0], 19) + column(x[0], 20) / column(x[0], 39); },
         {values({rows, 40}, 1) + 3.f});
    same([](Xs x) { return sum(stack({x[0](slice(0, none, 3)), x[0](slice(1, none, 3)), x[0](slice(2, none, 3))}, -1) * 2.f, -1); },
         {values({3 * rows}, 1)});
    same([](Xs x) { return vmap([](const Array& a) { return linalg::det(a); })(x[0]); }, {values({rows, 3, 3}, 1)}, 1e-4);
  }
}

TEST_CASE("records: folds along short rows") {
  const CodeFrom code("optimized");
  for (const DType t : {float32, float64, float16, int32, int8, uint16, bool_, complex64})
    for (const std::int64_t k : {2, 3, 4, 7, 8, 15, 16, 17, 20, 33, 48, 100})
      for (const std::int64_t rows : {3, 533, 4099}) {
        CAPTURE(t.name());
        CAPTURE(k);
        CAPTURE(rows);
        // Small integers, whose sums are exact; rows that begin within others' memory.
        const Array x = convert(round(values({rows, k + 1}, 1) * 3.f), t), y = convert(round(values({k}, 2) * 3.f), t);
        if (t.is_bool()) {
          same([](Xs a) { return Arrays{any(a[0], -1), all(a[0](slice(), slice(1, none)), -1)}; }, {x});
          continue;
        }
        same([](Xs a) { return Arrays{sum(a[0](slice(), slice(1, none)) * a[1], -1), prod(a[0](slice(), slice(0, 2)), -1)}; }, {x, y}, 0);
        if (!t.is_complex()) same([](Xs a) { return Arrays{max(a[0], -1), argmin(a[0](slice(), slice(1, none)), -1)}; }, {x}, 0);
        if (t == float32) same([](Xs a) { return nn::softmax(a[0], -1); }, {x});
      }
}

TEST_CASE("records: no element is fetched on its own") {
  const CodeFrom code("optimized");
  const auto fetches = [](auto f, const Arrays& x) { return has(same(f, x, 1e-4, "llvm"), "masked.gather"); };
  CHECK_FALSE(fetches(rotated, {values({5000, 3}, 1), values({5000, 3}, 2)}));
  CHECK_FALSE(fetches([](Xs x) { return sum(x[0], -1); }, {values({5000, 16}, 1)}));
  CHECK_FALSE(fetches([](Xs x) { return sum(x[0] * x[1], -1); }, {values({5000, 16}, 1), values({16}, 1)}));
  CHECK_FALSE(fetches([](Xs x) { return matmul(x[0], x[1]); }, {values({5000, 12}, 1), values({12}, 1)}));
}
