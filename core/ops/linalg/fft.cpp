// fft: https://openxla.org/stablehlo/spec#fft
#include "weft/core/ops/linalg/fft.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "weft/core/array/constructors.h"
#include "weft/core/array/storage.h"
#include "weft/core/base/counted.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ir/partition_rule.h"
#include "weft/core/ir/permutation.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/linalg/line_sums.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/registry.h"
#include "weft/core/text/text.h"

namespace weft::detail {

std::string print_param(FftType v) { return std::to_string(static_cast<int>(v)); }
void read_param(ParamReader& r, FftType& v) {
  static constexpr std::string_view kNumbers[] = {"0", "1", "2", "3"}, kNames[] = {"FFT", "IFFT", "RFFT", "IRFFT"};
  r.accept("jaxlib.hlo_helpers.");
  if (r.accept("FftType."))
    read_enum(r, v, kNames);
  else
    read_enum(r, v, kNumbers);
}

namespace {

/// Dimensions from the back: lengths of the transformed ones in the result, the last one of a real signal's spectrum.
std::int64_t half_length(std::int64_t n) { return n / 2 + 1; }

struct Fft {
  static constexpr int num_operands = 1;
  static constexpr std::string_view name = "fft", doc = "Discrete Fourier transform over the last dimensions.";
  static constexpr Kind kind = Kind::library;
  using Params = FftParams;

  static Aval abstract_eval(const OpContext& c) {
    const Params& p = c.get<Params>();
    const Aval& x = c.in[0];
    const int rank = static_cast<int>(p.fft_lengths.size());
    const bool from_real = p.fft_type == FftType::rfft;
    if (rank == 0 || rank > x.ndim())
      c.fail<AxisError>(fmt::format("{} can't be transformed", counted(rank, "dimension")), "give one to all of them");
    if (from_real ? x.dtype != float32 && x.dtype != float64 : !x.dtype.is_complex())
      c.fail<DTypeError>("not defined for " + std::string(x.dtype.name()),
                         from_real ? "a real signal is float32 or float64" : "convert to a complex dtype first");
    Shape out = x.shape;
    for (int i = 0; i < rank; ++i) {
      const int d = x.ndim() - rank + i;
      const std::int64_t n = p.fft_lengths[static_cast<std::size_t>(i)];
      const bool halved = i == rank - 1 && (p.fft_type == FftType::rfft || p.fft_type == FftType::irfft);
      const std::int64_t want = halved && p.fft_type == FftType::irfft ? half_length(n) : n;
      if (n < 1) c.fail<ShapeError>(fmt::format("fft_lengths say {} for dimension {}", n, d), "a transform has at least one element");
      if (x.shape[d] != want)
        c.fail<ShapeError>(fmt::format("dimension {} has size {}, and fft_lengths say {}", d, x.shape[d], want), "pad or slice it first");
      if (halved) out[d] = p.fft_type == FftType::rfft ? half_length(n) : n;
    }
    const bool wide = x.dtype.real_part() == float64;
    return {out, p.fft_type == FftType::irfft ? x.dtype.real_part() : wide ? complex128 : complex64};
  }
  static std::vector<Tangent> jvp(const JvpContext& c) { return {bind_primitive(c.op, c.params, std::span(&*c.tangents[0], 1), c.loc)[0]}; }

  /// The matrix of a transform is symmetric. rfft is the half of a transform of real numbers; irfft counts what has no mirror image once,
  /// all else twice, and takes real parts, as jax.lax.fft.
  static std::vector<Tangent> transpose(const TransposeContext& c) {
    if (!c.cotangents[0]) return {Tangent()};
    const auto& [lengths, type] = c.get<Params>();
    const Array& ct = *c.cotangents[0];
    const std::int64_t n = lengths.back();
    const auto last = static_cast<std::size_t>(ct.ndim() - 1);
    if (type == FftType::rfft) {
      PaddingConfig config(last + 1);
      config[last].high = n - half_length(n);
      return {real(fft_of(pad_with(ct, scalar_like(ct, 0), config, c.loc), FftType::fft, lengths, c.loc))};
    }
    if (type == FftType::irfft) {
      const Array x = fft_of(ct, FftType::rfft, lengths, c.loc);
      const Array k = iota_array(int32, {half_length(n)}, 0, c.loc);
      const Array once = (k == 0) | (2 * k == n);
      const double scale = 1 / static_cast<double>(std::accumulate(lengths.begin(), lengths.end(), std::int64_t{1}, std::multiplies<>()));
      const Array weights = where(once, scalar_like(x, scale), scalar_like(x, 2 * scale));
      return {conj(x * broadcast_trailing(weights, x.shape(), c.loc))};
    }
    return {fft_of(ct, type, lengths, c.loc)};
  }
  static BatchResult batch(const BatchContext& c) {
    const Array x = move_batch_dim(c.in[0], c.dims[0], 0, c.loc);
    return {bind_primitive(c.op, c.params, std::span(&x, 1), c.loc), {0}};
  }

