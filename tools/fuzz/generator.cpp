#include "tools/fuzz/generator.h"

#include <weft/weft.h>

#include <algorithm>
#include <numeric>

#include "weft/core/ops/elementwise/elementwise.h"

namespace weft::fuzz {

using namespace detail;

namespace {

constexpr int kSizes[] = {1, 2, 3, 3, 4, 5, 7, 8, 9, 10, 16, 17, 33, 65};

}  // namespace

DType Generator::dtype() {
  static const std::vector<DType> all = {float32, float32, float32, float32, float64, float64, float16, bfloat16, int32,     int32,
                                         int8,    int16,   int64,   uint8,   uint16,  uint32,  uint64,  bool_,    complex64, complex128};
  return all[static_cast<std::size_t>(random_.below(options_.special ? 18 : 20))];
}
DType Generator::floating() { return random_.pick({float32, float32, float32, float64, float16, bfloat16}); }

Shape Generator::shape() {
  Shape s;
  for (int d = random_.pick({0, 1, 1, 1, 2, 2, 2, 3, 3, 4}); d > 0; --d) {
    int n = random_.chance(0.02) ? 0 : kSizes[random_.below(s.num_elements() > 40 ? 4 : 14)];
    if (s.num_elements() * n > options_.largest) n = 1;
    s.push_back(n);
  }
  return s;
}

std::vector<Aval> Generator::input_types() {
  std::vector<Aval> out;
  const DType main = dtype();
  const Shape usual = shape();
  for (int i = random_.between(1, 4); i > 0; --i)
    out.push_back({random_.chance(0.3) ? usual : shape(), random_.chance(0.4) ? main : random_.chance(0.5) ? floating() : dtype()});
  return out;
}

void Generator::keep(const Array& x) {
  if (x.size() <= 4 * options_.largest && x.ndim() <= 7) pool_.push_back(x);
}

const Array& Generator::pick() {
  // Recent values are preferred.
  const int n = static_cast<int>(pool_.size());
  return pool_[static_cast<std::size_t>(n - 1 - std::min(random_.below(n), random_.coin() ? random_.below(4) : random_.below(n)))];
}

Array Generator::as(const Array& x, DType dtype) {
  if (x.dtype() == dtype && !x.aval().weak) return x;
  return convert(x, dtype);
}

Array Generator::pick_floating() {
  for (int i = 0; i < 4; ++i)
    if (const Array& x = pick(); x.dtype().is_floating()) return x;
  const Array x = pick();
  if (x.dtype().is_complex()) return random_.coin() ? real(x) : imag(x);
  const DType to = floating();
  return x.dtype().is_integer() ? sin(as(x, to)) : as(x, to);
}
Array Generator::pick_inexact() {
  const Array& x = pick();
  return x.dtype().is_inexact() ? x : pick_floating();
}
Array Generator::pick_number() {
  const Array& x = pick();
  if (!x.dtype().is_bool()) return x;
  const DType d = dtype();
  return as(x, d.is_bool() ? DType(int32) : d);
}
Array Generator::pick_integer() {
  for (int i = 0; i < 4; ++i)
    if (const Array& x = pick(); x.dtype().is_integer()) return x;
  const Array x = pick();
  if (x.dtype().is_bool()) return as(x, random_.pick({int32, uint8, int64}));
  if (x.dtype().is_integer()) return x;
  const Array f = x.dtype().is_complex() ? real(x) : x;
  return as(f * Array(3), random_.pick({int32, int32, int8, int64, int16}));
}
Array Generator::pick_positive_size() {
  for (int i = 0; i < 6; ++i)
    if (const Array& x = pick(); x.ndim() > 0 && x.size() > 0) return x;
  const Array& x = pick();
  return x.size() == 0 ? ones({2, 3}, x.dtype()) : broadcast_to(x, x.ndim() > 0 ? x.shape() : Shape{3});
}
Array Generator::pick_matrix(int min_ndim) {
  Array x = pick_positive_size();
  while (x.ndim() < min_ndim)
    x = x.size() < 40 && random_.coin() ? broadcast_to(x, x.shape().inserted(0, random_.between(1, 3)))
                                        : expand_dims(x, random_.below(x.ndim() + 1));
  return x;
}

Array Generator::fitted(const Array& x, const Aval& aval) {
  Array y = x;
  if (y.shape() != aval.shape) {
    const std::int64_t n = aval.size();
    if (y.size() == 0 && n > 0) return full(aval.shape, Array(1), aval.dtype);
    y = ravel(y);
    if (y.size() < n) y = y.size() == 1 ? broadcast_to(y, {n}) : tile(y, {(n + y.size() - 1) / y.size()});
    if (y.size() > n) y = y(slice(0, n));
    y = reshape(y, aval.shape);
  }
  if (aval.dtype.is_inexact() && y.dtype().is_inexact()) y = tame(y);
  if (y.dtype().is_complex() && !aval.dtype.is_complex()) y = real(y);
  return as(y, aval.dtype);
}

Array Generator::partner(const Array& x, bool same_shape) {
  Arrays fitting;
  for (const Array& y : pool_)
    if (y.shape() == x.shape() || (!same_shape && y.ndim() == 0)) fitting.push_back(y);
  Array y = fitting.empty() || random_.chance(0.1) ? pick() : random_.pick(fitting);
  if (!same_shape && random_.chance(0.25) && x.ndim() > 0) {  // sizes of 1 broadcast
    Shape s = x.shape();
    for (int d = 0; d < s.size(); ++d)
      if (random_.coin()) s[d] = 1;
    return fitted(y, {s, x.dtype()});
  }
  if (y.shape() != x.shape() && (same_shape || y.ndim() > 0)) return fitted(y, {x.shape(), x.dtype()});
  if (y.dtype().is_complex() && !x.dtype().is_complex()) y = real(y);
  return as(y, x.dtype());
}

Array Generator::within(const Array& x, double lo, double hi) {
  const Array mid = as(Array((lo + hi) / 2), x.dtype()), half = as(Array((hi - lo) / 2), x.dtype());
  if (x.dtype().is_complex()) {
    const DType part = x.dtype().real_part();
    return complex(within(as(real(x), part), lo, hi), within(as(imag(x), part), lo, hi));
  }
  return mid + half * (random_.coin() ? tanh(x) : sin(x));
}

Array Generator::tame(const Array& x) {
  if (!x.dtype().is_inexact()) return x;
  if (x.dtype().is_complex()) return x / (Array(1) + abs(x));
  switch (random_.below(4)) {
    case 0: return tanh(x);
    case 1: return x / (Array(1) + abs(x));
    case 2: return Array(2) * clip(x, -3, 3) * Array(0.25);
    default: return sin(x);
  }
}

Array Generator::scalar_index(int n) {
  const int choice = random_.below(4);
  if (choice == 0) return array(std::vector<int>{random_.below(n)}, Shape{});
  Array x = pick();
  if (x.dtype().is_complex()) x = real(x);
  if (x.size() == 0) return array(std::vector<int>{0}, Shape{});
  if (x.ndim() > 0) x = ravel(x)(random_.below(x.size()));
  if (x.dtype().is_floating()) x = as(x * Array(2), int32);
  x = as(x, int32);
  return choice == 1 ? x : x % Array(std::max(n, 1));
}

std::vector<int> Generator::some_axes(int ndim) {
  std::vector<int> axes;
  for (int d = 0; d < ndim; ++d)
    if (random_.coin()) axes.push_back(d);
  return axes;
}

Arrays Generator::body(std::span<const Array> inputs, int steps) {
  for (const Array& x : inputs) pool_.push_back(x);
  if (pool_.empty()) made();
  for (int i = 0; i < steps; ++i) step();
  Arrays out{pool_.back()};
  for (int i = random_.below(4); i > 0; --i) out.push_back(pick());
  if (random_.chance(0.05)) out.push_back(out[0]);
  return out;
}

void Generator::step() {
  const int heavy = options_.heavy ? 100 : 88;
  if (random_.chance(0.08)) return general();
  const int n = random_.below(options_.depth > 0 ? heavy : heavy - 12);
  const int at = options_.depth > 0 ? n - 12 : n;  // below 0: a sub-program
  if (at < 0) return control();
  if (at < 18) return elementwise();
  if (at < 28) return combine();
  if (at < 32) return choose();
  if (at < 36) return convert_dtype();
  if (at < 38) return bits();
  if (at < 40) return complex_parts();
  if (at < 48) return movement();
  if (at < 51) return join();
  if (at < 54) return cut();
  if (at < 56) return dynamic();
  if (at < 59) return gathered();
  if (at < 62) return scattered();
  if (at < 63) return made();
  if (at < 69) return reduced();
  if (at < 72) return cumulative();
  if (at < 74) return softmax();
  if (at < 76) return product();
  if (at < 79) return sorted();
  if (at < 82) return windows();
  if (at < 83) return convolution();
  if (at < 84) return fourier();
  if (at < 86) return matrices();
  return drawn();
}

void Generator::elementwise() {
  // Any elementwise primitive, through its table entry.
  const auto& infos = elementwise_infos();
  for (int tries = 0; tries < 20; ++tries) {
    const ElementwiseInfo& info = random_.pick(infos);
    const auto has = [&](unsigned values) { return (info.values & values) != 0; };
    if (has(kParticular) || (options_.special && has(kReadsSpecials)) || (options_.differentiable && !info.op->not_differentiable.empty()))
      continue;
    Array x = pick();
    if (!(kind_of(x.dtype()) & info.dtypes)) {
      if (!(info.dtypes & (kFloating | kInteger))) continue;
      x = info.dtypes & kFloating ? pick_floating() : pick_integer();
    }
    const bool limited = info.domain.lo > -3 || info.domain.hi < 3;
    Arrays in;
    for (int k = 0; k < info.operands; ++k) {
      Array y = k == 0 ? x : partner(x, has(kHasBounds) || info.predicate_first);
      if (y.dtype().is_inexact() && (limited || random_.chance(0.3)))
        y = within(y, std::max(info.domain.lo, -8.), std::min(info.domain.hi, 8.));
      in.push_back(y);
    }
    if (has(kHasBounds)) in = {minimum(in[0], in[2]), in[1], maximum(in[0], in[2])};
    if (info.predicate_first) {
      Array chooser = pick();
      if (chooser.dtype().is_complex()) chooser = real(chooser);
      in[0] = fitted(chooser, {in[1].shape(), bool_});
    }
    try {
      const Array y = bind_primitive(*info.op, info.params(x.dtype()), in, {})[0];
      keep(y.dtype().is_inexact() && ((has(kKeepsIntegers) && has(kMultiplies)) || random_.chance(0.2)) ? tame(y) : y);
      return;
    } catch (const DTypeError&) {
      // The operation has no such parameters, or no such width.
    }
  }
}

void Generator::combine() {
  Array x = pick_number();
  const Array y = partner(x);
  const bool whole = x.dtype().is_integer(), complex = x.dtype().is_complex();
  switch (random_.below(whole ? 9 : complex ? 6 : 13)) {
    case 0: return keep(x + y);
    case 1: return keep(x - y);
    case 2: return keep(whole ? x * y : tame(x * y));
    case 3: return keep(whole ? div(x, y) : x / (Array(2) + abs(y)));
    case 4: return keep(whole ? rem(x, y) : x * Array(random_.pick({0.5, -1.25, 2., 0.1})));
    case 5: return keep(integer_pow(whole ? x : tame(x), random_.between(whole ? 0 : -1, 4) + (whole ? 0 : 2)));
    case 6: return keep(whole ? floor_divide(x, y) : minimum(x, y));
    case 7: return keep(whole ? remainder(x, y) : maximum(x, y));
    case 8: return keep(whole ? maximum(x, minimum(y, Array(random_.between(0, 5)))) : atan2(x, Array(1.5) + abs(y)));
    case 9: return keep(hypot(x, Array(0.5) + abs(y)));
    case 10: return keep(logaddexp(tame(x), tame(y)));
    case 11: return keep(pow(within(x, 0.3, 2.5), tame(y)));
    default: return keep(rem(x, Array(0.75) + abs(y)));
  }
}

void Generator::choose() {
  Array x = pick(), y = partner(x, true);
  Array c = x.dtype().is_complex() ? real(x) : x;
  Array d = y.dtype().is_complex() ? real(y) : y;
  if (c.dtype().is_bool()) return keep(random_.coin() ? (x & y) : where(x, fitted(pick(), {x.shape(), dtype()}), Array(1)));
  const Array less = random_.pick({c<d, c >= d, c> as(Array(0), c.dtype()), c == d});
  switch (random_.below(4)) {
    case 0: return keep(where(less, x, y));
    case 1: return keep(where(less, x, as(Array(0), x.dtype())));
    case 2: {
      const Array which = clip(as(c, int32), 0, 2);
      return keep(select_n(which, x, y, x));
    }
    default: return keep(less);
  }
}

void Generator::convert_dtype() {
  Array x = pick();
  DType to = dtype();
  if (x.dtype().is_complex() && !to.is_complex()) x = real(x);
  if (x.dtype().is_floating() && to.is_integer()) x = x * Array(random_.pick({3., 10., 0.7}));
  if (x.dtype().is_floating() && to.is_bool()) to = floating();
  keep(random_.chance(0.3) ? as(as(x, random_.pick({float32, bfloat16, float16})), to) : as(x, to));
}

void Generator::bits() {
  const Array x = pick_integer(), y = partner(x);
  const int width = 8 * x.dtype().itemsize();
  switch (random_.below(8)) {
    case 0: return keep(x & y);
    case 1: return keep(x | ~y);
    case 2: return keep(x ^ y);
    case 3: return keep(x << (y & as(Array(random_.pick({3, 7, width - 1})), x.dtype())));
    case 4: return keep(x >> as(Array(random_.below(width + 2)), x.dtype()));
    case 5: return keep(shift_right_logical(x, abs(y)));
    case 6: {
      const Array f = pick();
      if (!f.dtype().is_floating() || f.dtype() == float64) return keep(population_count(x));
      const Array number = where(isnan(f), as(Array(0), f.dtype()), f);
      return keep(bitcast_convert(number, f.dtype().itemsize() == 2 ? int16 : int32) &
                  as(Array(-16), f.dtype().itemsize() == 2 ? int16 : int32));
    }
    default:
      return keep(bitcast_convert(x, width == 8    ? random_.pick({int8, uint8})
                                     : width == 16 ? random_.pick({int16, uint16, uint8})
                                     : width == 32 ? random_.pick({int32, uint32, uint16})
                                                   : random_.pick({int64, uint64, uint32})));
  }
}

void Generator::complex_parts() {
  Array x = pick_inexact();
  if (options_.special) return keep(sign(x));
  if (!x.dtype().is_complex()) {
    const DType part = x.dtype() == float64 ? float64 : float32;
    return keep(complex(as(x, part), as(partner(x), part)));
  }
  switch (random_.below(8)) {
    case 0: return keep(abs(x));
    case 1: return keep(conj(x));
    case 2: return keep(exp(tame(x)));
    case 3: return keep(sin(tame(x)));
    case 4: return keep(sqrt(Array(2) + tame(x)));
    case 5: return keep(log(Array(2) + tame(x)));
    case 6: return keep(real(x));
    default: return keep(tanh(tame(x)));
  }
}

}  // namespace weft::fuzz
