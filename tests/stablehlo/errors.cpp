// What is refused, and where: text that is malformed, and text that is made to do harm.
#include "tests/messages.h"
#include "tests/stablehlo/run.h"

using namespace weft;
using test::has, test::main_of, test::message_of;

namespace {
std::string refusal(const std::string& text) {
  return message_of<Error>([&] { parse_stablehlo(text); });
}
}  // namespace

TEST_CASE("stablehlo: what is wrong in a text is told with line and column") {
  const std::pair<std::string, std::string> cases[] = {
      {"", "stablehlo:1:1: the module has no function @main"},
      {"module {", "stablehlo:1:9: a module is never closed"},
      {"stablehlo.add", "stablehlo:1:1: `stablehlo.add` is outside of functions"},
      {"func.func @main() {\n  %0 = stablehlo.add %1, %1 : tensor<f32>\n}", "stablehlo:2:22: %1 is not defined before it is used"},
      {"func.func @main() {\n  %0 = stablehlo.constant dense<[1, 2]> : tensor<3xi32>\n}",
       "stablehlo:2:27: the elements have shape (2,), their type is tensor<3xi32>"},
      {"func.func @main() {\n  %0 = stablehlo.constant dense<[[1, 2], [3]]> : tensor<2x2xi32>\n}",
       "stablehlo:2:45: rows have different sizes"},
      {"func.func @main() {\n  %0 = stablehlo.constant dense<300> : tensor<ui8>\n}", "stablehlo:2:36: 300 doesn't fit uint8"},
      {"func.func @main() {\n  %0 = stablehlo.constant dense<\"0x00\"> : tensor<ui16>\n}",
       "stablehlo:2:33: there are 1 bytes for tensor<ui16>"},
      {"func.func @main() {\n  %0 = stablehlo.constant dense<\"0x0G\"> : tensor<ui8>\n}", "other than hexadecimal digits"},
      {"func.func @main() {\n  %0 = stablehlo.constant dense<1> : tensor<?xi32>\n  return\n}",
       "stablehlo:2:27: the sizes of tensor<?xi32> are open"},
      {"func.func @main() {\n  %0 = stablehlo.constant dense<1> : tensor<2xf6E2M3FN>\n  return\n}",
       "stablehlo:2:8: the type tensor<2xf6E2M3FN> has no array"},
      {"func.func @main(%a: tensor<2x!quant.uniform<i8:f32, 0.1>>) {\n  return\n}",
       "the type tensor<2x!quant.uniform<i8:f32, 0.1>> has no array"},
      {"func.func @main(%a: tensor<f32>) -> tensor<f32> {\n  return\n}", "stablehlo:1:1: @main returns 0 values, its type has 1"},
      {"func.func @main() {\n  call @main() : () -> ()\n  return\n}", "stablehlo:2:3: @main calls itself"},
      {"func.func @main() {\n  call @f() : () -> ()\n  return\n}", "stablehlo:2:3: there is no function @f"},
      {"func.func private @main()", "@main is declared without a body"},
      {"func.func @main() {\n}", ""},
      {main_of("%s = stablehlo.constant dense<0> : tensor<1xui64>\n"
               "%0, %1 = stablehlo.rng_bit_generator %s, algorithm = PHILOX : (tensor<1xui64>) -> (tensor<1xui64>, tensor<5xui32>)"),
       "stablehlo:3:10: stablehlo.rng_bit_generator: the state of PHILOX is two or three ui64"},
      {"sdy.mesh @m = <[\"x\"=2]>\n" + main_of("\"sdy.sharding_group\"() <{group_id = 1 : i64}> : () -> ()"),
       "stablehlo:3:1: sdy.sharding_group: there are 0 operands, operand 0 is missing"},
      {main_of("stablehlo.custom_call @my.kernel() : () -> ()"),
       "stablehlo:2:1: stablehlo.custom_call: the target @my.kernel is not known"},
      {main_of("\"stablehlo.sine_of\"() : () -> ()"), "stablehlo:2:1: the operation stablehlo.sine_of is not known"},
      {main_of("%a = stablehlo.constant dense<1> : tensor<i32>\n%b = stablehlo.sine %a : tensor<i32>"),
       "stablehlo:3:6: stablehlo.sine: it is defined for floats, complex numbers, its operand is i32[]"},
      {main_of("%a = stablehlo.constant dense<1.0> : tensor<2xf32>\n%b = stablehlo.add %a, %a : tensor<3xf32>"),
       "stablehlo:3:6: stablehlo.add: result 0 is f32[2], the text says tensor<3xf32>"},
      {main_of("%a = stablehlo.constant dense<1.0> : tensor<2xf32>\n%a = stablehlo.add %a, %a : tensor<2xf32>"),
       "stablehlo:3:1: %a is defined twice"},
      {main_of("%a:2 = stablehlo.constant dense<1.0> : tensor<2xf32>"), "2 are named"},
      {main_of("%a = stablehlo.constant dense<1.0> : tensor<2xf32>\n%b = stablehlo.slice %a [0:9] : (tensor<2xf32>) -> tensor<9xf32>"),
       "stablehlo:3:6: stablehlo.slice: slice"},
      {main_of("%a = stablehlo.constant \"text"), "a string doesn't end on its line"},
      {"func.func @main() {\n^bb0:\n  return\n}", "stablehlo:2:1: a region of several blocks"},
      {"func.func @main() {\n  cf.br ^bb1\n^bb1:\n  return\n}", "stablehlo:2:9: a branch to another block: regions have one block"},
  };
  for (const auto& [text, wanted] : cases) {
    CAPTURE(text);
    if (wanted.empty())
      CHECK(parse_stablehlo(text).eqns().empty());
    else
      CHECK(has(refusal(text), wanted.c_str()));
  }
}