  using Complex = std::complex<double>;
  static void reference(const ReferenceContext& c) {
    const auto& [lengths, type] = c.get<Params>();
    const std::size_t rank = lengths.size();
    const bool inverse = type == FftType::ifft || type == FftType::irfft;
    const std::int64_t size = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{1}, std::multiplies<>());
    const std::int64_t n = lengths.back(), in_last = c.in[0].aval.shape.back(), out_last = c.out[0].aval.shape.back();
    const std::int64_t rows = size / n, count = c.out[0].aval.size() / (rows * out_last);
    std::map<std::int64_t, FourierTransform> plans;
    for (std::int64_t length : lengths) plans.try_emplace(length, length);
    std::vector<Complex> block(static_cast<std::size_t>(size)), line;
    for (std::int64_t k = 0; k < count; ++k) {
      load(c.in[0], k * rows * in_last, rows, in_last, n, block);
      // The inverse transform is the conjugate of the transform of the conjugate. A halved spectrum is completed when the other dimensions
      // have been transformed.
      if (inverse)
        for (Complex& v : block) v = std::conj(v);
      std::int64_t inner = n;
      for (std::size_t d = rank - 1; d-- > 0; inner *= lengths[d]) {
        const std::int64_t m = lengths[d];
        line.resize(static_cast<std::size_t>(m));
        for (std::int64_t i = 0; i < size / m; ++i) {
          Complex* start = block.data() + i / inner * inner * m + i % inner;
          for (std::int64_t j = 0; j < m; ++j) line[static_cast<std::size_t>(j)] = start[j * inner];
          plans.at(m).run(line.data());
          for (std::int64_t j = 0; j < m; ++j) start[j * inner] = line[static_cast<std::size_t>(j)];
        }
      }
      for (std::int64_t r = 0; r < rows; ++r) {
        Complex* row = block.data() + r * n;
        if (type == FftType::irfft) {
          // For a real signal the imaginary parts of what is its own mirror image don't count.
          row[0] = row[0].real();
          if (n % 2 == 0) row[n / 2] = row[n / 2].real();
          for (std::int64_t j = half_length(n); j < n; ++j) row[j] = std::conj(row[n - j]);
        }
        plans.at(n).run(row);
      }
      store(c.out[0], k * rows * out_last, rows, out_last, n, inverse ? 1 / static_cast<double>(size) : 1., inverse, block);
    }
  }

 private:
  static void load(const HostTensor& from, std::int64_t at, std::int64_t rows, std::int64_t columns, std::int64_t n,
                   std::vector<Complex>& block) {
    with_storage(from.aval.dtype, [&]<class T>() {
      if constexpr (is_floating_storage<T> || is_complex_storage<T>)
        for (std::int64_t r = 0; r < rows; ++r)
          for (std::int64_t j = 0; j < columns; ++j)
            block[static_cast<std::size_t>(r * n + j)] = Complex(load_element(from.as<T>()[at + r * columns + j]));
    });
  }
  static void store(const HostTensor& to, std::int64_t at, std::int64_t rows, std::int64_t columns, std::int64_t n, double scale,
                    bool conjugate, const std::vector<Complex>& block) {
    with_storage(to.aval.dtype, [&]<class T>() {
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t j = 0; j < columns; ++j) {
          const Complex v = block[static_cast<std::size_t>(r * n + j)] * scale;
          if constexpr (is_complex_storage<T>)
            to.as<T>()[at + r * columns + j] = store_element<T>(conjugate ? std::conj(v) : v);
          else if constexpr (is_floating_storage<T>)
            to.as<T>()[at + r * columns + j] = store_element<T>(v.real());
        }
    });
  }
};

/// Dimensions with those axes behind all others.
std::vector<int> axes_last(int ndim, const std::vector<int>& axes) {
  std::vector<int> order;
  for (int d = 0; d < ndim; ++d)
    if (std::find(axes.begin(), axes.end(), d) == axes.end()) order.push_back(d);
  order.insert(order.end(), axes.begin(), axes.end());
  return order;
}

struct FftAlongOp {
  static constexpr int num_operands = 1;
  static constexpr std::string_view name = "fft_along", doc = "Complex discrete Fourier transform along some dimensions.";
  static constexpr Kind kind = Kind::library;
  using Params = FftAlongParams;

