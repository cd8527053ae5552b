// What is wrong with values: literals, rows, empty and donated arrays.
#include <cmath>

#include "refused.h"

using namespace weft;

namespace {

struct Both {
  Array first, second;
};
Array donating(const Both& both, const Array& y) {
  return jit([](Both b, Array z) { return b.first + b.second + z; }, {.donate_argnums = {0}, .name = "step"})(both, y);
}

/// Throws just an E that names this file and each part.
template <class E, class F>
void check(F f, std::vector<std::string> parts) {
  parts.push_back("values.cpp:");
  test::refused(typeid(E), "", [&] { (void)f(); }, parts);
}

}  // namespace

TEST_CASE("a literal that its dtype can't hold") {
  check<DTypeError>([] { return array(300, int8); }, {"array: 300", "int8", "-2^7 to 2^7 - 1"});
  check<DTypeError>([] { return array({{1, 2}, {-1, 2}}, uint8); }, {"array: -1", "uint8", "0 to 2^8 - 1"});
  check<DTypeError>([] { return array({1e10f, 2.f}, int32); }, {"array: 1", "int32"});
  check<DTypeError>([] { return array(std::nan(""), int64); }, {"array: nan", "int64"});
  check<DTypeError>([] { return array(256., uint8); }, {"array: 256", "uint8"});
  check<DTypeError>([] { return array(-2147483649., int32); }, {"array: -2147483649", "int32"});
  check<DTypeError>([] { return array(0x1p63, int64); }, {"array: 9.2", "int64"});
  check<DTypeError>([] { return array(18446744073709551615ull, int64); }, {"18446744073709551615", "int64", "2^63 - 1"});
}

TEST_CASE("rows that are ragged, or none") {
  check<ShapeError>([] { return array(std::vector<std::vector<float>>{{1, 2}, {3}}); },
                    {"ragged", "dimension 1 one has 2 elements, another 1"});
  check<ShapeError>(
      [] {
        for (const Array row : array(1.f)) return row;
        return Array();
      },
      {"f32[]", "item<T>()"});
}

TEST_CASE("an argument that is empty, donated twice, or donated and passed") {
  const Array x = ones(3);
  check<Error>([&] { return donating({x, {}}, x); }, {"step: args[0]", "second", "default-constructed"});
  check<Error>([&] { return donating({x, x}, ones(3)); },
               {"step: args[0]", "first and args[0]", "second are one array, f32[3]", "donate a copy"});
  check<Error>([&] { return donating({x, ones(3)}, x); }, {"step: args[0]", "args[1] are one array"});
  const auto compiled = jit([](Array a, Array b) { return a + b; }, {.donate_argnums = {0}}).lower(ones(3), ones(3)).compile();
  check<Error>([&] { return compiled(x, x); }, {"args[0] and args[1] are one array", "donate a copy"});
  CHECK(donating({x, ones(3)}, ones(3)).to_vector<float>() == std::vector<float>{3, 3, 3});
}

TEST_CASE("an empty Array that a function returns is reported with the function, and its place among the results") {
  const Array x = ones(3);
  const auto nothing = [](Array) { return Array(); };
  const auto half = [](Array a) { return std::pair{a, Array()}; };
  check<Error>([&] { return jit(nothing)(x); }, {"jit of <lambda>: what the function returns is an Array that was default-constructed"});
  check<Error>([&] { return jit(half)(x).first; }, {"jit of <lambda>: result 1 of the function (from 0) is an Array that"});
  check<Error>([&] { return vmap(nothing)(x); }, {"vmap of <lambda>: what the function returns is"});
  check<Error>([&] { return grad(nothing)(1.f); }, {"grad of <lambda>: what the function returns is"});
  check<Error>([&] { return scan([](Array c, Array) { return std::pair{c, Array()}; }, 0.f, x).second; }, {"scan", "result 1 of"});
  check<Error>([&] { return cond(true, nothing, nothing, x); }, {"cond", "what the function returns is"});
  const auto called = [&](Array a) { return pure_callback(nothing, ShapeDtypeStruct{{3}, float32}, a); };
  check<Error>([&] { return called(x); }, {"pure_callback of", "what the function returns is"});
  check<Error>([&] { return jit(called)(x); }, {"pure_callback of", "what the function returns is"});
  check<Error>([&] { return vmap(called)(ones({2, 3})); }, {"pure_callback of", "what the function returns is"});
  const auto by_rule = custom_jvp([](Array a) { return sin(a); },
                                  [](std::tuple<Array> at, std::tuple<Array>) { return std::pair{sin(std::get<0>(at)), Array()}; });
  check<Error>([&] { return grad(by_rule)(1.f); }, {"custom_jvp: the rule: result 1 of"});
}
