// Comparisons, and the total order of floating numbers.
#include <limits>

#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/elementwise/comparison.h"
#include "weft/core/ops/elementwise/elementwise.h"
#include "weft/core/ops/promotion.h"

namespace weft {
namespace detail {
namespace {

using V = KernelValue;

struct Eq : Comparison<Eq> {
  static constexpr std::string_view name = "eq", doc = "Whether the operands are equal; NaN equals nothing.";
  static constexpr Order order = kEqual;
  static constexpr unsigned dtypes = kAny | kKey;
  static bool ref(auto x, auto y) { return x == y; }
  static constexpr bool kernel_takes_complex = true;
  static V kernel(KernelBuilder& b, V x, V y) { return b.eq(x, y); }
};
struct Ne : Comparison<Ne> {
  static constexpr std::string_view name = "ne", doc = "Whether the operands differ; NaN differs from everything.";
  static constexpr Order order{.less = true, .greater = true, .unordered = true};
  static constexpr unsigned dtypes = kAny | kKey;
  static bool ref(auto x, auto y) { return x != y; }
  static constexpr bool kernel_takes_complex = true;
  static V kernel(KernelBuilder& b, V x, V y) { return b.ne(x, y); }
};
struct Lt : Comparison<Lt> {
  static constexpr std::string_view name = "lt", doc = "Whether x < y.";
  static constexpr Order order = kLess;
  static constexpr unsigned dtypes = kReal;
  static bool ref(auto x, auto y) { return x < y; }
  static V kernel(KernelBuilder& b, V x, V y) { return b.lt(x, y); }
};
struct Le : Comparison<Le> {
  static constexpr std::string_view name = "le", doc = "Whether x <= y.";
  static constexpr Order order{.less = true, .equal = true};
  static constexpr unsigned dtypes = kReal;
  static bool ref(auto x, auto y) { return x <= y; }
  static V kernel(KernelBuilder& b, V x, V y) { return b.le(x, y); }
};
struct Gt : Comparison<Gt> {
  static constexpr std::string_view name = "gt", doc = "Whether x > y.";
  static constexpr Order order = kGreater;
  static constexpr unsigned dtypes = kReal;
  static bool ref(auto x, auto y) { return x > y; }
  static V kernel(KernelBuilder& b, V x, V y) { return b.gt(x, y); }
};
struct Ge : Comparison<Ge> {
  static constexpr std::string_view name = "ge", doc = "Whether x >= y.";
  static constexpr Order order{.equal = true, .greater = true};
  static constexpr unsigned dtypes = kReal;
  static bool ref(auto x, auto y) { return x >= y; }
  static V kernel(KernelBuilder& b, V x, V y) { return b.ge(x, y); }
};

/// An integer that orders numbers as -NaN < -inf < ... < -0 < 0 < ... < inf < NaN: the bits, with all but the sign inverted for negative
/// numbers.
template <class Bits, class T>
Bits place(T x) {
  const auto bits = std::bit_cast<Bits>(x);
  return bits < 0 ? static_cast<Bits>(bits ^ std::numeric_limits<Bits>::max()) : bits;
}
template <class T>
auto total_order(T x) {
  if constexpr (!is_floating_storage<T>)
    return x;
  else if constexpr (sizeof(T) == 2)
    return place<std::int16_t>(x);
  else if constexpr (sizeof(T) == 4)
    return place<std::int32_t>(x);
  else
    return place<std::int64_t>(x);
}
V total_order(KernelBuilder& b, V x) {
  if (!x.dtype.is_floating()) return x;
  const int size = x.dtype.itemsize();
  const DType type = size == 2 ? int16 : size == 4 ? int32 : int64;
  const V bits = b.bitcast(x, type), rest = b.integer(type, size == 2 ? INT16_MAX : size == 4 ? INT32_MAX : INT64_MAX);
  return b.select(b.lt(bits, b.integer(type, 0)), b.bit_xor(bits, rest), bits);
}
struct LtTo : Comparison<LtTo> {
  static constexpr std::string_view name = "lt_to", doc = "Whether x comes before y in the total order, where -0 < 0 and NaN is last.";
  static constexpr Order order = kLessInTotal;
  static constexpr unsigned dtypes = kReal;
  static constexpr unsigned values = kExact | kReadsSpecials;
  static bool stored_ref(auto x, auto y) { return total_order(x) < total_order(y); }
  static V kernel(KernelBuilder& b, V x, V y) { return b.lt(total_order(b, x), total_order(b, y)); }
};
struct LeTo : Comparison<LeTo> {
  static constexpr std::string_view name = "le_to",
                                    doc = "Whether x does not come after y in the total order, where -0 < 0 and NaN is last.";
  static constexpr Order order{.less = true, .equal = true, .total = true};
  static constexpr unsigned dtypes = kReal;
  static constexpr unsigned values = kExact | kReadsSpecials;
  static bool stored_ref(auto x, auto y) { return total_order(x) <= total_order(y); }
  static V kernel(KernelBuilder& b, V x, V y) { return b.le(total_order(b, x), total_order(b, y)); }
};

template <class... Ops>
struct Family {
  static std::vector<ElementwiseInfo> infos() { return elementwise_info_list<Ops...>(); }
  static std::optional<Order> order(const Primitive& op) {
    std::optional<Order> found;
    ((&op == &primitive_of<Ops> ? void(found = Ops::order) : void()), ...);
    return found;
  }
};
using Comparisons = Family<Eq, Ge, Gt, Le, LeTo, Lt, LtTo, Ne>;

}  // namespace

std::vector<ElementwiseInfo> comparison_infos() { return Comparisons::infos(); }
std::optional<Order> order_of(const Primitive& op) { return Comparisons::order(op); }

}  // namespace detail

using namespace detail;

Array operator==(Arg a, Arg b) { return binary<Eq>(a, b); }
Array operator!=(Arg a, Arg b) { return binary<Ne>(a, b); }
Array operator<(Arg a, Arg b) { return binary<Lt>(a, b); }
Array operator<=(Arg a, Arg b) { return binary<Le>(a, b); }
Array operator>(Arg a, Arg b) { return binary<Gt>(a, b); }
Array operator>=(Arg a, Arg b) { return binary<Ge>(a, b); }

}  // namespace weft