TEST_CASE("stablehlo: an operation is read for the kinds of elements that the specification defines it for") {
  struct Defined {
    std::string name, kinds;  // b: bools, s, u: integers, f: floats, c: complex numbers
    int operands = 1;
    std::string result = "";  // as the operand unless it is named
  };
  const Defined operations[] = {
      {"abs", "sf"},
      {"cbrt", "fc"},
      {"ceil", "f"},
      {"count_leading_zeros", "su"},
      {"exponential", "fc"},
      {"floor", "f"},
      {"imag", "f"},
      {"is_finite", "f", 1, "i1"},
      {"logistic", "fc"},
      {"negate", "sufc"},
      {"not", "bsu"},
      {"popcnt", "su"},
      {"real", "f"},
      {"round_nearest_afz", "f"},
      {"round_nearest_even", "f"},
      {"rsqrt", "fc"},
      {"sign", "sfc"},
      {"sine", "fc"},
      {"sqrt", "fc"},
      {"tan", "fc"},
      {"tanh", "fc"},
      {"add", "bsufc", 2},
      {"and", "bsu", 2},
      {"atan2", "fc", 2},
      {"divide", "sufc", 2},
      {"maximum", "bsufc", 2},
      {"multiply", "bsufc", 2},
      {"power", "sufc", 2},
      {"remainder", "suf", 2},
      {"shift_left", "su", 2},
      {"shift_right_arithmetic", "su", 2},
      {"shift_right_logical", "su", 2},
      {"subtract", "sufc", 2},
      {"xor", "bsu", 2},
      {"chlo.asin", "fc"},
      {"chlo.conj", "fc"},
      {"chlo.erf", "f"},
      {"chlo.is_inf", "f", 1, "i1"},
      {"chlo.is_pos_inf", "f", 1, "i1"},
      {"chlo.lgamma", "f"},
      {"chlo.mulhi", "su", 2},
      {"chlo.next_after", "f", 2},
      {"chlo.square", "fc"},
      {"chlo.zeta", "f", 2},
      {"chlo.broadcast_shift_left", "su", 2},
      {"chlo.broadcast_subtract", "sufc", 2},
  };
  const std::pair<char, std::string> kinds[] = {{'b', "i1"}, {'s', "i32"}, {'u', "ui32"}, {'f', "f32"}, {'c', "complex<f32>"}};
  for (const Defined& d : operations)
    for (const auto& [kind, element] : kinds) {
      if (kind == 'c' && (d.name == "abs" || d.name == "real" || d.name == "imag")) continue;  // the result is another type
      const std::string name = d.name.rfind("chlo.", 0) == 0 ? d.name : "stablehlo." + d.name, in = "tensor<3x" + element + ">",
                        out = "tensor<3x" + (d.result.empty() ? element : d.result) + ">";
      const std::string text = "func.func @main(%a: " + in + ") -> " + out + " {\n%0 = \"" + name + "\"(%a" +
                               (d.operands == 2 ? ", %a" : "") + ") : (" + in + (d.operands == 2 ? ", " + in : "") + ") -> " + out +
                               "\nreturn %0 : " + out + "\n}";
      CAPTURE(text);
      CHECK(refusal(text).empty() == (d.kinds.find(kind) != std::string::npos));
    }
}

