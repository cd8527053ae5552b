// Computed indices: sampling, deposition, sparse products, segments, tables.
#include "harness.h"

using namespace weft;

namespace bench {
namespace {

/// n numbers of [0, below), in no order.
Array places(int n, int below, unsigned seed = 0) { return astype(fill(n, below, 0.5 * below, seed), int32); }
/// The same, increasing.
Array sorted_places(int n, int below) {
  std::vector<int> v(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) v[static_cast<std::size_t>(i)] = static_cast<int>(static_cast<long long>(i) * below / n);
  return array(v);
}
/// A permutation of n, a power of two.
Array permutation(int n) {
  std::vector<int> v(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i)
    v[static_cast<std::size_t>(i)] = static_cast<int>((static_cast<unsigned>(i) * 2654435761u) & static_cast<unsigned>(n - 1));
  return array(v);
}

Array bilinear(const Array& image, const Array& x, const Array& y) {
  const Array u = floor(x), v = floor(y), a = x - u, b = y - v;
  const Array i = clip(astype(u, int32), 0, 1022), j = clip(astype(v, int32), 0, 1022);
  return (1.f - b) * ((1.f - a) * image(j, i) + a * image(j, i + 1)) + b * ((1.f - a) * image(j + 1, i) + a * image(j + 1, i + 1));
}

Array deposit(const Array& at) {
  const Array base = floor(at), rest = at - base, i = astype(base, int32);
  Array grid = zeros({128, 128, 128});
  for (int corner = 0; corner < 8; ++corner) {
    Array weight = full({at.shape()[0]}, 1.f);
    std::vector<Array> place;
    for (int d = 0; d < 3; ++d) {
      const int up = corner >> d & 1;
      const Array r = rest(slice(), d);
      weight = weight * (up ? r : 1.f - r);
      place.push_back(i(slice(), d) + up);
    }
    grid = grid.at(place[0], place[1], place[2]).add(weight);
  }
  return grid;
}

}  // namespace

void indexing_workloads(const Options& o) {
  const int m = 1 << 20;
  const auto samples = [=] { return std::tuple{fill({1024, 1024}), fill(m, 1023, 511.5, 1), fill(m, 1023, 511.5, 2)}; };
  workload(o, "bilinear_1M", samples, jit(bilinear));
  workload(o, "bilinear_grad_1M", samples, jit(grad<0, 1, 2>([](Array image, Array x, Array y) {
             const Array z = bilinear(image, x, y);
             return sum(z * z);
           })));
  workload(o, "deposit_3d_1M", [=] { return std::tuple{fill({m, 3}, 126, 63.5)}; }, jit(deposit));
  workload(
      o, "spmv_csr_1M", [=] { return std::tuple{sorted_places(m, 100000), places(m, 100000, 3), fill(m), fill(100000, 1, 0, 4)}; },
      jit([](Array row, Array column, Array value, Array x) { return zeros(100000).at(row).add(value * x(column)); }));
  const auto segments = [=] { return std::tuple{fill(m), places(m, 10000, 5)}; };
  workload(o, "segment_sum_1M_10k", segments, jit([](Array x, Array s) { return zeros(10000).at(s).add(x); }));
  workload(o, "segment_max_1M_10k", segments, jit([](Array x, Array s) { return full(10000, -1e30f).at(s).max(x); }));
  const auto table = [] { return std::tuple{fill({50000, 64}), places(100000, 50000, 6)}; };
  workload(o, "embedding_100k", table, jit([](Array t, Array i) { return t(i); }));
  workload(o, "embedding_grad_100k", table, jit(grad([](Array t, Array i) {
             const Array rows = t(i);
             return sum(rows * rows);
           })));
  workload(
      o, "histogram_1M_256", [=] { return std::tuple{fill(m, 1, .5, 7)}; },
      jit([](Array x) { return zeros(256, int32).at(clip(astype(x * 256.f, int32), 0, 255)).add(1); }));
  workload(o, "permute_4M", [=] { return std::tuple{fill(4 * m), permutation(4 * m)}; }, jit([](Array x, Array p) { return x(p); }));
  workload(
      o, "take_along_axis_1M", [=] { return std::tuple{fill({4096, 256}), astype(fill({4096, 256}, 256, 128, 8), int32)}; },
      jit([](Array x, Array i) { return take_along_axis(x, i, 1); }));
  workload(
      o, "label_update_64k", [] { return std::tuple{fill({65536, 32}), class_labels(65536, 32)}; },
      jit([](Array x, Array labels) { return x.at(arange(65536), labels).add(-1.f); }));
}

}  // namespace bench
