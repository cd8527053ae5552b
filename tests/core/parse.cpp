// What the parser of program texts refuses, and where it says that the mistake is.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <cmath>
#include <random>

#include "tests/messages.h"
#include "weft/core/ir/primitive.h"
#include "weft/core/text/text.h"

using namespace weft;
using test::has, test::message_of;
using namespace weft::detail;

namespace {

std::string refusal(const std::string& text) {
  return message_of<Error>([&] { parse(text); });
}

/// A program of one equation on f32[3] named a, with a result b.
std::string one(const std::string& rhs, const std::string& type = "f32[3]") {
  return "{ lambda ; a:f32[3]. let b:" + type + " = " + rhs + " in (b,) }";
}

}  // namespace

TEST_CASE("what is wrong in a text is told with line and column") {
  const std::pair<std::string, std::string> cases[] = {
      {"", "line 1, column 1: expected a program"},
      {"{", "line 1, column 2: expected 'lambda'"},
      {"{ lambda ; a:f32[3]. let\n    b:f32[3] = sine a\n  in (b,) }", "line 2, column 16: unknown primitive 'sine'"},
      {"{ lambda ; a:f32[3]. let\n    b:f32[3] = sin[speed=3] a\n  in (b,) }",
       "line 2, column 20: the primitive 'sin' has no parameter 'speed'"},
      {"{ lambda ; a:f32[3]. let\n    b:f32[3] = sin c\n  in (b,) }", "line 2, column 20: the variable 'c' is not bound"},
      {"{ lambda ; a:f32[3]. let\n    b:f32[4] = sin a\n  in (b,) }",
       "line 2, column 5: the variable 'b' is declared as f32[4], but sin gives f32[3]"},
      {"{ lambda ; a:f32[3] a:f32[2]. let  in (a,) }", "line 1, column 21: the variable 'a' is bound twice"},
      {"{ lambda ; a:f31[3]. let  in (a,) }", "line 1, column 14: there is no dtype 'f31'"},
      {"{ lambda ; a:key<rbg>[]. let  in (a,) }", "column 14: there are no keys of the generator 'rbg', only key<fry>"},
      {"{ lambda ; a:f32[3. let  in (a,) }", "column 18: expected an integer"},
      {"{ lambda ; a:f32[-3]. let  in (a,) }", "is not possible"},
      {"{ lambda ; a:f32[9999999999,9999999999]. let  in (a,) }", "is not possible"},
      {"{ lambda ; a:f32[3]. let  in (a,) } x", "unexpected text after the program"},
      {"{ lambda ; a:f32[3]. let  in (c,) }", "column 31: the variable 'c' is not bound"},
      {"{ lambda ; a:f32[3]. let  in (a) ", "expected '}', the text ends"},
      {"{ lambda ; a:f32[3]. let b:f32[3] = sin a", "has no end"},
      {one("add a"), "takes 2 operands, not 1"},
      {one("reduce_sum[axes=(0,)]", "f32[]"), "takes 1 operand, not 0"},
      {one("add a 1.0"), "expected a literal with its type"},
      {one("add a 1.0.0:f32[]"), "expected ':'"},
      {one("add a 1.0:i32[]"), "expected ':'"},
      {one("add a 300:u8[]"), "out of range"},
      {one("add a 1.0:f32[3]"), "a literal is a scalar"},
      {one("add a [1.0]:f32[1]"), "the values of an array are not in the text"},
      {one("add a _"), "there are 0 variables '_'"},
      {one("reduce_sum[axes=(0,] a"), "the bracket is not closed"},
      {one("reduce_sum[axes=(0,) axes=(0,)] a"), "the parameter 'axes' is given twice"},
      {one("reduce_sum[axes=(x,)] a", "f32[]"), "expected an integer"},
      {one("reduce_sum[axes=0] a", "f32[]"), "expected '('"},
      {one("reduce_sum[axes=(0,)x] a", "f32[]"), "the parameter's value ends before this"},
      {one("reduce_sum[axes=(99999999999,)] a", "f32[]"), "out of range"},
      {one("convert_element_type[new_dtype=float33 weak_type=False] a"), "there is no dtype 'float33'"},
      {one("convert_element_type[new_dtype=float32 weak_type=Maybe] a"), "expected True or False"},
      {one("jit[name=f jaxpr=g] a"), "there is no definition 'g'"},
      {one("jit[name=f jaxpr={ lambda c:f32[3]; a:f32[3]. let  in (a,) }] a"), "has no constants"},
      {"let f = { lambda ; . let  in () } in let f = { lambda ; . let  in () } in { lambda ; . let  in () }", "'f' is defined twice"},
      {"let f = { lambda ; a:f32[]. let b:f32[] = jit[name=f jaxpr=f] a in (b,) } in { lambda ; . let  in () }",
       "the definition of 'f' contains itself"},
      {"let f = { lambda ; . let  in (x,) } in { lambda ; . let  in () }", "the variable 'x' is not bound"},
      {"let f = { lambda ; . let in { lambda ; . let  in () }", "the brace is not closed"},
  };
  for (const auto& [text, want] : cases) {
    CAPTURE(text);
    const std::string message = refusal(text);
    CHECK(has(message, {want, "parse: line ", "parse.cpp:"}));
  }
  std::string deep = "{ lambda ; a:f32[]. let  in (a,) }";
  for (int i = 0; i < 1000; ++i) deep = "{ lambda ; a:f32[]. let b:f32[] = jit[name=f jaxpr=" + deep + "] a in (b,) }";
  CHECK(has(refusal(deep), "nested too deeply"));
}

