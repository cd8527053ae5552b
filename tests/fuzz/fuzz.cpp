// A short run of the fuzzer (tools/fuzz), and what it is made of.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <weft/weft.h>

#include <ctime>

#include "tools/fuzz/check.h"
#include "tools/fuzz/compare.h"
#include "tools/fuzz/mutate.h"
#include "tools/fuzz/shrink.h"
#include "tools/fuzz/values.h"

using namespace weft;
using namespace weft::fuzz;

namespace {
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }
}  // namespace

TEST_CASE("random programs under random stacks of transforms do the same on the interpreter and on the CPU backend") {
  constexpr std::uint64_t seed = 2024;
  int count = 0;
  for (const double end = cpu_seconds() + 8; count < 250 && (count <= 10 || cpu_seconds() < end); ++count) {
    const std::uint64_t program = seed * 1000000 + static_cast<std::uint64_t>(count);
    CAPTURE(program);
    const Case c = random_case(program);
    const Failure f = check_case(c);
    CHECK_MESSAGE(!f, f.kind << ": " << f.message << "\n" << print_case(c));
  }
  MESSAGE(count << " programs of seed " << seed << "; more: weft-fuzz --seed S --count N --shrink");
}

TEST_CASE("mutated texts are refused with their place, or read as programs that are in order") { CHECK(mutate_texts(7, 3000) == 0); }

TEST_CASE("a case is printed as text that gives it back") {
  int with_stack = 0;
  for (std::uint64_t seed = 1; seed < 60; ++seed) {
    const Case c = random_case(seed);
    if (c.program.data().num_consts > 0) continue;
    const std::string text = print_case(c);
    const Case again = parse_case(text);
    CHECK(print_case(again) == text);
    with_stack += !again.stack.empty();
  }
  CHECK(with_stack > 5);
}

TEST_CASE("constants that rules of custom functions hold too are neither mapped nor differentiated by") {
  const Array table = array({1.f, 2.f, 3.f});
  auto by_vjp = custom_vjp([=](Array x) { return sin(x) * table; }, [=](Array x) { return std::pair{sin(x) * table, x}; },
                           [=](Array x, Array ct) { return std::tuple{cos(x) * table * ct}; });
  auto by_jvp =
      custom_jvp([=](Array x) { return sin(x) * table; },
                 [=](auto x, auto dx) { return std::pair{sin(std::get<0>(x)) * table, cos(std::get<0>(x)) * table * std::get<0>(dx)}; });
  for (const bool reverse : {true, false}) {
    const Jaxpr j = make_jaxpr([&](Array x) { return reverse ? by_vjp(x) : by_jvp(x); })(ones(3));
    const Applied hoisted = without_constants(j, {array({.1f, .2f, .3f})});
    CHECK(hoisted.fixed == 1);
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const Case c{hoisted.program, hoisted.inputs, {{"vmap", seed}, {"vjp", seed + 1}, {"vmap", seed + 2}}, hoisted.fixed};
      const Failure f = check_case(c);
      CHECK_MESSAGE(!f, f.kind << ": " << f.message);
      CHECK(parse_case(print_case(c)).fixed == 1);
    }
  }
}

// Integers that an operation computes exactly, here the order of a polygamma function, are not disturbed.
TEST_CASE("the tolerance of a law is known where an operand must be an integer") {
  const Case c = parse_case(R"(# transforms jvp:32266 vjp:59263
# input f32[3,3,3,1] 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1
# input f32[] 0
# input i32[1,3] 0 0 0
# input i32[1,3] 0 0 0
# input f32[3,3,1,1] -0x1.d215b8p-2 0x1.70d822p-5 -0x1.57850ep-5 0x1.bbcfbep-3 -0x1.d9b06p-3 -0x1.434638p-1 -0x1.3f2eeap-2 0x1.1e76dcp-1 -0x1.68b04ep-1
{ lambda ; a:f32[3,3,3,1] b:f32[] c:i32[1,3] d:i32[1,3] e:f32[3,3,1,1]. let
    f:f32[1,3] = dot_general[
      dimension_numbers=(([0, 1, 3], [0, 1, 3]), ([], []))
      preferred_element_type=float32
    ] e a
    g:f32[1,3] = max -3.0:f32[] f
    h:f32[1,3] = min 3.0:f32[] g
    i:f32[1,3] = mul 2.0:f32[] h
    j:f32[1,3] = mul i 0.25:f32[]
    k:f32[1,3] = tanh j
    l:f32[1,3] = mul 2.4000000953674316:f32[] k
    m:f32[1,3] = digamma l
  in (m,) }
)");
  const Failure f = check_case(c);
  CHECK_MESSAGE(!f, f.kind << ": " << f.message);
}

