// Functions with loops and branches, for nests of transforms.
#include <weft/weft.h>

#include "functions.h"

namespace weft::test {

namespace {

Array with_cond(const Array& x) {
  return cond(sum(x) > 0.2, [](Array v) { return v * v * v; }, [](Array v) { return sin(v); }, x);
}
Array with_captured_cond(const Array& x) {
  const Array y = x * x;
  return cond(x(0) > x(1), [&] { return y + x; }, [&] { return y * x; });
}
Array with_switch(const Array& x) {
  auto one = [](Array v) { return exp(v); };
  auto two = [](Array v) { return v * v; };
  auto three = [](Array v) { return -v; };
  return switch_(convert(sum(x) * 2. + 1., int32), std::tuple{one, two, three}, x);
}
Array with_scan(const Array& x) {
  auto step = [&](Array c, Array s) { return std::pair{tanh(c * s + x), sum(c)}; };
  const auto [last, all] = scan(step, sin(x), array({0.3, -0.6, 1.2}));
  return concatenate({last, all});
}
Array with_reverse_scan(const Array& x) {
  auto step = [](Array c, Array s) { return std::pair{c * s + 0.5, c * c}; };
  const auto [last, all] = scan(step, x(0), x, {.reverse = true});
  return all * last;
}
Array with_while(const Array& x) {
  auto go_on = [](std::pair<Array, Array> s) { return s.second < 3; };
  auto step = [&](std::pair<Array, Array> s) { return std::pair{sin(s.first) + x * s.first, s.second + 1}; };
  return while_loop(go_on, step, std::pair{x, Array(0)}, {.max_steps = 4}).first;
}
/// How often it runs depends on the value.
Array with_data_dependent_while(const Array& x) {
  return while_loop([](Array c) { return sum(c * c) < 10.; }, [](Array c) { return 1.7 * c + 0.1 * sin(c); }, x + 1.5, {.max_steps = 12});
}
Array with_fori_loop(const Array& x) {
  return fori_loop(0, 3, [&](Array i, Array c) { return c * x + convert(i, float64) * 0.1; }, x);
}
Array with_map(const Array& x) {
  return map([&](Array v) { return sin(v) * sum(x); }, x);
}
Array with_associative_scan(const Array& x) {
  using Pair = std::pair<Array, Array>;
  auto combine = [](Pair a, Pair b) { return Pair{a.first * b.first, b.first * a.second + b.second}; };
  return associative_scan(combine, Pair{x + 0.5, sin(x)}).second;
}
Array scan_in_scan(const Array& x) {
  auto inner = [](Array c, Array s) { return std::pair{c + s * s * c, c}; };
  auto outer = [&](Array c, Array s) { return std::pair{scan(inner, c * s, x).first, c}; };
  return scan(outer, sum(x), x).first;
}

}  // namespace

std::vector<NestedFunction> control_functions() {
  return {
      {"control: cond", {2}, with_cond},
      {"control: cond with captured operands", {2}, with_captured_cond},
      {"control: switch", {2}, with_switch},
      {"control: scan with a captured operand", {2}, with_scan},
      {"control: scan in reverse", {3}, with_reverse_scan},
      {"control: while_loop of a pair", {2}, with_while},
      {"control: while_loop as long as the values say", {2}, with_data_dependent_while},
      {"control: fori_loop", {2}, with_fori_loop},
      {"control: map", {2}, with_map},
      {"control: associative_scan", {3}, with_associative_scan},
      {"control: a scan in a scan", {2}, scan_in_scan},
  };
}

}  // namespace weft::test
