// Conversions between dtypes, of values and of bits.
#include <bit>
#include <cstring>
#include <limits>

#include "weft/core/array/constructors.h"
#include "weft/core/array/convert_elements.h"
#include "weft/core/base/sizes.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/ops/elementwise/bitcast.h"
#include "weft/core/ops/elementwise/branches.h"
#include "weft/core/ops/elementwise/elementwise.h"
#include "weft/core/ops/promotion.h"
#include "weft/core/text/text_rules.h"
#include "weft/core/trace/trace.h"

namespace weft {
namespace detail {
namespace {

using V = KernelValue;

struct ConvertParams {
  DType new_dtype = float32;
  bool weak_type = false;
  friend bool operator==(const ConvertParams&, const ConvertParams&) = default;
};
struct ConvertElementType : LinearUnary<ConvertElementType> {
  static constexpr std::string_view
      name = "convert_element_type",
      doc = "The values as another dtype: floats to integers truncate and saturate, integers wrap around, to bool is x != 0.";
  static constexpr unsigned dtypes = kAny;
  static constexpr unsigned values = kExact;
  using Params = ConvertParams;
  static Params sample(DType t) { return {.new_dtype = t == float32 ? float64 : float32}; }
  static Aval abstract_eval(const OpContext& c) {
    check_operands(c, 1, dtypes);
    const Params& p = c.get<Params>();
    if (p.new_dtype.is_key()) c.fail<DTypeError>("numbers are not keys", "random::wrap_key_data makes keys of their uint32 parts");
    return {c.in[0].shape, p.new_dtype, p.weak_type && !p.new_dtype.is_bool()};
  }
  static void reference(const ReferenceContext& c) {
    convert_elements(c.in[0].data, c.in[0].aval.dtype, c.out[0].data, c.out[0].aval.dtype, c.out[0].aval.size());
  }
  static std::vector<Tangent> jvp(const JvpContext& c) {
    const Params& p = c.get<Params>();
    if (!c.tangents[0] || !p.new_dtype.is_inexact()) return {std::nullopt};
    return {convert_element_type(*c.tangents[0], p.new_dtype, p.weak_type, c.loc)};
  }
  static Array pull(const Array& ct, const Aval& operand) { return convert_element_type(ct, operand.dtype, operand.weak, {}); }
  static constexpr bool kernel_takes_complex = true;
  static V kernel(KernelBuilder& b, V x, const Params& p) { return b.convert(x, p.new_dtype); }
};

const Rule<ConversionTransform, ConvertElementType> is_conversion([] {});

struct BitcastConvertType : Unary<BitcastConvertType> {
  static constexpr std::string_view name = kBitcastName, doc = "The same bits as another dtype of the same size.";
  static constexpr unsigned dtypes = kInteger | kFloating;
  static constexpr unsigned values = kExact | kParticular;
  static constexpr bool zero_tangent = true;
  using Params = BitcastParams;
  static Params sample(DType t) {
    return {.new_dtype = t.itemsize() == 1 ? uint8 : t.itemsize() == 2 ? int16 : t.itemsize() == 4 ? uint32 : float64};
  }
  static Aval abstract_eval(const OpContext& c) {
    const DType to = c.get<Params>().new_dtype;
    // Keys as they are in memory: what operations on keys are compiled to.
    if (c.in.size() == 1 && c.in[0].dtype.is_key() != to.is_key() && (c.in[0].dtype == uint64 || to == uint64))
      return {c.in[0].shape, to, false};
    check_operands(c, 1, dtypes);
    if (!(kind_of(to) & dtypes) || to.itemsize() != c.in[0].dtype.itemsize())
      c.fail<DTypeError>("can't give " + std::string(to.name()), "the result is an integer or floating dtype of the operand's size");
    return {c.in[0].shape, to, false};
  }
  static void reference(const ReferenceContext& c) {
    std::memcpy(c.out[0].data, c.in[0].data, static_cast<std::size_t>(c.out[0].aval.bytes()));
  }
  static V kernel(KernelBuilder& b, V x, const Params& p) { return b.bitcast(x, p.new_dtype); }
};

/// A text has one name for two primitives.
const ReadRule<BitcastConvertType> read_bitcast([](TextEquation& e) {
  if (e.avals.size() == 1 && e.avals[0].dtype.itemsize() != params_as<BitcastParams>(*e.params).new_dtype.itemsize())
    e.op = &bitcast_between_sizes();
});

struct ReducePrecisionParams {
  int exponent_bits = 8, mantissa_bits = 23;
  friend bool operator==(const ReducePrecisionParams&, const ReducePrecisionParams&) = default;
};
/// The widths of a floating format that is rounded in the integer that holds its bits.
struct Format {
  DType bits;
  int exponent_bits, mantissa_bits;
  std::int64_t one() const { return std::int64_t{1} << mantissa_bits; }
  std::int64_t exponent_mask() const { return ((std::int64_t{1} << exponent_bits) - 1) << mantissa_bits; }
  std::int64_t bias() const { return (std::int64_t{1} << (exponent_bits - 1)) - 1; }
  std::int64_t sign() const {
    return exponent_bits == 11 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int32_t>::min();
  }
};
Format format_of(DType t) { return t == float64 ? Format{int64, 11, 52} : Format{int32, 8, 23}; }

/// As XLA's ReducePrecision: the mantissa is rounded to nearest even, then what is out of the exponent's range becomes infinite or 0.
struct ReducePrecision : LinearUnary<ReducePrecision> {
  static constexpr std::string_view name = "reduce_precision", doc = "Rounded to a floating format with fewer bits.";
  static constexpr unsigned dtypes = kFloating;
  static constexpr unsigned values = kExact;
  using Params = ReducePrecisionParams;
  static Params sample(DType) { return {.exponent_bits = 5, .mantissa_bits = 7}; }
  static Aval abstract_eval(const OpContext& c) {
    const Params& p = c.get<Params>();
    if (p.exponent_bits < 1 || p.mantissa_bits < 0) c.fail<Error>("exponent_bits must be at least 1 and mantissa_bits at least 0");
    return Unary::abstract_eval(c);
  }
  template <class T, class Bits>
  static T round_bits(T x, const Params& p, const Format& f) {
    if (x != x) return x;
    auto bits = std::bit_cast<Bits>(x);
    if (p.mantissa_bits < f.mantissa_bits) {
      const int dropped = f.mantissa_bits - p.mantissa_bits;
      const Bits last = static_cast<Bits>(bits >> dropped & 1), unit = static_cast<Bits>(Bits{1} << dropped);
      bits = static_cast<Bits>((bits + (unit >> 1) - 1 + last) & ~(unit - 1));
    }
    if (p.exponent_bits < f.exponent_bits) {
      const auto exponent = static_cast<Bits>(bits & static_cast<Bits>(f.exponent_mask())),
                 sign = static_cast<Bits>(bits & static_cast<Bits>(f.sign()));
      const std::int64_t reduced_bias = (std::int64_t{1} << (p.exponent_bits - 1)) - 1;
      if (exponent > static_cast<Bits>((f.bias() + reduced_bias) * f.one()))
        bits = static_cast<Bits>(sign | static_cast<Bits>(f.exponent_mask()));
      if (exponent <= static_cast<Bits>((f.bias() - reduced_bias) * f.one())) bits = sign;
    }
    return std::bit_cast<T>(bits);
  }
  static void reference(const ReferenceContext& c) {
    const Params& p = c.get<Params>();
    const DType dtype = c.in[0].aval.dtype;
    with_storage(dtype, [&]<class T>() {
      if constexpr (is_floating_storage<T>)
        for (std::int64_t i = 0; i < c.out[0].aval.size(); ++i) {
          const T x = c.in[0].as<T>()[i];
          if constexpr (std::is_same_v<T, double>)
            c.out[0].as<T>()[i] = round_bits<double, std::uint64_t>(x, p, format_of(dtype));
          else
            c.out[0].as<T>()[i] = T(round_bits<float, std::uint32_t>(x, p, format_of(dtype)));
        }
    });
  }
  static std::vector<Tangent> transpose(const TransposeContext& c) {
    if (!c.cotangents[0]) return {std::nullopt};
    return {bind_primitive(c.op, c.params, std::span(&*c.cotangents[0], 1), c.loc)[0]};
  }
  static V kernel(KernelBuilder& b, V x, const Params& p) {
    if (x.dtype != float32 && x.dtype != float64) return b.convert(kernel(b, b.convert(x, float32), p), x.dtype);
    const Format f = format_of(x.dtype);
    auto constant = [&](std::int64_t v) { return b.integer(f.bits, v); };
    V bits = b.bitcast(x, f.bits);
    if (p.mantissa_bits < f.mantissa_bits) {
      const int dropped = f.mantissa_bits - p.mantissa_bits;
      const std::int64_t unit = std::int64_t{1} << dropped;
      const V last = b.bit_and(b.shr_logical(bits, constant(dropped)), constant(1));
      bits = b.bit_and(b.add(b.add(bits, constant((unit >> 1) - 1)), last), constant(~(unit - 1)));
    }
    if (p.exponent_bits < f.exponent_bits) {
      const V exponent = b.bit_and(bits, constant(f.exponent_mask())), sign = b.bit_and(bits, constant(f.sign()));
      const std::int64_t reduced_bias = (std::int64_t{1} << (p.exponent_bits - 1)) - 1;
      bits = b.select(b.gt(exponent, constant((f.bias() + reduced_bias) * f.one())), b.bit_or(sign, constant(f.exponent_mask())), bits);
      bits = b.select(b.le(exponent, constant((f.bias() - reduced_bias) * f.one())), sign, bits);
    }
    return b.select(b.ne(x, x), x, b.bitcast(bits, x.dtype));
  }
};

struct Copy : LinearUnary<Copy> {
  static constexpr std::string_view name = "copy", doc = "The same values.";
  static constexpr unsigned dtypes = kAny | kKey;
  static constexpr unsigned values = kExact;
  static auto stored_ref(auto x) { return x; }
  static Array pull(const Array& ct, const Aval&) { return ct; }
  static constexpr bool kernel_takes_complex = true;
  static V kernel(KernelBuilder&, V x) { return x; }
};

const Rule<FiniteDerivativeTransform, ConvertElementType> conversion_is_finite(always_finite);
const Rule<FiniteDerivativeTransform, Copy> copy_is_finite(always_finite);
const Rule<FiniteDerivativeTransform, ReducePrecision> reduce_precision_is_finite(always_finite);

}  // namespace

std::vector<ElementwiseInfo> convert_infos() {
  return elementwise_info_list<BitcastConvertType, ConvertElementType, Copy, ReducePrecision>();
}

Array bitcast_elements(const Array& x, DType dtype, SourceLoc loc) {
  return x.dtype() == dtype ? x : bind_one<BitcastConvertType>({.new_dtype = dtype}, {x}, loc);
}

Array copied(const Array& x, SourceLoc loc) { return bind_one<Copy>({}, {x}, loc); }

/// Tells the trace what is about to become of one of its numbers.
static void note_number(const Array& x, DType dtype, bool weak) {
  const TracedArray* t = as_traced(x);
  if (!t || !t->aval.weak || !t->aval.shape.empty() || !dtype.is_inexact()) return;
  if (is_narrow_number(t->aval) && dtype.real_part() == float64) t->trace->note_widened_number();
  if (t->aval.dtype.is_integer() && weak) t->trace->note_number_of_integer();
}

Array convert_element_type(const Array& x, DType dtype, bool weak, SourceLoc loc) {
  if (x.dtype() == dtype && x.aval().weak == weak) return x;
  if (const LiteralArray* literal = as_literal(x); literal && !dtype.is_key())
    return make_literal(number_of(*literal), dtype, weak && !dtype.is_bool());
  note_number(x, dtype, weak);
  return bind_one<ConvertElementType>({.new_dtype = dtype, .weak_type = weak}, {x}, loc);
}

}  // namespace detail

using namespace detail;

Array convert(Arg x, DType dtype) { return convert_element_type(x.array(), dtype, false, x.where()); }
Array astype(Arg x, DType dtype) { return convert(x, dtype); }

Array reduce_precision(Arg x, Int exponent_bits, Int mantissa_bits) {
  return bind_one<ReducePrecision>({.exponent_bits = checked_int(exponent_bits, "reduce_precision", "exponent_bits", x.where()),
                                    .mantissa_bits = checked_int(mantissa_bits, "reduce_precision", "mantissa_bits", x.where())},
                                   {to_inexact(x)}, x.where());
}

}  // namespace weft