TEST_CASE("values are printed without loss") {
  Random random(3);
  for (const DType t : {bool_, int8, int64, uint64, float16, bfloat16, float32, float64, complex64, complex128})
    for (const Shape& s : {Shape{}, Shape{0}, Shape{17}, Shape{2, 3}}) {
      const Array x = random_value({s, t}, random, Values::special);
      const Array y = parse_value(print_value(x));
      CHECK(y.aval() == x.aval());
      CHECK(print_value(y) == print_value(x));
    }
}

TEST_CASE("a failing program is made small") {
  // A stand-in for a bug: whatever contains a tanh fails.
  const Case c = parse_case(
      "# input f32[4,6] 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24\n"
      "{ lambda ; a:f32[4,6]. let b:f32[4,6] = sin a; c:f32[4,6] = jit[name=f jaxpr={ lambda ; d:f32[4,6]. let e:f32[4,6] = exp d; "
      "f:f32[4,6] "
      "= tanh e in (f,) }] b; g:f32[4] = reduce_sum[axes=(1,)] c; h:f32[4,6] = cos c in (g, h, b) }");
  const Case small = shrunk(c, [](const Case& candidate) { return candidate.program.to_string().find("tanh") != std::string::npos; }, 20);
  CHECK(small.program.to_string() == parse("{ lambda ; a:f32[1,1]. let b:f32[1,1] = tanh a in (b,) }").to_string());
  REQUIRE(small.inputs.size() == 1);
  CHECK(print_value(small.inputs[0]) == "f32[1,1] 0");
}

TEST_CASE("a difference is told from what rounding makes") {
  const Jaxpr cancels = parse("{ lambda ; a:f32[2]. let b:f32[2] = sin a; c:f32[2] = sub b 0.8414709568023682:f32[] in (c,) }");
  const Arrays x{array({1.f, 2.f})}, want = tools::run_on("interp", "f", cancels, x);
  const std::vector<float> v = want[0].to_vector<float>();
  CHECK(differing(cancels, x, {array({v[0] + 1e-7f, v[1]})}, want) == "");
  CHECK(differing(cancels, x, {array({v[0] + 1e-4f, v[1]})}, want) != "");
  CHECK(differing(cancels, x, {array({v[0], v[1] + 1e-4f})}, want) != "");
  const Jaxpr whole = parse("{ lambda ; a:f32[2]. let b:i32[2] = convert_element_type[new_dtype=int32 weak_type=False] a in (b,) }");
  CHECK(differing(whole, x, {array({1, 2})}, {array({1, 2})}) == "");
  CHECK(differing(whole, x, {array({1, 3})}, {array({1, 2})}) != "");
}

// Each of the six is above 3 by as little as rounding seldom makes: that all are below is not seen in any number of runs.
TEST_CASE("what rounding decides in one element it may decide in each") {
  const Jaxpr largest = parse(
      "{ lambda ; a:f32[6]. let b:f32[6] = sin a; c:f32[6] = div b b; d:f32[6] = mul c 3.000001:f32[]; "
      "e:i32[6] = convert_element_type[new_dtype=int32 weak_type=False] d; f:i32[] = reduce_max[axes=(0,) out_sharding=None] e; "
      "g:i32[6] = convert_element_type[new_dtype=int32 weak_type=False] a; h:i32[] = reduce_max[axes=(0,) out_sharding=None] g in (f, h) "
      "}");
  const Arrays x{array({1.f, 2.f, 1.5f, 2.5f, 1.25f, 2.25f})};
  const Arrays want = tools::run_on("interp", "f", largest, x);
  REQUIRE(want[0].item<int>() == 3);
  CHECK(differing(largest, x, {array(2), want[1]}, want) == "");
  CHECK(differing(largest, x, {want[0], array(1)}, want) != "");
}

TEST_CASE("the sign of NaN may be another elsewhere, the order of numbers may not") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::string name : {"lt_to", "le_to"}) {
    const Jaxpr before = parse("{ lambda ; a:f32[3] b:f32[3]. let c:f32[3] = div a a; d:bool[3] = " + name + " c b in (d,) }");
    const Arrays x{array({0.f, 2.f, 3.f}), array({4.f, 2.f, nan})};
    const Array want = tools::run_on("interp", "f", before, x)[0];
    CHECK(differing(before, x, {where(array({true, false, true}), logical_not(want), want)}, {want}) == "");
    CHECK(differing(before, x, {where(array({true, true, true}), logical_not(want), want)}, {want}) != "");
  }
}

namespace {
std::string difference(const Jaxpr& j, const Arrays& x, const Array& got) {
  return differing(j, x, {got}, tools::run_on("interp", "f", j, x));
}
}  // namespace

