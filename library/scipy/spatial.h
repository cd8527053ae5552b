// Rotations of space, and between them (jax.scipy.spatial.transform); the nearest of several vectors (jax.scipy.cluster.vq).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "weft/core/array/array.h"
#include "weft/core/array/dtype.h"

namespace weft {

namespace spatial {

/// Whether angles are degrees.
struct AngleOptions {
  bool degrees = false;  ///< else radians
};
/// Options of Rotation::as_quat.
struct QuaternionOptions {
  bool canonical = false;  ///< of the two quaternions of a rotation that with w > 0, or, where w is 0, with the first other number above 0
  bool scalar_first = false;  ///< w, x, y, z
};

/// One rotation, or an array of them: what it is made of may have any number of dimensions before the last one (of a matrix the last two).
/// A struct of arrays as any other, to be differentiated and mapped. Its derivatives are finite at rotations by 0, too.
struct Rotation {
  Array quat;  ///< unit quaternions x, y, z, w along the last axis

  /// Of quaternions of any length but 0.
  static Rotation from_quat(Arg quat);
  /// Of 3 x 3 matrices that are orthogonal with determinant 1.
  static Rotation from_matrix(Arg matrix);
  /// About the vectors, by their length.
  static Rotation from_rotvec(Arg rotvec, bool degrees = false);
  static Rotation from_rotvec(Arg rotvec, AngleOptions options) { return from_rotvec(std::move(rotvec), options.degrees); }
  /// Of modified Rodrigues parameters: the axis times the tangent of a quarter of the angle.
  static Rotation from_mrp(Arg mrp);
  /// About up to three axes in a row: "xyz" about those of the space, "XYZ" about those that turn along. The angles stand along the last
  /// axis; of one axis they may be a number. Throws Error for other sequences, ShapeError for another number of angles.
  static Rotation from_euler(const std::string& seq, Arg angles, bool degrees = false);
  static Rotation from_euler(const std::string& seq, Arg angles, AngleOptions options) {
    return from_euler(seq, std::move(angles), options.degrees);
  }
  static Rotation identity(DType dtype = float32);
  /// Arrays of rotations one behind the other.
  static Rotation concatenate(const std::vector<Rotation>& rotations, SourceLoc loc = SourceLoc::here());

  Array as_quat(bool canonical = false, bool scalar_first = false) const;
  Array as_quat(QuaternionOptions options) const { return as_quat(options.canonical, options.scalar_first); }
  Array as_matrix() const;
  /// The axis times the angle, which is at most pi.
  Array as_rotvec(bool degrees = false) const;
  Array as_rotvec(AngleOptions options) const { return as_rotvec(options.degrees); }
  Array as_mrp() const;
  /// Angles about three axes as of from_euler, from -pi up to pi; where the second one leaves the others undetermined, one of them is 0.
  Array as_euler(const std::string& seq, bool degrees = false, SourceLoc loc = SourceLoc::here()) const;
  Array as_euler(const std::string& seq, AngleOptions options, SourceLoc loc = SourceLoc::here()) const {
    return as_euler(seq, options.degrees, loc);
  }

  /// The vectors, rotated (or back); rotations and vectors are broadcast together.
  Array apply(Arg vectors, bool inverse = false) const;
  /// Back.
  Rotation inv() const;
  /// The angles, from 0 to pi.
  Array magnitude() const;
  /// The rotation that is nearest to all of a row of them, with weights or without. Throws ShapeError for one rotation alone.
  Rotation mean(SourceLoc loc = SourceLoc::here()) const;
  Rotation mean(Arg weights) const;
  /// Whether it is one rotation alone.
  bool single() const { return quat.ndim() == 1; }
  /// The number of rotations in a row. Throws ShapeError for one alone.
  std::int64_t size(SourceLoc loc = SourceLoc::here()) const;
  Rotation operator[](Index i) const;
  /// First b, then a.
  friend Rotation operator*(const Rotation& a, const Rotation& b);
};

/// Between rotations at given times, at constant speed about one axis.
struct Slerp {
  Array times;         ///< ascending
  Rotation rotations;  ///< at the times
  Array rotvecs;       ///< from each to the next one

  /// Throws ShapeError where there are not as many rotations as times, or fewer than two.
  static Slerp init(Arg times, const Rotation& rotations);
  /// At one time or several; beyond the first and the last it goes on at the same speed.
  Rotation operator()(Arg times) const;
};

// As jax.scipy.spatial.transform.
namespace transform = ::weft::spatial;

}  // namespace spatial

namespace cluster::vq {

/// Result of vq.
struct Codes {
  Array code;  ///< the row of the nearest vector, int32
  Array dist;  ///< the distance to it
};
/// For each row of `obs` the nearest row of `code_book` (jax.scipy.cluster.vq.vq); vectors count as columns. Throws ShapeError for other
/// shapes.
Codes vq(Arg obs, Arg code_book);

}  // namespace cluster::vq
}  // namespace weft