TEST_CASE("white space, semicolons and trailing commas are free") {
  const Jaxpr want = parse("{ lambda ; a:f32[3]. let b:f32[3] = sin a; c:f32[] = reduce_sum[axes=(0,)] b in (b, c) }");
  for (const char* text : {
           "{ lambda ; a:f32[3]. let b:f32[3] = sin a c:f32[] = reduce_sum[axes=(0,)] b in (b, c,) }",
           "{lambda;a:f32[3].let b:f32[3]=sin a;;c:f32[]=reduce_sum[axes=(0)]b;in(b,c)}",
           "{ lambda ;\n a:f32[ 3 ] .\nlet\nb:f32[3]\n=\n  sin\n  a\nc:f32[] = reduce_sum [ axes=[0], out_sharding=None ]\n  b\nin ( b , c "
           ") }\n\n",
       })
    CHECK(parse(text) == want);
}

TEST_CASE("what JAX writes and weft has no need of is passed over") {
  CHECK(parse(one("exp[accuracy=None] a")) == parse(one("exp a")));
  CHECK(parse(one("reduce_sum[axes=(np.int64(0),) out_sharding=NamedSharding(mesh=AbstractMesh('i': 8, axis_types=(Manual,)), spec=P())] a",
                  "f32[]")) == parse(one("reduce_sum[axes=(0,)] a", "f32[]")));
  CHECK(parse("{ lambda ; a:f32[3]{V:i} b:i32<host>[]. let c:f32[3]{V:(i,j)} = sin a in (c,) }") ==
        parse("{ lambda ; a:f32[3] b:i32[]. let c:f32[3] = sin a in (c,) }"));
  CHECK(parse(one("reshard a")).eqns().empty());
  CHECK(has(refusal(one("reshard a", "f32[4]")), "the operand gives f32[3]"));
  CHECK(has(refusal(one("psum[axes=('i',) axis_index_groups=((0, 1),) flavour=1] a")), "has no parameter 'flavour'"));
}

TEST_CASE("a variable may be called in, and _ can be used where there is only one") {
  const Jaxpr want = parse("{ lambda ; a:f32[3]. let b:f32[3] = sin a; c:f32[3] = add b 1.0:f32[] in (b, c) }");
  CHECK(parse("{ lambda ; a:f32[3]. let in:f32[3] = sin a; c:f32[3] = add in 1.0:f32[] in (in, c) }") == want);
  CHECK(parse("{ lambda ; a:f32[3]. let\n    in:f32[3] = sin a\n    c:f32[3] = add in\n      1.0:f32[]\n  in (in, c) }") == want);
  CHECK(parse("{ lambda ; a:f32[3]. let _:f32[3] = sin a; c:f32[3] = add _ 1.0:f32[] in (_, c) }") == want);
  CHECK(has(refusal("{ lambda ; a:f32[3]. let _:f32[3] = sin a; _:f32[3] = cos a; c:f32[3] = add _ _ in (c,) }"),
            "there are 2 variables '_'"));
}

