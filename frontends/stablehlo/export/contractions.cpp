// Products of arrays, convolutions, Fourier transforms and factorisations.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "weft/core/array/array_impl.h"
#include "weft/core/array/constructors.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/contraction/conv.h"
#include "weft/core/ops/contraction/dot.h"
#include "weft/core/ops/control/control_common.h"
#include "weft/core/ops/linalg/fft.h"
#include "weft/core/ops/linalg/linalg.h"
#include "weft/core/ops/movement/dynamic_slice.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/reduce/reduce.h"
#include "weft/frontends/stablehlo/export/spelling.h"

namespace weft::detail::mlir {
namespace {

constexpr std::string_view kPrecision = "precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]";

/// The operands in one type, as they are promoted: of another result their products are made in it.
Names product_operands(ExportCall& c) {
  const DType common = promote_types(c.in[0].aval.dtype, c.in[1].aval.dtype), out = c.out[0].dtype;
  const bool small = common.is_floating() && common.itemsize() < 4 && out == common;
  const DType as = small || common.is_bool() ? common : out;
  return {converted(c, c.in[0], as), converted(c, c.in[1], as)};
}

const Spelling dot_spelling("dot_general", [](ExportCall& c) -> Names {
  const DotDimensions& d = c.get<DotParams>().dimension_numbers;
  const Names in = product_operands(c);
  // For bools: whether any pair is true.
  const DType t = c.out[0].dtype;
  const Aval out{c.out[0].shape, in[0].aval.dtype.is_bool() ? int32 : t};
  const Names numbers = in[0].aval.dtype.is_bool() ? Names{converted(c, in[0], int32), converted(c, in[1], int32)} : in;
  std::string dims;
  auto add = [&](const char* key, const std::vector<int>& list) {
    if (!list.empty()) dims += fmt::format("{}{} = [{}]", dims.empty() ? "" : ", ", key, list_text(list));
  };
  add("lhs_batching_dimensions", d.batch[0]), add("rhs_batching_dimensions", d.batch[1]);
  add("lhs_contracting_dimensions", d.contracting[0]), add("rhs_contracting_dimensions", d.contracting[1]);
  const Name product =
      c.op_of("stablehlo.dot_general", numbers, fmt::format("dot_dimension_numbers = #stablehlo.dot<{}>, {}", dims, kPrecision), out);
  if (!in[0].aval.dtype.is_bool()) return {product};
  if (!t.is_bool()) return {converted(c, product, t)};
  return {compared(c, "NE", product, c.block.broadcast(c.block.number(int32, Number(0)), out.shape), false)};
});

/// `[b, f, 0, 1]`: the places of the dimensions.
std::string layout(const std::vector<int>& spec, const char* first, const char* second) {
  std::vector<std::string> at(spec.size());
  for (std::size_t i = 0; i < spec.size(); ++i)
    at[static_cast<std::size_t>(spec[i])] = i == 0 ? first : i == 1 ? second : std::to_string(i - 2);
  return fmt::format("[{}]", fmt::join(at, ", "));
}
Name convolved(ExportCall& c, const Name& lhs, const Name& rhs, DType as) {
  const auto& p = c.get<ConvParams>();
  std::vector<std::vector<std::int64_t>> padding;
  for (const auto& [low, high] : p.padding) padding.push_back({low, high});
  const ConvDimensions& n = p.dimension_numbers;
  const std::string text = fmt::format(
      "batch_group_count = {} : i64, dimension_numbers = #stablehlo.conv<{}x{}->{}>, feature_group_count = {} : i64, {}, {}, {}, {}, {}",
      p.batch_group_count, layout(n.lhs_spec, "b", "f"), layout(n.rhs_spec, "o", "i"), layout(n.out_spec, "b", "f"), p.feature_group_count,
      attribute("lhs_dilation", p.lhs_dilation), matrix_attribute("padding", padding, 2), kPrecision,
      attribute("rhs_dilation", p.rhs_dilation), attribute("window_strides", p.window_strides));
  return c.op_of("stablehlo.convolution", {lhs, rhs}, text, {c.out[0].shape, as});
}
/// Complex numbers by their real and imaginary parts, which more readers support.
const Spelling conv_spelling(convolution_primitive().name, [](ExportCall& c) -> Names {
  const DType t = c.out[0].dtype;
  const Names in = product_operands(c);
  if (!t.is_complex()) return {convolved(c, in[0], in[1], t)};
  const DType part = t.real_part();
  auto part_of = [&](const char* which, const Name& z) { return c.op_of(which, {z}, "", {z.aval.shape, part}); };
  const Name a = part_of("stablehlo.real", in[0]), b = part_of("stablehlo.imag", in[0]), x = part_of("stablehlo.real", in[1]),
             y = part_of("stablehlo.imag", in[1]);
  const Name ax = convolved(c, a, x, part), by = convolved(c, b, y, part), ay = convolved(c, a, y, part), bx = convolved(c, b, x, part);
  const Aval type{c.out[0].shape, part};
  return {c.op("stablehlo.complex", {c.op_of("stablehlo.subtract", {ax, by}, "", type), c.op_of("stablehlo.add", {ay, bx}, "", type)})};
});

const Spelling fft_spelling(fft_primitive().name, [](ExportCall& c) -> Names {
  const auto& p = c.get<FftParams>();
  constexpr const char* kNames[] = {"FFT", "IFFT", "RFFT", "IRFFT"};
  // At most three dimensions at once; the others are transforms of their own.
  if (p.fft_lengths.size() > 3)
    return {c.expand_one(c.in, [&](auto x) {
      const auto n = static_cast<int>(p.fft_lengths.size());
      const std::vector<std::int64_t> last(p.fft_lengths.end() - 3, p.fft_lengths.end());
      auto along_others = [&](Array y) {
        for (int d = 0; d < n - 3; ++d) {
          const int axis = y.ndim() - n + d, end = y.ndim() - 1;
          const FftType type = p.fft_type == FftType::rfft || p.fft_type == FftType::fft ? FftType::fft : FftType::ifft;
          y = move_axis(fft_of(move_axis(y, axis, end, {}), type, {p.fft_lengths[static_cast<std::size_t>(d)]}, {}), end, axis, {});
        }
        return y;
      };
      if (p.fft_type == FftType::irfft) return fft_of(along_others(x[0]), p.fft_type, last, {});
      return along_others(fft_of(x[0], p.fft_type, last, {}));
    })};
  return {c.op(
      "stablehlo.fft", c.in,
      fmt::format("{}, fft_type = #stablehlo<fft_type {}>", attribute("fft_length", p.fft_lengths), kNames[static_cast<int>(p.fft_type)]))};
});
const Spelling fft_along_spelling(fft_along_primitive().name, [](ExportCall& c) -> Names {
  return {c.expand_one(c.in, [&](auto x) { return fft_between_transposes(c.get<FftAlongParams>(), x[0], {}); })};
});

// Factorisations.

/// Where row >= column - offset.
Array lower_part(const Array& x, std::int64_t offset) {
  const Shape shape = x.shape();
  const int n = shape.size();
  return iota_array(int32, shape, n - 2, {}) + make_literal(Number(static_cast<long long>(offset)), int32) >=
         iota_array(int32, shape, n - 1, {});
}

/// The other triangle is not specified.
const Spelling cholesky_spelling(cholesky_primitive().name, [](ExportCall& c) -> Names {
  const Name factor = c.op("stablehlo.cholesky", c.in, "lower = true");
  return {c.expand_one({factor}, [](auto x) { return where(lower_part(x[0], 0), x[0], scalar_like(x[0], 0)); })};
});

const Spelling triangular_solve_spelling(triangular_solve_primitive().name, [](ExportCall& c) -> Names {
  const auto& p = c.get<TriangularSolveParams>();
  const bool conjugated = p.conjugate_a && c.in[0].aval.dtype.is_complex();
  Name a = c.in[0];
  if (conjugated && !p.transpose_a) a = c.expand_one({a}, [](auto x) { return conj(x[0]); });
  return {c.op("stablehlo.triangular_solve", {a, c.in[1]},
               fmt::format("left_side = {}, lower = {}, transpose_a = #stablehlo<transpose {}>, unit_diagonal = {}", p.left_side, p.lower,
                           !p.transpose_a ? "NO_TRANSPOSE"
                           : conjugated   ? "ADJOINT"
                                          : "TRANSPOSE",
                           p.unit_diagonal))};
});

// By the calls of LAPACK's routines that JAX writes on the CPU: matrices are there column by column.

char letter_of(DType t) { return t == float32 ? 's' : t == float64 ? 'd' : t == complex64 ? 'c' : 'z'; }

std::string layouts(std::span<const Aval> avals, int batch) {
  std::string all;
  for (const Aval& a : avals) {
    // In a matrix the dimension of rows is the fastest; batch dimensions are before in their order, and so is a vector.
    std::vector<int> order;
    for (int d = a.ndim(); d-- > 0;) order.push_back(d);
    if (a.ndim() == batch + 2) std::swap(order[0], order[1]);
    all += fmt::format("{}dense<{}> : tensor<{}xindex>", all.empty() ? "" : ", ", order.empty() ? "" : "[" + list_text(order) + "]",
                       order.size());
  }
  return "[" + all + "]";
}
Names lapack(ExportCall& c, const std::string& routine, const Names& in, std::span<const Aval> out, const std::string& config) {
  const int batch = in[0].aval.ndim() - 2;
  return c.block.op(
      "stablehlo.custom_call", in,
      fmt::format("api_version = 4 : i32, backend_config = {{{}}}, call_target_name = \"lapack_{}{}_ffi\", operand_layouts = {}, "
                  "result_layouts = {}",
                  config, letter_of(in[0].aval.dtype), routine, layouts(avals_of(in), batch), layouts(out, batch)),
      out, {}, fmt::format("mhlo.frontend_attributes = {{num_batch_dims = \"{}\"}}", batch));
}
/// NaN in place of what belongs to matrices for which the routine failed.
Array or_nan(const Array& x, const Array& info) {
  const Array good = info == make_literal(Number(0), int32);
  std::vector<int> dims(static_cast<std::size_t>(info.ndim()));
  std::iota(dims.begin(), dims.end(), 0);
  return where(broadcast_in_dim(good, x.shape(), dims, {}), x, scalar_like(x, std::numeric_limits<double>::quiet_NaN()));
}
Shape batch_shape(const Aval& a) { return Shape(a.shape.begin(), a.shape.end() - 2); }

/// Interchanges applied one after the other to 0, 1, ...: the row that each row comes from.
Array permutation_of(const Array& pivots, std::int64_t rows) {
  const int last = pivots.ndim() - 1;
  const Shape shape = pivots.shape().with(last, rows);
  const Array places = iota_array(int32, shape, last, {}), zero = make_literal(Number(0), int32);
  // One value for each row of numbers, along all of it.
  auto along = [&](const Array& x) {
    std::vector<int> dims(static_cast<std::size_t>(shape.size()));
    std::iota(dims.begin(), dims.end(), 0);
    return broadcast_in_dim(insert_axes(x, {last}, {}), shape, dims, {});
  };
  const Aval table{shape, int32}, step{{}, int32}, interchange{pivots.shape().erased(last), int32};
  const Jaxpr body = make_program("pivots", {table, table, step, interchange}, [&](std::span<const Array> in) -> std::vector<Array> {
    const Array &at = in[0], &now = in[1], here = at == in[2], there = at == along(in[3]);
    auto value = [&](const Array& place) { return along(reduce_sum(where(place, now, zero), {last}, {})); };
    return {where(here, value(there), where(there, value(here), now))};
  });
  const Array operands[] = {places, places, iota_array(int32, {pivots.shape().back()}, 0, {}), move_axis(pivots, last, 0, {})};
  return bind_scan({body, pivots.shape().back(), 1, 1, false, 1}, operands, {})[0];
}
const Spelling lu_spelling(lu_primitive().name, [](ExportCall& c) -> Names {
  const Aval info{batch_shape(c.in[0].aval), int32};
  const Aval out[] = {c.out[0], c.out[1], info};
  const Names factors = lapack(c, "getrf", c.in, out, "");
  return c.expand(factors, [&](auto x) -> std::vector<Array> {
    const Array pivots = x[1] - make_literal(Number(1), int32);
    return {x[0], pivots, permutation_of(pivots, c.out[2].shape.back())};
  });
});

const Spelling eigh_spelling(eigh_primitive().name, [](ExportCall& c) -> Names {
  const auto& p = c.get<EighParams>();
  const Aval out[] = {c.in[0].aval, c.out.back(), {batch_shape(c.in[0].aval), int32}};
  const bool is_complex = c.in[0].aval.dtype.is_complex();
  const Names found = lapack(
      c, is_complex ? "heevd" : "syevd", c.in, out,
      fmt::format("mode = {} : ui8, uplo = {} : ui8", static_cast<int>(p.only_values ? 'N' : 'V'), static_cast<int>(p.lower ? 'L' : 'U')));
  return c.expand(found, [&](auto x) -> std::vector<Array> {
    if (p.only_values) return {or_nan(x[1], x[2])};
    return {or_nan(x[0], x[2]), or_nan(x[1], x[2])};
  });
});

const Spelling svd_spelling(svd_primitive().name, [](ExportCall& c) -> Names {
  const auto& p = c.get<SvdParams>();
  const Aval& a = c.in[0].aval;
  const int n = a.ndim();
  const Shape batch = batch_shape(a);
  const std::int64_t rows = a.shape[n - 2], columns = a.shape[n - 1], least = std::min(rows, columns);
  const std::int64_t of_u = p.full_matrices && p.compute_uv ? rows : least, of_v = p.full_matrices && p.compute_uv ? columns : least;
  const Aval u{batch.inserted(n - 2, rows).inserted(n - 1, of_u), a.dtype},
      vh{batch.inserted(n - 2, of_v).inserted(n - 1, columns), a.dtype};
  const Aval out[] = {a, c.out[0], u, vh, {batch, int32}};
  const Names found = lapack(c, "gesdd", c.in, out,
                             fmt::format("mode = {} : ui8", static_cast<int>(!p.compute_uv     ? 'N'
                                                                             : p.full_matrices ? 'A'
                                                                                               : 'S')));
  return c.expand(found, [&](auto x) -> std::vector<Array> {
    std::vector<Array> results{or_nan(x[1], x[4])};
    if (p.compute_uv) results.push_back(or_nan(x[2], x[4])), results.push_back(or_nan(x[3], x[4]));
    return results;
  });
});

const Spelling qr_spelling(qr_primitive().name, [](ExportCall& c) -> Names {
  const Aval& a = c.in[0].aval;
  const int n = a.ndim();
  const std::int64_t rows = a.shape[n - 2], columns = a.shape[n - 1], least = std::min(rows, columns);
  const Aval packed[] = {a, {batch_shape(a).inserted(n - 2, least), a.dtype}};
  const Names reflections = lapack(c, "geqrf", c.in, packed, "");
  const std::int64_t of_q = c.out.back().shape[n - 2];
  const Name r = c.expand_one({reflections[0]}, [&](auto x) {
    const Array upper = slice_axis(x[0], n - 2, 0, of_q, {});
    return where(lower_part(upper, -1), scalar_like(upper, 0), upper);
  });
  if (c.get<QrParams>().only_r) return {r};
  // The reflections' columns, as many as q has.
  const Name wide = c.expand_one({reflections[0]}, [&](auto x) {
    if (of_q <= columns) return slice_axis(x[0], n - 1, 0, of_q, {});
    PaddingConfig config(static_cast<std::size_t>(n));
    config.back().high = of_q - columns;
    return pad_with(x[0], scalar_like(x[0], 0), config, {});
  });
  const Name q = lapack(c, a.dtype.is_complex() ? "ungqr" : "orgqr", {wide, reflections[1]}, std::span(c.out.data(), 1), "")[0];
  return {q, r};
});

}  // namespace
}  // namespace weft::detail::mlir
