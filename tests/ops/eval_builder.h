// A KernelBuilder that computes: each node is a number. It shows what a primitive's lowering means, without a code generator.
#pragma once
#include <bit>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "weft/backends/codegen/math/math.h"
#include "weft/core/array/half.h"
#include "weft/core/ir/kernel_builder.h"

namespace weft::detail {

class EvalBuilder final : public KernelBuilder {
 public:
  /// An operand, from the bytes of one element.
  V input(DType dtype, const void* bytes) {
    if (dtype.is_complex()) {
      const DType part = dtype.real_part();
      const V re = input(part, bytes), im = input(part, static_cast<const char*>(bytes) + part.itemsize());
      return complex(re, im);
    }
    std::uint64_t bits = 0;
    std::memcpy(&bits, bytes, static_cast<std::size_t>(dtype.itemsize()));
    return push(from_bits(dtype, bits));
  }
  /// The value of a real node as a double; integers beyond 2^53 are rounded.
  double number(V v) const {
    return is_float(v.dtype)   ? node(v).f
           : v.dtype == uint64 ? static_cast<double>(static_cast<std::uint64_t>(node(v).i))
                               : static_cast<double>(node(v).i);
  }
  std::int64_t integer_of(V v) const { return node(v).i; }
  V call_where(V condition, MathFunction f, std::span<const V> operands, V fast) override {
    return node(condition).i ? emit_math(f, operands) : fast;
  }

 protected:
  V emit(ScalarOp op, DType result, std::span<const V> operands) override {
    Node a = node(operands[0]), b = operands.size() > 1 ? node(operands[1]) : Node{}, c = operands.size() > 2 ? node(operands[2]) : Node{};
    if (op == ScalarOp::select) return push(a.i ? b : c);
    if (op == ScalarOp::convert) return push(convert_node(a, result));
    if (op == ScalarOp::bitcast) return push(from_bits(result, to_bits(a)));
    if (a.dtype == float16 || a.dtype == bfloat16) throw std::logic_error("small floats don't reach arithmetic");
    return is_float(a.dtype) ? floating(op, result, a.f, b.f, c.f) : integral(op, result, a, b);
  }
  V emit_constant(DType dtype, double floating, std::int64_t integer) override {
    return push(is_float(dtype) ? float_node(dtype, floating) : int_node(dtype, integer));
  }
  V emit_math(MathFunction f, std::span<const V> operands) override {
    const double x = node(operands[0]).f, y = operands.size() > 1 ? node(operands[1]).f : 0;
    return push(float_node(operands[0].dtype, library_math(f, x, y)));
  }

