// Random keys and distributions.
#pragma once
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>

#include "weft/core/array/array.h"
#include "weft/core/array/axis.h"
#include "weft/core/array/optional_shape.h"

namespace weft {

namespace detail {
void split_key_into(const Arg& key, int n, Array* keys);
}

/// Random numbers from explicit keys, bit for bit those of JAX 0.10 with its defaults (threefry2x32, jax_threefry_partitionable): a draw
/// depends on its key, shape and dtype alone, and not on where, when or under which transform it is made.
///
/// A key is a scalar array of the dtype key<fry>; an array of keys can be indexed, stacked, mapped over and carried like any other, but
/// arithmetic on it is a DTypeError. Use a key once: split it, or fold numbers into it. All samplers throw DTypeError for an array that is
/// not a key, and ShapeError for more than one key (map over them with vmap) or parameters that don't broadcast to the shape.
namespace random {

/// A key. A seed that doesn't fit into 32 bits fills both words of it.
Array key(std::uint64_t seed, SourceLoc loc = SourceLoc::here());
template <detail::WholeNumber T>
  requires(!std::is_same_v<T, std::uint64_t>)
Array key(T seed, SourceLoc loc = SourceLoc::here()) {
  return key(static_cast<std::uint64_t>(seed), loc);
}
/// The key of an integer that may be traced, or an array of keys.
Array key(const Array& seed, SourceLoc loc = SourceLoc::here());
/// key(seed), by JAX's older name.
inline Array PRNGKey(const auto& seed, SourceLoc loc = SourceLoc::here()) { return key(seed, loc); }
/// The uint32 words of keys, along a new last axis of size 2.
Array key_data(Arg key);
/// Keys made of their words, which are uint32 along a last axis of size 2.
Array wrap_key_data(Arg data);
/// n new keys, or an array of them of any shape.
Array split(Arg key, Shape n);
/// Two new keys: an array of them, which `auto [next, now] = split(key)` takes apart.
class KeyPair : public Array {
 public:
  explicit KeyPair(Array keys) : Array(std::move(keys)) {}
  template <std::size_t I>
  Array get() const {
    return (*this)[I];
  }
  /// `std::tie(key, now) = split(key)`: the new keys, in this pair.
  operator std::tuple<Array&, Array&>() const { return {both_[0] = get<0>(), both_[1] = get<1>()}; }