  static Aval abstract_eval(const OpContext& c) {
    const auto& [axes, lengths, type] = c.get<Params>();
    const Aval& x = c.in[0];
    if (!x.dtype.is_complex()) c.fail<DTypeError>("not defined for " + std::string(x.dtype.name()), "convert to a complex dtype first");
    if (type != FftType::fft && type != FftType::ifft) c.fail<Error>("it is not a complex transform", "use fft");
    if (axes.empty() || axes.size() != lengths.size()) c.fail<AxisError>("axes and lengths differ in number", "give one to each");
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (axes[i] < (i == 0 ? 0 : axes[i - 1] + 1) || axes[i] >= x.ndim())
        c.fail<AxisError>(fmt::format("axis {} is not one of them, or not in order", axes[i]), "name increasing axes");
      if (x.shape[axes[i]] != lengths[i])
        c.fail<ShapeError>(fmt::format("dimension {} has size {}, and fft_lengths say {}", axes[i], x.shape[axes[i]], lengths[i]),
                           "pad or slice it first");
    }
    return x;
  }
  static std::vector<Tangent> jvp(const JvpContext& c) { return {bind_primitive(c.op, c.params, std::span(&*c.tangents[0], 1), c.loc)[0]}; }
  static std::vector<Tangent> transpose(const TransposeContext& c) {
    if (!c.cotangents[0]) return {Tangent()};
    return {bind_primitive(c.op, c.params, std::span(&*c.cotangents[0], 1), c.loc)[0]};
  }
  static BatchResult batch(const BatchContext& c) {
    Params p = c.get<Params>();
    for (int& a : p.axes) ++a;
    return {{bind_one<FftAlongOp>(std::move(p), {move_batch_dim(c.in[0], c.dims[0], 0, c.loc)}, c.loc)}, {0}};
  }
  static void reference(const ReferenceContext& c) {
    const Params& p = c.get<Params>();
    const Aval& x = c.in[0].aval;
    const std::vector<int> order = axes_last(x.ndim(), p.axes);
    Shape shape = x.shape;
    for (int d = 0; d < x.ndim(); ++d) shape[d] = x.shape[order[static_cast<std::size_t>(d)]];
    std::vector<std::byte> moved(static_cast<std::size_t>(x.bytes())), result(moved.size());
    const HostTensor from{x.with_shape(shape), moved.data()}, to{x.with_shape(shape), result.data()};
    const Primitive& transpose = *find_primitive("transpose");
    transpose.reference({*make_params(TransposeParams{order}), c.in, std::span(&from, 1)});
    Fft::reference({*make_params(FftParams{p.fft_lengths, p.fft_type}), std::span(&from, 1), std::span(&to, 1)});
    transpose.reference({*make_params(TransposeParams{inverse_permutation(order)}), std::span(&to, 1), c.out});
  }
};

const PartitionRule<Fft> fft_partition([](const PartitionContext& c) {
  return partition_batched(c, c.in[0].whole.size() - static_cast<int>(c.get<FftParams>().fft_lengths.size()));
});

/// 5 n log2(n) for complex signals of n elements, half of that for real ones.
template <class Op>
double fft_flops(const ParamsBase& params, std::span<const Aval> ins, const Aval& out) {
  const Aval& in = ins[0];
  double log = 0;
  for (std::int64_t n : params_as<typename Op::Params>(params).fft_lengths) log += std::log2(static_cast<double>(n));
  const bool is_real = !in.dtype.is_complex() || !out.dtype.is_complex();
  return (is_real ? 2.5 : 5) * log * static_cast<double>(out.dtype.is_complex() ? in.size() : out.size());
}

/// A complex transform, along dimensions of the operand's own.
std::optional<OtherEquation> fft_without_transposes(const ParamsBase& params, const std::vector<int>& before,
                                                    const std::vector<int>& after) {
  const auto& p = params_as<FftParams>(params);
  if ((p.fft_type != FftType::fft && p.fft_type != FftType::ifft) || after != inverse_permutation(before)) return {};
  std::vector<std::pair<int, std::int64_t>> axes;
  const std::size_t first = before.size() - p.fft_lengths.size();
  for (std::size_t i = 0; i < p.fft_lengths.size(); ++i) axes.emplace_back(before[first + i], p.fft_lengths[i]);
  std::sort(axes.begin(), axes.end());
  FftAlongParams along{{}, {}, p.fft_type};
  for (const auto& [axis, length] : axes) along.axes.push_back(axis), along.fft_lengths.push_back(length);
  return OtherEquation{&primitive_of<FftAlongOp>, make_params(std::move(along))};
}

const Rule<LineSumsTransform, Fft> fft_sums([](const ParamsBase& p) {
  return static_cast<int>(params_as<FftParams>(p).fft_lengths.size());
});
const Rule<FlopsTransform, Fft> fft_cost(fft_flops<Fft>);
const Rule<FlopsTransform, FftAlongOp> fft_along_cost(fft_flops<FftAlongOp>);
const Rule<BetweenTransposesTransform, Fft> fft_between(fft_without_transposes);

}  // namespace

const Primitive& fft_primitive() { return primitive_of<Fft>; }
const Primitive& fft_along_primitive() { return primitive_of<FftAlongOp>; }

Array fft_between_transposes(const FftAlongParams& p, const Array& x, SourceLoc loc) {
  const std::vector<int> order = axes_last(x.ndim(), p.axes);
  return permute(fft_of(permute(x, order, loc), p.fft_type, p.fft_lengths, loc), inverse_permutation(order), loc);
}

Array fft_of(const Array& x, FftType type, std::vector<std::int64_t> lengths, SourceLoc loc) {
  return bind_one<Fft>({std::move(lengths), type}, {x}, loc);
}

PrimitiveList fft_primitives() {
  static constexpr const Primitive* list[] = {&primitive_of<Fft>, &primitive_of<FftAlongOp>};
  return list;
}

}  // namespace weft::detail
