// Operations on corresponding elements, of the stablehlo dialect and those of chlo that weft has.
#include <array>
#include <complex>
#include <limits>

#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/elementwise/bitcast.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/reduce/reduce.h"
#include "weft/frontends/stablehlo/import/functions.h"
#include "weft/frontends/stablehlo/import/importer.h"

namespace weft::detail::mlir {

Array bind_named(std::string_view primitive, std::initializer_list<Array> operands, SourceLoc loc) {
  const Primitive* op = find_primitive(primitive);
  if (!op) throw Error("there is no primitive " + std::string(primitive), loc);
  return bind_primitive(*op, make_params(NoParams()), std::span(operands.begin(), operands.size()), loc)[0];
}

Array scalar(const Array& like, double value) { return make_literal(Number(value), like.dtype()); }

Array total_order_key(const Array& x, SourceLoc loc) {
  const int bytes = x.dtype().itemsize();
  const DType as = bytes == 2 ? int16 : bytes == 4 ? int32 : int64;
  const Array bits = bitcast_elements(x, as, loc);
  // Below 0 the magnitudes count backwards.
  const Array sign = bind_named("shift_right_arithmetic", {bits, make_literal(Number(8 * bytes - 1), as)}, loc);
  return bind_named("xor", {bits, bind_named("shift_right_logical", {sign, make_literal(Number(1), as)}, loc)}, loc);
}

Array compare_arrays(const std::string& direction, bool total_order, const Array& x, const Array& y, SourceLoc loc) {
  const auto* const named = [&]() -> const char* {
    constexpr std::array<std::pair<std::string_view, const char*>, 6> kNames{
        {{"EQ", "eq"}, {"NE", "ne"}, {"LT", "lt"}, {"LE", "le"}, {"GT", "gt"}, {"GE", "ge"}}};
    for (const auto& [from, to] : kNames)
      if (from == direction) return to;
    return nullptr;
  }();
  if (!named) throw Error("unknown comparison " + direction, loc);
  if (total_order && x.dtype().is_floating()) {
    if (direction == "LT" || direction == "GT") return bind_named("lt_to", {direction == "LT" ? x : y, direction == "LT" ? y : x}, loc);
    if (direction == "LE" || direction == "GE") return bind_named("le_to", {direction == "LE" ? x : y, direction == "LE" ? y : x}, loc);
    return bind_named(named, {total_order_key(x, loc), total_order_key(y, loc)}, loc);
  }
  if (!x.dtype().is_complex() || direction == "EQ" || direction == "NE") return bind_named(named, {x, y}, loc);
  // By real, then by imaginary parts.
  const Array a = real(x), b = real(y);
  const std::string strict = direction[0] == 'L' ? "lt" : "gt";
  return bind_named("or",
                    {bind_named(strict, {a, b}, loc),
                     bind_named("and", {bind_named("eq", {a, b}, loc), bind_named(named, {imag(x), imag(y)}, loc)}, loc)},
                    loc);
}

namespace {

/// Operations that are a primitive of weft's, without parameters; of bools, sums are disjunctions and products conjunctions.
struct Simple {
  const char *name, *primitive, *of_bools;
  Kinds kinds;
  Elements elements = Elements::computed;
};
constexpr Simple kSimple[] = {
    {"chlo.acos", "acos", nullptr, Kinds::inexact},
    {"chlo.acosh", "acosh", nullptr, Kinds::inexact},
    {"chlo.asin", "asin", nullptr, Kinds::inexact},
    {"chlo.asinh", "asinh", nullptr, Kinds::inexact},
    {"chlo.atan", "atan", nullptr, Kinds::inexact},
    {"chlo.atanh", "atanh", nullptr, Kinds::inexact},
    {"chlo.cosh", "cosh", nullptr, Kinds::inexact},
    {"chlo.digamma", "digamma", nullptr, Kinds::floats},
    {"chlo.erf", "erf", nullptr, Kinds::floats},
    {"chlo.erf_inv", "erf_inv", nullptr, Kinds::floats},
    {"chlo.erfc", "erfc", nullptr, Kinds::floats},
    {"chlo.lgamma", "lgamma", nullptr, Kinds::floats},
    {"chlo.polygamma", "polygamma", nullptr, Kinds::floats},
    {"chlo.sinh", "sinh", nullptr, Kinds::inexact},
    {"chlo.square", "square", nullptr, Kinds::inexact},
    {"chlo.tan", "tan", nullptr, Kinds::inexact},
    {"stablehlo.abs", "abs", nullptr, Kinds::signed_numbers},
    {"stablehlo.add", "add", "or", Kinds::any},
    {"stablehlo.and", "and", nullptr, Kinds::bits},
    {"stablehlo.ceil", "ceil", nullptr, Kinds::floats},
    {"stablehlo.complex", "complex", nullptr, Kinds::floats},
    {"stablehlo.cosine", "cos", nullptr, Kinds::inexact},
    {"stablehlo.divide", "div", nullptr, Kinds::numbers},
    {"stablehlo.exponential", "exp", nullptr, Kinds::inexact},
    {"stablehlo.exponential_minus_one", "expm1", nullptr, Kinds::inexact},
    {"stablehlo.floor", "floor", nullptr, Kinds::floats},
    {"stablehlo.is_finite", "is_finite", nullptr, Kinds::floats},
    {"stablehlo.log", "log", nullptr, Kinds::inexact},
    {"stablehlo.log_plus_one", "log1p", nullptr, Kinds::inexact},
    {"stablehlo.logistic", "logistic", nullptr, Kinds::inexact},
    {"stablehlo.maximum", "max", "or", Kinds::any, Elements::moved},
    {"stablehlo.minimum", "min", "and", Kinds::any, Elements::moved},
    {"stablehlo.multiply", "mul", "and", Kinds::any},
    {"stablehlo.negate", "neg", nullptr, Kinds::numbers},
    {"stablehlo.not", "not", nullptr, Kinds::bits},
    {"stablehlo.or", "or", nullptr, Kinds::bits},
    {"stablehlo.remainder", "rem", nullptr, Kinds::numbers},
    {"stablehlo.rsqrt", "rsqrt", nullptr, Kinds::inexact},
    {"stablehlo.shift_left", "shift_left", nullptr, Kinds::integers},
    {"stablehlo.sign", "sign", nullptr, Kinds::signed_numbers},
    {"stablehlo.sine", "sin", nullptr, Kinds::inexact},
    {"stablehlo.sqrt", "sqrt", nullptr, Kinds::inexact},
    {"stablehlo.subtract", "sub", nullptr, Kinds::numbers},
    {"stablehlo.tan", "tan", nullptr, Kinds::inexact},
    {"stablehlo.tanh", "tanh", nullptr, Kinds::inexact},
    {"stablehlo.xor", "xor", nullptr, Kinds::bits},
};

Values import_simple(OpCall& c) {
  for (const Simple& s : kSimple) {
    if (c.op.name != s.name) continue;
    const Arrays in = c.ins();
    const bool bools = s.of_bools && !in.empty() && in[0].dtype().is_bool();
    const Primitive* const op = find_primitive(bools ? s.of_bools : s.primitive);
    if (!op) c.fail("weft has no such primitive");
    const Arrays out = bind_primitive(*op, make_params(NoParams()), in, c.loc);
    return {out.begin(), out.end()};
  }
  c.fail("is not an elementwise operation");
}
const bool simple_imported = [] {
  for (const Simple& s : kSimple) Import(s.name, s.kinds, import_simple, s.elements);
  return true;
}();

const Import compare_import("stablehlo.compare", [](OpCall& c) -> Values {
  return {compare_arrays(c.word("comparison_direction", 0, ""), c.word("compare_type", 1, "") == "TOTALORDER", c.in(0), c.in(1), c.loc)};
});

const Import clamp_import(
    "stablehlo.clamp",
    [](OpCall& c) -> Values {
      const Array &least = c.in(0), &x = c.in(1), &most = c.in(2);
      if (!x.dtype().is_bool() && !x.dtype().is_complex()) return {bind_named("clamp", {least, x, most}, c.loc)};
      // Bools have an order, and complex numbers that of their parts.
      const auto bound = [&](const Array& b) { return b.ndim() == 0 ? fill_shape(b, x.shape(), c.loc) : b; };
      const bool bools = x.dtype().is_bool();
      const Array above = bind_named(bools ? "or" : "max", {bound(least), x}, c.loc);
      return {bind_named(bools ? "and" : "min", {above, bound(most)}, c.loc)};
    },
    Elements::moved);

const Import select_import(
    "stablehlo.select", [](OpCall& c) -> Values { return {bind_named("select_n", {c.in(0), c.in(2), c.in(1)}, c.loc)}; }, Elements::moved);

// A complex number is converted to a real one, or a bool, by its real part. A float beyond the range of an integer becomes the nearest.
const Import convert_import("stablehlo.convert", [](OpCall& c) -> Values {
  const DType to = c.result_dtype();
  Array x = c.in(0);
  if (x.dtype() == to) return {x};
  if (x.dtype().is_complex() && !to.is_complex()) x = real(Arg(x, c.loc));
  const NarrowFormat* narrow = c.op.result_types[0].narrow;
  if (narrow && to.is_integer() && x.dtype().is_floating()) {
    const auto [least, largest] = range_of(*narrow);
    x = clamp(Arg(scalar(x, least), c.loc), x, scalar(x, largest));
  }
  return {convert(Arg(x, c.loc), to)};
});

const Import atan2_import("stablehlo.atan2", Kinds::inexact, [](OpCall& c) -> Values {
  const Array &y = c.in(0), &x = c.in(1);
  if (!x.dtype().is_complex()) return {bind_named("atan2", {y, x}, c.loc)};
  // The angle of x + i y, by its logarithm.
  const Array i = make_literal(Number(std::complex<double>(0, 1)), x.dtype());
  return {-i * log((x + i * y) / sqrt(x * x + y * y))};
});

const Import cbrt_import("stablehlo.cbrt", Kinds::inexact, [](OpCall& c) -> Values {
  const Array& x = c.in(0);
  return {x.dtype().is_complex() ? bind_named("pow", {x, scalar(x, 1.0 / 3)}, c.loc) : bind_named("cbrt", {x}, c.loc)};
});

/// The bits of elements of one dtype, as those of another, whose last dimension may be split or joined.
Array bitcast_between(const OpCall& c, const Array& x, DType to, const Shape& result) {
  const SourceLoc loc = c.loc;
  if (x.dtype() == to) return x;
  if (x.dtype().is_bool()) {  // the first is the lowest bit
    const DType bits = to.itemsize() == 1 ? uint8 : to.itemsize() == 2 ? uint16 : to.itemsize() == 4 ? uint32 : uint64;
    if (to.is_complex() || x.ndim() == 0 || x.shape().back() != 8 * to.itemsize()) c.fail("the bools do not make up whole elements");
    const int last = x.ndim() - 1;
    const Array set = convert(Arg(x, loc), bits) << iota_array(bits, x.shape(), last, loc);
    return bitcast_between(c, reduce_or(set, {last}, loc), to, result);
  }
  if (to.is_bool()) {
    if (x.dtype().is_complex()) c.fail("complex numbers cannot be bitcast to bools");
    const DType bits = x.dtype().itemsize() == 1 ? uint8 : x.dtype().itemsize() == 2 ? uint16 : x.dtype().itemsize() == 4 ? uint32 : uint64;
    const Array whole = insert_axes(bitcast_between(c, x, bits, x.shape()), {x.ndim()}, loc);
    const Shape shape = x.shape().inserted(x.ndim(), 8 * bits.itemsize());
    return (shift_right_logical(broadcast_trailing(whole, shape, loc), iota_array(bits, shape, x.ndim(), loc)) &
            make_literal(Number(1), bits)) != 0;
  }
  // Complex numbers are pairs in a last dimension.
  Array parts = x;
  if (x.dtype().is_complex()) {
    const Array pair[] = {real(Arg(x, loc)), imag(Arg(x, loc))};
    parts = stack_along(pair, x.ndim(), loc);
  }
  const DType part = to.real_part();
  Shape shape = result;
  if (to.is_complex()) shape.push_back(2);
  if (part.itemsize() > parts.dtype().itemsize()) shape.push_back(part.itemsize() / parts.dtype().itemsize());
  if (part.itemsize() >= parts.dtype().itemsize()) parts = reshape_to(parts, shape, loc);
  if (part != parts.dtype()) parts = bitcast_convert(Arg(parts, loc), part);
  if (!to.is_complex()) return reshape_to(parts, result, loc);
  parts = reshape_to(parts, result.inserted(result.size(), 2), loc);
  const std::vector<Array> pair = unstack_along(parts, result.size(), loc);
  return complex(Arg(pair[0], loc), Arg(pair[1], loc));
}
/// Elements of so many bits, uint8, of which `count` in a last dimension make up one, the first one its lowest bits.
Array joined_fields(const OpCall& c, const Array& x, int bits, int count) {
  const int last = x.ndim() - 1;
  if (last < 0 || x.shape().back() % count != 0) c.fail("its operand's last dimension does not hold whole elements");
  Shape shape = x.shape();
  shape[-1] /= count;
  shape.push_back(count);
  const Array at = iota_array(uint8, shape, last + 1, c.loc) * make_literal(Number(bits), uint8);
  return reduce_or(reshape_to(x, shape, c.loc) << at, {last + 1}, c.loc);
}
/// The reverse: a new last dimension.
Array split_fields(const OpCall& c, const Array& x, int bits, int count) {
  const Shape shape = x.shape().inserted(x.ndim(), count);
  const Array at = iota_array(uint8, shape, x.ndim(), c.loc) * make_literal(Number(bits), uint8);
  const Array whole = broadcast_trailing(insert_axes(x, {x.ndim()}, c.loc), shape, c.loc);
  return shift_right_logical(whole, at) & make_literal(Number((1 << bits) - 1), uint8);
}
// Elements of 8 bits and fewer that are kept as wider ones: their bits, and back. Those of fewer than 8 lie side by side in a byte.
const Import bitcast_import("stablehlo.bitcast_convert", [](OpCall& c) -> Values {
  const NarrowFormat *from = c.value(0).narrow, *to = c.op.result_types[0].narrow;
  const Shape shape = c.result_shape(c.in(0));
  const int from_size = from ? from->bits : 8, to_size = to ? to->bits : 8;
  Array x = from ? to_bits(*from, c.in(0)) : c.in(0);
  if (from_size < 8 && (from_size < to_size || !to)) x = joined_fields(c, x, from_size, to_size / from_size);
  if (!to) return {reshape_to(bitcast_between(c, x, c.result_dtype(), shape), shape, c.loc)};
  if (!from) {
    if (x.dtype().is_bool() && to_size < 8) c.fail("bools cannot be bitcast to elements of " + std::string(to->mlir));
    const int bytes = x.dtype().itemsize();
    x = bitcast_between(c, x, uint8, to_size == 8 ? shape : bytes == 1 ? x.shape() : x.shape().inserted(x.ndim(), bytes));
  }
  if (to_size < from_size) x = split_fields(c, x, to_size, from_size / to_size);
  return {from_bits(*to, reshape_to(x, shape, c.loc))};
});

// Operations that see how many bits an element has.

/// The operand with the bits that a narrow element lacks as zeros above its own.
Array zero_extended(const OpCall& c, std::size_t i) {
  const Array& x = c.in(i);
  return c.value(i).narrow ? convert(to_bits(*c.value(i).narrow, x), x.dtype()) : x;
}
const Import popcnt_import("stablehlo.popcnt", Kinds::integers,
                           [](OpCall& c) -> Values { return {bind_named("population_count", {zero_extended(c, 0)}, c.loc)}; });
const Import leading_zeros_import("stablehlo.count_leading_zeros", Kinds::integers, [](OpCall& c) -> Values {
  const Array zeros = bind_named("clz", {zero_extended(c, 0)}, c.loc);
  const NarrowFormat* narrow = c.value(0).narrow;
  return {narrow ? zeros - scalar(zeros, 8 - narrow->bits) : zeros};
});
const Import shift_right_logical_import("stablehlo.shift_right_logical", Kinds::integers, [](OpCall& c) -> Values {
  return {bind_named("shift_right_logical", {zero_extended(c, 0), zero_extended(c, 1)}, c.loc)};
});
const Import shift_right_arithmetic_import("stablehlo.shift_right_arithmetic", Kinds::integers, [](OpCall& c) -> Values {
  Array x = c.in(0);
  if (const NarrowFormat* narrow = c.value(0).narrow) {
    const Array above = scalar(x, 8 - narrow->bits);
    x = bind_named("shift_right_arithmetic", {bind_named("shift_left", {x, above}, c.loc), above}, c.loc);
  }
  return {bind_named("shift_right_arithmetic", {x, zero_extended(c, 1)}, c.loc)};
});
const Import next_after_import("chlo.next_after", Kinds::floats, [](OpCall& c) -> Values {
  if (c.value(0).narrow) c.fail("it is read for floats of 16 to 64 bits, not for " + std::string(c.value(0).narrow->mlir));
  return {bind_named("nextafter", {c.in(0), c.in(1)}, c.loc)};
});

/// The upper half of the product of twice as many bits.
const Import mulhi_import("chlo.mulhi", Kinds::integers, [](OpCall& c) -> Values {
  const Array &x = c.in(0), &y = c.in(1);
  const DType type = x.dtype();
  const int bits = c.value(0).narrow ? c.value(0).narrow->bits : 8 * type.itemsize();
  if (bits < 64) {
    const DType wide = type.is_signed() ? int64 : uint64;
    return {convert((convert(x, wide) * convert(y, wide)) >> make_literal(Number(bits), wide), type)};
  }
  auto low = [](const Array& v) { return v & make_literal(Number(0xffffffffULL), uint64); };
  auto high = [](const Array& v) { return shift_right_logical(v, make_literal(Number(32), uint64)); };
  const Array a = convert(x, uint64), b = convert(y, uint64);
  const Array inner = high(a) * low(b) + high(low(a) * low(b)), outer = low(a) * high(b) + low(inner);
  Array product = high(a) * high(b) + high(inner) + high(outer);
  if (type.is_signed()) {
    const Array zero = make_literal(Number(0), uint64);
    product = product - where(x < 0, b, zero) - where(y < 0, a, zero);
  }
  return {convert(product, type)};
});

const Import conj_import("chlo.conj", Kinds::inexact, [](OpCall& c) -> Values {
  return {c.in(0).dtype().is_complex() ? bind_named("conj", {c.in(0)}, c.loc) : c.in(0)};
});
const Import real_import("stablehlo.real", Kinds::inexact,
                         [](OpCall& c) -> Values { return {c.in(0).dtype().is_complex() ? real(Arg(c.in(0), c.loc)) : c.in(0)}; });
const Import imag_import("stablehlo.imag", Kinds::inexact, [](OpCall& c) -> Values { return {imag(Arg(c.in(0), c.loc))}; });
const Import round_afz_import("stablehlo.round_nearest_afz", Kinds::floats,
                              [](OpCall& c) -> Values { return {round_away(Arg(c.in(0), c.loc))}; });
const Import round_even_import("stablehlo.round_nearest_even", Kinds::floats,
                               [](OpCall& c) -> Values { return {round(Arg(c.in(0), c.loc))}; });

// An integer to a negative power is 0, but for 1 and -1.
const Import power_import("stablehlo.power", Kinds::numbers, [](OpCall& c) -> Values {
  const Array &x = c.in(0), &y = c.in(1);
  if (!x.dtype().is_integer()) return {bind_named("pow", {x, y}, c.loc)};
  const Array zero = scalar(x, 0), one = scalar(x, 1);
  Array exponent = y;
  if (x.dtype().is_signed()) exponent = bind_named("max", {y, zero}, c.loc);
  // By squaring: one step for each bit of the exponent.
  Array out = fill_shape(one, x.shape(), c.loc), power = x;
  const int bits = 8 * x.dtype().itemsize();
  for (int i = 0; i < bits; ++i) {
    const Array bit = bind_named("and", {bind_named("shift_right_logical", {exponent, scalar(x, i)}, c.loc), one}, c.loc);
    out = bind_named("select_n", {bind_named("ne", {bit, zero}, c.loc), out, bind_named("mul", {out, power}, c.loc)}, c.loc);
    power = bind_named("mul", {power, power}, c.loc);
  }
  if (!x.dtype().is_signed()) return {out};
  const Array odd = bind_named("ne", {bind_named("and", {y, one}, c.loc), zero}, c.loc);
  const Array of_minus_one =
      bind_named("select_n", {odd, fill_shape(one, x.shape(), c.loc), fill_shape(scalar(x, -1), x.shape(), c.loc)}, c.loc);
  const Array zeros = fill_shape(zero, x.shape(), c.loc);
  const Array inverse = bind_named("select_n",
                                   {bind_named("eq", {x, scalar(x, -1)}, c.loc),
                                    bind_named("select_n", {bind_named("eq", {x, one}, c.loc), zeros, out}, c.loc), of_minus_one},
                                   c.loc);
  return {bind_named("select_n", {bind_named("lt", {y, zero}, c.loc), out, inverse}, c.loc)};
});

const Import reduce_precision_import("stablehlo.reduce_precision", Kinds::floats, [](OpCall& c) -> Values {
  int exponent = 0, mantissa = 0;
  if (const Attribute* format = c.find("format")) {  // e5m10
    const std::string& s = format->text;
    const std::size_t m = s.find('m');
    auto number = [&](std::size_t begin, std::size_t end) {
      int n = 0;
      for (std::size_t i = begin; i < end; ++i) {
        if (s[i] < '0' || s[i] > '9' || n > 1000) c.fail("`" + s + "` is not a format of floating-point numbers, as e5m10 is");
        n = 10 * n + (s[i] - '0');
      }
      return n;
    };
    if (s.empty() || s[0] != 'e' || m == std::string::npos) c.fail("`" + s + "` is not a format of floating-point numbers, as e5m10 is");
    exponent = number(1, m), mantissa = number(m + 1, s.size());
  } else {
    exponent = static_cast<int>(c.integer("exponent_bits")), mantissa = static_cast<int>(c.integer("mantissa_bits"));
  }
  const Array &x = c.in(0), out = reduce_precision(Arg(x, c.loc), exponent, mantissa);
  if (mantissa > 0) return {out};
  // No bit is left that distinguishes NaN from an infinity.
  return {where(x == x, out, copysign(scalar(x, std::numeric_limits<double>::infinity()), x))};
});

Values import_infinite(OpCall& c, double sign) {
  const Array inf = scalar(c.in(0), sign * std::numeric_limits<double>::infinity());
  return {bind_named(
      "eq", {sign == 0 ? abs(Arg(c.in(0), c.loc)) : c.in(0), sign == 0 ? scalar(c.in(0), std::numeric_limits<double>::infinity()) : inf},
      c.loc)};
}
const Import is_inf_import("chlo.is_inf", Kinds::floats, [](OpCall& c) { return import_infinite(c, 0); });
const Import is_pos_inf_import("chlo.is_pos_inf", Kinds::floats, [](OpCall& c) { return import_infinite(c, 1); });
const Import is_neg_inf_import("chlo.is_neg_inf", Kinds::floats, [](OpCall& c) { return import_infinite(c, -1); });

}  // namespace
}  // namespace weft::detail::mlir
