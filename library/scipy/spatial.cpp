// Rotations as unit quaternions.
#include "weft/library/scipy/spatial.h"

#include <fmt/format.h>

#include <array>
#include <numbers>

#include "weft/core/array/constructors.h"
#include "weft/core/array/indexing.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/contractions.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/functions/sorting.h"
#include "weft/core/ops/promotion.h"
#include "weft/core/trace/trace.h"
#include "weft/library/linalg/linalg.h"
#include "weft/library/numpy/numpy.h"

namespace weft {

using detail::effective_loc;
using detail::LocScope;
using detail::to_string;

namespace spatial {
namespace {

constexpr double kPi = std::numbers::pi;

/// x as floating numbers. Throws unless its last axis has n elements.
Array vectors_of(const Arg& x, std::int64_t n, const char* operation) {
  if (x.aval().ndim() == 0 || x.aval().shape.back() != n)
    throw ShapeError(fmt::format("{}: {}: the last axis must have {} elements", operation, to_string(x.aval()), n),
                     effective_loc(x.where()));
  return detail::to_inexact(x);
}
Array part(const Array& x, int i) { return x(ellipsis, i); }
/// The length along the last axis, with derivative 0 where it is 0.
Array length_of(const Array& v) {
  const Array squares = sum(square(v), -1), positive = squares > 0;
  return where(positive, sqrt(where(positive, squares, 1)), 0);
}
/// Scalars of one shape as vectors.
Array vector_of(const std::vector<Array>& parts) { return stack(parts, -1); }
Array in_radians(const Array& angles, bool degrees) { return degrees ? deg2rad(angles) : angles; }
Array as_asked(const Array& angles, bool degrees) { return degrees ? rad2deg(angles) : angles; }

Array product(const Array& p, const Array& q) {
  const Array a = part(p, 0), b = part(p, 1), c = part(p, 2), d = part(p, 3), x = part(q, 0), y = part(q, 1), z = part(q, 2),
              w = part(q, 3);
  return vector_of(
      {d * x + w * a + (b * z - c * y), d * y + w * b + (c * x - a * z), d * z + w * c + (a * y - b * x), d * w - a * x - b * y - c * z});
}

/// The axes of a sequence: 0, 1 and 2, and whether they turn along.
struct Sequence {
  std::vector<int> axes;
  bool intrinsic = false;
};
Sequence sequence_of(const std::string& seq, std::size_t least, const char* operation, SourceLoc loc) {
  Sequence out;
  bool good = seq.size() >= least && seq.size() <= 3;
  for (std::size_t i = 0; i < seq.size(); ++i) {
    const bool upper = seq[i] >= 'X' && seq[i] <= 'Z';
    good = good && (upper || (seq[i] >= 'x' && seq[i] <= 'z')) && (i == 0 || (upper == out.intrinsic && seq[i] != seq[i - 1]));
    out.intrinsic = upper;
    out.axes.push_back(seq[i] - (upper ? 'X' : 'x'));
  }
  if (!good)
    throw Error(
        fmt::format("{}: the sequence of axes is '{}'; it has {} of x, y, z (about the axes of the space) or of X, Y, Z (about those that "
                    "turn along), of which neighbours differ",
                    operation, seq, least == 3 ? "three" : "one to three"),
        loc);
  return out;
}

}  // namespace

Rotation Rotation::from_quat(Arg quat) {
  LocScope scope(quat.where());
  const Array q = vectors_of(quat, 4, "from_quat");
  return {q / sqrt(sum(square(q), -1, keepdims))};
}
Rotation Rotation::from_matrix(Arg matrix) {
  LocScope scope(matrix.where());
  const Shape& shape = matrix.aval().shape;
  if (shape.size() < 2 || shape.back() != 3 || shape[shape.size() - 2] != 3)
    throw ShapeError(fmt::format("from_matrix: {}: the last two axes must have 3 elements each", to_string(matrix.aval())),
                     effective_loc(matrix.where()));
  const Array m = detail::to_inexact(matrix);
  const auto at = [&](int i, int j) { return m(ellipsis, i, j); };
  const Array trace = at(0, 0) + at(1, 1) + at(2, 2);
  // The quaternion by its largest element.
  std::vector<Array> candidates;
  for (int i = 0; i < 3; ++i) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    std::array<Array, 4> q;
    q[static_cast<std::size_t>(i)] = 1 - trace + 2 * at(i, i);
    q[static_cast<std::size_t>(j)] = at(j, i) + at(i, j);
    q[static_cast<std::size_t>(k)] = at(k, i) + at(i, k);
    q[3] = at(k, j) - at(j, k);
    candidates.push_back(vector_of({q.begin(), q.end()}));
  }
  candidates.push_back(vector_of({at(2, 1) - at(1, 2), at(0, 2) - at(2, 0), at(1, 0) - at(0, 1), 1 + trace}));
  const Array largest = argmax(vector_of({at(0, 0), at(1, 1), at(2, 2), trace}), -1);
  Array q = candidates[3];
  for (int i = 0; i < 3; ++i) q = where(expand_dims(largest == i, -1), candidates[static_cast<std::size_t>(i)], q);
  return from_quat(q);
}
Rotation Rotation::from_rotvec(Arg rotvec, bool degrees) {
  LocScope scope(rotvec.where());
  const Array v = in_radians(vectors_of(rotvec, 3, "from_rotvec"), degrees), angle = length_of(v), squares = square(angle);
  const Array small = angle <= 1e-3,
              scale = where(small, 0.5 - squares / 48 + square(squares) / 3840, sin(angle / 2) / where(small, 1, angle));
  return {weft::concatenate({expand_dims(scale, -1) * v, expand_dims(cos(angle / 2), -1)}, -1)};
}
Rotation Rotation::from_mrp(Arg mrp) {
  LocScope scope(mrp.where());
  const Array v = vectors_of(mrp, 3, "from_mrp"), n = sum(square(v), -1, keepdims) + 1;
  return {weft::concatenate({2 * v, 2 - n}, -1) / n};
}
Rotation Rotation::from_euler(const std::string& seq, Arg angles, bool degrees) {
  LocScope scope(angles.where());
  const Sequence s = sequence_of(seq, 1, "from_euler", effective_loc(angles.where()));
  const int n = static_cast<int>(s.axes.size());
  const Arg row = n == 1 && angles.aval().ndim() == 0 ? Arg(reshape(angles, {1}), angles.where()) : angles;
  const Array half = in_radians(vectors_of(row, n, "from_euler"), degrees) / 2;
  Array out;
  for (int i = 0; i < n; ++i) {
    const Array angle = part(half, i);
    std::vector<Array> q(4, zeros_like(angle));
    q[static_cast<std::size_t>(s.axes[static_cast<std::size_t>(i)])] = sin(angle);
    q[3] = cos(angle);
    out = i == 0 ? vector_of(q) : s.intrinsic ? product(out, vector_of(q)) : product(vector_of(q), out);
  }
  return {out};
}
Rotation Rotation::identity(DType dtype) { return {array({0., 0., 0., 1.}).astype(dtype)}; }
Rotation Rotation::concatenate(const std::vector<Rotation>& rotations, SourceLoc loc) {
  LocScope scope(loc);
  std::vector<Array> quats;
  for (const Rotation& r : rotations) quats.push_back(r.quat);
  return {weft::concatenate(Args(quats, loc), 0)};
}

Array Rotation::as_quat(bool canonical, bool scalar_first) const {
  Array q = quat;
  if (canonical) {
    Array negative = part(q, 2) < 0;
    for (int i : {1, 0, 3}) negative = (part(q, i) < 0) | ((part(q, i) == 0) & negative);
    q = where(expand_dims(negative, -1), -q, q);
  }
  return scalar_first ? weft::concatenate({q(ellipsis, slice(3, none)), q(ellipsis, slice(3))}, -1) : q;
}
Array Rotation::as_matrix() const {
  const Array x = part(quat, 0), y = part(quat, 1), z = part(quat, 2), w = part(quat, 3);
  return stack({vector_of({x * x - y * y - z * z + w * w, 2 * (x * y - z * w), 2 * (x * z + y * w)}),
                vector_of({2 * (x * y + z * w), y * y - x * x - z * z + w * w, 2 * (y * z - x * w)}),
                vector_of({2 * (x * z - y * w), 2 * (y * z + x * w), z * z - x * x - y * y + w * w})},
               -2);
}
Array Rotation::as_rotvec(bool degrees) const {
  const Array q = where(quat(ellipsis, slice(3, none)) < 0, -quat, quat), axis = q(ellipsis, slice(3)), sine = length_of(axis);
  const Array angle = 2 * atan2(sine, part(q, 3)), squares = square(angle), small = angle <= 1e-3;
  const Array scale = where(small, 2 + squares / 12 + 7 * square(squares) / 2880, angle / where(small, 1, sin(angle / 2)));
  return expand_dims(as_asked(scale, degrees), -1) * axis;
}
Array Rotation::as_mrp() const {
  const Array w = quat(ellipsis, slice(3, none)), sign = where(w < 0, -1, 1);
  return sign * quat(ellipsis, slice(3)) / (1 + sign * w);
}
// E. Bernardes, S. Viollet, Quaternion to Euler angles conversion: a direct, general and computationally efficient method, 2022.
Array Rotation::as_euler(const std::string& seq, bool degrees, SourceLoc loc) const {
  LocScope scope(loc);
  const Sequence s = sequence_of(seq, 3, "as_euler", loc);
  const int i = s.axes[s.intrinsic ? 2 : 0], j = s.axes[1], last = s.axes[s.intrinsic ? 0 : 2];
  const bool symmetric = i == last;
  const int k = symmetric ? 3 - i - j : last, sign = (i - j) * (j - k) * (k - i) / 2;
  const Array w = part(quat, 3), x = part(quat, i), y = part(quat, j), z = part(quat, k) * sign;
  const Array a = symmetric ? w : w - y, b = symmetric ? x : x + z, c = symmetric ? y : y + w, d = symmetric ? z : z - x;
  const Array second = 2 * atan2(hypot(c, d), hypot(a, b)), half_sum = atan2(b, a), half_difference = atan2(d, c);
  const Array at_zero = abs(second) <= 1e-7, at_pi = abs(second - kPi) <= 1e-7;
  // Where only the sum or the difference of the outer angles is determined, the first one of the sequence has it.
  const auto outer = [&](const Array& regular, bool of_first) {
    const Array alone = of_first ? where(at_zero, 2 * half_sum, (s.intrinsic ? 2 : -2) * half_difference) : zeros_like(regular);
    return where(at_zero | at_pi, alone, regular);
  };
  const Array lower = outer(half_sum - half_difference, !s.intrinsic);
  const Array upper = outer(half_sum + half_difference, s.intrinsic) * (symmetric ? 1 : sign);
  const Array middle = symmetric ? second : second - kPi / 2;
  const Array angles = s.intrinsic ? vector_of({upper, middle, lower}) : vector_of({lower, middle, upper});
  return as_asked(remainder(angles + kPi, 2 * kPi) - kPi, degrees);
}

Array Rotation::apply(Arg vectors, bool inverse) const {
  LocScope scope(vectors.where());
  const Array v = vectors_of(vectors, 3, "apply"), m = as_matrix();
  return squeeze(matmul(inverse ? swapaxes(m, -1, -2) : m, expand_dims(v, -1)), -1);
}
Rotation Rotation::inv() const { return {weft::concatenate({-quat(ellipsis, slice(3)), quat(ellipsis, slice(3, none))}, -1)}; }
Array Rotation::magnitude() const { return 2 * atan2(length_of(quat(ellipsis, slice(3))), abs(part(quat, 3))); }
Rotation Rotation::mean(SourceLoc loc) const { return mean(Arg(ones({size(loc)}, quat.dtype()), loc)); }
Rotation Rotation::mean(Arg weights) const {
  LocScope scope(weights.where());
  const std::int64_t n = size(weights.where());
  if (quat.ndim() != 2 || weights.aval().shape != Shape{n})
    throw ShapeError(fmt::format("mean: weights {} for the rotations {}; it takes a row of rotations and one weight for each",
                                 to_string(weights.aval()), to_string(quat.aval())),
                     effective_loc(weights.where()));
  const Array weighted = expand_dims(weights.array().astype(quat.dtype()), -1) * quat;
  return {linalg::eigh(matmul(transpose(weighted), quat)).eigenvectors(slice(), -1)};
}
std::int64_t Rotation::size(SourceLoc loc) const {
  if (single()) throw ShapeError("Rotation: one rotation alone has no size and can't be indexed", effective_loc(loc));
  return quat.shape()[0];
}
Rotation Rotation::operator[](Index i) const {
  size(i.where());
  return {quat[i]};
}
Rotation operator*(const Rotation& a, const Rotation& b) { return Rotation::from_quat(product(a.quat, b.quat)); }

Slerp Slerp::init(Arg times, const Rotation& rotations) {
  LocScope scope(times.where());
  const std::int64_t n = rotations.size(times.where());
  if (n < 2 || times.aval().shape != Shape{n})
    throw ShapeError(fmt::format("Slerp: times {} for the rotations {}; it takes two or more, and one time for each",
                                 to_string(times.aval()), to_string(rotations.quat.aval())),
                     effective_loc(times.where()));
  const Rotation from{rotations.quat[slice(0, -1)]}, to{rotations.quat[slice(1, none)]};
  return {times.array().astype(rotations.quat.dtype()), rotations, (from.inv() * to).as_rotvec()};
}
Rotation Slerp::operator()(Arg at) const {
  LocScope scope(at.where());
  if (at.aval().ndim() > 1)
    throw ShapeError(fmt::format("Slerp: times {}; it takes one time or a row of them", to_string(at.aval())), effective_loc(at.where()));
  const Array t = at.array().astype(times.dtype());
  const Array i = clip(searchsorted(times, t) - 1, 0, times.size() - 2);
  const Array part_of_step = (t - times[i]) / (times[i + 1] - times[i]);
  return Rotation{rotations.quat[i]} * Rotation::from_rotvec(rotvecs[i] * expand_dims(part_of_step, -1));
}

}  // namespace spatial

namespace cluster::vq {

Codes vq(Arg obs, Arg code_book) {
  LocScope scope(obs.where());
  const int n = obs.aval().ndim();
  if ((n != 1 && n != 2) || code_book.aval().ndim() != n || (n == 2 && obs.aval().shape[1] != code_book.aval().shape[1]))
    throw ShapeError(fmt::format("vq: {} and {}: both are vectors, or matrices with as many columns", to_string(obs.aval()),
                                 to_string(code_book.aval())),
                     effective_loc(obs.where()));
  const Array x = n == 2 ? obs.array() : expand_dims(obs, -1), codes = n == 2 ? code_book.array() : expand_dims(code_book, -1);
  const Array distances = linalg::norm(expand_dims(detail::to_inexact(x), 1) - codes, {.axis = -1}), nearest = argmin(distances, 1);
  return {nearest, squeeze(take_along_axis(distances, expand_dims(nearest, 1), 1), 1)};
}

}  // namespace cluster::vq
}  // namespace weft
