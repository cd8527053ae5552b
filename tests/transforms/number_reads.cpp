// Numbers that a function reads out of arrays while it is differentiated.
#include "tests/transforms/checks.h"

namespace {
using namespace weft;
using namespace weft::test;

Array by_numbers(const Array& v) {
  double total = 0;
  for (int i = 0; i < 2; ++i) total += v(i).item<double>();
  return array(total);
}

TEST_CASE("a derivative that went with numbers read out of arrays is an error") {
  const Array x = array({1.f, 2.f});
  const std::string says = ": the result depends on the arguments only by C++ numbers that item read out of arrays";
  CHECK(refuses<ConcretizationError>([&] { (void)grad(by_numbers)(x); }, {"grad" + says, "number_reads.cpp:10"}));
  CHECK(refuses<ConcretizationError>([&] { (void)value_and_grad(by_numbers)(x); }, {says}));
  CHECK(refuses<ConcretizationError>([&] { (void)jvp(by_numbers, x, x); }, {"jvp" + says}));
  CHECK(refuses<ConcretizationError>([&] { (void)vjp(by_numbers, x); }, {"vjp" + says}));
  CHECK(refuses<ConcretizationError>([&] { (void)linearize(by_numbers, x); }, {"linearize" + says}));
  CHECK(refuses<ConcretizationError>([&] { (void)jacfwd(by_numbers)(x); }, {"jacfwd" + says}));
  CHECK(refuses<ConcretizationError>([&] { (void)jacrev(by_numbers)(x); }, {"jacrev" + says}));
  CHECK(refuses<ConcretizationError>([&] { (void)grad([](Array v) { return sum(v).item<float>(); })(x); }, {"grad" + says}));
  auto first = [](Array v) { return array(v.to_vector<float>()[0]); };
  CHECK(refuses<ConcretizationError>([&] { (void)grad(first)(x); }, {"to_vector read out of arrays"}));
}

TEST_CASE("numbers that are read beside a derivative are constants") {
  const Array x = array({1.f, 2.f});
  CHECK(near(grad([](Array v) { return sum(v) * static_cast<double>(v(1)); })(x), {2, 2}));
  CHECK(near(grad([](Array v) { return v(0).item<float>() > 3 ? sum(v) : sum(2 * v); })(x), {2, 2}));
  CHECK(near(grad([](Array v, Array data) { return sum(v) * data.item<float>(); })(x, 3.f), {3, 3}));
  // Conditions and counts steer; the constant that they choose has the derivative 0.
  CHECK(near(grad([](Array v) { return v(0) > 3 ? v(0) : array(1.f); })(x), {0, 0}));
  CHECK(near(grad([](Array v) { return array(static_cast<float>(v(0).item<int>())); })(x), {0, 0}));
  CHECK(near(grad([](Array) { return array(2.f); })(x), {0, 0}));
  // The second derivative of a linear function, and the inner function's numbers in the outer's derivative.
  auto logged = [](Array v) {
    (void)v(0).item<float>();
    return sum(v);
  };
  CHECK(near(hessian(logged)(x), {0, 0, 0, 0}));
  CHECK(near(grad([&](Array v) { return sum(v * grad(logged)(2 * v)); })(x), {1, 1}));
}

}  // namespace