TEST_CASE("definitions stand in any order, and what is shared stays shared") {
  const Jaxpr j = parse(
      "let outer = { lambda ; a:f32[]. let b:f32[] = jit[name=inner jaxpr=inner] a in (b,) } in\n"
      "let inner = { lambda ; a:f32[]. let b:f32[] = sin a in (b,) } in\n"
      "{ lambda ; a:f32[]. let b:f32[] = jit[name=outer jaxpr=outer] a; c:f32[] = jit[name=inner jaxpr=inner] b in (c,) }");
  CHECK(j.to_string() ==
        "let inner = { lambda ; a:f32[]. let b:f32[] = sin a in (b,) } in\n"
        "{ lambda ; c:f32[]. let\n"
        "    d:f32[] = jit[\n"
        "      name=outer\n"
        "      jaxpr={ lambda ; c:f32[]. let\n"
        "          d:f32[] = jit[name=inner jaxpr=inner] c\n"
        "        in (d,) }\n"
        "    ] c\n"
        "    e:f32[] = jit[name=inner jaxpr=inner] d\n"
        "  in (e,) }");
}

TEST_CASE("an equation's line is the text's") {
  const Jaxpr j = parse("{ lambda ; a:f32[3]. let\n    b:f32[3] = sin a\n    c:f32[3] = cos b\n  in (c,) }");
  CHECK(j.eqns()[1].where().line() == 3);
  CHECK(std::string(j.eqns()[1].where().file()) == "<jaxpr>");
}

TEST_CASE("constants have no values in a text, but can be given") {
  const char* text = "{ lambda a:f32[2] b:i32[]; c:f32[2]. let d:f32[2] = add a c in (d, b) }";
  CHECK(parse(text).data().consts.size() == 2);
  const Array values[] = {array({1.f, 2.f}), array({3})};
  const Array scalar[] = {values[0], Array(3)};
  CHECK(parse_program(text, scalar, "x", {}).data().consts[0].to_vector<float>() == std::vector<float>{1, 2});
  CHECK_THROWS_WITH_AS(parse_program(text, values, "x", {}), doctest::Contains("the constant b is i32[], its value is i32[1]"), Error);
  CHECK_THROWS_WITH_AS(parse_program(text, std::span(scalar, 1), "x", {}), doctest::Contains("a value for each of the constants, not 1"),
                       Error);
  CHECK_THROWS_WITH_AS(parse_program("{ lambda ; . let  in () }", scalar, "x", {}),
                       doctest::Contains("has 0 constants, the values given for them are 2"), Error);
}

TEST_CASE("no number of operands crashes a primitive") {
  const Aval kinds[] = {{{}, float32}, {Shape{3}, float32}, {Shape{2, 3}, float32}, {Shape{3}, int32}, {{}, int32}, {Shape{2, 2}, bool_}};
  for (const Primitive* op : all_primitives()) {
    CAPTURE(op->name);
    const ParamsRef params = op->params_read([](std::string_view, void*) -> ParamReader* { return nullptr; }, nullptr);
    for (int n = 0; n <= 3; ++n)
      for (int c = 0; c < std::pow(std::size(kinds), n); ++c) {
        std::vector<Aval> in;
        for (int k = 0, rest = c; k < n; ++k, rest /= static_cast<int>(std::size(kinds)))
          in.push_back(kinds[static_cast<std::size_t>(rest) % std::size(kinds)]);
        try {
          (void)infer(*op, *params, in, {});
        } catch (const Error&) {
        }
      }
  }
}

