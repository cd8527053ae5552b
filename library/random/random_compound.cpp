// Distributions made of the draws of others.
#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "weft/core/errors/error.h"
#include "weft/core/functions/contractions.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/linalg/linalg.h"
#include "weft/core/trace/trace.h"
#include "weft/library/linalg/linalg.h"
#include "weft/library/random/random_draws.h"

namespace weft::random {

using namespace detail;

namespace {

/// Two new keys for the sampler.
std::array<Array, 2> two_keys(const Arg& key, const char* sampler) {
  const std::vector<Array> keys = split_key(sampling_key(key, sampler), 2, key.where());
  return {keys[0], keys[1]};
}

/// A matrix whose product with its transpose is the covariance, by each method that multivariate_normal names.
using FactorOfCovariance = Array (*)(const Array&);
constexpr std::pair<std::string_view, FactorOfCovariance> kFactors[] = {
    {"cholesky", [](const Array& covariance) { return linalg::cholesky(covariance); }},
    {"eigh",
     [](const Array& covariance) {
       const linalg::Eigh r = linalg::eigh(covariance);
       return Array(r.eigenvectors * expand_dims(sqrt(r.eigenvalues), -2));
     }},
    {"svd",
     [](const Array& covariance) {
       const linalg::Svd r = linalg::svd(covariance);
       return Array(r.u * expand_dims(sqrt(r.s), -2));
     }},
};
FactorOfCovariance factor_of_covariance(std::string_view method, SourceLoc loc) {
  std::string methods;
  for (const auto& [name, factor] : kFactors) {
    if (name == method) return factor;
    methods += fmt::format("{}{}", methods.empty() ? "" : ", ", name);
  }
  throw Error(fmt::format("multivariate_normal: unknown method '{}'; available: {}", method, methods), effective_loc(loc));
}

}  // namespace

Array generalized_normal(Arg key, Arg p, Shape shape, DType dtype) {
  const LocScope scope(key.where());
  check_floating(dtype, "generalized_normal", key.where());
  const auto [first, second] = two_keys(key, "generalized_normal");
  const Array inverse = constant_of(dtype, 1) / parameter(p, dtype);
  return rademacher(second, shape, dtype) * pow(gamma(first, inverse, shape, dtype), inverse);
}

Array ball(Arg key, Int d, Arg p, Shape shape, DType dtype) {
  const LocScope scope(key.where());
  check_floating(dtype, "ball", key.where());
  const auto [first, second] = two_keys(key, "ball");
  const Array power = parameter(p, dtype);
  const Array g = generalized_normal(first, power, shape.inserted(shape.size(), d), dtype), e = exponential(second, shape, dtype);
  const Array size = pow(sum(pow(abs(g), power), -1) + e, constant_of(dtype, 1) / power);
  return g / expand_dims(size, -1);
}

Array f(Arg key, Arg dfnum, Arg dfden, OptionalShape asked, DType dtype) {
  const LocScope scope(key.where());
  check_floating(dtype, "f", key.where());
  const Shape shape = sample_shape(asked, {dfnum, dfden}, "f", key.where());
  const auto [below, above] = two_keys(key, "f");
  const Array m = parameter(dfnum, dtype), n = parameter(dfden, dtype);
  return (chisquare(above, m, shape, dtype) / m) / (chisquare(below, n, shape, dtype) / n);
}

// J. Michael, W. Schucany, R. Haas, Generating Random Variates Using Transformations with Multiple Roots, 1976.
Array wald(Arg key, Arg mean, OptionalShape asked, DType dtype) {
  const LocScope scope(key.where());
  check_floating(dtype, "wald", key.where());
  const Shape shape = sample_shape(asked, {mean}, "wald", key.where());
  const auto [first, second] = two_keys(key, "wald");
  const Array m = parameter(mean, dtype, shape), y = square(normal(first, shape, dtype)), z = uniform(second, shape, dtype);
  const Array root = sqrt(4 * m * y + square(m) * square(y)), x = m + square(m) * y / 2 - m / 2 * root;
  return where(z <= m / (m + x), x, square(m) / x);
}

Array maxwell(Arg key, Shape shape, DType dtype) {
  const LocScope scope(key.where());
  check_floating(dtype, "maxwell", key.where());
  return linalg::norm(draw_normal(sampling_key(key, "maxwell"), shape.inserted(shape.size(), 3), dtype, key.where()), {.axis = -1});
}

Array double_sided_maxwell(Arg key, Arg loc, Arg scale, Shape shape, DType dtype) {
  const LocScope scope(key.where());
  check_floating(dtype, "double_sided_maxwell", key.where());
  const Shape parameters = sample_shape(none, {loc, scale}, "double_sided_maxwell", key.where());
  // The parameters' dimensions are behind those of the shape, and are the shape where none is given.
  Shape all = shape.empty() ? parameters : shape;
  for (std::int64_t n : parameters) all.push_back(n);
  const auto [first, second] = two_keys(key, "double_sided_maxwell");
  return rademacher(second, all, dtype) * maxwell(first, all, dtype) * parameter(scale, dtype) + parameter(loc, dtype);
}

Array multivariate_normal(Arg key, Arg mean, Arg cov, OptionalShape asked, DType dtype, MultivariateNormalOptions options) {
  const LocScope scope(key.where());
  check_floating(dtype, "multivariate_normal", key.where());
  check_shape_once(options.shape, asked, "multivariate_normal", key.where());
  const Shape &m = mean.aval().shape, &c = cov.aval().shape;
  if (m.empty() || c.size() < 2 || c.back() != m.back() || c[c.size() - 2] != m.back())
    throw ShapeError(fmt::format("multivariate_normal: a mean {} and a covariance {}; they are (..., n) and (..., n, n)",
                                 to_string(mean.aval()), to_string(cov.aval())),
                     effective_loc(key.where()));
  const Arg means(Array(ShapeDtypeStruct{m.erased(m.size() - 1), dtype}), key.where()),
      matrices(Array(ShapeDtypeStruct{Shape(c.begin(), c.end() - 2), dtype}), key.where());
  const Shape shape = sample_shape(asked, {means, matrices}, "multivariate_normal", key.where());
  const Array factor = factor_of_covariance(options.method, key.where())(parameter(cov, dtype));
  const Array draws = draw_normal(sampling_key(key, "multivariate_normal"), shape.inserted(shape.size(), m.back()), dtype, key.where());
  return parameter(mean, dtype) + einsum("...ij,...j->...i", factor, draws);
}

// The q of a normal matrix, with the signs that make it unique (F. Mezzadri, How to generate random matrices from the classical compact
// groups, 2007).
Array orthogonal(Arg key, Int rows, Shape shape, DType dtype, Int columns) {
  const LocScope scope(key.where());
  check_floating(dtype, "orthogonal", key.where());
  const std::int64_t n = rows, m = columns == 0 ? n : std::int64_t{columns};
  Shape all = shape;
  all.push_back(std::max(n, m));
  all.push_back(std::min(n, m));
  const auto [q, r] = linalg::qr(draw_normal(sampling_key(key, "orthogonal"), all, dtype, key.where()));
  const Array x = q * expand_dims(sign(linalg::diagonal(r)), -2);
  return n < m ? transposed(x) : x;
}

}  // namespace weft::random
