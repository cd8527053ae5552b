// Reductions, products, windows and the library's routines.
#include <weft/weft.h>

#include <algorithm>

#include "tools/fuzz/generator.h"

namespace weft::fuzz {

using namespace detail;

void Generator::reduced() {
  if (random_.chance(0.2)) return reduced_quotient();
  Array x = random_.chance(0.1) ? pick() : pick_positive_size();
  if (x.ndim() == 0) return;
  std::vector<int> axes = some_axes(x.ndim());
  if (axes.empty()) axes.push_back(axis_of(x));
  const ReduceOptions options{.keepdims = random_.coin()};
  const DType t = x.dtype();
  if (t.is_bool()) return keep(random_.pick({any(x, axes, options), all(x, axes, options), sum(x, axes, options)}));
  switch (random_.below(t.is_integer() ? 8 : t.is_complex() ? 3 : 11)) {
    case 0: return keep(t.is_inexact() ? tame(sum(x, axes, options)) : sum(x, axes, options));
    case 1: return keep(mean(x, axes, options));
    case 2: return keep(t.is_inexact() ? prod(within(x, 0.6, 1.4), axes, options) : prod(x, axes, options));
    case 3: return keep(x.size() > 0 ? max(x, axes, options) : x);
    case 4: return keep(x.size() > 0 ? min(x, axes, options) : x);
    case 5: return keep(x.size() > 0 ? argmax(x, axes[0]) : x);
    case 6: return keep(x.size() > 0 ? argmin(x, axes[0]) : x);
    case 7: {
      if (t.is_floating()) return keep(logsumexp(tame(x), axes, options));
      const Jaxpr j =
          parse("{ lambda ; a:" + to_string(x.aval()) + ". let b:" + to_string(Aval{x.shape().erased(axes[0]), t}) + " = " +
                random_.pick({"reduce_and", "reduce_or", "reduce_xor"}) + "[axes=(" + std::to_string(axes[0]) + ",)] a in (b,) }");
      return keep(j(x)[0]);
    }
    case 8: return keep(sqrt(Array(0.1) + var(tame(x), axes, options)));
    case 9: return keep(sum(x, axes, {.keepdims = options.keepdims, .where = x > Array(0)}));
    default: return keep(x - mean(x, axes, keepdims));
  }
}

/// A reduction just longer than vectors are, of what has no value where a vector's rest is zeros.
void Generator::reduced_quotient() {
  Shape s{random_.pick({7, 9, 9, 10, 10, 17, 17, 33})};
  if (random_.coin()) s = s.inserted(random_.below(2), random_.pick({1, 2, 3, 5, 9}));
  const bool integers = random_.chance(0.25);
  const Array& from = pick();
  DType t = from.dtype();
  if (t.is_bool() || t.is_integer() != integers) t = integers ? random_.pick({int32, int64, uint8, int16}) : floating();
  const Array above = fitted(from, {s, t});
  // A mask of one row, one column or all positions; its numbers are not computed, so that its zeros are where there is nothing.
  Shape under = s;
  if (s.size() == 2 && random_.coin()) under[random_.below(2)] = 1;
  std::vector<double> numbers(static_cast<std::size_t>(under.num_elements()));
  for (double& v : numbers) v = integers ? random_.between(1, 9) : 0.25 * random_.between(2, 9);
  const Array below = as(array(numbers, under), t);
  const Array q = integers && random_.coin() ? rem(above, below) : integers ? floor_divide(above, below) : above / below;
  std::vector<int> axes = some_axes(s.size());
  if (axes.empty()) axes.push_back(random_.below(s.size()));
  const ReduceOptions options{.keepdims = random_.coin()};
  switch (random_.below(integers ? 5 : t.is_complex() ? 3 : 10)) {
    case 0: return keep(sum(q, axes, options));
    case 1: return keep(sum(broadcast_to(Array(1) / below, s) * q, axes, options));
    case 2: return keep(mean(q, axes, options));
    case 3: return keep(max(q, axes, options));
    case 4: return keep(argmin(q, axes[0]));
    case 5: return keep(min(log(broadcast_to(below, s)) * tame(above), axes, options));
    case 6: return keep(prod(within(q, 0.6, 1.4), axes, options));
    case 7: return keep(logsumexp(q, axes, options));
    case 8: return keep(nn::softmax(q, axes[0]));
    default: return keep(sum(rsqrt(broadcast_to(below, s)) * above, axes, options));
  }
}

void Generator::cumulative() {
  const Array x = pick_positive_size();
  if (x.dtype().is_bool()) return keep(cumsum(x, axis_of(x)));
  // Products are taken of numbers near 1; sums grow with the length, and are scaled down.
  struct Operation {
    std::string name;
    bool near_one = false, grows = false;
  };
  std::vector<Operation> operations{{.name = "cumsum", .grows = true}, {.name = "cumprod", .near_one = true}};
  if (!x.dtype().is_complex()) operations.insert(operations.end(), {{.name = "cummax"}, {.name = "cummin"}});
  if (x.dtype().is_floating()) operations.push_back({.name = "cumlogsumexp"});
  const Operation chosen = random_.pick(operations);
  const std::string type = to_string(Aval{x.shape(), x.dtype()});
  const Jaxpr j = parse("{ lambda ; a:" + type + ". let b:" + type + " = " + chosen.name + "[axis=" + std::to_string(axis_of(x)) +
                        " reverse=" + (random_.coin() ? "True" : "False") + "] a in (b,) }");
  const bool inexact = x.dtype().is_inexact();
  const Array y = j(inexact && chosen.near_one ? within(x, 0.6, 1.4) : inexact ? tame(x) : x)[0];
  keep(inexact && chosen.grows ? tame(y) : y);
}

void Generator::softmax() {
  Array x = pick_positive_size();
  if (!x.dtype().is_floating()) x = fitted(x, {x.shape(), floating()});
  const int axis = axis_of(x);
  switch (random_.below(6)) {
    case 0: return keep(nn::softmax(Array(2) * x, axis));
    case 1: return keep(nn::log_softmax(tame(x), axis));
    case 2: {
      const Array d = x - mean(x, axis, keepdims);
      return keep(d * rsqrt(Array(0.1) + mean(d * d, axis, keepdims)));
    }
    case 3: return keep(random_.pick({nn::gelu(x), nn::silu(x), nn::relu(x)}));
    case 4: {
      const Array scale = fitted(pick(), {Shape{x.shape().back()}, x.dtype()}), bias = fitted(pick(), {Shape{x.shape().back()}, x.dtype()});
      return keep(nn::layer_norm(x, scale, bias, {.epsilon = 0.1}));
    }
    default: return attention();
  }
}

void Generator::product() {
  Array x = pick_positive_size();
  if (x.dtype().is_inexact()) x = tame(x);
  if (x.dtype().is_bool() && random_.coin()) x = as(x, int32);
  // Any dimensions in common, in any order.
  const int n = std::min(x.ndim(), 4);
  std::vector<int> kinds, mine[2], theirs[2];  // for each dimension of x: 0 batch, 1 contracting, 2 free
  Shape other;
  Shape s = x.shape();
  std::vector<std::pair<std::int64_t, int>> dims;  // of the other operand: its size, which of x's it goes with, or -1
  for (int d = 0; d < n; ++d) {
    const int kind = random_.pick({0, 1, 1, 2, 2});
    if (kind < 2) dims.push_back({s[d], d});
    kinds.push_back(kind);
  }
  std::int64_t free = 1;
  for (int d = 0; d < x.ndim(); ++d)
    if (d >= n || kinds[static_cast<std::size_t>(d)] != 1) free *= s[d];
  for (int i = random_.between(0, 2); i > 0; --i) {
    const int size = random_.pick({1, 2, 3, 5, 8, 17});
    if (free * size > 2 * options_.largest) break;
    free *= size;
    dims.push_back({size, -1});
  }
  std::vector<std::pair<std::int64_t, int>> order;
  for (int i : random_.permutation(static_cast<int>(dims.size()))) order.push_back(dims[static_cast<std::size_t>(i)]);
  DotDimensionNumbers numbers;
  for (std::size_t i = 0; i < order.size(); ++i) {
    other.push_back(order[i].first);
    const int d = order[i].second;
    if (d < 0) continue;
    auto& pair = kinds[static_cast<std::size_t>(d)] == 0 ? numbers.batch : numbers.contracting;
    pair[0].push_back(d), pair[1].push_back(static_cast<int>(i));
  }
  Array y = fitted(pick(), {other, x.dtype()});
  if (random_.coin()) {
    std::swap(x, y), std::swap(numbers.batch[0], numbers.batch[1]), std::swap(numbers.contracting[0], numbers.contracting[1]);
  }
  DotOptions options;
  if ((x.dtype() == bfloat16 || x.dtype() == float16) && random_.coin()) options.preferred_element_type = float32;
  if (x.dtype() == int8 && random_.coin()) options.preferred_element_type = int32;
  const Array z = dot_general(x, y, numbers, options);
  keep(z.dtype().is_inexact() ? tame(z) : z);
  if (random_.chance(0.2) && z.ndim() >= 2 && z.dtype().is_inexact()) keep(tame(matmul(z, swapaxes(cos(z), -1, -2))));
}

void Generator::sorted() {
  Array x = pick_positive_size();
  const int axis = axis_of(x);
  if (x.dtype().is_complex()) return keep(sort(x, axis));
  switch (random_.below(6)) {
    case 0: return keep(sort(x, axis));
    case 1: return keep(argsort(x, axis));
    case 2: {
      if (x.dtype().is_bool()) return keep(sort(x, axis));
      const TopK top = top_k(x, random_.between(1, static_cast<int>(x.shape().back())));
      keep(top.indices);
      return keep(top.values);
    }
    case 3: {
      if (x.dtype().is_bool()) return keep(argsort(x, axis));
      return keep(searchsorted(sort(ravel(x)), partner(x, true), {.side = random_.coin() ? "left" : "right"}));
    }
    case 4: {
      const Array y = partner(x, true);
      const std::string type = to_string(Aval{x.shape(), x.dtype()});
      const int keys = random_.between(1, 2);
      const Jaxpr j =
          parse("{ lambda ; a:" + type + " b:" + type + ". let c:" + type + " d:" + type + " = sort[dimension=" + std::to_string(axis) +
                " is_stable=True num_keys=" + std::to_string(keys) + "] a b in (c, d) }");
      const Arrays both = j(x, y);
      keep(both[0]);
      return keep(both[1]);
    }
    default:
      return keep(
          bincount(ravel(as(x.dtype().is_integer() ? x : fitted(x, {x.shape(), int32}), int32)), {.length = random_.between(1, 9)}));
  }
}

void Generator::windows() {
  Array x = pick_matrix(3);
  if (!x.dtype().is_floating()) x = fitted(x, {x.shape(), random_.pick({float32, float64})});
  while (x.ndim() > 4) x = sum(x, 0);
  x = tame(x);
  // Behind a batch and in front of the features.
  std::vector<int> strides;
  Shape window;
  for (int d = 1; d + 1 < x.ndim(); ++d) {
    window.push_back(random_.between(1, static_cast<int>(std::min<std::int64_t>(3, x.shape()[d]))));
    strides.push_back(random_.between(1, 3));
  }
  const PoolOptions options{.strides = strides, .padding = random_.pick({"VALID", "SAME", "SAME_LOWER"})};
  switch (random_.below(options_.differentiable ? 3 : 5)) {
    case 0: return keep(max_pool(x, window, options));
    case 1: return keep(min_pool(x, window, options));
    case 2: return keep(avg_pool(x, window, options));
    case 3: {
      Shape all = window.inserted(0, 1), ones_(std::vector<int>(static_cast<std::size_t>(x.ndim()), 1));
      all.push_back(random_.between(1, 2));
      std::vector<int> dilation;
      for (int d = 0; d < x.ndim(); ++d) dilation.push_back(random_.between(1, 2));
      const Array init = as(Array(0), x.dtype());
      const bool known = random_.coin();  // what the function is, or any function
      const auto join = [=](const Array& a, const Array& b) { return known ? a + b : maximum(a, b) + Array(0); };
      return keep(reduce_window(x, init, join, all, ones_, "SAME",
                                {.base_dilation = random_.coin() ? dilation : std::vector<int>{}, .window_dilation = dilation}));
    }
    default:
      return keep(reduce(x, as(Array(0), x.dtype()), [](const Array& a, const Array& b) { return maximum(a, b) + Array(0); }, axis_of(x)));
  }
}

void Generator::convolution() {
  Array x = pick_matrix(3);
  if (!x.dtype().is_inexact()) x = fitted(x, {x.shape(), float32});
  while (x.ndim() > 5) x = sum(x, 0);
  x = tame(x);
  const int spatial = x.ndim() - 2;
  const auto features = static_cast<int>(x.shape()[1]), batch = static_cast<int>(x.shape()[0]);
  ConvOptions options;
  if (features % 2 == 0 && random_.coin())
    options.feature_group_count = random_.coin() ? 2 : features;
  else if (batch % 2 == 0 && random_.coin())
    options.batch_group_count = 2;
  const int outputs = options.feature_group_count * options.batch_group_count * random_.between(1, 3);
  if (outputs > 40) return;
  const bool same = random_.coin();
  Shape kernel{outputs, features / options.feature_group_count}, strides;
  for (int d = 0; d < spatial; ++d) {
    kernel.push_back(random_.between(1, 3));
    strides.push_back(random_.between(1, 2));
    options.rhs_dilation.push_back(random_.between(1, 2));
    if (!same) options.lhs_dilation.push_back(random_.chance(0.3) ? 2 : 1);
  }
  if (kernel.num_elements() * x.size() > 60000) return;
  std::vector<std::pair<int, int>> padding;
  for (int d = 0; d < spatial; ++d) padding.push_back({random_.between(2, 4), random_.between(2, 3)});
  const Array k = fitted(pick(), {kernel, x.dtype()});
  keep(tame(conv_general_dilated(x, k, strides, same ? Padding("SAME") : Padding(padding), options)));
}

void Generator::fourier() {
  if (options_.special) return cumulative();
  Array x = pick_positive_size();
  if (!x.dtype().is_inexact()) x = as(x, float32);
  if (x.dtype() == float16 || x.dtype() == bfloat16) x = as(x, float32);
  const int axis = axis_of(x);
  if (x.dtype().is_complex())
    return keep(
        tame(random_.pick({fft::fft(x, none, axis), fft::ifft(x, none, axis), fft::fftn(x), fft::irfft(x, random_.between(1, 9), axis)})));
  keep(tame(random_.coin() ? fft::rfft(x, none, axis) : fft::fft(x, none, axis)));
}

void Generator::matrices() {
  Array x = pick_matrix(2);
  if (!x.dtype().is_inexact() || x.dtype() == float16 || x.dtype() == bfloat16)
    x = fitted(x, {x.shape(), random_.pick({float32, float64})});
  const int n = static_cast<int>(std::min<std::int64_t>(x.shape().back(), 8));
  Shape s = x.shape();
  while (s.size() > 3) s = s.erased(0);
  s[s.size() - 1] = s[s.size() - 2] = n;
  if (s.num_elements() > options_.largest) s = {n, n};
  const bool complex = x.dtype().is_complex();
  const int which = random_.below(complex ? 5 : 8);
  // Finite, but for what is eliminated by rows: other algorithms make NaN of a NaN not in the same places.
  const auto values = [&](const Array& from, const Shape& as) {
    const Array y = fitted(from, {as, x.dtype()});
    return options_.special && which > 3 ? where(isfinite(y), y, Array(0)) : y;
  };
  // Well conditioned: near a multiple of the identity.
  const Array a = Array(0.3) * values(x, s) + Array(n) * eye(n, n, 0, x.dtype());
  const Array b = values(pick(), s.with(s.size() - 1, random_.between(1, 3)));
  switch (which) {
    case 0: return keep(linalg::solve(a, b));
    case 1: {
      const linalg::TriangularOptions how{.left_side = random_.coin(),
                                          .lower = random_.coin(),
                                          .transpose_a = random_.coin(),
                                          .unit_diagonal = random_.chance(0.3),
                                          .conjugate_a = random_.coin()};
      return keep(linalg::triangular_solve(how.unit_diagonal ? a / Array(n) : a, how.left_side ? b : swapaxes(b, -1, -2), how));
    }
    case 2: {
      const Array l = swapaxes(a, -1, -2);
      return keep(tame(linalg::cholesky(matmul(a, complex ? conj(l) : l))));
    }
    case 3: return keep(linalg::inv(a));
    case 4: return keep(linalg::qr(a).r / Array(n));
    case 5: return keep(linalg::slogdet(a).logabsdet);
    case 6: return keep(linalg::lu(a).u / Array(n));
    default: return keep(linalg::svdvals(a + as(tri(n, n, 0, float32), x.dtype())) / Array(n));
  }
}

void Generator::drawn() {
  Array data = fitted(pick_integer(), {Shape{2}, uint32});
  Array key = random::wrap_key_data(data);
  switch (random_.below(6)) {
    case 0: return keep(random::bits(key, shape(), random_.pick({uint8, uint16, uint32, uint64})));
    case 1: return keep(random::uniform(key, shape(), floating()));
    case 2: return keep(random::normal(key, shape(), random_.pick({float32, float64})));
    case 3: return keep(random::randint(random::fold_in(key, scalar_index(100)), shape(), -5, 20, random_.pick({int32, uint8, int64})));
    case 4: return keep(random::key_data(random::split(key, random_.between(1, 3))));
    default: return keep(random::bernoulli(random::split(key, 2)(1), 0.4, shape()));
  }
}

}  // namespace weft::fuzz
