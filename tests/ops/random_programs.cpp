// Random programs, from a seed.
#include "random_programs.h"

#include <weft/weft.h>

#include <algorithm>
#include <random>

#include "weft/core/ops/common.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/trace/trace.h"

namespace weft::test {

using namespace detail;

namespace {

constexpr std::int64_t kLargest = 5000;  // elements of an array

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  std::vector<Aval> inputs() {
    std::vector<Aval> out;
    for (int i = below(3); i >= 0; --i) out.push_back({shape(), float64});
    return out;
  }
  std::vector<Array> run(std::span<const Array> in, int steps) {
    pool_.assign(in.begin(), in.end());
    for (int i = 0; i < steps; ++i) {
      const Array y = step(pick());
      if (y.size() <= kLargest) pool_.push_back(y);
    }
    std::vector<Array> out;
    for (std::size_t i = pool_.size() > 3 ? pool_.size() - 3 : 0; i < pool_.size(); ++i) out.push_back(pool_[i]);
    return out;
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  bool coin() { return below(2) == 0; }
  Shape shape() {
    static constexpr int sizes[] = {1, 2, 3, 4, 5, 8, 16, 17, 33};
    Shape s;
    for (int d = 1 + below(3); d > 0; --d) s.push_back(sizes[below(s.num_elements() > 40 ? 4 : 9)]);
    return s;
  }
  /// Rather a value made lately.
  const Array& pick() {
    return pool_[pool_.size() - 1 - static_cast<std::size_t>(std::min(below(4), below(static_cast<int>(pool_.size()))))];
  }
  /// A value that broadcasts to x's shape.
  Array partner(const Array& x) {
    std::vector<Array> fitting;
    for (const Array& y : pool_)
      if (y.shape() == x.shape() || y.ndim() == 0) fitting.push_back(y);
    if (x.ndim() > 0 && coin()) return mean(x, below(x.ndim()), keepdims);
    return fitting.empty() ? cos(x) : fitting[static_cast<std::size_t>(below(static_cast<int>(fitting.size())))];
  }

  Array step(const Array& x) {
    switch (below(x.ndim() == 0 ? 4 : 20)) {
      case 0:
      case 1: return unary(x);
      case 2: return binary(x, partner(x));
      case 3: return where(x > 0.1, x, partner(x));
      case 4: return x.ndim() > 1 ? permute(x, permutation(x.ndim()), {}) : flip(x, 0);
      case 5: return reshaped(x);
      case 6: return sliced(x);
      case 7: return padded(x);
      case 8: return concatenate({x, sin(x)}, below(x.ndim()));
      case 9:
      case 10: return reduced(x);
      case 11: return cumulative(x);
      case 12: return product(x);
      case 13: return gathered(x);
      case 14: return scattered(x);
      case 15: return converted(x);
      case 16: return x.size() < 500 ? broadcast_to(x, x.shape().inserted(0, 1 + below(4))) : x(0);
      case 17: return nn::softmax(2. * x, below(x.ndim()));
      case 18: return controlled(x);
      default: return sort(x, below(x.ndim()));
    }
  }

  Array unary(const Array& x) {
    switch (below(13)) {
      case 0: return sin(x);
      case 1: return tanh(2. * x);
      case 2: return exp(-abs(x));
      case 3: return log1p(abs(x));
      case 4: return sqrt(1. + x * x);
      case 5: return -x;
      case 6: return sigmoid(3. * x);
      case 7: return floor(3. * x) + x;
      case 8: return sign(x) * x;
      case 9: return erf(x);
      case 10: return integer_pow(sin(x), 3);
      case 11: return clip(x, -0.6, 0.7);
      default: return rsqrt(2. + x);
    }
  }
  Array binary(const Array& x, const Array& y) {
    switch (below(7)) {
      case 0: return x + y;
      case 1: return x - y;
      case 2: return x * y;
      case 3: return x / (2. + abs(y));
      case 4: return maximum(x, y);
      case 5: return atan2(x, 1.5 + y);
      default: return hypot(x, 0.5 + y);
    }
  }
  std::vector<int> permutation(int n) {
    std::vector<int> p(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) p[static_cast<std::size_t>(i)] = i;
    for (std::size_t i = p.size(); i > 1; --i) std::swap(p[i - 1], p[static_cast<std::size_t>(below(static_cast<int>(i)))]);
    return p;
  }
  Array reshaped(const Array& x) {
    if (coin()) return ravel(x);
    const int axis = below(x.ndim());
    for (const int k : {2, 3, 4})
      if (x.shape()[axis] % k == 0) {
        Shape s = x.shape().inserted(axis, k);
        s[axis + 1] = x.shape()[axis] / k;
        return reshape(x, s);
      }
    return expand_dims(x, axis);
  }
  Array sliced(const Array& x) {
    std::vector<std::int64_t> start, limit, strides;
    for (const std::int64_t n : x.shape()) {
      const int from = below(static_cast<int>(n)), to = from + 1 + below(static_cast<int>(n) - from);
      start.push_back(coin() ? 0 : from), limit.push_back(coin() ? n : to), strides.push_back(coin() ? 1 : 1 + below(3));
    }
    return slice_range(x, start, limit, strides, {});
  }
  Array padded(const Array& x) {
    detail::PaddingConfig config;
    for (const std::int64_t n : x.shape())
      config.push_back({below(3) - (n > 2 ? 1 : 0), below(3) - (n > 2 ? 1 : 0), coin() ? 0 : below(3)});
    return pad_with(x, scalar_like(x, 0.25), config, {});
  }
  Array reduced(const Array& x) {
    std::vector<int> axes{below(x.ndim())};
    for (int d = 0; d < x.ndim(); ++d)
      if (d != axes[0] && below(3) == 0) axes.push_back(d);
    const ReduceOptions options{.keepdims = coin()};
    switch (below(6)) {
      case 0: return sin(sum(x, axes, options));
      case 1: return mean(x, axes, options);
      case 2: return max(x, axes, options);
      case 3: return min(x, axes, options);
      case 4: return sin(prod(1.1 * cos(x), axes, options));
      default: return 0.3 * logsumexp(x, axes, options);
    }
  }
  Array cumulative(const Array& x) {
    const int axis = below(x.ndim());
    switch (below(4)) {
      case 0: return sin(cumsum(x, axis));
      case 1: return cummax(x, axis);
      case 2: return flip(0.2 * cumlogsumexp(flip(x, axis), axis), axis);
      default: return cumprod(cos(0.5 * x), axis);
    }
  }
  Array product(const Array& x) {
    if (x.ndim() == 1) return x.size() < 60 ? outer(x, tanh(x)) : dot(x, x) / static_cast<double>(x.size());
    const double scale = 1. / std::sqrt(static_cast<double>(x.shape().back()));
    return scale * matmul(x, swapaxes(cos(x), -1, -2));
  }
  Array gathered(const Array& x) {
    const int axis = below(x.ndim());
    const int n = static_cast<int>(x.shape()[axis]);
    if (coin()) return take(x, array(std::vector<int>{0, n - 1, n / 2, 0}), axis);
    return take_along_axis(x, argsort(x, axis), axis);
  }
  Array scattered(const Array& x) {
    const int n = static_cast<int>(x.shape()[0]);
    std::vector<int> to;
    for (int i = 0; i < n; ++i) to.push_back(below(n + 1));
    Shape shape = x.shape();
    shape[0] = n + 1;
    const Array at = array(to);
    return coin() ? zeros(shape, float64).at(at).add(0.5 * x) : full(shape, 0.4, float64).at(at).max(x);
  }
  Array converted(const Array& x) {
    switch (below(3)) {
      case 0: return convert(convert(x, float32) * 1.5f, float64);
      case 1: return convert(convert(4. * x, int32) % 3, float64) + x;
      default: return x * convert(iota(int32, x.shape(), below(x.ndim())) > 1, float64);
    }
  }
  Array controlled(const Array& x) {
    switch (below(4)) {
      case 0: return cond(sum(x) > 0.1, [](Array v) { return sin(v); }, [](Array v) { return v * 0.5; }, x);
      case 1: return fori_loop(0, 3, [](Array i, Array c) { return 0.5 * sin(c) + 0.1 * convert(i, float64); }, x);
      case 2: return scan([](Array c, Array s) { return std::pair{tanh(c + s), c * s}; }, cos(x[0]), x).second;
      default: return map([](Array v) { return v - mean(v); }, x);
    }
  }

  std::mt19937 random_;
  std::vector<Array> pool_;
};

}  // namespace

Jaxpr random_program(unsigned seed, int steps) {
  Generator g(seed);
  const std::vector<Aval> inputs = g.inputs();
  return trace_jaxpr({"random program", inputs, {}}, [&](std::span<const Array> in) { return g.run(in, steps); });
}

}  // namespace weft::test
