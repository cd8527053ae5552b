// Fourier transforms over several dimensions.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <algorithm>

#include "samples.h"

using namespace weft;
using namespace weft::test;

namespace {
double largest_difference(const Array& a, const Array& b) {
  double most = 0;
  for (double d : abs(a - b).to_vector<double>()) most = std::max(most, d);
  return most;
}
}  // namespace

TEST_CASE("a transform over several dimensions of different lengths is one over each") {
  for (const Shape& shape : {Shape{3, 5}, Shape{2, 3, 5}, Shape{1, 3, 2}, Shape{3, 2, 1, 4}, Shape{2, 7, 3, 2}}) {
    CAPTURE(shape.num_elements());
    const Array z = sample_array({shape, complex128}, {-1, 1}, 0, 1, 5);
    Array want = z;
    for (int d = 0; d < z.ndim(); ++d) want = fft::fft(want, none, d);
    const Array got = fft::fftn(z);
    CHECK(largest_difference(got, want) < 1e-12);
    CHECK(largest_difference(fft::ifftn(got), z) < 1e-12);
    const Array x = real(z);
    const Array half = fft::rfftn(x);
    CHECK(largest_difference(half, fft::fftn(x)(ellipsis, slice(0, shape.back() / 2 + 1))) < 1e-12);
    CHECK(largest_difference(fft::irfftn(half, {.s = {shape.begin(), shape.end()}}), x) < 1e-12);
  }
}
