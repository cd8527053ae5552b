#include "weft/backends/cpu/expand.h"

#include <algorithm>

#include "weft/backends/codegen/planner/partial_sorts.h"
#include "weft/backends/common/native_step.h"
#include "weft/backends/cpu/packed/packed_matmul.h"
#include "weft/core/array/indexing.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/ir/primitive.h"
#include "weft/core/ir/rules.h"
#include "weft/core/ops/contraction/attention_expand.h"
#include "weft/core/ops/contraction/conv.h"
#include "weft/core/ops/contraction/conv_expand.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/movement/sort.h"
#include "weft/core/trace/trace.h"

namespace weft::detail {
namespace {

constexpr double kMostWindowBytes = 64e6;
constexpr std::int64_t kFewChannels = 8, kMostTaps = 49;

/// A convolution of each channel by itself that kernels are faster at: windows of one element are a product, and channels that are images
/// of their own in memory are read in order where oneDNN would first move them behind one another, as many as a vector has lanes, which
/// pays only for many taps that are not strided. Windows as large as images, as those of gradients, and dilated images are left to it.
bool is_for_kernels(const ConvParams& p, const Shape& image, const Shape& kernel) {
  const auto& [l, r, o] = p.dimension_numbers;
  if (p.batch_group_count != 1 || kernel[r[1]] != 1 || kernel[r[0]] != p.feature_group_count) return false;
  std::int64_t taps = 1, stride = 1;
  for (std::size_t d = 0; d < p.window_strides.size(); ++d) taps *= kernel[r[d + 2]], stride *= p.window_strides[d];
  const bool is_dilated = std::any_of(p.lhs_dilation.begin(), p.lhs_dilation.end(), [](std::int64_t d) { return d > 1; });
  if (taps > kMostTaps || is_dilated) return false;
  return taps == 1 || (l[1] + 1 < image.size() && (stride > 1 || p.feature_group_count < kFewChannels));
}

/// A convolution of so few multiplications that oneDNN's calls and layouts take longer. The windows of gradients in the kernel are as large
/// as images; images with holes are those of gradients in the operand.
bool is_small(const ConvParams& p, const Shape& image, const Shape& kernel) {
  // Channels that are images of their own in memory give long vectors.
  constexpr double kOfImages = 1e6, kOfPixels = 2.5e5;
  constexpr std::int64_t kMostSmallTaps = 25;
  const auto& [l, r, o] = p.dimension_numbers;
  auto multiplications = static_cast<double>(image[l[0]] * kernel[r[0]] * kernel[r[1]]);
  std::int64_t taps = 1;
  for (const WindowDim& d : conv_windows(p, image, kernel)) {
    if (d.base_dilation > 1 || d.window > d.positions()) return false;
    taps *= d.window, multiplications *= static_cast<double>(d.window * d.positions());
  }
  return p.batch_group_count == 1 && p.feature_group_count == 1 && taps <= kMostSmallTaps &&
         multiplications <= (l[1] + 1 < image.size() ? kOfImages : kOfPixels);
}

/// Whether oneDNN has code for it, and good code.
bool is_for_library(const Primitive& op, const ConvParams& p, std::span<const Aval> in) {
  const auto& [l, r, o] = p.dimension_numbers;
  const bool one_channel = p.batch_group_count == 1 && in[0].shape[l[1]] == 1 && in[1].shape[r[0]] == 1;
  const ParamsRef params = make_params(p);
  return in[0].dtype == float32 && !one_channel && !is_for_kernels(p, in[0].shape, in[1].shape) && !is_small(p, in[0].shape, in[1].shape) &&
         make_native_step(op, *params, in, infer(op, *params, in, {})) != nullptr;
}

/// A convolution of 16-bit floats by oneDNN's of float32, whose sums are rounded once, where the processor has no instructions that
/// multiply the former.
std::optional<Jaxpr> widened_convolution(const Eqn& e, std::span<const Aval> in) {
  const auto& given = params_as<ConvParams>(*e.params);
  const DType narrow = in[0].dtype, out = given.preferred_element_type.value_or(narrow);
  const auto fits = [](DType t) { return t.is_floating() && t.itemsize() <= 4; };
  if (narrow.itemsize() != 2 || !fits(in[1].dtype) || !fits(out) || !converts_packed(narrow, in[1].dtype, out)) return {};
  ConvParams p = given;
  p.preferred_element_type = float32;
  const Aval wide[] = {{in[0].shape, float32}, {in[1].shape, float32}};
  if (!is_for_library(*e.op, p, wide)) return {};
  return trace_jaxpr({"conv_general_dilated", {in.begin(), in.end()}, {}}, [&](std::span<const Array> x) {
    const Array y = convolve_of(astype(Arg(x[0], e.loc), float32), astype(Arg(x[1], e.loc), float32), p, e.loc);
    return std::vector{astype(Arg(y, e.loc), out)};
  });
}

/// Few of the largest of long lines are found by passing over the others; short lines, or much of them, are sorted faster, side by side.
constexpr std::int64_t kLongest = 1024, kShort = 64, kShare = 15, kFewestLines = 4;

bool is_faster_sorted(const TopKLargest::Params& p, const Aval& x) {
  const std::int64_t n = x.shape[p.axis];
  if (n < 2 || n > kLongest || p.k == 0 || x.dtype.itemsize() > 4 || x.size() / n < kFewestLines) return false;
  return (n < kShort || p.k * kShare > n) && (x.dtype.is_integer() || x.dtype.is_floating());
}

/// top_k by sorting.
Jaxpr sorted_largest(const TopKLargest::Params& p, const Aval& x, SourceLoc loc) {
  return trace_jaxpr({"top_k", {x}, {}}, [&](std::span<const Array> in) {
    const Array operands[] = {codes_of_largest(in[0], loc), iota_array(int32, x.shape, p.axis, loc)};
    const Array positions = slice_axis(bind_all<Sort>({p.axis, true, 1}, operands, loc)[1], p.axis, 0, p.k, loc);
    return std::vector{take_along_axis(Arg(in[0], loc), Arg(positions, loc), p.axis, {.mode = "promise_in_bounds"}), positions};
  });
}

/// Up to so many of the largest elements are found one after the other.
constexpr std::int64_t kMostRounds = 4;

bool is_for_rounds(const TopKLargest::Params& p, const Aval& x) {
  const std::int64_t n = x.shape[p.axis];
  return p.k >= 1 && p.k <= kMostRounds && n >= 2 * p.k && n <= kLongest && (x.dtype.is_integer() || x.dtype.is_floating());
}

/// The first position of each line that is none of these.
Array first_other_than(const std::vector<Array>& positions, SourceLoc loc) {
  const auto number = [](std::size_t n) { return make_literal(Number(static_cast<long long>(n)), int32); };
  Array first = number(positions.size());
  for (std::size_t i = positions.size(); i-- > 0;) {
    Array is_taken = positions[0] == Arg(number(i), loc);
    for (std::size_t k = 1; k < positions.size(); ++k) is_taken = is_taken | (positions[k] == Arg(number(i), loc));
    first = where(Arg(is_taken, loc), first, number(i));
  }
  return first;
}

Array lowest_integer(DType t) {
  const long long low = t.is_unsigned() ? 0 : -1 - static_cast<long long>((std::uint64_t{1} << (8 * t.itemsize() - 1)) - 1);
  return make_literal(Number(low), t);
}

/// The largest of each line by a reduction each, in which those that were found before count as the least number there is.
Jaxpr largest_by_rounds(const TopKLargest::Params& p, const Aval& x, SourceLoc loc) {
  return trace_jaxpr({"top_k", {x}, {}}, [&](std::span<const Array> in) {
    // By argmax's order, too, NaNs come first and zeros of both signs are equal.
    const auto largest = [&](const Array& codes) { return argmax(Arg(codes, loc), p.axis, {.keepdims = true}); };
    std::vector<Array> positions{largest(in[0])};
    if (p.k > 1) {
      Array codes = x.dtype.is_integer() ? in[0] : ~codes_of_largest(in[0], loc);
      const Array least = lowest_integer(codes.dtype()), places = iota_array(int32, x.shape, p.axis, loc);
      while (static_cast<std::int64_t>(positions.size()) < p.k) {
        codes = where(Arg(places, loc) == positions.back(), least, codes);
        const Array next = largest(codes);
        const Array found = take_along_axis(Arg(codes, loc), Arg(next, loc), p.axis, {.mode = "promise_in_bounds"});
        positions.push_back(where(Arg(found, loc) == least, first_other_than(positions, loc), next));
      }
    }
    const Array position = p.k == 1 ? positions[0] : concatenate_along(positions, p.axis, loc);
    return std::vector{take_along_axis(Arg(in[0], loc), Arg(position, loc), p.axis, {.mode = "promise_in_bounds"}), position};
  });
}

/// The program that replaces an equation; nothing where the equation stays.
struct CpuExpansionRules {
  using Function = std::optional<Jaxpr>(const Eqn& e, std::span<const Aval> in);
};
const Rule<CpuExpansionRules, TopKLargest> top_k_expansion([](const Eqn& e, std::span<const Aval> in) -> std::optional<Jaxpr> {
  const auto& p = params_as<TopKLargest::Params>(*e.params);
  if (is_for_rounds(p, in[0])) return largest_by_rounds(p, in[0], e.loc);
  if (!is_faster_sorted(p, in[0])) return {};
  return sorted_largest(p, in[0], e.loc);
});

std::optional<Jaxpr> expand_cpu_convolution(const Eqn& e, std::span<const Aval> in) {
  if (is_for_library(*e.op, params_as<ConvParams>(*e.params), in)) return {};
  if (std::optional<Jaxpr> wide = widened_convolution(e, in)) return wide;
  return expand_convolution(e, in, kMostWindowBytes);
}
const RuleOf<CpuExpansionRules> convolution_expansion(convolution_primitive(), expand_cpu_convolution);

const CompositeRule<CpuComposite> attention_rule(kAttention, expand_attention);
const CompositeRule<CpuComposite> attention_gradient_rule(kAttentionGradient, expand_attention_gradient);

}  // namespace

std::optional<Jaxpr> expand_for_cpu(const Eqn& e, std::span<const Aval> in) {
  if (const CompositeParams* const p = as_composite(e)) {
    CpuComposite::Function* const rule = find_composite_rule<CpuComposite>(p->name);
    return rule ? rule(*p, in) : std::nullopt;
  }
  CpuExpansionRules::Function* const rule = find_rule<CpuExpansionRules>(*e.op);
  return rule ? rule(e, in) : std::nullopt;
}

}  // namespace weft::detail
