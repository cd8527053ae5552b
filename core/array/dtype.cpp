#include "weft/core/array/dtype.h"

#include <array>
#include <string>

#include "weft/core/errors/error.h"
#include "weft/core/trace/trace.h"

namespace weft {
namespace {

struct Names {
  std::string_view name, short_name;
  int itemsize;
};
constexpr std::array<Names, DType::count + 1> kNames = {{{"bool", "bool", 1},
                                                         {"int8", "i8", 1},
                                                         {"int16", "i16", 2},
                                                         {"int32", "i32", 4},
                                                         {"int64", "i64", 8},
                                                         {"uint8", "u8", 1},
                                                         {"uint16", "u16", 2},
                                                         {"uint32", "u32", 4},
                                                         {"uint64", "u64", 8},
                                                         {"float16", "f16", 2},
                                                         {"bfloat16", "bf16", 2},
                                                         {"float32", "f32", 4},
                                                         {"float64", "f64", 8},
                                                         {"complex64", "c64", 8},
                                                         {"complex128", "c128", 16},
                                                         {"key<fry>", "key<fry>", 8}}};

// The promotion lattice: all dtypes and the three weak types, each with the edges to its next larger types.
enum Node { b1, i1, i2, i4, i8, u1, u2, u4, u8, f2, bf, f4, f8, c8, c16, weak_int, weak_float, weak_complex, kNodes };
using Mask = std::uint32_t;
constexpr Mask bit(int n) { return Mask{1} << n; }
constexpr std::array<Mask, kNodes> edges() {
  std::array<Mask, kNodes> e{};
  e[b1] = bit(weak_int);
  e[weak_int] = bit(u1) | bit(i1);
  e[u1] = bit(i2) | bit(u2), e[u2] = bit(i4) | bit(u4), e[u4] = bit(i8) | bit(u8), e[u8] = bit(weak_float);
  e[i1] = bit(i2), e[i2] = bit(i4), e[i4] = bit(i8), e[i8] = bit(weak_float);
  e[weak_float] = bit(bf) | bit(f2) | bit(weak_complex);
  e[bf] = bit(f4), e[f2] = bit(f4), e[f4] = bit(f8) | bit(c8), e[f8] = bit(c16);
  e[weak_complex] = bit(c8), e[c8] = bit(c16);
  return e;
}
/// All nodes that are at least as large, the node included.
constexpr std::array<Mask, kNodes> upper_bounds() {
  const std::array<Mask, kNodes> e = edges();
  std::array<Mask, kNodes> up{};
  for (int n = 0; n < kNodes; ++n) up[static_cast<std::size_t>(n)] = bit(n);
  for (int round = 0; round < kNodes; ++round)
    for (std::size_t n = 0; n < kNodes; ++n)
      for (std::size_t m = 0; m < kNodes; ++m)
        if (up[n] & bit(static_cast<int>(m))) up[n] |= e[m];
  return up;
}
constexpr std::array<Mask, kNodes> kUpper = upper_bounds();

/// The one common upper bound that is below all others.
constexpr int least_upper_bound(int a, int b) {
  const Mask common = kUpper[static_cast<std::size_t>(a)] & kUpper[static_cast<std::size_t>(b)];
  for (int n = 0; n < kNodes; ++n)
    if ((common & bit(n)) && kUpper[static_cast<std::size_t>(n)] == common) return n;
  return -1;
}
constexpr auto lattice() {
  std::array<std::array<std::int8_t, kNodes>, kNodes> t{};
  for (int a = 0; a < kNodes; ++a)
    for (int b = 0; b < kNodes; ++b)
      t[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)] = static_cast<std::int8_t>(least_upper_bound(a, b));
  return t;
}
constexpr auto kLattice = lattice();
constexpr bool lattice_is_complete() {
  for (const auto& row : kLattice)
    for (int n : row)
      if (n < 0) return false;
  return true;
}
static_assert(lattice_is_complete());

int node_of(detail::WeakDType t) {
  if (!t.weak || t.dtype.is_bool()) return t.dtype.id();
  return t.dtype.is_integer() ? weak_int : t.dtype.is_floating() ? weak_float : weak_complex;
}
bool has_64_bit_parts(DType t) { return t.real_part().itemsize() == 8; }

}  // namespace

std::string_view DType::name() const { return kNames[id_].name; }
std::string_view DType::short_name() const { return kNames[id_].short_name; }
int DType::itemsize() const { return kNames[id_].itemsize; }

DType promote_types(DType a, DType b) { return detail::promote_types({a}, {b}).dtype; }

namespace detail {

WeakDType promote_types(WeakDType a, WeakDType b) {
  if (a.dtype == b.dtype) return {a.dtype, a.weak && b.weak && !a.dtype.is_bool()};
  if (a.dtype.is_key() || b.dtype.is_key())
    throw DTypeError(std::string(a.dtype.name()) + " and " + std::string(b.dtype.name()) +
                         " have no common dtype: arithmetic is not defined for keys; random::key_data gives the numbers of a key",
                     effective_loc({}));
  const bool both_weak = a.weak && b.weak;
  if (both_weak) a.weak = b.weak = false;
  const int node = kLattice[static_cast<std::size_t>(node_of(a))][static_cast<std::size_t>(node_of(b))];
  if (node < weak_int) return {DType(node), both_weak && node != b1};
  // A weak result has 64 bits if an operand has, else the default width.
  const bool wide = has_64_bit_parts(a.dtype) || has_64_bit_parts(b.dtype);
  if (node == weak_int) return {a.dtype.is_bool() ? b.dtype : a.dtype, true};
  if (node == weak_float) return {wide ? float64 : float32, true};
  return {wide ? complex128 : complex64, true};
}

bool find_dtype(std::string_view name, DType& out) {
  for (int id = 0; id <= DType::count; ++id) {
    const Names& names = kNames[static_cast<std::size_t>(id)];
    if (name == names.name || name == names.short_name) {
      out = DType(id);
      return true;
    }
  }
  return false;
}

}  // namespace detail
}  // namespace weft
