// Movement, joins, and positions that are computed.
#include <weft/weft.h>

#include "tools/fuzz/generator.h"
#include "weft/core/ops/movement/movement.h"

namespace weft::fuzz {

using namespace detail;

namespace {
std::string list_text(const std::vector<int>& v) {
  std::string s = "(";
  for (int x : v) s += std::to_string(x) + ",";
  return s + ")";
}
}  // namespace

void Generator::movement() {
  const Array x = pick();
  const int n = x.ndim();
  if (n == 0) return keep(random_.coin() ? broadcast_to(x, shape()) : expand_dims(x, 0));
  switch (random_.below(10)) {
    case 0:
    case 1: return keep(permute(x, random_.permutation(n), {}));
    case 2: return keep(ravel(x));
    case 3: {
      const int axis = axis_of(x);
      for (int k : random_.coin() ? std::vector<int>{2, 3, 5} : std::vector<int>{4, 11, 13, 8})
        if (x.shape()[axis] % k == 0 && x.shape()[axis] > 0) {
          Shape s = x.shape().inserted(axis, k);
          s[axis + 1] = x.shape()[axis] / k;
          return keep(reshape(x, random_.coin() ? s : Shape(s).erased(axis).with(axis, s[axis + 1]).inserted(axis + 1, k)));
        }
      return keep(expand_dims(x, axis));
    }
    case 4: {  // two neighbouring dimensions merged
      if (n < 2) return keep(flip(x, 0));
      const int axis = random_.below(n - 1);
      return keep(reshape(x, x.shape().with(axis, x.shape()[axis] * x.shape()[axis + 1]).erased(axis + 1)));
    }
    case 5: return keep(reverse(x, {axis_of(x)}, {}));
    case 6: return keep(roll(x, random_.between(-3, 4), axis_of(x)));
    case 7: {
      // In front, behind or between: any increasing dimensions.
      Shape s = x.shape();
      std::vector<int> dims;
      for (int d = 0; d < n; ++d) dims.push_back(d);
      const int at = random_.below(n + 1), k = x.size() * 3 > options_.largest ? 1 : random_.between(1, 4);
      s = s.inserted(at, k);
      for (int& d : dims) d += d >= at;
      return keep(broadcast_in_dim(x, s, dims, {}));
    }
    case 8:
      if (x.size() > 150) return keep(squeeze(x));
      return keep(random_.coin() ? tile(x, {random_.between(1, 2), random_.between(1, 3)}) : repeat(x, random_.between(1, 3), axis_of(x)));
    default: {
      // A reshape that reads the dimensions in another order.
      const Shape s{random_.coin() ? x.size() : x.size() / std::max<std::int64_t>(x.shape().back(), 1)};
      return keep(reshape(permute(x, random_.permutation(n), {}), s.num_elements() == x.size() ? s : Shape{x.size()}));
    }
  }
}

void Generator::join() {
  const Array x = pick();
  if (x.ndim() == 0) return keep(stack({x, partner(x, true), x}));
  const int axis = axis_of(x);
  switch (random_.below(4)) {
    case 0: return keep(concatenate({x, partner(x, true)}, axis));
    case 1: {
      const Array y = fitted(pick(), {x.shape().with(axis, random_.pick({0, 1, 2, 5})), x.dtype()});
      return keep(concatenate({y, x, random_.coin() ? y : x}, axis));
    }
    case 2: return keep(stack({x, partner(x, true)}, random_.below(x.ndim() + 1)));
    default: {
      const int n = static_cast<int>(x.shape()[axis]);
      const int a = random_.below(n + 1), b = random_.between(a, n);
      const auto parts = split(x, std::vector<int>{a, b}, axis);
      keep(parts[0]);
      keep(parts[1]);
      return keep(parts[2]);
    }
  }
}

void Generator::cut() {
  const Array x = pick();
  if (random_.coin()) {
    weft::detail::PaddingConfig config;
    for (const std::int64_t n : x.shape())
      config.push_back({random_.below(3) - (n > 2 ? 1 : 0), random_.below(3) - (n > 2 ? 1 : 0), random_.coin() ? 0 : random_.below(3)});
    const Array fill = random_.coin() ? full({}, Array(x.dtype().is_bool() ? 1 : 2), x.dtype()) : fitted(pick(), {Shape{}, x.dtype()});
    return keep(pad_with(x, fill, config, {}));
  }
  std::vector<std::int64_t> start, limit, strides;
  for (const std::int64_t n : x.shape()) {
    const int from = random_.below(n + 1), to = random_.between(from, static_cast<int>(n));
    start.push_back(random_.coin() ? 0 : std::min<std::int64_t>(from, random_.chance(0.1) ? from : n - 1 < 0 ? 0 : n - 1));
    limit.push_back(random_.coin() ? n : std::max<std::int64_t>(to, start.back() + (n > start.back() && random_.chance(0.95))));
    strides.push_back(random_.coin() ? 1 : random_.between(1, 3));
  }
  keep(slice_range(x, start, limit, strides, {}));
}

void Generator::dynamic() {
  const Array x = pick();
  if (x.ndim() == 0) return keep(x);
  Arrays start;
  Shape sizes;
  for (const std::int64_t n : x.shape()) {
    start.push_back(scalar_index(static_cast<int>(n)));
    sizes.push_back(n == 0 ? 0 : random_.between(1, static_cast<int>(n)));
  }
  std::vector<Arg> at(start.begin(), start.end());
  if (random_.coin()) return keep(dynamic_slice(x, start, sizes));
  keep(dynamic_update_slice(x, fitted(pick(), {sizes, x.dtype()}), start));
}

void Generator::gathered() {
  const Array x = pick_positive_size();
  const int axis = axis_of(x), n = static_cast<int>(x.shape()[axis]);
  switch (random_.below(5)) {
    case 0: {
      std::vector<int> at;
      for (int k = random_.between(0, 5); k >= 0; --k) at.push_back(random_.between(-n, n - 1));
      return keep(take(x, array(at), axis));
    }
    case 1: {
      const Array i = fitted(pick_integer(), {Shape{random_.between(1, 4)}, int32});
      return keep(take(x, i % Array(n + (random_.chance(0.2) && !x.dtype().is_inexact() ? 1 : 0)), axis));
    }
    case 2: {
      Array key = x.dtype().is_complex() ? real(x) : x;
      return keep(take_along_axis(x, argsort(key, axis), axis));
    }
    case 3: {
      const Array i = fitted(pick_integer(), {Shape{3}, int64}) % as(Array(static_cast<int>(x.shape()[0])), int64);
      return keep(x.ndim() > 1 ? x(i, random_.below(x.shape()[1])) : x(i));
    }
    default: {
      // Any windows: written as text, as no function makes all of them.
      const int k = random_.between(1, 4);
      const std::string mode = random_.pick({"CLIP", "FILL_OR_DROP", "CLIP"});
      const Array i = fitted(pick_integer(), {Shape{k, 1}, int32});
      std::vector<int> offset, sizes;
      Shape result;
      const int at = random_.below(x.ndim() + 1);
      for (int d = 0; d < x.ndim(); ++d) sizes.push_back(d == axis ? random_.between(1, n) : static_cast<int>(x.shape()[d]));
      for (int d = 0; d < x.ndim(); ++d) result.push_back(sizes[static_cast<std::size_t>(d)]);
      result = result.inserted(at, k);
      for (int d = 0; d <= x.ndim(); ++d)
        if (d != at) offset.push_back(d);
      const Jaxpr j =
          parse("{ lambda ; a:" + to_string(x.aval()) + " b:" + to_string(i.aval()) + ". let c:" + to_string(Aval{result, x.dtype()}) +
                " = gather[dimension_numbers=GatherDimensionNumbers(offset_dims=" + list_text(offset) +
                ", collapsed_slice_dims=(), start_index_map=(" + std::to_string(axis) +
                ",), operand_batching_dims=(), start_indices_batching_dims=()) fill_value=" + (x.dtype().is_bool() ? "None" : "0") +
                " indices_are_sorted=False mode=GatherScatterMode." + mode + " slice_sizes=" + list_text(sizes) +
                " unique_indices=False] a b in (c,) }");
      return keep(j(x, i)[0]);
    }
  }
}

void Generator::scattered() {
  const Array x = pick_positive_size();
  const int n = static_cast<int>(x.shape()[0]), k = random_.between(1, 5);
  const bool once = random_.coin() || options_.differentiable;
  std::vector<int> at;
  if (once) {  // no position twice
    at = random_.permutation(n + 1);
    at.resize(static_cast<std::size_t>(std::min(k, n + 1)));
  } else {
    for (int i = 0; i < k; ++i) at.push_back(random_.between(-1, n));
  }
  Array where = array(at);
  if (!once && random_.coin()) where = fitted(pick_integer(), {Shape{k}, int32});
  const Array updates = fitted(pick(), {x.shape().with(0, static_cast<std::int64_t>(at.size())), x.dtype()});
  switch (random_.below(x.dtype().is_complex() ? 3 : x.dtype().is_bool() ? 1 : 5)) {
    case 0:
      return keep(
          x.at(random_.coin() || !once ? array(std::vector<int>{at[0]}) : where).set(at.size() == 1 ? updates : updates(slice(0, 1))));
    case 1: return keep(x.at(where).add(updates));
    case 2: return keep(options_.differentiable ? x.at(where).add(updates * Array(2)) : x.at(where).multiply(updates));
    case 3: return keep(x.at(where).max(updates));
    default: return keep(x.at(where).min(updates));
  }
}

void Generator::made() {
  const DType t = dtype();
  switch (random_.below(4)) {
    case 0: {
      Shape s = shape();
      if (s.empty()) s = {4};
      return keep(t.is_bool() ? iota(int32, s, 0) > Array(1) : iota(t, s, random_.below(s.size())));
    }
    case 1: return keep(full(shape(), Array(random_.pick({1, 0, 2})), t));
    case 2: return keep(eye(random_.between(1, 5), random_.between(1, 5), random_.between(-1, 2), t));
    default:
      return keep(one_hot(as(fitted(pick_integer(), {Shape{random_.between(1, 4)}, int32}), int32), random_.between(1, 5), floating()));
  }
}

}  // namespace weft::fuzz