 private:
  struct Node {
    DType dtype = float32;
    double f = 0;
    std::int64_t i = 0;
  };
  static bool is_float(DType t) { return t.is_floating(); }
  static Node float_node(DType t, double v) {
    return {t,
            t == float64   ? v
            : t == float32 ? static_cast<double>(static_cast<float>(v))
            : t == float16 ? static_cast<double>(Float16(v))
                           : static_cast<double>(BFloat16(v)),
            0};
  }
  static Node int_node(DType t, std::int64_t v) {
    const auto shift = static_cast<unsigned>(64 - 8 * t.itemsize());
    if (t.is_bool()) return {t, 0, v != 0};
    if (t.is_signed()) return {t, 0, static_cast<std::int64_t>(static_cast<std::uint64_t>(v) << shift) >> shift};
    return {t, 0, static_cast<std::int64_t>(static_cast<std::uint64_t>(v) << shift >> shift)};
  }
  static std::uint64_t to_bits(Node n) {
    if (n.dtype == float64) return std::bit_cast<std::uint64_t>(n.f);
    if (n.dtype == float32) return std::bit_cast<std::uint32_t>(static_cast<float>(n.f));
    if (n.dtype == float16) return Float16(n.f).bits;
    if (n.dtype == bfloat16) return BFloat16(n.f).bits;
    return static_cast<std::uint64_t>(n.i);
  }
  static Node from_bits(DType t, std::uint64_t bits) {
    if (t == float64) return {t, std::bit_cast<double>(bits), 0};
    if (t == float32) return {t, std::bit_cast<float>(static_cast<std::uint32_t>(bits)), 0};
    if (t == float16) return {t, Float16::from_bits(static_cast<std::uint16_t>(bits)), 0};
    if (t == bfloat16) return {t, BFloat16::from_bits(static_cast<std::uint16_t>(bits)), 0};
    return int_node(t, static_cast<std::int64_t>(bits));
  }
  static Node convert_node(Node a, DType to) {
    const bool from_float = is_float(a.dtype);
    if (to.is_bool()) return int_node(to, from_float ? a.f != 0 : a.i != 0);
    if (is_float(to))
      return float_node(to, from_float          ? a.f
                            : a.dtype == uint64 ? static_cast<double>(static_cast<std::uint64_t>(a.i))
                                                : static_cast<double>(a.i));
    if (!from_float) return int_node(to, a.i);
    const int bits = 8 * to.itemsize() - (to.is_signed() ? 1 : 0);
    const double hi = std::ldexp(1.0, bits), lo = to.is_signed() ? -hi : 0;
    if (std::isnan(a.f)) return int_node(to, 0);
    if (a.f >= hi) return int_node(to, bits == 64 ? -1 : static_cast<std::int64_t>((std::uint64_t{1} << bits) - 1));
    if (a.f <= lo) return int_node(to, to.is_signed() ? static_cast<std::int64_t>(~std::uint64_t{0} << bits) : 0);
    return int_node(to, to == uint64 ? static_cast<std::int64_t>(static_cast<std::uint64_t>(a.f)) : static_cast<std::int64_t>(a.f));
  }
  V floating(ScalarOp op, DType t, double a, double b, double c) {
    using enum ScalarOp;
    auto value = [&](double v) { return push(float_node(t, v)); };
    auto truth = [&](bool v) { return push(int_node(bool_, v)); };
    switch (op) {
      case add: return value(a + b);
      case sub: return value(a - b);
      case mul: return value(a * b);
      case div: return value(a / b);
      case rem: return value(std::fmod(a, b));
      case neg: return value(-a);
      case ScalarOp::abs: return value(std::abs(a));
      case min: return value(std::isnan(a) || std::isnan(b) ? NAN : std::min(a, b));
      case max: return value(std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b));
      case ScalarOp::fma: return value(std::fma(a, b, c));
      case ScalarOp::sqrt: return value(std::sqrt(a));
      case ScalarOp::floor: return value(std::floor(a));
      case ScalarOp::ceil: return value(std::ceil(a));
      case round_even: return value(std::nearbyint(a));
      case ScalarOp::trunc: return value(std::trunc(a));
      case ScalarOp::copysign: return value(std::copysign(a, b));
      case eq: return truth(a == b);
      case ne: return truth(a != b);
      case lt: return truth(a < b);
      case le: return truth(a <= b);
      case gt: return truth(a > b);
      case ge: return truth(a >= b);
      default: throw std::logic_error("not an operation on floats");
    }
  }
  V integral(ScalarOp op, DType t, Node x, Node y) {
    using enum ScalarOp;
    const std::int64_t a = x.i, b = y.i;
    const auto u = static_cast<std::uint64_t>(a), w = static_cast<std::uint64_t>(b);
    const int width = 8 * x.dtype.itemsize();
    const bool less = x.dtype == uint64 ? u < w : a < b;
    auto value = [&](std::uint64_t v) { return push(int_node(t, static_cast<std::int64_t>(v))); };
    if ((op == div || op == rem) && b == 0) throw std::logic_error("an integer division by 0 is not guarded");
    if ((op == shl || op == shr_logical || op == shr_arithmetic) && (b < 0 || b >= width))
      throw std::logic_error("a shift is out of range");
    const std::uint64_t mask = width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
    switch (op) {
      case add: return value(u + w);
      case sub: return value(u - w);
      case mul: return value(u * w);
      case div: return value(x.dtype.is_signed() ? static_cast<std::uint64_t>(a / b) : u / w);
      case rem: return value(x.dtype.is_signed() ? static_cast<std::uint64_t>(a % b) : u % w);
      case neg: return value(0 - u);
      case ScalarOp::abs: return value(a < 0 ? 0 - u : u);
      case min: return value(less ? u : w);
      case max: return value(less ? w : u);
      case eq: return value(a == b);
      case ne: return value(a != b);
      case lt: return value(less);
      case le: return value(less || a == b);
      case gt: return value(!less && a != b);
      case ge: return value(!less);
      case ScalarOp::bit_and: return value(u & w);
      case ScalarOp::bit_or: return value(u | w);
      case bit_xor: return value(u ^ w);
      case bit_not: return value(x.dtype.is_bool() ? !u : ~u);
      case shl: return value(u << w);
      case shr_logical: return value((u & mask) >> w);
      case shr_arithmetic: return value(static_cast<std::uint64_t>(static_cast<std::int64_t>(u << (64 - width)) >> (64 - width) >> w));
      case popcount: return value(static_cast<std::uint64_t>(std::popcount(u & mask)));
      case clz: return value(static_cast<std::uint64_t>(std::countl_zero(u & mask) - (64 - width)));
      default: throw std::logic_error("not an operation on integers");
    }
  }
  V push(Node n) {
    nodes_.push_back(n);
    return {static_cast<int>(nodes_.size()) - 1, -1, n.dtype};
  }
  const Node& node(V v) const { return nodes_.at(static_cast<std::size_t>(v.id)); }
  std::vector<Node> nodes_;
};

}  // namespace weft::detail
