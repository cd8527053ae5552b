#include "weft/library/jnp/sampled.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "weft/core/array/constructors.h"
#include "weft/core/array/indexing.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/convolution.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/promote.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/functions/sorting.h"
#include "weft/core/functions/wide.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/promotion.h"
#include "weft/core/trace/trace.h"
#include "weft/library/jnp/joining.h"
#include "weft/library/jnp/positions.h"
#include "weft/library/linalg/linalg.h"

namespace weft {

using detail::LocScope;
using detail::to_string;

namespace {

[[noreturn]] void refuse(const Arg& x, const std::string& what) { throw ShapeError(what, detail::effective_loc(x.where())); }
Array floating(const Array& x) { return detail::to_inexact(Arg(x)); }

Array companion_eigenvalues(const Array& p) {
  const std::int64_t n = p.size() - 1;
  if (n < 1) return zeros({0}, p.dtype() == float64 || p.dtype() == complex128 ? complex128 : complex64);
  return linalg::eigvals(concatenate({expand_dims(-p(slice(1, none)) / p(0), 0), eye(n - 1, n, 0, p.dtype())}));
}

}  // namespace

Array histogram_bin_edges(Arg x, Int bins, HistogramRange range) {
  LocScope scope(x.where());
  return histogram(x, bins, {.range = range}).edges;
}
HistogramDd histogramdd(Arg samples, const std::vector<Int>& bins, GridBins options) {
  LocScope scope(samples.where());
  const Array v = floating(samples.array());
  if (v.ndim() != 2) refuse(samples, fmt::format("histogramdd: {} must be a matrix, a row of it a sample", to_string(samples.aval())));
  const std::int64_t n = v.shape()[0], variables = v.shape()[1];
  if (static_cast<std::int64_t>(bins.size()) != variables ||
      (!options.range.empty() && static_cast<std::int64_t>(options.range.size()) != variables))
    refuse(samples, fmt::format("histogramdd: {} has {} variables; there must be as many numbers of bins, and as many ranges or none",
                                to_string(samples.aval()), variables));
  if (options.weights && options.weights->shape() != Shape(n))
    refuse(samples, fmt::format("histogramdd: the weights {} must be a vector of {}", to_string(options.weights->aval()), n));
  HistogramDd out;
  Shape cells;
  Array at = zeros({n}, int32), inside = ones({n}, bool_);
  for (std::int64_t k = 0; k < variables; ++k) {
    const Array x = v(slice(), k);
    const std::size_t i = static_cast<std::size_t>(k);
    const Array edges =
        histogram_bin_edges(Arg(x, samples.where()), bins[i], options.range.empty() ? HistogramRange(none) : options.range[i]);
    const std::int64_t count = edges.size() - 1;
    const Array place = where(x == edges(-1), count - 1, searchsorted(edges, x, {.side = "right"}) - 1);
    inside = inside & (x >= edges(0)) & (x <= edges(-1));
    at = at * count + clip(place, 0, count - 1);
    cells.push_back(count);
    out.edges.push_back(edges);
  }
  const Array given = options.weights ? floating(*options.weights) : ones({n}, int32), amounts = detail::as_wide(given);
  const std::int64_t total = cells.num_elements();
  Array counts = reshape(zeros({total}, amounts.dtype()).at(where(inside, at, total)).add(amounts, {.mode = "drop"}), cells);
  if (options.density) {
    counts = convert(counts, detail::wide_dtype(v.dtype()));
    counts = counts / sum(counts);
    for (std::size_t i = 0; i < out.edges.size(); ++i) {
      std::vector<int> others;
      for (int d = 0; d < static_cast<int>(variables); ++d)
        if (d != static_cast<int>(i)) others.push_back(d);
      const Array width = diff(out.edges[i]);
      counts = counts / (others.empty() ? width : expand_dims(width, others));
    }
  }
  out.counts = detail::as_dtype(counts, options.density ? v.dtype() : given.dtype());
  return out;
}
HistogramDd histogramdd(Arg samples, Int bins, GridBins options) {
  const int n = samples.array().ndim();
  return histogramdd(samples, std::vector<Int>(static_cast<std::size_t>(n == 2 ? samples.array().shape()[1] : 0), bins),
                     std::move(options));
}
Histogram2d histogram2d(Arg x, Arg y, Int bins, GridBins options) {
  return histogram2d(std::move(x), std::move(y), {bins, bins}, std::move(options));
}
Histogram2d histogram2d(Arg x, Arg y, std::pair<Int, Int> bins, GridBins options) {
  LocScope scope(x.where());
  if (x.array().ndim() != 1 || y.array().shape() != x.array().shape())
    refuse(x, fmt::format("histogram2d: {} and {} must be vectors of one size", to_string(x.aval()), to_string(y.aval())));
  const HistogramDd h = histogramdd(Arg(stack({x, y}, 1), x.where()), {bins.first, bins.second}, std::move(options));
  return {h.counts, h.edges[0], h.edges[1]};
}

Array roots(Arg p, RootsOptions options) {
  LocScope scope(p.where());
  const Array v = atleast_1d(floating(p.array()));
  if (v.ndim() != 1) refuse(p, fmt::format("roots: {} is not a vector of coefficients", to_string(p.aval())));
  if (v.size() < 2) return companion_eigenvalues(v(slice(0, 1)));
  const Array leading = where(all(v == 0), v.size(), argmax(v != 0));
  if (options.strip_zeros) {
    const Array known = detail::concrete_or_empty(leading);
    if (known.is_empty_handle())
      throw ConcretizationError(fmt::format("roots: the number of roots depends on the value of {}, which is traced; with {{.strip_zeros = "
                                            "false}} there are always as many, and NaN for leading zeros",
                                            to_string(p.aval())),
                                detail::effective_loc(p.where()));
    return companion_eigenvalues(v(slice(known.item<std::int64_t>(), none)));
  }
  const Array r = companion_eigenvalues(roll(v, -leading));
  return sort(where(arange(r.size(), int32) < r.size() - leading, r, std::numeric_limits<double>::quiet_NaN()));
}
Array poly(Arg given) {
  LocScope scope(given.where());
  Array r = atleast_1d(floating(given.array()));
  if (r.ndim() == 2 && r.shape()[0] == r.shape()[1] && r.size() > 0) r = linalg::eigvals(Arg(r, given.where()));
  if (r.ndim() != 1) refuse(given, fmt::format("poly: {} must be a vector of roots or a square matrix", to_string(given.aval())));
  if (r.size() == 0) return ones({}, r.dtype());
  Array out = ones({1}, r.dtype());
  for (std::int64_t k = 0; k < r.size(); ++k) {
    const Array end = zeros({1}, r.dtype());
    out = concatenate({out, end}) - r(k) * concatenate({end, out});
  }
  return out;
}
std::pair<Array, Array> polydiv(Arg u, Arg v) {
  LocScope scope(u.where());
  const DType dtype = detail::inexact_dtype(detail::common_dtype({u.array(), v.array()})).dtype;
  Array rest = convert(atleast_1d(u.array()), dtype);
  const Array divisor = convert(atleast_1d(v.array()), dtype);
  if (rest.ndim() != 1 || divisor.ndim() != 1 || rest.size() == 0 || divisor.size() == 0)
    refuse(u, fmt::format("polydiv: {} and {} must be vectors of coefficients", to_string(u.aval()), to_string(v.aval())));
  const std::int64_t m = rest.size() - 1, n = divisor.size() - 1;
  std::vector<Array> quotient;
  for (std::int64_t k = 0; k <= m - n; ++k) {
    const Array d = rest(k) / divisor(0);
    quotient.push_back(d);
    rest = rest.at(slice(k, k + n + 1)).add(-d * divisor);
  }
  return {quotient.empty() ? zeros({1}, dtype) : stack(quotient), rest};
}

}  // namespace weft
