// Convolution as products of matrices: for a block of output positions, the elements under the windows are laid out as a matrix (im2col),
// which the kernel multiplies. Sums are in double; integers wrap around.
#include <algorithm>

#include "weft/core/array/storage.h"
#include "weft/core/ops/contraction/conv.h"
#include "weft/core/ops/elementwise/wrapping.h"
#include "weft/core/ops/load_all.h"

namespace weft::detail {
namespace {

constexpr std::int64_t kBlock = 64;    // output positions at a time
constexpr std::int64_t kDepth = 1024;  // rows of the matrix of patches at a time

/// One of the three arrays: how far apart its batch (or output features), features and spatial positions are.
struct Layout {
  Layout(const Shape& shape, const std::vector<int>& spec) {
    const std::vector<std::int64_t> strides = row_major_strides(shape);
    first = strides[static_cast<std::size_t>(spec[0])], second = strides[static_cast<std::size_t>(spec[1])];
    for (std::size_t i = 2; i < spec.size(); ++i) {
      spatial.push_back(strides[static_cast<std::size_t>(spec[i])]);
      sizes.push_back(shape[spec[i]]);
      positions *= sizes.back();
    }
  }
  /// Where spatial position `at`, counted in row-major order, is; and its coordinates.
  std::int64_t offset(std::int64_t at, std::vector<std::int64_t>* coordinates = nullptr) const {
    std::int64_t sum = 0;
    for (std::size_t i = sizes.size(); i-- > 0; at /= sizes[i]) {
      sum += at % sizes[i] * spatial[i];
      if (coordinates) (*coordinates)[i] = at % sizes[i];
    }
    return sum;
  }
  std::int64_t first, second, positions = 1;
  std::vector<std::int64_t> spatial, sizes;
};

/// Adds to each of `rows` sums the products of a row of weights and the columns of patches.
template <class V>
void multiply(const V* weights, std::int64_t weights_stride, const V* patches, std::int64_t depth, V* sums, std::int64_t rows) {
  for (std::int64_t o = 0; o < rows; ++o) {
    V* out = sums + o * kBlock;
    const V* w = weights + o * weights_stride;
    std::int64_t k = 0;
    for (; k + 4 <= depth; k += 4) {
      const V *a = patches + k * kBlock, *b = a + kBlock, *c = b + kBlock, *d = c + kBlock;
      for (std::int64_t s = 0; s < kBlock; ++s)
        out[s] += wrapping_mul(w[k], a[s]) + wrapping_mul(w[k + 1], b[s]) + wrapping_mul(w[k + 2], c[s]) + wrapping_mul(w[k + 3], d[s]);
    }
    for (; k < depth; ++k)
      for (std::int64_t s = 0; s < kBlock; ++s) out[s] += wrapping_mul(w[k], patches[k * kBlock + s]);
  }
}

template <class V>
void store_all(const std::vector<V>& values, const HostTensor& x) {
  with_storage(x.aval.dtype, [&]<class T>() {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if constexpr (std::is_integral_v<T> == std::is_same_v<V, std::uint64_t> && is_complex_storage<T> == is_complex_storage<V>) {
        if constexpr (std::is_integral_v<T>)
          x.as<T>()[i] = static_cast<T>(values[i]);
        else
          x.as<T>()[i] = store_element<T>(values[i]);
      }
    }
  });
}

template <class V>
void convolve(const ReferenceContext& c) {
  const ConvParams& p = c.get<ConvParams>();
  const Shape &ls = c.in[0].aval.shape, &rs = c.in[1].aval.shape, &os = c.out[0].aval.shape;
  const auto& [l, r, o] = p.dimension_numbers;
  const Layout lhs(ls, l), rhs(rs, r), out(os, o);
  const std::vector<WindowDim> windows = conv_windows(p, ls, rs);
  const std::int64_t features = rs[r[1]], outputs = rs[r[0]], taps = rhs.positions, depth = features * taps;
  const std::int64_t feature_groups = p.feature_group_count, batch_groups = p.batch_group_count, groups = feature_groups * batch_groups;
  const std::int64_t batch = ls[l[0]] / batch_groups, rows = outputs / groups;
  const std::vector<V> x = load_all<V>(c.in[0]), kernel = load_all<V>(c.in[1]);
  std::vector<V> result(static_cast<std::size_t>(c.out[0].aval.size()));

  std::vector<V> weights(static_cast<std::size_t>(outputs * depth));
  for (std::int64_t j = 0; j < outputs; ++j)
    for (std::int64_t f = 0; f < features; ++f)
      for (std::int64_t t = 0; t < taps; ++t)
        weights[static_cast<std::size_t>(j * depth + f * taps + t)] =
            kernel[static_cast<std::size_t>(j * rhs.first + f * rhs.second + rhs.offset(t))];

  std::vector<std::int64_t> source(static_cast<std::size_t>(taps * kBlock)), where(windows.size()), tap(windows.size());
  std::vector<V> patches(static_cast<std::size_t>(std::min(depth, kDepth) * kBlock)), sums(static_cast<std::size_t>(rows * kBlock));
  // The columns of the matrix of patches are the output positions of all images.
  for (std::int64_t begin = 0, columns = batch * out.positions; begin < columns; begin += kBlock) {
    const std::int64_t count = std::min(kBlock, columns - begin);
    // For each tap and column, the place of the element under it, or -1.
    for (std::int64_t s = 0; s < kBlock; ++s) {
      const std::int64_t image = (begin + s) / out.positions * lhs.first;
      if (s < count) out.offset((begin + s) % out.positions, &where);
      for (std::int64_t t = 0; t < taps; ++t) {
        rhs.offset(t, &tap);
        std::int64_t place = s < count ? image : -1;
        for (std::size_t d = 0; d < windows.size() && place >= 0; ++d) {
          const std::int64_t e = windows[d].element(where[d], tap[d]);
          place = e < 0 ? -1 : place + e * lhs.spatial[d];
        }
        source[static_cast<std::size_t>(t * kBlock + s)] = place;
      }
    }
    for (std::int64_t g = 0; g < groups; ++g) {
      const V* base = x.data() + (batch_groups > 1 ? g * batch * lhs.first : feature_groups > 1 ? g * features * lhs.second : 0);
      std::fill(sums.begin(), sums.end(), V{});
      for (std::int64_t from = 0; from < depth; from += kDepth) {
        const std::int64_t chunk = std::min(kDepth, depth - from);
        for (std::int64_t k = 0; k < chunk; ++k) {
          const V* feature = base + (from + k) / taps * lhs.second;
          const std::int64_t* places = source.data() + (from + k) % taps * kBlock;
          V* row = patches.data() + k * kBlock;
          for (std::int64_t s = 0; s < kBlock; ++s) row[s] = places[s] < 0 ? V{} : feature[places[s]];
        }
        multiply(weights.data() + g * rows * depth + from, depth, patches.data(), chunk, sums.data(), rows);
      }
      for (std::int64_t s = 0; s < count; ++s) {
        const std::int64_t n = (begin + s) / out.positions;
        V* to = result.data() + n * out.first + g * rows * out.second + out.offset((begin + s) % out.positions);
        for (std::int64_t j = 0; j < rows; ++j) to[j * out.second] = sums[static_cast<std::size_t>(j * kBlock + s)];
      }
    }
  }
  store_all(result, c.out[0]);
}

}  // namespace

void conv_reference(const ReferenceContext& c) {
  const DType dtype = c.out[0].aval.dtype;
  if (c.out[0].aval.size() == 0) return;
  if (dtype.is_complex())
    convolve<std::complex<double>>(c);
  else if (dtype.is_floating())
    convolve<double>(c);
  else
    convolve<std::uint64_t>(c);
}

}  // namespace weft::detail
