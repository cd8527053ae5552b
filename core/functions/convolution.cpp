#include "weft/core/functions/convolution.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/base/counted.h"
#include "weft/core/errors/error.h"
#include "weft/core/errors/given_text.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/contraction/contract.h"
#include "weft/core/ops/contraction/conv.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/trace/trace.h"

namespace weft {

using detail::LocScope;

Padding::Padding(const char* name) : name_(detail::given_text(name, "the name of a padding", detail::effective_loc({}))) {}

namespace {

[[noreturn]] void fail(const char* operation, const Arg& x, const std::string& problem) {
  throw ShapeError(fmt::format("{}: {}: {}", operation, detail::to_string(x.aval()), problem), detail::effective_loc(x.where()));
}

/// The dimensions by their letters, spatial ones in the kernel's order (jax.lax.conv_dimension_numbers).
detail::ConvDimensions dimensions_of(const ConvDimensionNumbers& numbers, int ndim, const char* operation, const Arg& x) {
  const ConvDimensionNumbers standard;
  std::vector<int> natural;
  for (int d = 0; d < ndim; ++d) natural.push_back(d);
  if (numbers.lhs == standard.lhs && numbers.rhs == standard.rhs && numbers.out == standard.out) return {natural, natural, natural};
  const std::string specs[] = {numbers.lhs, numbers.rhs, numbers.out};
  std::vector<int> result[3];
  for (int k = 0; k < 3; ++k) {
    const std::string &spec = specs[k], first = k == 1 ? "OI" : "NC";
    auto position = [&](char letter) {
      const std::size_t at = spec.find(letter);
      if (at == std::string::npos || spec.find(letter, at + 1) != std::string::npos || spec.size() != static_cast<std::size_t>(ndim))
        throw AxisError(fmt::format("{}: dimension numbers `{}` don't name {} of {} once each, with {} and {} among them", operation, spec,
                                    detail::counted(ndim, "dimension"), detail::to_string(x.aval()), first[0], first[1]),
                        detail::effective_loc(x.where()));
      return static_cast<int>(at);
    };
    for (char letter : first) result[k].push_back(position(letter));
    for (char letter : numbers.rhs)
      if (letter != 'O' && letter != 'I') result[k].push_back(position(letter));
  }
  return {result[0], result[1], result[2]};
}

std::vector<std::int64_t> entries(const Shape& given, std::size_t n, const char* what, const char* operation, const Arg& x) {
  if (given.empty()) return std::vector<std::int64_t>(n, 1);
  if (static_cast<std::size_t>(given.size()) != n)
    fail(operation, x, fmt::format("{} {} are given for {} spatial dimensions", given.size(), what, n));
  return {given.begin(), given.end()};
}

int spatial_rank(const char* operation, const Arg& x, const Arg& kernel, const Shape& strides) {
  const int ndim = x.array().ndim();
  if (ndim < 2 || kernel.array().ndim() != ndim)
    fail(operation, x, fmt::format("the kernel {} must have as many dimensions, two or more", detail::to_string(kernel.aval())));
  if (strides.size() != ndim - 2)
    fail(operation, x, fmt::format("{} strides are given for {} spatial dimensions", strides.size(), ndim - 2));
  return ndim - 2;
}

}  // namespace

Array conv_general_dilated(Arg x, Arg kernel, Shape window_strides, Padding padding, ConvOptions options) {
  LocScope scope(x.where());
  constexpr const char* kName = "conv_general_dilated";
  const auto n = static_cast<std::size_t>(spatial_rank(kName, x, kernel, window_strides));
  detail::ConvParams p;
  p.dimension_numbers = dimensions_of(options.dimension_numbers, x.array().ndim(), kName, x);
  p.batch_group_count = options.batch_group_count, p.feature_group_count = options.feature_group_count;
  p.lhs_dilation = entries(options.lhs_dilation, n, "dilations", kName, x);
  p.rhs_dilation = entries(options.rhs_dilation, n, "dilations", kName, x);
  p.window_strides.assign(window_strides.begin(), window_strides.end());
  p.preferred_element_type = options.preferred_element_type;
  p.padding = padding.widths();
  if (!padding.name().empty()) {
    if (padding.name() != "VALID" && std::any_of(p.lhs_dilation.begin(), p.lhs_dilation.end(), [](std::int64_t d) { return d != 1; }))
      fail(kName, x, "padding " + padding.name() + " has no meaning with lhs_dilation; give numbers");
    for (std::size_t i = 0; i < n; ++i)
      p.padding.push_back(
          detail::named_padding(padding.name(), x.array().shape()[p.dimension_numbers.lhs_spec[i + 2]],
                                detail::dilated(kernel.array().shape()[p.dimension_numbers.rhs_spec[i + 2]], p.rhs_dilation[i]),
                                p.window_strides[i], kName, x.where()));
  }
  const auto [a, b] = detail::promoted(x, kernel);
  return detail::convolve_of(a, b, std::move(p), x.where());
}

Array conv(Arg x, Arg kernel, Shape window_strides, Padding padding) {
  return conv_general_dilated(x, kernel, std::move(window_strides), std::move(padding));
}

Array conv_transpose(Arg x, Arg kernel, Shape strides, Padding padding, ConvTransposeOptions options) {
  LocScope scope(x.where());
  constexpr const char* kName = "conv_transpose";
  const int n = spatial_rank(kName, x, kernel, strides);
  ConvDimensionNumbers numbers = options.dimension_numbers;
  if (n != 2 && numbers == ConvTransposeOptions().dimension_numbers) {
    const std::string spatial = std::string("DHW").substr(n > 3 ? 0 : static_cast<std::size_t>(3 - n));
    if (n > 3) fail(kName, x, "more than 3 spatial dimensions need dimension numbers");
    numbers = {"N" + spatial + "C", spatial + "IO", "N" + spatial + "C"};
  }
  const detail::ConvDimensions dims = dimensions_of(numbers, n + 2, kName, x);
  const std::vector<std::int64_t> dilation = entries(options.rhs_dilation, static_cast<std::size_t>(n), "dilations", kName, x);
  detail::PadPairs widths = padding.widths();
  if (!padding.name().empty())
    for (int i = 0; i < n; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const std::int64_t k = detail::dilated(kernel.array().shape()[dims.rhs_spec[at + 2]], dilation[at]), s = strides[i];
      if (padding.name() != "SAME" && padding.name() != "VALID")
        fail(kName, x, "padding must be SAME, VALID, or a pair of numbers for each dimension");
      if (s < 1 || s >= detail::kMostCounted || k >= detail::kMostCounted) {
        widths.emplace_back(0, 0);  // the convolution refuses them
        continue;
      }
      const bool same = padding.name() == "SAME";
      const std::int64_t total = k + s - 2 + (same ? 0 : std::max<std::int64_t>(k - s, 0)),
                         before = !same || s > k - 1 ? k - 1 : (total + 1) / 2;
      widths.emplace_back(before, total - before);
    }
  Array by = kernel.array();
  if (options.transpose_kernel)
    by = swapaxes(flip(by, Axis(std::vector<int>(dims.rhs_spec.begin() + 2, dims.rhs_spec.end()))), dims.rhs_spec[0], dims.rhs_spec[1]);
  ConvOptions conv{.dimension_numbers = numbers};
  conv.lhs_dilation = strides;
  conv.rhs_dilation = dilation;
  return conv_general_dilated(x, by, Shape(std::vector<int>(static_cast<std::size_t>(n), 1)), widths, conv);
}

namespace {

Array slide(const char* operation, const Arg& a, const Arg& v, const std::string& mode, bool turn) {
  LocScope scope(a.where());
  Array x = a.array(), y = v.array();
  if (x.ndim() != 1 || y.ndim() != 1 || x.size() == 0 || y.size() == 0)
    fail(operation, a, fmt::format("and {}: both must be vectors with at least one element", detail::to_string(v.aval())));
  if (!turn && y.dtype().is_complex()) y = conj(y);
  // The shorter vector is the kernel, so a correlation is reversed if the operands are swapped.
  const bool swapped = x.size() < y.size();
  if (swapped) std::swap(x, y);
  if (turn) y = flip(y);
  const std::int64_t n = y.size();
  detail::PadPairs::value_type padding;
  if (mode == "full")
    padding = {n - 1, n - 1};
  else if (mode == "same")
    padding = {n / 2, n - n / 2 - 1};
  else if (mode != "valid")
    throw Error(fmt::format("{}: unknown mode `{}`; available: full, same, valid", operation, mode), detail::effective_loc(a.where()));
  const Array r = squeeze(conv_general_dilated(expand_dims(x, {0, 1}), expand_dims(y, {0, 1}), {1}, detail::PadPairs{padding}), {0, 1});
  return swapped && !turn ? flip(r) : r;
}

}  // namespace

Array convolve(Arg a, Arg v, TextArg mode) { return slide("convolve", a, v, mode.str(), true); }
Array convolve(Arg a, Arg v, ModeOption options) { return slide("convolve", a, v, options.mode.value_or("full"), true); }
Array correlate(Arg a, Arg v, TextArg mode) { return slide("correlate", a, v, mode.str(), false); }
Array correlate(Arg a, Arg v, ModeOption options) { return slide("correlate", a, v, options.mode.value_or("valid"), false); }

}  // namespace weft