 private:
  mutable Array both_[2];
};
inline KeyPair split(Arg key) { return KeyPair(split(std::move(key), Shape(2))); }
/// `split(key, {.num = 4})`.
struct SplitOption {
  detail::NamedFields named = detail::NamedFields();
  Shape num;  ///< how many
};
Array split(Arg key, SplitOption options, detail::Nothing auto...) { return split(std::move(key), std::move(options.num)); }
/// The new keys one by one: `auto [next, now] = split<2>(key)`.
template <std::size_t N>
std::array<Array, N> split(Arg key) {
  std::array<Array, N> keys;
  detail::split_key_into(key, static_cast<int>(N), keys.data());
  return keys;
}
/// The same key, by the name that says that it is used again on purpose (jax.random.clone).
Array clone(Arg key);
/// A new key of a key and a number, which may be traced: of a step, an axis_index, ...
Array fold_in(Arg key, Arg data);

/// Random bits: all values of an unsigned dtype, equally often.
Array bits(Arg key, Shape shape, DType dtype = uint32);
inline Array bits(Arg key) { return bits(std::move(key), {}); }
/// Uniformly distributed in [minval, maxval).
Array uniform(Arg key, Shape shape, DType dtype = float32, Arg minval = 0., Arg maxval = 1.);
/// Options of uniform.
struct UniformOptions {
  detail::NamedFields named = detail::NamedFields();
  OptionalShape shape = none;  ///< where it is no argument; absent: a scalar
  DType dtype = float32;       ///< of the result
  Arg minval = 0.;             ///< the least number
  Arg maxval = 1.;             ///< the number below which all are
};
Array uniform(Arg key, Shape shape, UniformOptions options);
inline Array uniform(Arg key) { return uniform(std::move(key), {}); }
Array uniform(Arg key, UniformOptions o, detail::Nothing auto...) { return uniform(key, o.shape.value(), o.dtype, o.minval, o.maxval); }
/// The same between two numbers: `uniform(key, {3}, -1, 1)`.
Array uniform(Arg key, Shape shape, ScalarType auto low, ScalarType auto high) { return uniform(key, shape, float32, low, high); }
/// Normally distributed with mean 0 and variance 1; of a complex dtype, each part has variance 1/2.
Array normal(Arg key, Shape shape, DType dtype = float32);
inline Array normal(Arg key) { return normal(std::move(key), {}); }
/// Options of samplers: what stands at the end of their arguments, by name. (Those are templates, so that `{}` is a shape.)
struct DrawOptions {
  detail::NamedFields named = detail::NamedFields();
  OptionalShape shape = none;       ///< absent: that of the parameters
  std::optional<DType> dtype = {};  ///< absent: as without options
};
/// Options of normal.
struct NormalOptions {
  DType dtype = float32;  ///< of the result
};
inline Array normal(Arg key, Shape shape, NormalOptions options) { return normal(std::move(key), std::move(shape), options.dtype); }
Array normal(Arg key, DrawOptions o, detail::Nothing auto...) { return normal(key, o.shape.value(), o.dtype.value_or(float32)); }
/// True with probability p; of p's shape if none is given.
Array bernoulli(Arg key, Arg p, OptionalShape shape = none);
inline Array bernoulli(Arg key) { return bernoulli(std::move(key), .5); }
Array bernoulli(Arg key, Arg p, DrawOptions o, detail::Nothing auto...) {
  return bernoulli(key, std::move(p), o.shape).astype(o.dtype.value_or(bool_));
}
/// Arguments of bernoulli by name.
struct BernoulliOptions {
  detail::NamedFields named = detail::NamedFields();
  Arg p = .5;                  ///< the probability
  OptionalShape shape = none;  ///< absent: that of p
};
Array bernoulli(Arg key, BernoulliOptions o, detail::Nothing auto...) { return bernoulli(key, o.p, o.shape); }
/// Integers in [minval, maxval); minval where that is empty.
Array randint(Arg key, Shape shape, Arg minval, Arg maxval, DType dtype = int32);
/// Options of randint.
struct RandintOptions {
  detail::NamedFields named = detail::NamedFields();
  OptionalShape shape = none;  ///< where it is no argument; absent: a scalar
  Arg minval = 0;              ///< the least number
  Arg maxval;                  ///< the number below which all are
  DType dtype = int32;         ///< of the result
};
Array randint(Arg key, Shape shape, RandintOptions options);
Array randint(Arg key, RandintOptions o, detail::Nothing auto...) { return randint(key, o.shape.value(), o.minval, o.maxval, o.dtype); }
/// x shuffled along an axis, or 0, ..., x - 1 shuffled if x is an integer. Slices stay together unless `independent`.
Array permutation(Arg key, Arg x, AxisNumber axis = 0, bool independent = false);
/// Options of permutation.
struct PermutationOptions {
  detail::NamedFields named = detail::NamedFields();
  AxisNumber axis = 0;       ///< as an argument
  bool independent = false;  ///< as an argument
};
Array permutation(Arg key, Arg x, PermutationOptions o, detail::Nothing auto...) { return permutation(key, x, o.axis, o.independent); }

struct ChoiceOptions {
  detail::NamedFields named = detail::NamedFields();
  OptionalShape shape = none;   ///< where it is no argument; absent: one element
  bool replace = true;          ///< whether an element may be chosen more than once
  std::optional<Array> p = {};  ///< the probability of each, in one dimension; absent: all equal
  AxisNumber axis = 0;          ///< along which to choose
};
/// Elements (rows, ...) of a along an axis, or integers below a if it is an integer; `shape` of them, in place of the axis. Without
/// replacement there must be as many (ShapeError).
Array choice(Arg key, Arg a, Shape shape, ChoiceOptions options);
inline Array choice(Arg key, Arg a, ChoiceOptions o = {}) { return choice(key, std::move(a), o.shape.value(), o); }
Array choice(Arg key, Arg a, Shape shape, bool replace, std::optional<Array> p = {}, AxisNumber axis = 0);
// A template, so that g++ doesn't take `{.axis = 1}` for a shape.
template <class = void>
Array choice(Arg key, Arg a, Shape shape) {
  return choice(std::move(key), std::move(a), std::move(shape), ChoiceOptions());
}
/// Positions along an axis of logits, int32, each with a probability proportional to exp(logit). The shape is that of the other axes
/// unless one is given, which ends in it.
Array categorical(Arg key, Arg logits, AxisNumber axis = -1, OptionalShape shape = none);
/// Options of categorical.
struct CategoricalOptions {
  AxisNumber axis = -1;        ///< along which the logits are
  OptionalShape shape = none;  ///< absent: that of the other axes
};
inline Array categorical(Arg key, Arg logits, CategoricalOptions o) { return categorical(key, logits, o.axis, o.shape); }

// Distributions with parameters: of the parameters' shapes broadcast together unless a shape is given, to which they broadcast.

/// The normal distribution limited to (lower, upper).
Array truncated_normal(Arg key, Arg lower, Arg upper, OptionalShape shape = none, DType dtype = float32);
Array truncated_normal(Arg key, Arg a, Arg b, DrawOptions o, detail::Nothing auto...) {
  return truncated_normal(key, a, b, o.shape, o.dtype.value_or(float32));
}
/// Arguments of truncated_normal by name.
struct TruncatedNormalOptions {
  detail::NamedFields named = detail::NamedFields();
  Arg lower, upper;            ///< the limits
  OptionalShape shape = none;  ///< absent: that of the limits
  DType dtype = float32;       ///< of the result
};
Array truncated_normal(Arg key, TruncatedNormalOptions o, detail::Nothing auto...) {
  return truncated_normal(key, o.lower, o.upper, o.shape, o.dtype);
}
/// Density proportional to x^(a - 1) exp(-x). Differentiable by a.
Array gamma(Arg key, Arg a, OptionalShape shape = none, DType dtype = float32);
Array gamma(Arg key, Arg a, DrawOptions o, detail::Nothing auto...) { return gamma(key, a, o.shape, o.dtype.value_or(float32)); }
/// The logarithm of gamma, without underflow for small a.
Array loggamma(Arg key, Arg a, OptionalShape shape = none, DType dtype = float32);
/// Density proportional to x^(a - 1) (1 - x)^(b - 1). Differentiable by a and b.
Array beta(Arg key, Arg a, Arg b, OptionalShape shape = none, DType dtype = float32);
Array beta(Arg key, Arg a, Arg b, DrawOptions o, detail::Nothing auto...) { return beta(key, a, b, o.shape, o.dtype.value_or(float32)); }
/// Points of the simplex along the last axis: density proportional to the product of x_i^(alpha_i - 1). The shape is that in front of
/// alpha's last axis.
Array dirichlet(Arg key, Arg alpha, OptionalShape shape = none, DType dtype = float32);
Array dirichlet(Arg key, Arg alpha, DrawOptions o, detail::Nothing auto...) {
  return dirichlet(key, alpha, o.shape, o.dtype.value_or(float32));
}
/// The chi-square distribution with df degrees of freedom.
Array chisquare(Arg key, Arg df, OptionalShape shape = none, DType dtype = float32);
Array chisquare(Arg key, Arg df, DrawOptions o, detail::Nothing auto...) { return chisquare(key, df, o.shape, o.dtype.value_or(float32)); }
/// Student's distribution with df degrees of freedom.
Array t(Arg key, Arg df, OptionalShape shape = none, DType dtype = float32);
Array t(Arg key, Arg df, DrawOptions o, detail::Nothing auto...) { return t(key, df, o.shape, o.dtype.value_or(float32)); }
/// Density b x^(-b - 1) for x >= 1.
Array pareto(Arg key, Arg b, OptionalShape shape = none, DType dtype = float32);
Array pareto(Arg key, Arg b, DrawOptions o, detail::Nothing auto...) { return pareto(key, b, o.shape, o.dtype.value_or(float32)); }
/// exp(sigma * normal).
Array lognormal(Arg key, Arg sigma, OptionalShape shape = none, DType dtype = float32);
Array lognormal(Arg key, Arg sigma, DrawOptions o, detail::Nothing auto...) {
  return lognormal(key, sigma, o.shape, o.dtype.value_or(float32));
}
inline Array lognormal(Arg key) { return lognormal(std::move(key), 1.); }
/// The distribution function 1 - exp(-(x / scale)^concentration).
Array weibull_min(Arg key, Arg scale, Arg concentration, Shape shape = {}, DType dtype = float32);
/// The length of a vector of two normal numbers of standard deviation `scale`.
Array rayleigh(Arg key, Arg scale, OptionalShape shape = none, DType dtype = float32);
Array rayleigh(Arg key, Arg scale, DrawOptions o, detail::Nothing auto...) {
  return rayleigh(key, scale, o.shape, o.dtype.value_or(float32));
}
/// Piecewise linear density with its peak at `mode`.
Array triangular(Arg key, Arg left, Arg mode, Arg right, OptionalShape shape = none, DType dtype = float32);
/// The number of trials, of success probability p, up to the first success.
Array geometric(Arg key, Arg p, OptionalShape shape = none, DType dtype = int32);
Array geometric(Arg key, Arg p, DrawOptions o, detail::Nothing auto...) { return geometric(key, p, o.shape, o.dtype.value_or(int32)); }
/// The number of events, of which lam are expected.
Array poisson(Arg key, Arg lam, OptionalShape shape = none, DType dtype = int32);
Array poisson(Arg key, Arg lam, DrawOptions o, detail::Nothing auto...) { return poisson(key, lam, o.shape, o.dtype.value_or(int32)); }
/// The number of successes in n trials of success probability p. NaN where n or p is negative or NaN.
Array binomial(Arg key, Arg n, Arg p, OptionalShape shape = none, DType dtype = float32);
Array binomial(Arg key, Arg n, Arg p, DrawOptions o, detail::Nothing auto...) {
  return binomial(key, n, p, o.shape, o.dtype.value_or(float32));
}
/// The number of times that each outcome occurs in n trials; the last axis of p, and of the result, is over outcomes. n has p's other
/// axes.
Array multinomial(Arg key, Arg n, Arg p, OptionalShape shape = none, DType dtype = float32);

/// Density proportional to exp(-abs(x)^p).
Array generalized_normal(Arg key, Arg p, Shape shape = {}, DType dtype = float32);
/// An array of `shape` of points, with d coordinates along a new last axis, uniformly distributed in the unit ball of the p-norm.
Array ball(Arg key, Int d, Arg p = 2., Shape shape = {}, DType dtype = float32);
/// The ratio of two chi-square variates, each divided by its degrees of freedom.
Array f(Arg key, Arg dfnum, Arg dfden, OptionalShape shape = none, DType dtype = float32);
/// Density proportional to x^(-3/2) exp(-(x - mean)^2 / (2 mean^2 x)).
Array wald(Arg key, Arg mean, OptionalShape shape = none, DType dtype = float32);
/// scale * maxwell with either sign, and loc added.
Array double_sided_maxwell(Arg key, Arg loc, Arg scale, Shape shape = {}, DType dtype = float32);
/// How mean + factor * normal finds the covariance's factor: "cholesky", "eigh" or "svd".
struct MultivariateNormalOptions {
  detail::NamedFields named = detail::NamedFields();
  OptionalShape shape = none;       ///< where it is no argument; absent: that of the parameters
  DType dtype = float32;            ///< of the result where `shape` is among the options
  std::string method = "cholesky";  ///< the others work for singular covariances too
};
/// Vectors with this mean and covariance along the last axis; `shape` is that in front of it.
Array multivariate_normal(Arg key, Arg mean, Arg cov, OptionalShape shape = none, DType dtype = float32,
                          MultivariateNormalOptions options = {});
Array multivariate_normal(Arg key, Arg mean, Arg cov, MultivariateNormalOptions o, detail::Nothing auto...) {
  return multivariate_normal(key, mean, cov, o.shape, o.dtype, o);
}
/// Matrices of shape + (n, m) with orthonormal columns (rows, if n < m), uniformly distributed (Haar measure). m = 0 stands for n.
Array orthogonal(Arg key, Int n, Shape shape = {}, DType dtype = float32, Int m = 0);

// Distributions without parameters.

/// The length of a vector of three normal numbers.
Array maxwell(Arg key, Shape shape, DType dtype = float32);
inline Array maxwell(Arg key) { return maxwell(std::move(key), {}); }
Array maxwell(Arg key, DrawOptions o, detail::Nothing auto...) { return maxwell(key, o.shape.value(), o.dtype.value_or(float32)); }

/// Density exp(-x) for x >= 0.
Array exponential(Arg key, Shape shape, DType dtype = float32);
inline Array exponential(Arg key) { return exponential(std::move(key), {}); }
Array exponential(Arg key, DrawOptions o, detail::Nothing auto...) { return exponential(key, o.shape.value(), o.dtype.value_or(float32)); }
/// The distribution function exp(-exp(-x)).
Array gumbel(Arg key, Shape shape, DType dtype = float32);
inline Array gumbel(Arg key) { return gumbel(std::move(key), {}); }
Array gumbel(Arg key, DrawOptions o, detail::Nothing auto...) { return gumbel(key, o.shape.value(), o.dtype.value_or(float32)); }
/// Density exp(-abs(x)) / 2.
Array laplace(Arg key, Shape shape, DType dtype = float32);
inline Array laplace(Arg key) { return laplace(std::move(key), {}); }
Array laplace(Arg key, DrawOptions o, detail::Nothing auto...) { return laplace(key, o.shape.value(), o.dtype.value_or(float32)); }
/// The distribution function 1 / (1 + exp(-x)).
Array logistic(Arg key, Shape shape, DType dtype = float32);
inline Array logistic(Arg key) { return logistic(std::move(key), {}); }
Array logistic(Arg key, DrawOptions o, detail::Nothing auto...) { return logistic(key, o.shape.value(), o.dtype.value_or(float32)); }
/// Density 1 / (pi (1 + x^2)).
Array cauchy(Arg key, Shape shape, DType dtype = float32);
inline Array cauchy(Arg key) { return cauchy(std::move(key), {}); }
Array cauchy(Arg key, DrawOptions o, detail::Nothing auto...) { return cauchy(key, o.shape.value(), o.dtype.value_or(float32)); }
/// -1 or 1.
Array rademacher(Arg key, Shape shape, DType dtype = int32);
inline Array rademacher(Arg key) { return rademacher(std::move(key), {}); }
Array rademacher(Arg key, DrawOptions o, detail::Nothing auto...) { return rademacher(key, o.shape.value(), o.dtype.value_or(int32)); }

}  // namespace random
}  // namespace weft

template <>
struct std::tuple_size<weft::random::KeyPair> : std::integral_constant<std::size_t, 2> {};
template <std::size_t I>
struct std::tuple_element<I, weft::random::KeyPair> {
  using type = weft::Array;
};