TEST_CASE("a damaged text is an Error, or still a program") {
  const std::string text =
      "let f = { lambda ; a:f32[4]. let b:f32[4] = sin a in (b,) } in\n"
      "{ lambda c:f32[4]; d:f32[4] e:i32[]. let\n"
      "    g:f32[4] = cond[\n"
      "      branches=(\n"
      "        f\n"
      "        { lambda ; h:f32[4]. let i:f32[4] = mul h -1e-05:f32[] in (i,) }\n"
      "      )\n"
      "    ] e d\n"
      "    j:f32[] = reduce_sum[axes=(0,) out_sharding=None] g\n"
      "    k:f32[2,2] = reshape[dimensions=None new_sizes=(2, 2) sharding=None] c\n"
      "    _:c64[] = mul (1+2j):c64[] 3j:c64[]\n"
      "  in (j, k, nan:f32[]) }\n";
  (void)parse(text);
  const std::string pieces[] = {"{",   "}", "[",     "]", "(", ")", "in", "let", ":f32[]", "_", "a",
                                "nan", "-", "1e400", "'", "=", ".", ";",  "\n",  ",",      "<", ">"};
  std::mt19937 random(7);
  auto below = [&](std::size_t n) { return static_cast<std::size_t>(random()) % n; };
  int good = 0, bad = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string t = text;
    for (std::size_t edits = 1 + below(3); edits > 0; --edits) {
      const std::size_t at = below(t.size());
      switch (below(4)) {
        case 0: t.erase(at, 1 + below(4)); break;
        case 1: t.insert(at, pieces[below(std::size(pieces))]); break;
        case 2: t[at] = static_cast<char>(below(128)); break;
        default: t.insert(at, t.substr(below(t.size()), below(40)));
      }
    }
    try {
      const Jaxpr j = parse(t);
      j.check();
      CHECK(parse(j.to_string()) == j);
      ++good;
    } catch (const Error& e) {
      CHECK(has(std::string(e.what()), "column"));
      ++bad;
    }
  }
  CHECK(good > 50);
  CHECK(bad > 1000);
}

TEST_CASE("results called `_` of a jitted program are those of the types that its equation declares") {
  const Jaxpr j = parse(
      "{ lambda ; a:f32[2,3]. let _:f32[2] _:f32[3] b:f32[] = jit[name=f jaxpr={ lambda ; a:f32[2,3]. let _:f32[3] = reduce_sum[axes=(0,)] "
      "a; "
      "_:f32[2] = reduce_sum[axes=(1,)] a; b:f32[] = reduce_sum[axes=(0, 1)] a in (_, _, b) }] a in (b,) }");
  j.check();
  CHECK(j(ones({2, 3}))[0].item<float>() == 6);
}

TEST_CASE("the constants of the matrix exponential's program are known") {
  auto text = [](const std::string& name, const std::string& mark) {
    return "let " + name + " = { lambda c:f32[2]; a:f32[]. let b:f32[] = div a " + mark +
           ":f32[]; d:f32[2] = mul b c in (d,) } in { lambda ; a:f32[]. let b:f32[2] = jit[name=f jaxpr=" + name + "] a in (b,) }";
  };
  const Jaxpr j = parse(text("_calc_P_Q1", "3.925724744796753"));
  j.check();
  const std::vector<double> bounds = j(3.9257247f)[0].to_vector<double>();
  CHECK(bounds[0] == doctest::Approx(0.4258730016922831));
  CHECK(bounds[1] == doctest::Approx(1.880152677804762));
  CHECK(has(refusal(text("_calc_P_Q1", "3.5")), "has no constants"));
  CHECK(has(refusal(text("_calc", "3.925724744796753")), "has no constants"));
}

TEST_CASE("bitcast_convert_type between dtypes of different sizes is read and printed as it is") {
  for (const std::string text : {"{ lambda ; a:i64[4]. let\n    b:u32[4,2] = bitcast_convert_type[new_dtype=uint32] a\n  in (b,) }",
                                 "{ lambda ; a:u8[3,4]. let\n    b:f32[3] = bitcast_convert_type[new_dtype=float32] a\n  in (b,) }"}) {
    const Jaxpr j = parse(text);
    CHECK(j.to_string() == text);
    CHECK(parse(j.to_string()) == j);
  }
  const Jaxpr j = parse("{ lambda ; a:i64[2]. let b:u32[2,2] = bitcast_convert_type[new_dtype=uint32] a in (b,) }");
  CHECK(j(array({1LL << 32, -1LL}, int64))[0].to_vector<std::uint32_t>() == std::vector<std::uint32_t>{0, 1, ~0u, ~0u});
  CHECK_THROWS_AS(parse("{ lambda ; a:u8[3]. let b:f32[] = bitcast_convert_type[new_dtype=float32] a in (b,) }"), Error);
}
