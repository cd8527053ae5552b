// Operations on the bits of integers, and on bools.
#include <bit>
#include <limits>

#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/elementwise/elementwise.h"
#include "weft/core/ops/promotion.h"
#include "weft/core/trace/trace.h"

namespace weft {
namespace detail {
namespace {

using V = KernelValue;

struct Not : Unary<Not> {
  static constexpr std::string_view name = "not", doc = "All bits inverted; of a bool, its negation.";
  static constexpr unsigned dtypes = kBits;
  static constexpr bool zero_tangent = true;
  template <class T>
  static T ref(T x) {
    if constexpr (std::is_same_v<T, bool>)
      return !x;
    else
      return static_cast<T>(~x);
  }
  static V kernel(KernelBuilder& b, V x) { return b.bit_not(x); }
};
struct And : Binary<And> {
  static constexpr std::string_view name = "and", doc = "Bitwise and.";
  static constexpr unsigned dtypes = kBits;
  static constexpr Combiner combiner = Combiner::logical_and;
  static constexpr bool zero_tangent = true;
  static auto ref(auto x, auto y) { return static_cast<decltype(x)>(x & y); }
  static V kernel(KernelBuilder& b, V x, V y) { return b.bit_and(x, y); }
};
struct Or : Binary<Or> {
  static constexpr std::string_view name = "or", doc = "Bitwise or.";
  static constexpr unsigned dtypes = kBits;
  static constexpr Combiner combiner = Combiner::logical_or;
  static constexpr bool zero_tangent = true;
  static auto ref(auto x, auto y) { return static_cast<decltype(x)>(x | y); }
  static V kernel(KernelBuilder& b, V x, V y) { return b.bit_or(x, y); }
};
struct Xor : Binary<Xor> {
  static constexpr std::string_view name = "xor", doc = "Bitwise exclusive or.";
  static constexpr unsigned dtypes = kBits;
  static constexpr Combiner combiner = Combiner::bit_xor;
  static constexpr bool zero_tangent = true;
  static auto ref(auto x, auto y) { return static_cast<decltype(x)>(x ^ y); }
  static V kernel(KernelBuilder& b, V x, V y) { return b.bit_xor(x, y); }
};

// A shift by more bits than there are, or by a negative number, moves all of them out.
template <class T>
constexpr int kWidth = static_cast<int>(8 * sizeof(T));
template <class T>
bool in_range(T amount) {
  return static_cast<std::make_unsigned_t<T>>(amount) < static_cast<unsigned>(kWidth<T>);
}
V kernel_in_range(KernelBuilder& b, V amount) {
  const DType t = amount.dtype;
  const V below = b.lt(amount, b.integer(t, 8 * t.itemsize()));
  return t.is_unsigned() ? below : b.bit_and(below, b.ge(amount, b.integer(t, 0)));
}

struct ShiftLeft : Binary<ShiftLeft> {
  static constexpr std::string_view name = "shift_left", doc = "x shifted to the left.";
  static constexpr unsigned dtypes = kInteger;
  static constexpr bool zero_tangent = true;
  static constexpr Domain domain{0, 9};
  template <class T>
  static T ref(T x, T y) {
    return in_range(y) ? static_cast<T>(static_cast<std::uint64_t>(x) << y) : T{0};
  }
  static V kernel(KernelBuilder& b, V x, V y) {
    const V ok = kernel_in_range(b, y), zero = b.integer(y.dtype, 0);
    return b.select(ok, b.shl(x, b.select(ok, y, zero)), zero);
  }
};
struct ShiftRightLogical : Binary<ShiftRightLogical> {
  static constexpr std::string_view name = "shift_right_logical", doc = "x shifted to the right, zeros moving in.";
  static constexpr unsigned dtypes = kInteger;
  static constexpr bool zero_tangent = true;
  static constexpr Domain domain{0, 9};
  template <class T>
  static T stored_ref(T x, T y) {
    return in_range(y) ? static_cast<T>(static_cast<std::make_unsigned_t<T>>(x) >> y) : T{0};
  }
  static V kernel(KernelBuilder& b, V x, V y) {
    const V ok = kernel_in_range(b, y), zero = b.integer(y.dtype, 0);
    return b.select(ok, b.shr_logical(x, b.select(ok, y, zero)), zero);
  }
};
struct ShiftRightArithmetic : Binary<ShiftRightArithmetic> {
  static constexpr std::string_view name = "shift_right_arithmetic", doc = "x shifted to the right, copies of its highest bit moving in.";
  static constexpr unsigned dtypes = kInteger;
  static constexpr bool zero_tangent = true;
  static constexpr Domain domain{0, 9};
  template <class T>
  static T stored_ref(T x, T y) {
    return static_cast<T>(static_cast<std::make_signed_t<T>>(x) >> (in_range(y) ? static_cast<int>(y) : kWidth<T> - 1));
  }
  static V kernel(KernelBuilder& b, V x, V y) {
    return b.shr_arithmetic(x, b.select(kernel_in_range(b, y), y, b.integer(y.dtype, 8 * y.dtype.itemsize() - 1)));
  }
};

struct PopulationCount : Unary<PopulationCount> {
  static constexpr std::string_view name = "population_count", doc = "The number of bits that are set.";
  static constexpr unsigned dtypes = kInteger;
  static constexpr bool zero_tangent = true;
  template <class T>
  static T stored_ref(T x) {
    return static_cast<T>(std::popcount(static_cast<std::make_unsigned_t<T>>(x)));
  }
  static V kernel(KernelBuilder& b, V x) { return b.popcount(x); }
};
struct Clz : Unary<Clz> {
  static constexpr std::string_view name = "clz", doc = "The number of zeros before the highest bit that is set.";
  static constexpr unsigned dtypes = kInteger;
  static constexpr bool zero_tangent = true;
  template <class T>
  static T stored_ref(T x) {
    return static_cast<T>(std::countl_zero(static_cast<std::make_unsigned_t<T>>(x)));
  }
  static V kernel(KernelBuilder& b, V x) { return b.clz(x); }
};

}  // namespace

std::vector<ElementwiseInfo> bit_infos() {
  return elementwise_info_list<And, Clz, Not, Or, PopulationCount, ShiftLeft, ShiftRightArithmetic, ShiftRightLogical, Xor>();
}

}  // namespace detail

using namespace detail;

namespace {
Array to_bool(const Arg& x) { return x.aval().dtype.is_bool() ? x.array() : x.array() != 0; }
template <class Op>
Array logical(const Arg& x, const Arg& y) {
  const LocScope scope(x.where());
  return binary<Op>(to_bool(x), to_bool(y));
}
/// Shifts take bools as int32.
template <class Op>
Array shift(const Arg& x, const Arg& y) {
  const bool both_bool = x.aval().dtype.is_bool() && y.aval().dtype.is_bool();
  return both_bool ? binary<Op>(Arg(to_numeric(x), x.where()), Arg(to_numeric(y), y.where())) : binary<Op>(x, y);
}
}  // namespace

Array operator&(Arg a, Arg b) { return binary<And>(a, b); }
Array operator|(Arg a, Arg b) { return binary<Or>(a, b); }
Array operator^(Arg a, Arg b) { return binary<Xor>(a, b); }
Array& Array::operator&=(Arg b) & { return *this = binary<And>(Arg(*this, b.where()), b); }
Array& Array::operator|=(Arg b) & { return *this = binary<Or>(Arg(*this, b.where()), b); }
Array& Array::operator^=(Arg b) & { return *this = binary<Xor>(Arg(*this, b.where()), b); }
Array operator~(Arg a) { return bind_one<Not>({}, {a.array()}, a.where()); }
Array operator<<(Arg a, Arg b) { return shift<ShiftLeft>(a, b); }
Array operator>>(Arg a, Arg b) {
  return promote_types(a.aval().weak_dtype(), b.aval().weak_dtype()).dtype.is_unsigned() ? shift<ShiftRightLogical>(a, b)
                                                                                         : shift<ShiftRightArithmetic>(a, b);
}
Array shift_right_logical(Arg x, Arg amount) { return shift<ShiftRightLogical>(x, amount); }
Array population_count(Arg x) { return bind_one<PopulationCount>({}, {x.array()}, x.where()); }
Array clz(Arg x) { return bind_one<Clz>({}, {x.array()}, x.where()); }

Array logical_not(Arg x) {
  const LocScope scope(x.where());
  return ~to_bool(x);
}
Array logical_and(Arg x, Arg y) { return logical<And>(x, y); }
Array logical_or(Arg x, Arg y) { return logical<Or>(x, y); }
Array logical_xor(Arg x, Arg y) { return logical<Xor>(x, y); }

}  // namespace weft
