// Histograms of several variables, and polynomials by their roots.
#pragma once
#include <optional>
#include <utility>
#include <vector>

#include "weft/core/array/array.h"
#include "weft/library/jnp/statistics.h"

namespace weft {

/// The edges of histogram's bins.
Array histogram_bin_edges(Arg x, Int bins = 10, HistogramRange range = none);

/// Options of histogram2d and histogramdd.
struct GridBins {
  std::vector<HistogramRange> range = {};  ///< of each variable; absent: from its least element to its largest
  std::optional<Array> weights = {};       ///< added up in place of ones: a vector, one for each sample
  bool density = false;                    ///< divided by the total and by the bins' areas
};
/// Result of histogram2d.
struct Histogram2d {
  Array counts;            ///< of shape (bins of x, bins of y)
  Array x_edges, y_edges;  ///< of the bins
};
/// The number of points (x, y) in each cell of a grid.
Histogram2d histogram2d(Arg x, Arg y, std::pair<Int, Int> bins, GridBins options = {});
Histogram2d histogram2d(Arg x, Arg y, Int bins = 10, GridBins options = {});
/// Result of histogramdd.
struct HistogramDd {
  Array counts;              ///< with a dimension for each variable
  std::vector<Array> edges;  ///< of the bins of each variable
};
/// The number of rows of a matrix in each cell of a grid; a column is a variable.
HistogramDd histogramdd(Arg samples, const std::vector<Int>& bins, GridBins options = {});
HistogramDd histogramdd(Arg samples, Int bins = 10, GridBins options = {});

/// Options of roots.
struct RootsOptions {
  bool strip_zeros = true;  ///< leading zeros are left out, which takes p's value; else as many roots are NaN, behind
};
/// The roots, complex, of the polynomial with the coefficients p, the highest power first: the eigenvalues of its companion matrix, in no
/// order.
Array roots(Arg p, RootsOptions options = {});
/// The coefficients, the highest power first and 1, of the polynomial with these roots, or with a square matrix's eigenvalues.
Array poly(Arg roots);
/// The quotient and the remainder of two polynomials, the latter with u's size (zeros in front).
std::pair<Array, Array> polydiv(Arg u, Arg v);

}  // namespace weft
