// Programs as text: they print as JAX prints them, and read back as themselves.
#include <doctest/doctest.h>
#include <fmt/core.h>
#include <weft/weft.h>

#include <cstring>
#include <limits>
#include <sstream>

#include "tests/messages.h"
#include "weft/core/array/array_impl.h"
#include "weft/core/ir/primitive.h"
#include "weft/core/ir/sub_programs.h"
#include "weft/core/text/text.h"

using namespace weft;
using test::has;
using namespace weft::detail;

namespace {

const std::vector<std::string_view> kTexts = {
    // Names run on to ba, bb, ...; results that nothing uses are called _.
    "{ lambda ; a:f32[3] b:f32[3]. let\n"
    "    c:f32[3] = sin a\n"
    "    d:f32[3] = mul c b\n"
    "    _:f32[3] = cos d\n"
    "    e:f32[3] = add d 2.0:f32[]\n"
    "  in (e,) }",
    // What fits stands on one line.
    "{ lambda ; a:f32[4]. let b:f32[4] = cos a in (b,) }",
    "{ lambda ; . let  in () }",
    "{ lambda ; a:i32[]. let  in (a, a) }",
    "{ lambda a:f32[2]; b:f32[2]. let c:f32[2] = add a b in (c,) }",
    "{ lambda ; a:f32[3]. let\n"
    "    b:f32[] = reduce_sum[axes=(0,) out_sharding=None] a\n"
    "  in (b,) }",
    // The result says its shape.
    "{ lambda ; a:f32[]. let b:f32[2,3] = broadcast_in_dim a in (b,) }",
    "{ lambda ; a:f32[3]. let\n"
    "    b:f32[2,3] = broadcast_in_dim[broadcast_dimensions=(1,)] a\n"
    "  in (b,) }",
    "{ lambda ; . let\n"
    "    a:i32[3] = iota[dimension=0 dtype=int32 shape=(3,) sharding=None] \n"
    "  in (a,) }",
    // Parameters that are too long stand on lines of their own.
    "{ lambda ; a:f32[4,3] b:f32[4]. let\n"
    "    c:f32[3] = dot_general[\n"
    "      dimension_numbers=(([0], [0]), ([], []))\n"
    "      preferred_element_type=float32\n"
    "    ] a b\n"
    "  in (c,) }",
    // A jitted function's variables are called as they are outside, and its programs are defined in front where they occur twice.
    "let silu = { lambda ; a:f32[11]. let\n"
    "    b:f32[11] = logistic a\n"
    "    c:f32[11] = mul a b\n"
    "  in (c,) } in\n"
    "{ lambda ; d:f32[11]. let\n"
    "    e:f32[11] = jit[name=silu jaxpr=silu] d\n"
    "    f:f32[11] = jit[name=silu jaxpr=silu] e\n"
    "    g:f32[11] = jit[\n"
    "      name=<lambda>\n"
    "      jaxpr={ lambda ; f:f32[11]. let g:f32[11] = exp f in (g,) }\n"
    "    ] f\n"
    "  in (g,) }",
    "{ lambda ; a:i32[] b:f32[4]. let\n"
    "    c:f32[4] = cond[\n"
    "      branches=(\n"
    "        { lambda ; d:f32[4]. let e:f32[4] = cos d in (e,) }\n"
    "        { lambda ; f:f32[4]. let g:f32[4] = mul f 3.0:f32[] in (g,) }\n"
    "      )\n"
    "    ] a b\n"
    "  in (c,) }",
    "{ lambda ; a:f32[5]. let\n"
    "    b:f32[] _:f32[5] = scan[\n"
    "      jaxpr={ lambda ; c:f32[] d:f32[]. let e:f32[] = add c d in (e, e) }\n"
    "      length=5\n"
    "      num_carry=1\n"
    "      num_consts=0\n"
    "      reverse=False\n"
    "      unroll=1\n"
    "    ] 0.0:f32[] a\n"
    "  in (b,) }",
};

detail::Literal literal_of(DType dtype, std::uint64_t low, std::uint64_t high = 0) {
  detail::Literal l{Aval{{}, dtype}, {}};
  std::memcpy(l.bits.data(), &low, 8);
  std::memcpy(l.bits.data() + 8, &high, 8);
  return l;
}
detail::Literal read_back(const std::string& text, DType dtype) {
  ParamReader r(text, 0, text.size());
  const detail::Literal l = read_literal(r, Aval{{}, dtype});
  CHECK(r.at_end());
  return l;
}
std::string complaint(const Jaxpr& j) {
  return test::message_of<Error>([&] { j.check(); });
}

}  // namespace

TEST_CASE("a program prints as JAX 0.10 prints it, and reads back as itself") {
  for (const std::string_view text : kTexts) {
    const Jaxpr j = parse(text);
    j.check();
    CHECK(j.to_string() == text);
    CHECK(parse(j.to_string()) == j);
    CHECK(structural_hash(parse(j.to_string())) == structural_hash(j));
    std::ostringstream os;
    os << j;
    CHECK(os.str() == text);
    CHECK(fmt::format("{}", j) == text);
  }
}