// The interpreter adds one after the other: where nearly all terms are small beside the sum, each rounding may go to the same side.
TEST_CASE("a long sum may differ by a rounding for each term, and by no more") {
  const Jaxpr sums = parse("{ lambda ; a:f64[505]. let b:f64[] = reduce_sum[axes=(0,) out_sharding=None] a in (b,) }");
  std::vector<double> terms(505, 0x1.32b48bf117da2p-32);
  terms[2] = 1;
  const Arrays x{array(terms)};
  CHECK(difference(sums, x, full(Shape{}, 0x1.0000025bd3738p+0, float64)) == "");  // the exact sum, rounded
  CHECK(difference(sums, x, full(Shape{}, 0x1.0000025bd3738p+0 + 1e-12, float64)) != "");
}

TEST_CASE("what remains of a Fourier transform where it cancels may be zero or not") {
  const Jaxpr counts = parse(
      "{ lambda ; a:c64[2,3]. let b:c64[2,3] = fft[fft_lengths=(3,) fft_type=0] a; c:c64[2,3] = div b a; d:f32[2,3] = real c; "
      "e:bool[2,3] = convert_element_type[new_dtype=bool weak_type=False] d; f:i32[2,3] = convert_element_type[new_dtype=int32 "
      "weak_type=False] e; g:i32[2,3] = cumsum[axis=0 reverse=False] f in (g,) }");
  const Arrays x{convert(ones({2, 3}), complex64)};
  for (int second : {0, 1, 2})
    for (int third : {0, 1, 2}) CHECK(difference(counts, x, array({{1, second > 0, third > 0}, {2, second, third}})) == "");
  CHECK(difference(counts, x, array({{0, 0, 0}, {0, 0, 0}})) != "");
}

// LAPACK's Householder reflections leave a number alone whose imaginary part is zero, and negate it where that is 1e-9.
TEST_CASE("the last sign of a QR factor may depend on whether something cancels, the first may not") {
  const Jaxpr factor = parse(R"({ lambda ; a:f32[3] b:bool[3,3]. let
    c:c64[3] = convert_element_type[new_dtype=complex64 weak_type=False] a
    d:c64[3] = fft[fft_lengths=(3,) fft_type=0] c
    e:c64[3,3] = broadcast_in_dim[broadcast_dimensions=(1,) shape=(3, 3)] d
    f:c64[3,3] = convert_element_type[new_dtype=complex64 weak_type=False] b
    g:c64[3,3] = add e f
    _:c64[3,3] h:c64[3,3] = qr[full_matrices=False pivoting=False use_magma=None] g
  in (h,) })");
  const Arrays x{ones(3), convert(eye(3), bool_)};
  const Array want = tools::run_on("interp", "f", factor, x)[0];
  CHECK(difference(factor, x, want * array({{1.f}, {1.f}, {-1.f}})) == "");
  CHECK(difference(factor, x, want * array({{-1.f}, {1.f}, {1.f}})) != "");
}

TEST_CASE("a cotangent below the smallest number of its type is zero") {
  const Case c = parse_case(R"(# transforms vjp:34882
# input f32[1,1] 0x1p+29
# input f16[1,1] 0
{ lambda ; a:f32[1,1] b:f16[1,1]. let
    c:f32[1,1] = convert_element_type[new_dtype=float32 weak_type=False] b
    d:f32[1,1] = atan2 a c
  in (d,) }
)");
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Failure f = check_case({c.program, c.inputs, {{"vjp", seed}}, 0});
    CHECK_MESSAGE(!f, f.kind << ": " << f.message);
  }
}

