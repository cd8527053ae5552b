// Operations on corresponding elements.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "weft/core/array/array_impl.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ir/named.h"
#include "weft/core/ops/elementwise/arithmetic.h"
#include "weft/core/ops/elementwise/bitcast.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/frontends/stablehlo/export/spelling.h"
#include "weft/frontends/stablehlo/import/functions.h"

namespace weft::detail::mlir {
namespace {

/// The pretty form, of operations whose operands and result have one type; else the generic one.
Name elementwise(ExportCall& c, std::string_view name, const Names& in) {
  const bool alike = std::all_of(in.begin(), in.end(), [&](const Name& x) { return x.aval.dtype == c.out[0].dtype; });
  if (!alike) return c.op(name, in);
  std::string operands;
  for (const Name& x : in) operands += (operands.empty() ? "" : ", ") + x.text;
  const bool chlo = name.substr(0, 5) == "chlo.";
  if (chlo && in.size() > 1) return c.op(name, in);
  // chlo writes the types of operands and results apart.
  const std::string types = (chlo ? type_text(in[0].aval) + " -> " : "") + type_text(c.out[0]);
  return c.block.line(fmt::format("{} {} : {}", name, operands, types), std::span(c.out.data(), 1))[0];
}

/// One operation of StableHLO or CHLO, without attributes.
template <Literal Text>
Names simple(ExportCall& c) {
  return {elementwise(c, Text, c.aligned())};
}

struct Simple {
  const char* primitive;
  StablehloTransform::Function* rule;
};
constexpr Simple kSimple[] = {
    {"acos", simple<"chlo.acos">},
    {"acosh", simple<"chlo.acosh">},
    {"add", simple<"stablehlo.add">},
    {"add_any", simple<"stablehlo.add">},
    {"and", simple<"stablehlo.and">},
    {"asin", simple<"chlo.asin">},
    {"asinh", simple<"chlo.asinh">},
    {"atan", simple<"chlo.atan">},
    {"atan2", simple<"stablehlo.atan2">},
    {"atanh", simple<"chlo.atanh">},
    {"cbrt", simple<"stablehlo.cbrt">},
    {"ceil", simple<"stablehlo.ceil">},
    {"clamp", simple<"stablehlo.clamp">},
    {"clz", simple<"stablehlo.count_leading_zeros">},
    {"complex", simple<"stablehlo.complex">},
    {"cos", simple<"stablehlo.cosine">},
    {"cosh", simple<"chlo.cosh">},
    {"digamma", simple<"chlo.digamma">},
    {"div", simple<"stablehlo.divide">},
    {"erf", simple<"chlo.erf">},
    {"erf_inv", simple<"chlo.erf_inv">},
    {"erfc", simple<"chlo.erfc">},
    {"exp", simple<"stablehlo.exponential">},
    {"expm1", simple<"stablehlo.exponential_minus_one">},
    {"floor", simple<"stablehlo.floor">},
    {"imag", simple<"stablehlo.imag">},
    {"is_finite", simple<"stablehlo.is_finite">},
    {"lgamma", simple<"chlo.lgamma">},
    {"log", simple<"stablehlo.log">},
    {"log1p", simple<"stablehlo.log_plus_one">},
    {"logistic", simple<"stablehlo.logistic">},
    {"max", simple<"stablehlo.maximum">},
    {"min", simple<"stablehlo.minimum">},
    {"mul", simple<"stablehlo.multiply">},
    {"neg", simple<"stablehlo.negate">},
    {"nextafter", simple<"chlo.next_after">},
    {"not", simple<"stablehlo.not">},
    {"or", simple<"stablehlo.or">},
    {"polygamma", simple<"chlo.polygamma">},
    {"population_count", simple<"stablehlo.popcnt">},
    {"real", simple<"stablehlo.real">},
    {"rem", simple<"stablehlo.remainder">},
    {"rsqrt", simple<"stablehlo.rsqrt">},
    {"shift_left", simple<"stablehlo.shift_left">},
    {"shift_right_arithmetic", simple<"stablehlo.shift_right_arithmetic">},
    {"shift_right_logical", simple<"stablehlo.shift_right_logical">},
    {"sin", simple<"stablehlo.sine">},
    {"sinh", simple<"chlo.sinh">},
    {"sqrt", simple<"stablehlo.sqrt">},
    {"sub", simple<"stablehlo.subtract">},
    {"tan", simple<"stablehlo.tan">},
    {"tanh", simple<"stablehlo.tanh">},
    {"xor", simple<"stablehlo.xor">},
};
[[maybe_unused]] const bool simple_spelled = [] {
  for (const Simple& s : kSimple) Spelling(s.primitive, s.rule);
  return true;
}();

// Values as they are.
Names as_it_is(ExportCall& c) { return c.in; }
const Spelling copy_spelling("copy", as_it_is), name_spelling("name", as_it_is), stop_gradient_spelling("stop_gradient", as_it_is);

// Comparisons. The dtype says how bits are compared.

Name compare(ExportCall& c, std::string_view direction, bool total_order) {
  const Names in = c.aligned();
  return compared(c, direction, in[0], in[1], total_order);
}
template <Literal Direction, bool TotalOrder = false>
Names comparison(ExportCall& c) {
  return {compare(c, Direction, TotalOrder)};
}
const Spelling eq_spelling("eq", comparison<"EQ">), ne_spelling("ne", comparison<"NE">), lt_spelling("lt", comparison<"LT">),
    le_spelling("le", comparison<"LE">), gt_spelling("gt", comparison<"GT">), ge_spelling("ge", comparison<"GE">),
    lt_to_spelling("lt_to", comparison<"LT", true>), le_to_spelling("le_to", comparison<"LE", true>);

// Conversions.

/// To bool it is x != 0; of a complex number that becomes a real one, the real part.
const Spelling convert_spelling("convert_element_type", [](ExportCall& c) -> Names {
  const Name& x = c.in[0];
  const Aval& to = c.out[0];
  if (x.aval.dtype == to.dtype) return {x};
  if (to.dtype.is_bool()) return {compared(c, "NE", x, c.block.broadcast(c.block.number(x.aval.dtype, Number(0)), x.aval.shape), false)};
  if (x.aval.dtype.is_complex() && !to.dtype.is_complex()) {
    const Name part = c.op_of("stablehlo.real", {x}, "", {x.aval.shape, x.aval.dtype.real_part()});
    return {converted(c, part, to.dtype)};
  }
  return {converted(c, x, to.dtype)};
});

/// A key and the ui64 that it is written as have the same bits.
Names bitcast(ExportCall& c) {
  if (type_text(c.in[0].aval) == type_text(c.out[0])) return c.in;
  return {c.op("stablehlo.bitcast_convert", c.in)};
}
const Spelling bitcast_spelling("bitcast_convert_type", bitcast), bitcast_parts_spelling("bitcast_convert_parts", bitcast);

const Spelling reduce_precision_spelling("reduce_precision", [](ExportCall& c) -> Names {
  std::string text;
  for (const ParamText& p : c.eqn.op->params_list(*c.eqn.params))
    text += fmt::format("{}{} = {} : i32", text.empty() ? "" : ", ", p.name, p.text);
  return {c.op("stablehlo.reduce_precision", c.in, text)};
});

// Operations that StableHLO has for some dtypes only, or not at all: in others.

const Spelling abs_spelling("abs", [](ExportCall& c) -> Names {
  if (c.out[0].dtype.is_unsigned()) return c.in;
  return {elementwise(c, "stablehlo.abs", c.in)};
});
const Spelling sign_spelling("sign", [](ExportCall& c) -> Names {
  if (!c.out[0].dtype.is_unsigned()) return {elementwise(c, "stablehlo.sign", c.in)};
  return {c.expand_one(c.in, [](auto x) { return convert(x[0] != scalar(x[0], 0), x[0].dtype()); })};
});
const Spelling square_spelling("square", [](ExportCall& c) -> Names {
  if (c.out[0].dtype.is_complex()) return {elementwise(c, "chlo.square", c.in)};
  return {elementwise(c, "stablehlo.multiply", {c.in[0], c.in[0]})};
});
const Spelling conj_spelling("conj", [](ExportCall& c) -> Names {
  return {c.expand_one(c.in, [](auto x) {
    return x[0].dtype().is_complex() ? complex(real(x[0]), -imag(x[0])) : complex(x[0], fill_shape(scalar(x[0], -0.0), x[0].shape(), {}));
  })};
});
const Spelling exp2_spelling("exp2", [](ExportCall& c) -> Names {
  const DType t = c.out[0].dtype;
  if (t.is_complex()) return {c.expand_one(c.in, [](auto x) { return exp(x[0] * scalar(x[0], std::log(2.))); })};
  return {c.op("stablehlo.power", {c.block.broadcast(c.block.number(t, Number(2.)), c.out[0].shape), c.in[0]})};
});
const Spelling pow_spelling("pow", [](ExportCall& c) -> Names {
  Names in = c.aligned();
  if (in[1].aval.dtype != c.out[0].dtype) in[1] = converted(c, in[1], c.out[0].dtype);
  return {c.op("stablehlo.power", in)};
});
const Spelling round_spelling("round", [](ExportCall& c) -> Names {
  bool to_even = false;
  for (const ParamText& p : c.eqn.op->params_list(*c.eqn.params)) to_even = to_even || p.text == "1";
  return {elementwise(c, to_even ? "stablehlo.round_nearest_even" : "stablehlo.round_nearest_afz", c.in)};
});

/// By squaring. Floats of 16 bits are multiplied in float32 and rounded once.
const Spelling integer_pow_spelling("integer_pow", [](ExportCall& c) -> Names {
  const std::vector<ParamText> params = c.eqn.op->params_list(*c.eqn.params);
  const std::int64_t y = std::stoll(find_named(params, "y")->text);
  return {c.expand_one(c.in, [&](auto in) {
    const DType given = in[0].dtype();
    Array x = given.is_floating() && given.itemsize() == 2 ? convert(in[0], float32) : in[0],
          power = fill_shape(scalar(x, 1), x.shape(), {});
    bool any = false;
    for (std::uint64_t n = y < 0 ? 0 - static_cast<std::uint64_t>(y) : static_cast<std::uint64_t>(y); n; n >>= 1) {
      if (n & 1) power = any ? power * x : x, any = true;
      if (n > 1) x = x * x;
    }
    if (y < 0) power = scalar(x, 1) / power;
    return convert(power, given);
  })};
});

/// Rounded once where a wider type holds the product: of float64 there is none.
const Spelling mul_add_spelling("mul_add", [](ExportCall& c) -> Names {
  return {c.expand_one(c.aligned(), [](auto x) {
    const DType t = x[0].dtype(), wide = t.itemsize() == 2 ? float32 : float64;
    return convert(convert(x[0], wide) * convert(x[1], wide) + convert(x[2], wide), t);
  })};
});

/// With more than two cases, the nearest to an index that is out of range.
const Spelling select_spelling("select_n", [](ExportCall& c) -> Names {
  const Names in = c.aligned();
  auto select = [&](const Name& which, const Name& if_true, const Name& if_false) {
    return c.block.line(fmt::format("stablehlo.select {}, {}, {} : {}, {}", which.text, if_true.text, if_false.text, type_text(which.aval),
                                    type_text(if_true.aval)),
                        c.out)[0];
  };
  if (in.size() == 2) return {in[1]};
  if (in[0].aval.dtype.is_bool()) return {select(in[0], in[2], in[1])};
  Name chosen = in[1];
  for (std::size_t k = 2; k < in.size(); ++k) {
    const Name k_th = c.block.broadcast(c.block.number(int32, Number(static_cast<long long>(k) - 1)), in[0].aval.shape);
    chosen = select(compared(c, "GE", in[0], k_th, false), in[k], chosen);
  }
  return {chosen};
});

const Spelling empty_spelling("empty2", [](ExportCall& c) -> Names { return {c.block.number(c.out[0].dtype, Number(0))}; });
/// Which branch it is follows from the parameters alone.
const Spelling platform_spelling("platform_index", [](ExportCall& c) -> Names {
  std::int32_t index = 0;
  const HostTensor out{c.out[0], &index};
  c.eqn.op->reference({*c.eqn.params, {}, std::span(&out, 1)});
  return {c.block.number(int32, Number(index))};
});

}  // namespace

Name compared(ExportCall& c, std::string_view direction, const Name& x, const Name& y, bool total_order) {
  const DType t = x.aval.dtype;
  const std::string_view as = t.is_bool() || t.is_unsigned() || t.is_key() ? "UNSIGNED"
                              : t.is_integer()                             ? "SIGNED"
                              : total_order && t.is_floating()             ? "TOTALORDER"
                                                                           : "FLOAT";
  const Aval out{x.aval.shape, bool_};
  return c.block.line(
      fmt::format("stablehlo.compare {}, {}, {}, {} : {}", direction, x.text, y.text, as, function_type({x, y}, std::span(&out, 1))),
      std::span(&out, 1))[0];
}

Name converted(ExportCall& c, const Name& x, DType to) {
  if (x.aval.dtype == to) return x;
  const Aval out{x.aval.shape, to};
  return c.block.line(fmt::format("stablehlo.convert {} : {}", x.text, function_type({x}, std::span(&out, 1))), std::span(&out, 1))[0];
}

}  // namespace weft::detail::mlir
