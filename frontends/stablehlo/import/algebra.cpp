// Transforms and factorisations.
#include "weft/core/array/constructors.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/linalg/fft.h"
#include "weft/core/ops/linalg/linalg.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/reduce/reduce.h"
#include "weft/frontends/stablehlo/import/functions.h"
#include "weft/frontends/stablehlo/import/importer.h"

namespace weft::detail::mlir {
namespace {

const Import fft_import("stablehlo.fft", [](OpCall& c) -> Values {
  const Attribute& kind = c.need("fft_type", "type");
  const std::vector<std::int64_t> lengths = c.integers("fft_length", "length");
  for (const auto& [name, type] : {std::pair("FFT", FftType::fft), std::pair("IFFT", FftType::ifft), std::pair("RFFT", FftType::rfft),
                                   std::pair("IRFFT", FftType::irfft)})
    if (kind.text == name) {
      // An empty array has no transform.
      const Shape shape = c.result_shape(c.in(0));
      if (c.in(0).size() == 0 && shape.num_elements() == 0) return {fill_shape(make_literal(Number(0), c.result_dtype()), shape, c.loc)};
      return {fft_of(c.in(0), type, lengths, c.loc)};
    }
  c.fail("there is no transform " + kind.text);
});

/// Factorisations of 16-bit floats are those in float32.
bool is_small(const Array& x) { return x.dtype() == float16 || x.dtype() == bfloat16; }
Array widened(const Array& x, SourceLoc loc) { return is_small(x) ? convert(Arg(x, loc), float32) : x; }
Array narrowed(const Array& x, DType as, SourceLoc loc) { return x.dtype() == as ? x : convert(Arg(x, loc), as); }

const Import cholesky_import("stablehlo.cholesky", Kinds::inexact, [](OpCall& c) -> Values {
  const Array a = widened(c.in(0), c.loc);
  const bool lower = c.flag("lower");
  // The triangle that is given is the only one that is read.
  const Array factor = cholesky_factor(lower ? a : adjoint(a), c.loc);
  return {narrowed(lower ? factor : adjoint(factor), c.in(0).dtype(), c.loc)};
});

const Import triangular_solve_import("stablehlo.triangular_solve", Kinds::inexact, [](OpCall& c) -> Values {
  const Array a = widened(c.in(0), c.loc), b = widened(c.in(1), c.loc);
  const std::string transpose = c.need("transpose_a").text;
  TriangularSolveParams p;
  p.left_side = c.flag("left_side"), p.lower = c.flag("lower"), p.unit_diagonal = c.flag("unit_diagonal");
  if (transpose != "NO_TRANSPOSE" && transpose != "TRANSPOSE" && transpose != "ADJOINT") c.fail("there is no transpose_a " + transpose);
  p.transpose_a = transpose != "NO_TRANSPOSE", p.conjugate_a = transpose == "ADJOINT";
  return {narrowed(solve_triangular(a, b, p, c.loc), c.in(0).dtype(), c.loc)};
});

// Normalisation of batches, each feature on its own (S. Ioffe and C. Szegedy, 2015).

/// What all three have: a vector for each feature, along its dimension.
struct Batch {
  explicit Batch(const OpCall& call) : c(call), x(call.in(0)), feature(static_cast<int>(call.integer("feature_index"))) {
    if (feature < 0 || feature >= x.ndim()) c.fail("feature_index is not a dimension of the operand");
    for (int d = 0; d < x.ndim(); ++d)
      if (d != feature) others.push_back(d);
    const Attribute& e = c.need("epsilon");
    epsilon = scalar(x, e.real);
  }
  Array along(const Array& v) const { return broadcast_in_dim(v, x.shape(), {feature}, c.loc); }
  Array total(const Array& v) const { return reduce_sum(v, others, c.loc); }
  Array mean(const Array& v) const {
    return total(v) / scalar(x, static_cast<double>(x.size() / std::max<std::int64_t>(1, x.shape()[feature])));
  }

  const OpCall& c;
  const Array& x;
  int feature;
  std::vector<int> others;
  Array epsilon;
};

const Import batch_norm_inference_import("stablehlo.batch_norm_inference", [](OpCall& c) -> Values {
  const Batch b(c);
  const Array scale = b.along(c.in(1)), offset = b.along(c.in(2)), mean = b.along(c.in(3)), variance = b.along(c.in(4));
  return {(b.x - mean) / sqrt(variance + b.epsilon) * scale + offset};
});

const Import batch_norm_training_import("stablehlo.batch_norm_training", [](OpCall& c) -> Values {
  const Batch b(c);
  const Array mean = b.mean(b.x), centred = b.x - b.along(mean), variance = b.mean(centred * centred);
  return {centred / sqrt(b.along(variance) + b.epsilon) * b.along(c.in(1)) + b.along(c.in(2)), mean, variance};
});

const Import batch_norm_grad_import("stablehlo.batch_norm_grad", [](OpCall& c) -> Values {
  const Batch b(c);
  const Array scale = b.along(c.in(1)), centred = b.x - b.along(c.in(2)), variance = b.along(c.in(3)), &grad = c.in(4);
  const Array deviation = sqrt(variance + b.epsilon), normal = centred / deviation;
  const Array grad_offset = b.total(grad), grad_scale = b.total(grad * normal);
  const Array count = scalar(b.x, static_cast<double>(b.x.size() / std::max<std::int64_t>(1, b.x.shape()[b.feature])));
  const Array grad_x = scale / deviation * (grad - b.along(grad_offset / count) - normal * b.along(grad_scale / count));
  return {grad_x, grad_scale, grad_offset};
});

}  // namespace
}  // namespace weft::detail::mlir