TEST_CASE("names go on after z, and no variable is called as a definition is") {
  std::string text = "{ lambda ; x0:f32[]. let";
  for (int i = 0; i < 800; ++i) text += " x" + std::to_string(i + 1) + ":f32[] = sin x" + std::to_string(i);
  const Jaxpr j = parse(text + " in (x800,) }");
  const std::string printed = j.to_string();
  CHECK(has(printed, "\n    z:f32[] = sin y\n    ba:f32[] = sin z\n"));
  CHECK(has(printed, "\n    in:f32[] = sin im\n    io:f32[] = sin in\n"));
  CHECK(has(printed, "\n    zz:f32[] = sin zy\n    baa:f32[] = sin zz\n"));
  CHECK(parse(printed) == j);

  const Jaxpr shared = parse(
      "let b = { lambda ; x:f32[]. let y:f32[] = sin x in (y,) } in { lambda ; x:f32[]. let y:f32[] = jit[name=b jaxpr=b] x z:f32[] = "
      "jit[name=b "
      "jaxpr=b] y in (z,) }");
  CHECK(shared.to_string() ==
        "let b = { lambda ; a:f32[]. let c:f32[] = sin a in (c,) } in\n"
        "{ lambda ; d:f32[]. let\n"
        "    e:f32[] = jit[name=b jaxpr=b] d\n"
        "    f:f32[] = jit[name=b jaxpr=b] e\n"
        "  in (f,) }");
}

TEST_CASE("a float prints as Python prints it") {
  const std::pair<double, const char*> cases[] = {
      {0, "0.0"},
      {-0., "-0.0"},
      {1, "1.0"},
      {0.1, "0.1"},
      {static_cast<double>(0.1f), "0.10000000149011612"},
      {1e-4, "0.0001"},
      {1e-5, "1e-05"},
      {1.5e-7, "1.5e-07"},
      {1e15, "1000000000000000.0"},
      {1e16, "1e+16"},
      {1e22, "1e+22"},
      {123456789012345680., "1.2345678901234568e+17"},
      {3.4028234663852886e+38, "3.4028234663852886e+38"},
      {5e-324, "5e-324"},
      {std::numeric_limits<double>::infinity(), "inf"},
  };
  for (const auto& [v, want] : cases) {
    CHECK(print_double(v) == want);
    const std::string text = want;
    CHECK(ParamReader(text, 0, text.size()).read_double() == v);
  }
}

