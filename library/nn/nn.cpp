#include "weft/library/nn/nn.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "weft/core/array/indexing.h"
#include "weft/core/base/float_environment.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/functions/wide.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/contraction/attention.h"
#include "weft/core/ops/control/composite.h"
#include "weft/core/ops/elementwise/stop_gradient.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/trace/trace.h"

namespace weft {

using detail::LocScope;
using detail::scalar_like;

namespace nn {
namespace {

/// The floating array that an activation of integers works on.
Array inexact(const Arg& x) { return detail::as_dtype(x.array(), detail::inexact_dtype(x.array().dtype())); }

/// x less its maximum over the axes, which doesn't change a softmax and keeps exp in range.
Array shifted(const Array& x, const Axis& axis, SourceLoc loc) {
  return x - detail::stop_gradient_of(max(Arg(x, loc), axis, keepdims), loc);
}
/// The same over the elements that take part; others are 0.
Array shifted_where(const Array& x, const Axis& axis, const Array& mask, SourceLoc loc) {
  const Array top = max(Arg(x, loc), axis, {.keepdims = true, .where = mask, .initial = -std::numeric_limits<double>::infinity()});
  return where(mask, x - detail::stop_gradient_of(top, loc), 0);
}

/// Whether the options name an axis, or none.
bool given(const Axis& axis) { return axis.is_none() || !axis.axes().empty(); }
/// The axes that are an argument. Throws AxisError where those of the options are others.
std::vector<int> softmax_axes(const char* operation, const Arg& x, const Axis& axis, const SoftmaxOptions& options) {
  const std::vector<int> axes = detail::resolve_axes(axis, x, operation);
  if (given(options.axis) && detail::resolve_axes(options.axis, x, operation) != axes)
    throw AxisError(fmt::format("{}: an axis is an argument and another one among the options; give it once", operation),
                    detail::effective_loc(x.where()));
  return axes;
}

constexpr std::string_view kRelu = "weft.relu";

/// jax.nn's rule: the derivative is 0 where x isn't positive, also where it is NaN.
std::optional<detail::JvpResult> differentiate_relu(const detail::JvpContext& c) {
  if (c.in.size() != 1 || !c.in[0].dtype().is_floating()) return {};
  const Array zero = scalar_like(c.in[0], 0);
  detail::JvpResult r;
  r.out = detail::bind_primitive(c.op, c.params, c.in, c.loc);
  r.tangents = {where(c.in[0] > zero, *c.tangents[0], zero)};
  return r;
}
const detail::CompositeRule<detail::CompositeJvp> relu_jvp(kRelu, differentiate_relu);
const detail::CompositeRule<detail::CompositeLinearize> relu_linearize(kRelu, differentiate_relu);

}  // namespace

Array relu(Arg x) {
  LocScope scope(x.where());
  return detail::named(kRelu, {}, std::span(&x.array(), 1), x.where(),
                       [](std::span<const Array> in) { return where(in[0] <= scalar_like(in[0], 0), scalar_like(in[0], 0), in[0]); });
}
Array relu6(Arg x) {
  LocScope scope(x.where());
  const Array v = inexact(x), zero = scalar_like(v, 0), six = scalar_like(v, 6);
  // NaN stays NaN, without a derivative.
  return where((v > zero) & (v < six), v, detail::stop_gradient_of(minimum(maximum(v, zero), six), x.where()));
}
Array gelu(Arg x) {
  LocScope scope(x.where());
  const Array v = inexact(x);
  return detail::named("weft.gelu", {{"approximate", true}}, std::span(&v, 1), x.where(), [](std::span<const Array> in) {
    return in[0] * (.5 * (1. + weft::tanh(std::sqrt(2 / std::numbers::pi) * (in[0] + .044715 * integer_pow(in[0], 3)))));
  });
}
Array gelu(Arg x, GeluOptions options) {
  if (options.approximate) return gelu(std::move(x));
  LocScope scope(x.where());
  const Array v = inexact(x);
  return 0.5 * v * erfc(v * (-std::numbers::sqrt2 / 2));
}
Array silu(Arg x) {
  LocScope scope(x.where());
  const Array v = inexact(x);
  return v * weft::sigmoid(v);
}
Array swish(Arg x) { return silu(x); }
Array elu(Arg x, Arg alpha) {
  LocScope scope(x.where());
  const Array v = inexact(x), positive = v > 0;
  return where(positive, v, alpha.array() * weft::expm1(where(positive, scalar_like(v, 0), v)));
}
Array celu(Arg x, Arg alpha) {
  LocScope scope(x.where());
  const Array v = inexact(x), positive = v > 0;
  return where(positive, v, alpha.array() * weft::expm1(where(positive, scalar_like(v, 0), v) / alpha.array()));
}
Array selu(Arg x) {
  LocScope scope(x.where());
  return 1.0507009873554804934193349852946 * elu(x, 1.6732632423543772848170429916717);
}
Array leaky_relu(Arg x, Arg negative_slope) {
  LocScope scope(x.where());
  const Array v = inexact(x);
  return where(v >= 0, v, negative_slope.array() * v);
}
Array softplus(Arg x) {
  LocScope scope(x.where());
  return logaddexp(inexact(x), 0.);
}
Array soft_sign(Arg x) {
  LocScope scope(x.where());
  const Array v = inexact(x);
  return v / (weft::abs(v) + 1.);
}
Array sigmoid(Arg x) { return weft::sigmoid(x); }
Array log_sigmoid(Arg x) {
  LocScope scope(x.where());
  return -softplus(-inexact(x));
}
Array hard_tanh(Arg x) {
  LocScope scope(x.where());
  const Array &v = x.array(), one = scalar_like(v, 1), minus_one = scalar_like(v, -1);
  return where(v > one, one, where(v < minus_one, minus_one, v));
}
Array hard_sigmoid(Arg x) {
  LocScope scope(x.where());
  return relu6(inexact(x) + 3.) / 6.;
}
Array hard_silu(Arg x) {
  LocScope scope(x.where());
  return inexact(x) * hard_sigmoid(x);
}
Array mish(Arg x) {
  LocScope scope(x.where());
  const Array v = inexact(x);
  return v * weft::tanh(softplus(v));
}
Array glu(Arg x, AxisNumber axis) {
  LocScope scope(x.where());
  const Array v = inexact(x);
  const int a = detail::normalize_axis(axis, v.ndim(), "glu", x.aval(), x.where());
  const std::int64_t n = v.shape()[a];
  if (n % 2)
    throw ShapeError(fmt::format("glu: axis {} of {} has odd size {}; it is cut into two halves", a, detail::to_string(x.aval()), n),
                     detail::effective_loc(x.where()));
  return detail::slice_axis(v, a, 0, n / 2, x.where()) * weft::sigmoid(detail::slice_axis(v, a, n / 2, n, x.where()));
}

Array softmax(Arg x, SoftmaxOptions options) {
  const Axis axis = given(options.axis) ? options.axis : Axis(-1);
  return softmax(std::move(x), axis, std::move(options));
}
Array log_softmax(Arg x, SoftmaxOptions options) {
  const Axis axis = given(options.axis) ? options.axis : Axis(-1);
  return log_softmax(std::move(x), axis, std::move(options));
}
Array softmax(Arg x, Axis axis, SoftmaxOptions options) {
  LocScope scope(x.where());
  const std::vector<int> axes = softmax_axes("softmax", x, axis, options);
  const Array v = inexact(x);
  if (v.size() == 0) return v;
  if (options.where) {
    const Array e = where(*options.where, weft::exp(shifted_where(v, axis, *options.where, x.where())), 0);
    const Array total = sum(detail::as_wide(e), axis, keepdims);
    return detail::as_dtype(e / where(total == 0, 1, total), v.dtype());
  }
  return detail::named("weft.softmax", {{"axes", detail::axes_attribute(axes)}}, std::span(&v, 1), x.where(),
                       [&](std::span<const Array> in) {
                         const Array e = weft::exp(shifted(in[0], axis, x.where()));
                         return detail::as_dtype(e / sum(detail::as_wide(e), axis, keepdims), e.dtype());
                       });
}
Array log_softmax(Arg x, Axis axis, SoftmaxOptions options) {
  LocScope scope(x.where());
  softmax_axes("log_softmax", x, axis, options);
  const Array v = inexact(x);
  if (v.size() == 0) return v;
  if (options.where) {
    const Array s = shifted_where(v, axis, *options.where, x.where());
    const Array total = sum(detail::as_wide(weft::exp(s)), axis, {.keepdims = true, .where = options.where});
    const Array scores = detail::as_dtype(s - weft::log(where(total == 0, 1, total)), v.dtype());
    return where(*options.where, scores, -std::numeric_limits<double>::infinity());
  }
  const Array s = shifted(v, axis, x.where());
  return detail::as_dtype(s - weft::log(sum(detail::as_wide(weft::exp(s)), axis, keepdims)), v.dtype());
}
Array standardize(Arg x, Axis axis) { return standardize(std::move(x), StandardizeOptions{.axis = std::move(axis)}); }
Array standardize(Arg x, StandardizeOptions o) {
  LocScope scope(x.where());
  detail::resolve_axes(o.axis, x, "standardize");
  const ReduceOptions kept{.keepdims = true, .where = o.where};
  const Array given = inexact(x), v = detail::as_wide(given), mu = o.mean ? *o.mean : mean(v, o.axis, kept);
  const Array variance = o.variance ? *o.variance : maximum(mean(square(v), o.axis, kept) - square(mu), 0.);
  // The dtypes of what the caller gave count, too.
  DType dtype = given.dtype();
  for (const auto* moment : {&o.mean, &o.variance})
    if (*moment) dtype = promote_types(dtype, (*moment)->dtype());
  return detail::as_dtype((v - mu) * rsqrt(variance + o.epsilon), dtype);
}
Array layer_norm(Arg x, Arg scale, Arg bias, LayerNormOptions options) {
  LocScope scope(x.where());
  detail::resolve_axes(-1, x, "layer_norm");
  const DType dtype = detail::inexact_dtype(x.array().dtype());
  const Array operands[] = {x.array(), scale.array(), bias.array()};
  return detail::named("weft.layer_norm", {{"epsilon", options.epsilon}}, operands, x.where(), [&](std::span<const Array> in) {
    const Array v = detail::as_dtype(in[0], detail::wide_dtype(dtype));
    const Array centred = v - mean(v, -1, keepdims);
    const Array normal = centred * rsqrt(mean(square(centred), -1, keepdims) + options.epsilon);
    return detail::as_dtype(normal, dtype) * in[1] + in[2];
  });
}

Array one_hot(Arg x, Int num_classes, DType dtype) { return weft::one_hot(x, num_classes, dtype); }
Array one_hot(Arg x, OneHotOptions options) {
  if (!options.num_classes)
    throw Error("one_hot: num_classes is missing: one_hot(x, n) or one_hot(x, {.num_classes = n})", detail::effective_loc(x.where()));
  const Int num_classes = *options.num_classes;
  return one_hot(std::move(x), num_classes, std::move(options));
}
Array one_hot(Arg x, Int num_classes, OneHotOptions options) {
  if (options.num_classes && *options.num_classes != num_classes)
    throw Error("one_hot: num_classes is an argument and another one among the options; give it once", detail::effective_loc(x.where()));
  return moveaxis(weft::one_hot(x, num_classes, options.dtype), -1, options.axis);
}

Array dot_product_attention(Arg q, Arg k, Arg v, AttentionOptions options) {
  LocScope scope(q.where());
  const SourceLoc loc = q.where();
  auto fail = [&](const char* problem) {
    throw ShapeError(fmt::format("dot_product_attention: q {}, k {}, v {}: {}", detail::to_string(q.aval()), detail::to_string(k.aval()),
                                 detail::to_string(v.aval()), problem),
                     detail::effective_loc(loc));
  };
  const int ndim = q.array().ndim();
  if ((ndim != 3 && ndim != 4) || k.array().ndim() != ndim || v.array().ndim() != ndim)
    fail("each must be (batch, length, heads, size of a head), or all without the batch");
  const auto with_batch = [&](const Array& x, int without) { return x.ndim() == without ? detail::insert_axes(x, {0}, loc) : x; };
  std::vector<Array> operands;
  for (const Arg* x : {&q, &k, &v}) operands.push_back(with_batch(x->array(), 3));
  const Shape s = operands[0].shape(), t = operands[1].shape(), u = operands[2].shape();
  if (u[0] != t[0] || u[1] != t[1] || u[2] != t[2]) fail("k and v must agree in batch, length and heads");
  if (s[0] != t[0] || s[3] != t[3]) fail("q and k must agree in batch and size of a head");
  if (t[2] == 0 || s[2] % t[2] != 0) fail("the number of q's heads must be a multiple of that of k's");
  const std::int64_t full[] = {s[0], s[2], s[1], t[1]};
  const auto add_beside = [&](const Array& x, const char* name) {
    const Array a = ndim == 3 ? with_batch(x, 3) : x;
    bool fits = a.ndim() == 4;
    for (int i = 0; fits && i < 4; ++i) fits = a.shape()[i] == 1 || a.shape()[i] == full[i];
    if (!fits)
      fail(fmt::format("the {} is {}; it must broadcast to (batch, heads, length of q, length of k), here {}", name,
                       detail::to_string(x.aval()), detail::to_string(Shape{full[0], full[1], full[2], full[3]}))
               .c_str());
    operands.push_back(a);
  };
  if (options.bias) add_beside(*options.bias, "bias");
  if (options.mask) {
    if (!options.mask->dtype().is_bool())
      throw DTypeError(fmt::format("dot_product_attention: the mask is {}; it must be of bools", detail::to_string(options.mask->aval())),
                       detail::effective_loc(loc));
    add_beside(*options.mask, "mask");
  }
  const double scale = options.scale ? *options.scale : detail::standard([&] { return 1 / std::sqrt(static_cast<double>(s[3])); });
  const Array out = detail::attention({options.is_causal, scale, options.bias.has_value(), options.mask.has_value()}, operands, loc);
  return ndim == 3 ? detail::squeeze_axes(out, {0}, loc) : out;
}

}  // namespace nn
}  // namespace weft
