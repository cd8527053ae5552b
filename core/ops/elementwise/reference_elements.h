// The reference implementation of elementwise operations. It takes operands of any dtype, broadcast together, converts their elements to
// the few types in which operations' rules are written, calls the rule, and rounds its results to the result's dtype. A rule is compiled
// once for each of these types, not for each dtype.
#pragma once
#include <complex>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "weft/core/array/storage.h"
#include "weft/core/ir/primitive.h"

namespace weft::detail {

/// Calls `f.template operator()<C>()` with the type in which the rules compute on elements of the dtype: double for all floating types,
/// std::complex<double>, std::int64_t and std::uint64_t for all signed and unsigned integers, bool. Keys are unsigned integers.
template <class F>
void with_compute_type(DType dtype, F&& f) {
  if (dtype.is_bool())
    f.template operator()<bool>();
  else if (dtype.is_complex())
    f.template operator()<std::complex<double>>();
  else if (dtype.is_floating())
    f.template operator()<double>();
  else if (dtype.is_integer() && !dtype.is_unsigned())
    f.template operator()<std::int64_t>();
  else
    f.template operator()<std::uint64_t>();
}

/// Iterates over the elements of a result in order, a block at a time, with the positions of the corresponding elements in each operand.
class ElementBlocks {
 public:
  static constexpr std::size_t kSize = 256;
  explicit ElementBlocks(const ReferenceContext& c);
  /// Advances to the first or the next block; returns false at the end.
  bool next();
  /// The result's elements in the block are [begin(), begin() + size()).
  std::int64_t begin() const { return begin_; }
  std::size_t size() const { return size_; }
  /// Positions in an operand, one for each element of the block.
  std::span<const std::int64_t> positions(std::size_t operand) const { return {positions_.data() + operand * kSize, size_}; }

 private:
  const Shape& shape_;
  std::vector<std::vector<std::int64_t>> strides_;  // of each operand by the result's dimensions; 0 where it is broadcast
  std::vector<std::int64_t> at_, index_, positions_;
  std::int64_t begin_ = 0, total_ = 0;
  std::size_t size_ = 0;
};

/// Elements of an array whose dtype is computed on as C, without loss.
template <class C>
void load_elements(const HostTensor& from, std::span<const std::int64_t> positions, C* to);
/// The elements from `begin` on of an array whose dtype is computed on as C: floats rounded once, integers by their low bits.
template <class C>
void store_elements(const HostTensor& to, std::int64_t begin, std::span<const C> values);

/// Op::ref with or without the Params.
template <class Op, class P, class... X>
auto call_ref(const P& p, X... x) {
  if constexpr (requires { Op::ref(x..., p); })
    return Op::ref(x..., p);
  else
    return Op::ref(x...);
}

/// Fills the result with Op::ref of the operands, which are computed on as C.
template <class Op, class C, std::size_t... I>
void compute_reference(const ReferenceContext& c, std::index_sequence<I...>) {
  const auto& p = c.get<typename Op::Params>();
  C in[sizeof...(I)][ElementBlocks::kSize];
  using R = decltype(call_ref<Op>(p, in[I][0]...));
  R out[ElementBlocks::kSize];
  for (ElementBlocks block(c); block.next();) {
    (load_elements<C>(c.in[I], block.positions(I), in[I]), ...);
    for (std::size_t k = 0; k < block.size(); ++k) out[k] = call_ref<Op>(p, in[I][k]...);
    store_elements<R>(c.out[0], block.begin(), {out, block.size()});
  }
}

}  // namespace weft::detail