TEST_CASE("a literal keeps all its bits in the text") {
  const std::tuple<DType, std::uint64_t, std::uint64_t, const char*> cases[] = {
      {bool_, 1, 0, "True"},
      {bool_, 0, 0, "False"},
      {int8, 0x80, 0, "-128"},
      {uint8, 0xff, 0, "255"},
      {int64, 0x8000000000000000, 0, "-9223372036854775808"},
      {uint64, 0xffffffffffffffff, 0, "18446744073709551615"},
      {float32, 0x3f800000, 0, "1.0"},
      {float32, 0x80000000, 0, "-0.0"},
      {float32, 1, 0, "1.401298464324817e-45"},
      {float32, 0x7f7fffff, 0, "3.4028234663852886e+38"},
      {float32, 0xff800000, 0, "-inf"},
      {float32, 0x7fc00000, 0, "nan"},
      {float32, 0xffc00000, 0, "-nan"},
      {float32, 0x7f800001, 0, "nan(0x7f800001)"},
      {float16, 0x3c00, 0, "1.0"},
      {float16, 0x7e00, 0, "nan"},
      {bfloat16, 0x3dcd, 0, "0.10009765625"},
      {bfloat16, 0x7fc0, 0, "nan"},
      {float64, 0x3fb999999999999a, 0, "0.1"},
      {float64, 0xfff8000000000001, 0, "-nan(0x7ff8000000000001)"},
      {complex64, 0x3f800000'00000000, 0, "1j"},
      {complex64, 0x3fc00000'3f800000, 0, "(1+1.5j)"},
      {complex64, 0xbf800000'80000000, 0, "(-0-1j)"},
      {complex64, 0x7f800000'7fc00000, 0, "(nan+infj)"},
      {complex64, 0x7f800001'40000000, 0, "(2+nan(0x7f800001)j)"},
      {complex128, 0x4000000000000000, 0x7ff8000000000000, "(2+nanj)"},
      {complex128, 0, 0x3ee4f8b588e368f1, "1e-05j"},
  };
  for (const auto& [dtype, low, high, text] : cases) {
    CAPTURE(text);
    const detail::Literal l = literal_of(dtype, low, high);
    CHECK(print_literal(l) == text);
    CHECK(read_back(text, dtype) == l);
  }
  for (std::uint64_t bits = 0; bits < 65536; bits += 7)
    for (const DType dtype : {float16, bfloat16})
      CHECK(read_back(print_literal(literal_of(dtype, bits)), dtype) == literal_of(dtype, bits));
}

TEST_CASE("programs are equal if they do the same") {
  auto program = [](const std::string& body) { return parse("{ lambda ; a:f32[3]. let b:f32[3] = " + body + " in (b,) }"); };
  const Jaxpr j = program("add a 0.0:f32[]");
  CHECK(j == program("add a 0.0:f32[]"));
  for (const char* other :
       {"add a -0.0:f32[]", "add 0.0:f32[] a", "add a a", "sub a 0.0:f32[]", "integer_pow[y=2] a", "integer_pow[y=3] a"}) {
    CAPTURE(other);
    CHECK_FALSE(j == program(other));
    CHECK(structural_hash(j) != structural_hash(program(other)));
  }
  CHECK(program("add a nan:f32[]") == program("add a nan:f32[]"));
  CHECK_FALSE(program("add a nan:f32[]") == program("add a -nan:f32[]"));
}

TEST_CASE("the checker shows the equation that is wrong, its line, and those around it") {
  const Aval three{Shape{3}, float32}, four{Shape{4}, float32};
  const Primitive& sine = *find_primitive("sin");
  const ParamsRef none = make_params(NoParams{});
  JaxprBuilder b;
  Atom x = b.add_input(three);
  for (int i = 0; i < 20; ++i)
    x = b.add_eqn(sine, none, {x}, std::span(i == 12 ? &four : &three, 1), SourceLoc::at("model.cpp", 100 + i))[0];
  const std::string message = complaint(std::move(b).finish({x}));
  CHECK(has(message, "the results are declared as f32[4], but sin gives f32[3]"));
  CHECK(has(message, "in equation 12: n:f32[4] = sin m"));
  CHECK(has(message, "at model.cpp:112"));
  CHECK(has(message, "\n    ...\n    i:f32[3] = sin h\n"));
  CHECK(has(message, "\n>   n:f32[4] = sin m\n"));
  CHECK(has(message, "\n    s:f32[3] = sin r\n    ...\n"));
  CHECK(message.find("h:f32[3] = ") == std::string::npos);
}

TEST_CASE("of a literal made of bytes, those behind its element don't count") {
  const auto program = [](std::byte behind) {
    ScalarBits bits;
    bits.fill(behind);
    const float nan = std::numeric_limits<float>::quiet_NaN();
    std::memcpy(bits.data(), &nan, sizeof nan);
    return make_jaxpr([&](Array x) { return x + Array(make_literal(Aval{{}, float32}, bits)); })(ones({3}));
  };
  const Jaxpr a = program(std::byte{0}), b = program(std::byte{0xa5});
  CHECK(a == b);
  CHECK(structural_hash(a) == structural_hash(b));
}

TEST_CASE("a program from a text that has constants says that they have no values") {
  const Jaxpr program = parse("{ lambda a:f32[2]; b:f32[2]. let c:f32[2] = mul a b in (c,) }");
  for (const std::string& message :
       {test::message_of<Error>([&] { program(ones(2)); }), test::message_of<Error>([&] { jit(program)(ones(2)); }),
        test::message_of<Error>([&] { grad([&](Array x) { return sum(program(x)[0]); })(ones(2)); })})
    CHECK(has(message, "jaxpr: the program's constant 0, f32[2], has no value, as a text gives none; load_jaxpr(path, constants)"));
}

TEST_CASE("the checker refuses sub-programs with constants, and what is wrong in them") {
  const Aval three{Shape{3}, float32};
  JaxprBuilder inner;
  const Atom c = inner.add_const(ones({3}));
  const Jaxpr with_constant = std::move(inner).finish({c});
  const Jaxpr outer = parse(
      "{ lambda ; . let a:f32[3] = jit[name=f jaxpr={ lambda ; . let a:f32[3] = iota[dimension=0 dtype=float32 shape=(3,)] in (a,) }] in "
      "(a,) }");
  const Eqn& e = outer.eqns()[0];
  outer.check();
  auto replaced = [&](const Jaxpr& body) {
    const ParamsRef params = map_programs(e, [&](const Jaxpr&) { return body; });
    JaxprBuilder b;
    const std::vector<Atom> out = b.add_eqn(*e.op, params, {}, std::span(&three, 1), {});
    return std::move(b).finish(out);
  };
  CHECK(has(complaint(replaced(with_constant)), "has constants"));
  JaxprBuilder wrong;
  const Atom y =
      wrong.add_eqn(*find_primitive("add"), make_params(NoParams{}),
                    {wrong.add_literal(literal_of(float32, 0)), wrong.add_literal(literal_of(float32, 0))}, std::span(&three, 1), {})[0];
  CHECK(has(complaint(replaced(std::move(wrong).finish({y}))), "add gives f32[]"));
}
