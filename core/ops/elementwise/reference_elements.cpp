// Elements between memory and the types in which reference values are computed.
#include "weft/core/ops/elementwise/reference_elements.h"

#include <algorithm>

namespace weft::detail {

ElementBlocks::ElementBlocks(const ReferenceContext& c) : shape_(c.out[0].aval.shape) {
  const auto ndim = static_cast<std::size_t>(shape_.size());
  for (const HostTensor& x : c.in) {
    const Shape& shape = x.aval.shape;
    strides_.push_back(row_major_strides(shape));
    strides_.back().resize(ndim, 0);  // of an operand without dimensions
    for (int d = 0; d < shape.size(); ++d)
      if (shape[d] == 1) strides_.back()[static_cast<std::size_t>(d)] = 0;
  }
  at_.resize(c.in.size());
  index_.resize(ndim);
  positions_.resize(c.in.size() * kSize);
  total_ = shape_.num_elements();
}

bool ElementBlocks::next() {
  begin_ += static_cast<std::int64_t>(size_);
  size_ = static_cast<std::size_t>(std::min(total_ - begin_, std::int64_t{kSize}));
  for (std::size_t k = 0; k < size_; ++k) {
    for (std::size_t i = 0; i < at_.size(); ++i) positions_[i * kSize + k] = at_[i];
    for (int d = shape_.size() - 1; d >= 0; --d) {
      const auto e = static_cast<std::size_t>(d);
      for (std::size_t i = 0; i < at_.size(); ++i) at_[i] += strides_[i][e];
      if (++index_[e] < shape_[d]) break;
      for (std::size_t i = 0; i < at_.size(); ++i) at_[i] -= strides_[i][e] * shape_[d];
      index_[e] = 0;
    }
  }
  return size_ > 0;
}

namespace {
/// Whether elements stored as T are computed on as C.
template <class T, class C>
constexpr bool is_computed_as() {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
    return std::is_same_v<C, std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>;
  else
    return std::is_same_v<C, compute_t<T>>;
}
}  // namespace

template <class C>
void load_elements(const HostTensor& from, std::span<const std::int64_t> positions, C* to) {
  with_storage(from.aval.dtype, [&]<class T>() {
    if constexpr (is_computed_as<T, C>())
      for (const std::int64_t at : positions) *to++ = load_element(from.as<T>()[at]);
  });
}
template <class C>
void store_elements(const HostTensor& to, std::int64_t begin, std::span<const C> values) {
  with_storage(to.aval.dtype, [&]<class T>() {
    if constexpr (is_computed_as<T, C>())
      std::transform(values.begin(), values.end(), to.as<T>() + begin,
                     [](const C& v) { return store_element<T>(static_cast<compute_t<T>>(v)); });
  });
}

template void load_elements(const HostTensor&, std::span<const std::int64_t>, bool*);
template void load_elements(const HostTensor&, std::span<const std::int64_t>, std::int64_t*);
template void load_elements(const HostTensor&, std::span<const std::int64_t>, std::uint64_t*);
template void load_elements(const HostTensor&, std::span<const std::int64_t>, double*);
template void load_elements(const HostTensor&, std::span<const std::int64_t>, std::complex<double>*);
template void store_elements(const HostTensor&, std::int64_t, std::span<const bool>);
template void store_elements(const HostTensor&, std::int64_t, std::span<const std::int64_t>);
template void store_elements(const HostTensor&, std::int64_t, std::span<const std::uint64_t>);
template void store_elements(const HostTensor&, std::int64_t, std::span<const double>);
template void store_elements(const HostTensor&, std::int64_t, std::span<const std::complex<double>>);

}  // namespace weft::detail
