// Running reductions along an axis: cumsum, cumprod, cummax, cummin, cumlogsumexp.
#include <array>
#include <limits>
#include <utility>

#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/reduce/combine.h"
#include "weft/core/ops/reduce/cumulative_expand.h"
#include "weft/core/ops/reduce/reduce.h"
#include "weft/core/ops/registry.h"

namespace weft::detail {
namespace {

template <class Op, Combiner C>
struct Cumulative {
  static constexpr int num_operands = 1;
  static constexpr Kind kind = Kind::cumulative;
  static constexpr Combiner combiner = C;
  using Params = CumulativeParams;
  static constexpr Reduces reduces = Reduces::prefixes;
  static std::span<const int> reduced_dims(const Params& p) { return {&p.axis, 1}; }

  static Aval abstract_eval(const OpContext& c) {
    const int axis = c.get<Params>().axis, ndim = c.in[0].ndim();
    if (axis < 0 || axis >= ndim)
      c.fail<AxisError>("axis " + std::to_string(axis) + " is out of range", "axes are 0 to " + std::to_string(ndim - 1));
    with_storage(c.in[0].dtype, [&]<class T>() {
      if constexpr (!combines<C, T>)
        c.fail<DTypeError>("not defined for " + std::string(c.in[0].dtype.name()), "convert to another type first");
    });
    return c.in[0];
  }
  static BatchResult batch(const BatchContext& c) {
    Params p = c.get<Params>();
    p.axis += p.axis >= c.dims[0];
    return {{bind_one<Op>(p, {c.in[0]}, c.loc)}, {c.dims[0]}};
  }
  static void reference(const ReferenceContext& c) {
    const Shape& shape = c.in[0].aval.shape;
    const auto [axis, reverse] = c.get<Params>();
    const auto starts = offsets_along(shape, other_dims(shape.size(), {axis})), steps = offsets_along(shape, {axis});
    with_storage(c.in[0].aval.dtype, [&]<class T>() {
      if constexpr (combines<C, T>)
        for (std::int64_t start : starts) {
          compute_t<T> total = reduction_identity<C, T>();
          for (std::size_t i = 0; i < steps.size(); ++i) {
            const std::int64_t at = start + steps[reverse ? steps.size() - 1 - i : i];
            const compute_t<T> element = load_element(c.in[0].as<T>()[at]);
            total = steps.size() == 1 ? element : combine<C, compute_t<T>>(total, element);  // one is taken as it is, negative zeros too
            c.out[0].as<T>()[at] = store_element<T>(total);
          }
        }
    });
  }
};

/// A value and its tangent, and how two of them are combined.
struct Dual {
  Array value, tangent;
};
using Combine = Dual (*)(const Dual&, const Dual&);

Dual combine_products(const Dual& a, const Dual& b) { return {a.value * b.value, a.tangent * b.value + a.value * b.tangent}; }

/// Ties share the tangent equally.
Dual combine_extrema(const Dual& a, const Dual& b, const Array& value) {
  auto share = [&](const Array& mine, const Array& other) {
    const Array one = scalar_like(mine, 1), half = scalar_like(mine, .5), zero = scalar_like(mine, 0);
    return where(mine == value, where(other == value, half, one), zero);
  };
  return {value, a.tangent * share(a.value, b.value) + b.tangent * share(b.value, a.value)};
}
Dual combine_maxima(const Dual& a, const Dual& b) { return combine_extrema(a, b, maximum(a.value, b.value)); }
Dual combine_minima(const Dual& a, const Dual& b) { return combine_extrema(a, b, minimum(a.value, b.value)); }

/// The tangents weigh exp(x - log(exp(a) + exp(b))); infinities are taken out of it, so that no inf - inf appears.
Dual combine_logsumexp(const Dual& a, const Dual& b) {
  const Array value = logaddexp(a.value, b.value), zero = scalar_like(value, 0);
  const Array infinity = scalar_like(value, std::numeric_limits<double>::infinity());
  const Array base = where(abs(value) == infinity, zero, value);
  auto weight = [&](const Array& x) { return exp(where(x == infinity, zero, x) - base); };
  return {value, a.tangent * weight(a.value) + b.tangent * weight(b.value)};
}

Array strided(const Array& x, int axis, std::int64_t begin, std::int64_t end, std::int64_t stride, SourceLoc loc) {
  const auto n = static_cast<std::size_t>(x.ndim()), d = static_cast<std::size_t>(axis);
  std::vector<std::int64_t> start(n), limit(x.shape().begin(), x.shape().end()), strides(n, 1);
  start[d] = begin, limit[d] = end, strides[d] = stride;
  return slice_range(x, start, limit, strides, loc);
}

/// Running combination along an axis in logarithmically many steps: pairs first, then the pairs' running combination, then what is
/// between (Blelloch, "Prefix sums and their applications", 1990). JAX differentiates cumulative operations through the same tree.
Dual associative_scan(Combine combine, const Dual& x, int axis, SourceLoc loc) {
  const std::int64_t n = x.value.shape()[axis];
  if (n < 2) return x;
  auto part = [&](const Dual& v, std::int64_t begin, std::int64_t end, std::int64_t stride) {
    return Dual{strided(v.value, axis, begin, end, stride, loc), strided(v.tangent, axis, begin, end, stride, loc)};
  };
  const Dual odd = associative_scan(combine, combine(part(x, 0, n - 1, 2), part(x, 1, n, 2)), axis, loc);
  const Dual later = combine(n % 2 ? odd : part(odd, 0, n / 2 - 1, 1), part(x, n < 3 ? n : 2, n, 2));
  const Dual first = part(x, 0, 1, 1);
  auto interleave = [&](const Array& head, const Array& tail, const Array& odds) {
    const Array evens[] = {head, tail};
    auto spread = [&](const Array& a, std::int64_t low, std::int64_t high) {
      PaddingConfig config(static_cast<std::size_t>(a.ndim()));
      config[static_cast<std::size_t>(axis)] = {low, high, 1};
      return pad_with(a, scalar_like(a, 0), config, loc);
    };
    return spread(concatenate_along(evens, axis, loc), 0, n % 2 ? 0 : 1) + spread(odds, 1, n % 2 ? 1 : 0);
  };
  return {interleave(first.value, later.value, odd.value), interleave(first.tangent, later.tangent, odd.tangent)};
}

std::vector<Tangent> scan_jvp(const JvpContext& c, Combine combine) {
  const auto [axis, reverse] = c.get<CumulativeParams>();
  Dual x{c.in[0], *c.tangents[0]};
  if (reverse) x = {weft::detail::reverse(x.value, {axis}, c.loc), weft::detail::reverse(x.tangent, {axis}, c.loc)};
  const Array tangent = associative_scan(combine, x, axis, c.loc).tangent;
  return {reverse ? weft::detail::reverse(tangent, {axis}, c.loc) : tangent};
}

struct Cumsum : Cumulative<Cumsum, Combiner::sum> {
  static constexpr std::string_view name = "cumsum", doc = "Running sum along an axis.";
  static std::vector<Tangent> jvp(const JvpContext& c) { return {bind_one<Cumsum>(c.get<Params>(), {*c.tangents[0]}, c.loc)}; }
  static std::vector<Tangent> transpose(const TransposeContext& c) {
    if (!c.cotangents[0]) return {Tangent{}};
    const auto [axis, reverse] = c.get<Params>();
    return {bind_one<Cumsum>({axis, !reverse}, {*c.cotangents[0]}, c.loc)};
  }
};
struct Cumprod : Cumulative<Cumprod, Combiner::prod> {
  static constexpr std::string_view name = "cumprod", doc = "Running product along an axis.";
  static constexpr bool not_linear = true;
  static std::vector<Tangent> jvp(const JvpContext& c) { return scan_jvp(c, combine_products); }
};
struct Cummax : Cumulative<Cummax, Combiner::max> {
  static constexpr std::string_view name = "cummax", doc = "Running maximum along an axis; NaN stays.";
  static constexpr bool not_linear = true;
  static std::vector<Tangent> jvp(const JvpContext& c) { return scan_jvp(c, combine_maxima); }
};
struct Cummin : Cumulative<Cummin, Combiner::min> {
  static constexpr std::string_view name = "cummin", doc = "Running minimum along an axis; NaN stays.";
  static constexpr bool not_linear = true;
  static std::vector<Tangent> jvp(const JvpContext& c) { return scan_jvp(c, combine_minima); }
};
struct Cumlogsumexp : Cumulative<Cumlogsumexp, Combiner::logsumexp> {
  static constexpr std::string_view name = "cumlogsumexp", doc = "Running log of the sum of exponentials along an axis.";
  static constexpr bool not_linear = true;
  static std::vector<Tangent> jvp(const JvpContext& c) { return scan_jvp(c, combine_logsumexp); }
};

}  // namespace

Array cumulative_sum(const Array& x, int axis, bool reverse, SourceLoc loc) { return bind_one<Cumsum>({axis, reverse}, {x}, loc); }
Array cumulative_prod(const Array& x, int axis, bool reverse, SourceLoc loc) { return bind_one<Cumprod>({axis, reverse}, {x}, loc); }
Array cumulative_max(const Array& x, int axis, bool reverse, SourceLoc loc) { return bind_one<Cummax>({axis, reverse}, {x}, loc); }
Array cumulative_min(const Array& x, int axis, bool reverse, SourceLoc loc) { return bind_one<Cummin>({axis, reverse}, {x}, loc); }
Array cumulative_logsumexp(const Array& x, int axis, bool reverse, SourceLoc loc) {
  return bind_one<Cumlogsumexp>({axis, reverse}, {x}, loc);
}

namespace {
template <class Op>
Array run(const Array& x, int axis, bool reverse, SourceLoc loc) {
  return bind_one<Op>({axis, reverse}, {x}, loc);
}
/// By combiner.
template <class... Ops>
constexpr auto running_reductions() {
  std::array<RunningReduction, static_cast<std::size_t>(Combiner::logsumexp) + 1> all{};
  ((all[static_cast<std::size_t>(Ops::combiner)] = run<Ops>), ...);
  return all;
}
}  // namespace
RunningReduction running_reduction(Combiner c) {
  static constexpr auto all = running_reductions<Cumsum, Cumprod, Cummax, Cummin, Cumlogsumexp>();
  return all[static_cast<std::size_t>(c)];
}

const Primitive& cumulative_logsumexp_primitive() { return primitive_of<Cumlogsumexp>; }

PrimitiveList cumulative_primitives() {
  static constexpr const Primitive* list[] = {
      &primitive_of<Cumlogsumexp>, &primitive_of<Cummax>, &primitive_of<Cummin>, &primitive_of<Cumprod>, &primitive_of<Cumsum>,
  };
  return list;
}

}  // namespace weft::detail
