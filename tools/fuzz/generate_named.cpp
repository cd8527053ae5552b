// Maps with a named axis and collectives along it, loops that update their carry in place, and functions with names of their own.
#include <fmt/format.h>
#include <weft/weft.h>

#include <algorithm>

#include "tools/fuzz/generator.h"

namespace weft::fuzz {

using namespace detail;

namespace {

/// A value that is n times as long as x, for what divides a dimension among n.
Array repeated_along(const Array& x, int dimension, std::int64_t n) {
  return concatenate(Arrays(static_cast<std::size_t>(n), x), dimension);
}

}  // namespace

/// Some collective of the value along an axis of n, in the lane's own type.
Array Generator::across(const Array& value, const std::string& axis, std::int64_t n) {
  Array x = value;
  if (x.dtype().is_bool()) x = as(x, int32);
  const Array y = tame(x);
  // Groups of two where the axis is divided by them.
  const auto members = static_cast<int>(n);
  AxisIndexGroups groups;
  if (n % 2 == 0 && random_.coin())
    for (int k = 0; k < members / 2; ++k) groups.push_back({k, k + members / 2});
  const bool ordered = !x.dtype().is_complex() && !options_.differentiable;
  switch (random_.below(ordered ? 9 : 7)) {
    case 0: return psum(y, axis, {.axis_index_groups = groups});
    case 1: return x.dtype().is_inexact() ? pmean(y, axis, {.axis_index_groups = groups}) : psum(y, axis);
    case 2: {
      const Array all = all_gather(x, axis, {.axis = x.ndim() > 0 ? random_.below(x.ndim()) : 0, .tiled = x.ndim() > 0 && random_.coin()});
      return fitted(all, x.aval());
    }
    case 3: {
      const std::vector<int> order = random_.permutation(members);
      std::vector<std::pair<int, int>> pairs;
      for (int k = 0; k < members; ++k)
        if (random_.chance(0.8)) pairs.push_back({k, order[static_cast<std::size_t>(k)]});
      return ppermute(x, axis, pairs);
    }
    case 4: return x + as(axis_index(axis), x.dtype());
    case 5: {
      if (x.ndim() == 0) return psum(y, axis);
      const int d = axis_of(x);
      return psum_scatter(repeated_along(y, d, n), axis, {.scatter_dimension = d, .tiled = true});
    }
    case 6: {
      if (x.ndim() == 0) return psum(y, axis);
      const int from = axis_of(x), to = axis_of(x);
      return fitted(all_to_all(repeated_along(x, from, n), axis, from, to, {.tiled = true}), x.aval());
    }
    case 7: return pmax(x, axis, {.axis_index_groups = groups});
    default: return pmin(x, axis, {.axis_index_groups = groups});
  }
}

void Generator::named_map() {
  Array x = pick_positive_size();
  if (x.shape()[0] > 9) x = x(slice(0, random_.between(1, 5)));
  const std::int64_t n = x.shape()[0];
  Arrays in{x};
  if (random_.coin()) in.push_back(fitted(pick(), {Shape{n, random_.between(1, 3)}, dtype()}));
  // Maps inside of this one have smaller depths, and so other names.
  const std::string axis = fmt::format("level{}", options_.depth);
  Body f = new_body({});
  const std::uint64_t seed = random_.bits();
  const bool in_loop = random_.chance(0.3), later = random_.coin();
  const GeneratorOptions options = f.options;
  const auto lane = [=](const Arrays& values) {
    Generator g(seed, options);
    const auto exchanged = [&](const Arrays& given) {
      Arrays out;
      for (const Array& v : given) out.push_back(g.random_.chance(0.7) ? g.across(v, axis, n) : v);
      return out;
    };
    if (in_loop) {
      const auto step = [&](const Array&, const Arrays& carry) {
        const Arrays next = exchanged(carry);
        Arrays out;
        for (std::size_t i = 0; i < next.size(); ++i) out.push_back(g.fitted(next[i], carry[i].aval()));
        return out;
      };
      return f(fori_loop(0, 2, step, values));
    }
    return later ? exchanged(f(values)) : f(exchanged(values));
  };
  for (const Array& y : vmap(lane, {.axis_name = axis, .axis_size = static_cast<int>(n)})(in)) keep(y);
}

/// A loop whose carry is updated at computed places, from its other places: arrays that are long enough for it to be done in place.
void Generator::updated_in_loop() {
  Array x = pick_positive_size();
  const std::int64_t least = random_.pick({5, 1030, 1100});
  x = ravel(x);
  if (x.size() < least) x = tile(x, {(least + x.size() - 1) / x.size()});
  if (random_.coin()) x = reshape(x(slice(0, x.size() / 5 * 5)), {x.size() / 5, 5});
  if (x.aval().weak) x = convert(x, x.dtype());
  const auto rows = static_cast<int>(x.shape()[0]);
  const int window = random_.between(1, std::min(rows, 9)), stride = random_.between(-3, 7), offset = random_.between(-2, 3);
  const int kind = random_.below(4);
  const bool twice = random_.chance(0.3), swaps = random_.chance(0.2), emits = random_.chance(0.3);
  const Array source = random_.coin() ? x : fitted(pick(), x.aval());
  const DType t = x.dtype();
  const auto half = [t](const Array& v) { return t.is_inexact() ? v * Array(0.5) : v; };
  const auto changed = [=](const Array& i, const Array& c, const Array& other) {
    const Array at = i * Array(stride) + Array(offset);
    std::vector<Array> start(static_cast<std::size_t>(c.ndim()), convert(Array(0), int32));
    start[0] = at;
    std::vector<Array> from = start;
    from[0] = i;
    const Shape size = c.shape().with(0, window);
    const Array piece = half(dynamic_slice(other, from, size)), rest = half(dynamic_slice(c, start, size));
    const Array value = t.is_bool() ? (piece ^ rest) : piece + rest;
    switch (kind) {
      case 0: return dynamic_update_slice(c, value, start);
      case 1: return c.at(at).set(value[0]);
      case 2: return t.is_bool() ? c.at(at).set(value[0]) : c.at(at).add(value[0]);
      default: return c.at(arange(window) + at).set(value);
    }
  };
  const auto step = [=](const std::pair<Array, Array>& carry, const Array& i) {
    Array a = changed(i, carry.first, carry.second);
    if (twice) a = changed(i + 1, a, carry.first);
    const Array emitted = emits ? a[0] : carry.second[0];
    return std::pair(swaps ? std::pair(carry.second, a) : std::pair(a, carry.second), emitted);
  };
  const auto [last, all] = scan(step, std::pair(x, source), arange(random_.between(0, 6)));
  // Long arrays are kept in part, as keep() drops them whole.
  keep(last.first.size() > 2 * options_.largest ? last.first(slice(0, 9)) : last.first);
  keep(last.second.size() > 2 * options_.largest ? last.second(slice(none, none, 100)) : last.second);
  keep(all);
}

void Generator::composed() {
  const Arrays in = some(random_.between(1, 3));
  const Body f = new_body({});
  if (random_.coin()) {
    for (const Array& y : composite(f, "fuzz.function", {{"scale", 0.5}, {"deep", true}})(in)) keep(y);
    return;
  }
  const auto named = [f](const Arrays& values) {
    Arrays out = f(values);
    out[0] = checkpoint_name(out[0], "kept");
    return out;
  };
  for (const Array& y : checkpoint(named, {.policy = policies::save_only_these_names({"kept"})})(in)) keep(y);
}

/// Attention over a few positions: with heads that share keys, a mask under which a row may see nothing, or causal.
void Generator::attention() {
  const int length = random_.pick({1, 2, 3, 5, 8}), others = random_.pick({1, 2, 3, 7}), heads = random_.pick({1, 2, 4}),
            shared = random_.coin() ? heads : 1, size = random_.pick({1, 2, 3, 8});
  const DType t = floating();
  const bool batched = random_.coin();
  const auto shaped = [&](int positions, int n) {
    Shape s{positions, n, size};
    return tame(fitted(pick(), {batched ? s.inserted(0, 2) : s, t}));
  };
  nn::AttentionOptions options{.is_causal = random_.chance(0.4)};
  if (random_.chance(0.3)) options.scale = 0.5;
  const auto of_scores = [&](int n) { return batched ? Shape{random_.between(1, 2), n, length, others} : Shape{n, length, others}; };
  if (random_.chance(0.3)) options.mask = fitted(pick_integer(), {of_scores(heads), int32}) % Array(2) == Array(0);
  if (random_.chance(0.3)) options.bias = tame(fitted(pick(), {of_scores(1), t}));
  keep(tame(nn::dot_product_attention(shaped(length, heads), shaped(others, shared), shaped(others, shared), options)));
}

}  // namespace weft::fuzz