TEST_CASE("stablehlo: a region that sorts or scatters by values from outside is refused") {
  CHECK(has(refusal(main_of(R"(
    %a = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
    %t = stablehlo.constant dense<true> : tensor<2xi1>
    %s = stablehlo.slice %t [0:1] : (tensor<2xi1>) -> tensor<1xi1>
    %b = stablehlo.reshape %s : (tensor<1xi1>) -> tensor<i1>
    %0 = "stablehlo.sort"(%a) <{dimension = 0 : i64}> ({
    ^bb0(%x: tensor<i32>, %y: tensor<i32>):
      stablehlo.return %b : tensor<i1>
    }) : (tensor<2xi32>) -> tensor<2xi32>)")),
            "stablehlo:7:10: stablehlo.sort: the region uses values from outside"));
}

TEST_CASE("stablehlo: what nests too deeply, or would be too large, is an error") {
  const auto nested = [](const std::string& open, const std::string& close, int n) {
    std::string text;
    for (int i = 0; i < n; ++i) text += open;
    text += "1";
    for (int i = 0; i < n; ++i) text += close;
    return text;
  };
  CHECK(has(refusal(main_of("%a = stablehlo.constant {x = " + nested("[", "]", 1000000) + "} dense<1> : tensor<i32>")), "nest"));
  CHECK(has(refusal(main_of("%a = stablehlo.constant dense<" + nested("[", "]", 1000000) + "> : tensor<i32>")), "nest"));
  std::string regions = "func.func @main() {\n";
  for (int i = 0; i < 200000; ++i) regions += "\"a.b\"() ({\n";
  CHECK(has(refusal(regions), "nest"));
  std::string modules;
  for (int i = 0; i < 500000; ++i) modules += "module {";
  CHECK(has(refusal(modules), "nest"));
  CHECK(has(refusal("func.func @main(%a: tensor<9223372036854775807x9223372036854775807xf32>) {\nreturn\n}"), "is too large"));
  CHECK(has(refusal("func.func @main(%a: tensor<99999999999999999999xf32>) {\nreturn\n}"), "has no array"));
  // Names that stand for names: 2^60 elements, were they written out.
  std::string names = "#a0 = [1, 1]\n";
  for (int i = 1; i < 60; ++i)
    names += "#a" + std::to_string(i) + " = [#a" + std::to_string(i - 1) + ", #a" + std::to_string(i - 1) + "]\n";
  CHECK(has(refusal(names), "names expand to more"));
}

TEST_CASE("stablehlo: a constant of one element in a large type takes no memory when it is read") {
  const Jaxpr program = parse_stablehlo(
      "func.func @main() -> tensor<1000000x1000000xf32> {\n%a = stablehlo.constant dense<1.0> : tensor<1000000x1000000xf32>\nreturn %a : "
      "tensor<1000000x1000000xf32>\n}");
  CHECK(program.out_avals()[0].shape == Shape{1000000, 1000000});
}

TEST_CASE("stablehlo: every prefix of a program is read or refused") {
  const std::string text = main_of(R"(
    %a = stablehlo.constant dense<[[1.0, 0x7FC00000], [-3.0, 4.0]]> : tensor<2x2xf32> loc("f":1:2)
    %b:2 = stablehlo.while(%x = %a, %y = %a) : tensor<2x2xf32>, tensor<2x2xf32>
    cond {
      %c = "stablehlo.constant"() <{value = dense<false> : tensor<i1>}> : () -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      stablehlo.return %y, %x : tensor<2x2xf32>, tensor<2x2xf32>
    }
    %d = stablehlo.dot_general %b#0, %b#1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>)");
  CHECK_NOTHROW(parse_stablehlo(text));
  int refused = 0;
  for (std::size_t n = 0; n < text.size(); ++n) {
    try {
      parse_stablehlo(std::string_view(text).substr(0, n));
    } catch (const Error& e) {
      CAPTURE(e.message());
      CHECK(e.message().rfind("stablehlo:", 0) == 0);
      ++refused;
    }
  }
  CHECK(refused > 500);
}
