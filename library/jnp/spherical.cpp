#include "weft/library/jnp/spherical.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "weft/core/array/constructors.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/functions/wide.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/promotion.h"
#include "weft/core/trace/trace.h"
#include "weft/library/jnp/special.h"

namespace weft {

using detail::LocScope;
using detail::to_string;

namespace {

constexpr double pi = std::numbers::pi;

[[noreturn]] void refuse_dtype(const Arg& x, const char* name, const char* want) {
  throw DTypeError(fmt::format("{}: {} must be {}", name, to_string(x.aval()), want), detail::effective_loc(x.where()));
}

/// The nodes and weights of Gauss and Legendre's rule on [0, 1], by Newton's method from Chebyshev's nodes.
template <std::size_t N>
std::array<std::pair<double, double>, N> gauss_legendre() {
  std::array<std::pair<double, double>, N> rule;
  for (std::size_t i = 0; i < N; ++i) {
    double x = std::cos(pi * (static_cast<double>(i) + 0.75) / (static_cast<double>(N) + 0.5)), derivative = 1;
    for (int step = 0; step < 8; ++step) {
      double before = 1, value = x;
      for (std::size_t k = 2; k <= N; ++k) {
        const auto n = static_cast<double>(k);
        before = std::exchange(value, ((2 * n - 1) * x * value - (n - 1) * before) / n);
      }
      derivative = static_cast<double>(N) * (x * value - before) / (x * x - 1);
      x -= value / derivative;
    }
    rule[i] = {(x + 1) / 2, 1 / ((1 - x * x) * derivative * derivative)};
  }
  return rule;
}

/// T(h, a) for a in [0, 1]: the integral of exp(-h^2 (1 + u^2) / 2) / (1 + u^2) / (2 pi) for u from 0 to a.
Array owens_integral(const Array& h, const Array& a) {
  static const auto rule = gauss_legendre<32>();
  Array total = zeros_like(h + a);
  for (const auto& [node, weight] : rule) {
    const Array r = 1 + square(a * node);
    total = total + weight * exp(-square(h) * r / 2) / r;
  }
  return a * total / (2 * pi);
}

}  // namespace

Array bessel_jn(Arg given, BesselOptions options) {
  LocScope scope(given.where());
  const Array exact = detail::to_inexact(given), z = detail::as_wide(exact);
  if (z.dtype().is_complex()) refuse_dtype(given, "bessel_jn", "real");
  if (options.v < 0 || options.v >= options.n_iter)
    throw Error(fmt::format("bessel_jn: the order v is {}; it must be from 0 to below n_iter, {}", std::int64_t{options.v},
                            std::int64_t{options.n_iter}),
                detail::effective_loc(given.where()));
  const Array zero = z == 0, safe = where(zero, 1, z);
  // J. Miller's recurrence, downwards from an order whose value is nearly 0. All values are made smaller where the last one is large.
  Array above = zeros_like(z), value = full_like(z, 1e-16), total = zeros_like(z);
  std::vector<Array> orders(static_cast<std::size_t>(options.v + 1), zeros_like(z));
  for (std::int64_t k = options.n_iter; k >= 0; --k) {
    const Array next = 2. * static_cast<double>(k + 1) * value / safe - above;
    const Array factor = where(abs(next) > 1e10, Array(1e-10).astype(z.dtype()), Array(1).astype(z.dtype()));
    above = value * factor;
    value = next * factor;
    total = total * factor;
    for (Array& order : orders) order = order * factor;
    if (k % 2 == 0) total = total + (k == 0 ? 1. : 2.) * value;
    if (k <= options.v) orders[static_cast<std::size_t>(k)] = value;
  }
  for (std::size_t k = 0; k < orders.size(); ++k) orders[k] = where(zero, k == 0 ? 1. : 0., orders[k] / total);
  return detail::as_dtype(stack(orders), exact.dtype());
}

Array sph_harm_y(Arg n, Arg m, Arg theta, Arg phi, SphericalOptions options) {
  LocScope scope(n.where());
  for (const Arg& x : {n, m})
    if (!x.array().dtype().is_integer()) refuse_dtype(x, "sph_harm_y", "integers");
  const auto angles = detail::promote_inexact("sph_harm_y", theta, phi);
  if (angles[0].dtype().is_complex()) refuse_dtype(theta, "sph_harm_y", "real");
  const DType real_dtype = angles[0].dtype();
  const std::int64_t most = options.n_max ? std::int64_t{*options.n_max} : n.array().size() == 0 ? 0 : max(n).item<std::int64_t>();
  const Array degree = minimum(n, most).astype(real_dtype), order = convert(m, real_dtype), size = abs(order);
  const Array x = cos(angles[0]), y = sin(angles[0]);
  // Normalised Legendre functions: of degree abs(m), then upwards in the degree.
  Array p = full_like(x + size, std::sqrt(1 / (4 * pi)));
  for (std::int64_t k = 1; k <= most; ++k) {
    const auto d = static_cast<double>(k);
    p = where(size >= d, -std::sqrt((2 * d + 1) / (2 * d)) * y * p, p);
  }
  Array before = zeros_like(p);
  for (std::int64_t k = 1; k <= most; ++k) {
    const auto d = static_cast<double>(k);
    const Array active = (size < d) & (degree >= d), squares = where(active, square(size), 0);
    const Array a = sqrt((4 * d * d - 1) / (d * d - squares));
    const Array b = sqrt(maximum(((d - 1) * (d - 1) - squares) / (4 * (d - 1) * (d - 1) - 1), 0));
    const Array next = a * (x * p - (k == 1 ? zeros_like(b) : b) * before);
    before = where(active, p, before);
    p = where(active, next, p);
  }
  p = where(size > degree, 0, where((order < 0) & (size % 2 == 1), -p, p));
  const Array turn = order * angles[1];
  return complex(p * cos(turn), p * sin(turn));
}

Array owens_t(Arg given_h, Arg given_a) {
  LocScope scope(given_h.where());
  const auto both = detail::promote_inexact("owens_t", given_h, given_a);
  if (both[0].dtype().is_complex()) refuse_dtype(given_h, "owens_t", "real");
  const Array h = abs(both[0]), a = abs(both[1]), steep = a > 1;
  const Array product = a * h;
  const Array value = owens_integral(where(steep, product, h), where(steep, 1 / where(steep, a, 1), a));
  const Array beyond_h = ndtr(-h), beyond_product = ndtr(-product);
  const Array whole = where(steep, (beyond_h + beyond_product) / 2 - beyond_h * beyond_product - value, value);
  return where(both[1] < 0, -whole, whole);
}

}  // namespace weft