TEST_CASE("a product that overflows may be finite in a sum, NaN of complex numbers, 0 as a reciprocal: beside it, faults are seen") {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN(), huge = 0x1p100f;
  const Jaxpr sum =
      parse("{ lambda ; a:f32[2,2] b:f32[2,2]. let c:f32[2,2] = mul a b; d:f32[2] = reduce_sum[axes=(1,) out_sharding=None] c in (d,) }");
  const Arrays terms{array({{huge, -huge}, {1.f, 2.f}}), array({{huge, huge}, {3.f, 4.f}})};
  CHECK(difference(sum, terms, array({0.f, 11.f})) == "");
  CHECK(difference(sum, terms, array({nan, 11.f})) == "");
  CHECK(difference(sum, terms, array({0.f, 11.001f})) != "");
  CHECK(difference(sum, terms, array({nan, nan})) != "");
  CHECK(difference(sum, terms, array({nan, inf})) != "");

  const Jaxpr product = parse("{ lambda ; a:c64[2] b:c64[2]. let c:c64[2] = mul a b in (c,) }");
  const Arrays factors{complex(array({huge, 1.f}), array({-huge, 0.f})), complex(array({huge, 2.f}), array({-huge, 1.f}))};
  CHECK(difference(product, factors, complex(array({nan, 2.f}), array({-inf, 1.f}))) == "");
  CHECK(difference(product, factors, complex(array({nan, 2.f}), array({-inf, 1.001f}))) != "");
  CHECK(difference(product, factors, complex(array({nan, 2.f}), array({-inf, nan}))) != "");
  // A real factor: the imaginary part does not overflow, and stays.
  const Arrays scaled{complex(array({huge, 1.f}), array({1.f, 0.f})), complex(array({huge, 2.f}), array({0.f, 1.f}))};
  CHECK(difference(product, scaled, complex(array({nan, 2.f}), array({huge, 1.f}))) == "");
  CHECK(difference(product, scaled, complex(array({inf, 2.f}), array({nan, 1.f}))) != "");

  for (const std::string type : {"f32", "c64"}) {
    const Jaxpr reciprocal = parse("{ lambda ; a:" + type + "[3]. let b:" + type + "[3] = integer_pow[y=-2] a; c:" + type +
                                   "[3] = mul a b; d:" + type + "[3] = mul a c in (d,) }");
    const auto of = [&](float a, float b, float c) { return convert(array({a, b, c}), type == "f32" ? float32 : complex64); };
    const Arrays x{of(0x1.8p64f, 0x1p62f, 2.f)};
    CHECK(difference(reciprocal, x, of(0.f, 1.f, 1.f)) == "");
    CHECK(difference(reciprocal, x, of(1.f, 1.f, 1.f)) == "");
    CHECK(difference(reciprocal, x, of(0.f, 0.f, 1.f)) != "");
    CHECK(difference(reciprocal, x, of(0.f, 1.f, 1.001f)) != "");
  }
}

TEST_CASE("what rounding leaves of a sum that cancels may be zero elsewhere, and equal to another; other elements may not") {
  const auto flipped = [](const Jaxpr& j, const Array& x, const Array& places) {
    const Array want = tools::run_on("interp", "f", j, {x})[0];
    CHECK(any(want & places).item<bool>() == false);
    return difference(j, {x}, want | places);
  };
  // The second elements of the rows' transforms are zero but for rounding.
  const Jaxpr waves = parse(
      "{ lambda ; a:f32[2,3]. let b:c64[2,2] = fft[fft_lengths=(3,) fft_type=2] a; c:c64[2,2] = mul (0.5+0j):c64[] b; d:f32[2,2] = real "
      "c; e:f32[2,2] = rev[dimensions=(0,)] d; f:bool[2,2] = eq d e in (f,) }");
  const Array rows = array({{4.f, 4.f, 4.f}, {7.f, 7.f, 7.f}});
  CHECK(flipped(waves, rows, array({{false, true}, {false, true}})) == "");
  CHECK(flipped(waves, rows, array({{true, false}, {false, false}})) != "");
  // So are sums of numbers and of their negatives.
  const Jaxpr folds = parse(
      "{ lambda ; a:f32[2,3]. let b:f32[2] = reduce_sum[axes=(1,) out_sharding=None] a; c:f32[2] = rev[dimensions=(0,)] b; d:bool[2] = eq "
      "b c in (d,) }");
  CHECK(flipped(folds, array({{.7f, .1f, -.8f}, {.9f, .3f, -1.2f}}), array({true, true})) == "");
  CHECK(flipped(folds, array({{.7f, .1f, -.8f}, {.9f, .3f, -1.1999f}}), array({true, true})) != "");
}

TEST_CASE("lines of Fourier transforms that overflow or aren't finite may give anything; lines beside them, faults are seen in") {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const Jaxpr waves = parse("{ lambda ; a:c64[2,4]. let b:c64[2,4] = fft[fft_lengths=(4,) fft_type=0] a in (b,) }");
  const Array good = array({1.f, 2.f, 3.f, 4.f}), spectrum = fft::fft(good);
  for (const float wild : {0x1p127f, inf, nan}) {
    CAPTURE(wild);
    const Arrays x{convert(stack({array({wild, wild, 1.f, 0.f}), good}), complex64)};
    for (const float other : {nan, inf, 3.f}) CHECK(difference(waves, x, stack({full(4, other, complex64), spectrum})) == "");
    CHECK(difference(waves, x, stack({full(4, nan, complex64), full(4, nan, complex64)})) != "");
    if (wild > 0x1p126f && wild < inf) continue;  // all elements of an array may be as wrong as the largest
    CHECK(difference(waves, x, stack({full(4, nan, complex64), spectrum + 1e-3f})) != "");
  }
  // Large, but not too large for its sums.
  const Arrays x{convert(stack({array({0x1p120f, 0x1p120f, 1.f, 0.f}), good}), complex64)};
  CHECK(difference(waves, x, stack({full(4, nan, complex64), spectrum})) != "");
}
