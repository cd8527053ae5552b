// Matmuls whose left operand comes from another one: in one kernel each row would go through the whole right matrix by itself.
#include <doctest/doctest.h>

#include "tests/backends/agree.h"

using namespace weft;
using namespace weft::test;

namespace {

Array network(Xs x) {
  Array h = x[0];
  for (std::size_t i = 1; i < x.size(); ++i) h = tanh(matmul(h, x[i]) * 0.1f);
  return h;
}
Arrays layers(int batch, int width, DType t) {
  Arrays x{astype(values({batch, width}, 1), t)};
  for (unsigned i = 0; i < 3; ++i) x.push_back(astype(values({width, width}, 2 + i), t));
  return x;
}

}  // namespace

TEST_CASE("chained matmuls: wide layers of many rows are steps of their own") {
  // The first one is a kernel as before; what follows reads what it stored.
  const std::string wide = same(network, layers(64, 128, float64), 1e-10);
  CHECK(has(wide, "matmul m="));
  CHECK_FALSE(has(wide, "scratch"));
}

TEST_CASE("chained matmuls: small matrices and few rows stay in one kernel") {
  CHECK_FALSE(has(same(network, layers(64, 24, float64), 1e-10), "matmul m="));
  CHECK_FALSE(has(same(network, layers(2, 128, float64), 1e-10), "matmul m="));
}
