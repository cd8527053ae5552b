// Values of a program that is being partitioned. Internal to runtime/partition*.cpp.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/jaxpr.h"
#include "core/mesh_axes.h"

namespace weft::detail {

/// The mesh axes that each dimension is divided over; one entry for each dimension.
using DimAxes = std::vector<std::vector<std::string>>;

struct Cut;

/// A value: this device's block, and how it belongs to the whole.
struct Piece {
  Array block;
  Shape whole;
  DimAxes axes;
  std::optional<Array> scalar = {};     ///< if all elements are this one
  std::shared_ptr<const Cut> cut = {};  ///< if it is a part of a divided value

  bool divided() const;
  Aval aval() const { return block.aval().with_shape(whole); }
};

/// A part of a value that is divided along the dimension: its elements from `start`. Parts are gathered, but where they only shift the
/// value.
struct Cut {
  std::shared_ptr<const Piece> base;
  int dim = 0;
  std::int64_t start = 0;
};

/// What the rules share: the mesh, and moves between divisions.
class Partition {
 public:
  explicit Partition(const MeshAxes& mesh) : mesh_(mesh) {}
  const MeshAxes& mesh() const { return mesh_; }

  Piece replicated(const Array& x) const { return {x, x.shape(), DimAxes(static_cast<std::size_t>(x.ndim())), {}}; }
  Piece of_block(const Array& block, DimAxes axes) const;
  /// The same value divided in another way: blocks gathered along some dimensions, exchanged, cut along others.
  Piece divide(const Piece& x, const DimAxes& wanted, SourceLoc loc) const;
  Piece whole(const Piece& x, SourceLoc loc) const { return divide(x, DimAxes(x.axes.size()), loc); }
  Shape block_of(const Shape& whole, const DimAxes& axes) const;
  std::int64_t parts(const std::vector<std::string>& axes) const { return mesh_.size_of(axes); }

 private:
  const MeshAxes& mesh_;
};

/// Mesh axes that dimensions of one equation may be divided over, each given once.
class Claims {
 public:
  /// The axes, or none if one of them is taken.
  std::vector<std::string> claim(const std::vector<std::string>& axes);
  /// Those of the first, or of the second if there are none.
  std::vector<std::string> claim_either(const std::vector<std::string>& a, const std::vector<std::string>& b) {
    std::vector<std::string> axes = claim(a);
    return axes.empty() ? claim(b) : axes;
  }

 private:
  DimAxes taken_;
};

DimAxes dims_of(const PartitionSpec& spec, int ndim);
bool uses(const DimAxes& axes, const std::string& axis);
/// The program's own rules for an equation that computes or moves elements. Nothing: none; run it on whole operands.
std::optional<std::vector<Piece>> partition_eqn(const Partition& p, const Eqn& e, const std::vector<Piece>& in, std::span<const Aval> out);
/// The result of a rev, concatenate or pad that turns its operand round or shifts it, along dimensions that stay divided.
std::optional<Piece> partition_shift(const Partition& p, const Eqn& e, const std::vector<Piece>& in);
/// What a slice takes a part of; null: of nothing divided, or of several dimensions.
std::shared_ptr<const Cut> cut_of(const Partition& p, const Eqn& e, const Piece& x);
/// Those for convolutions, windows, gathers and scatters.
std::optional<std::vector<Piece>> partition_windows(const Partition& p, const Eqn& e, const std::vector<Piece>& in,
                                                    std::span<const Aval> out);
/// Those for operations on stacks of sequences, matrices and keys.
std::optional<std::vector<Piece>> partition_library(const Partition& p, const Eqn& e, const std::vector<Piece>& in,
                                                    std::span<const Aval> out);

}  // namespace weft::detail
