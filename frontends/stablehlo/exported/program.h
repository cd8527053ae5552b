// The program of an exported file. Of a function with symbolic shapes there is one for the shapes of each call: takes the file's module,
// gives the program for arrays of given types.
#pragma once
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/ir/jaxpr.h"
#include "weft/frontends/stablehlo/exported/file.h"
#include "weft/frontends/stablehlo/module/module.h"

namespace weft::detail {

/// Thread-safe.
class ExportedProgram : public RefCounted {
 public:
  /// `bytes` are the file's, in which the module stands that `parts` names. Throws Error for what can't be read; of symbolic shapes, when
  /// it is known for which.
  ExportedProgram(std::string bytes, std::string path, SourceLoc loc);

  std::size_t num_inputs() const { return inputs_.size(); }
  std::size_t num_outputs() const { return num_outputs_; }
  /// The type of input i, `f32[?,4]`.
  std::string type_text(std::size_t i) const;
  /// Whether input i can have that shape; that dtype.
  bool admits_shape(std::size_t i, const Shape& shape) const;
  DType dtype(std::size_t i) const { return inputs_[i].tensor.dtype; }

  /// The program, unless it depends on the call's shapes.
  const std::optional<Jaxpr>& only() const { return only_; }
  /// Throws ShapeError for shapes for which the function was not exported, and Error for operations that weft doesn't know.
  Jaxpr of_inputs(const std::vector<Aval>& inputs, SourceLoc loc);

  ExportedParts parts;

 private:
  // Empty once there is only one program: what it needs of them is in it.
  std::string bytes_;
  mlir::Module module_;  // constants of it are in bytes_

  const std::string path_;
  std::vector<mlir::Type> inputs_;
  std::size_t num_outputs_ = 0;
  std::optional<Jaxpr> only_;
  std::mutex mutex_;
  std::vector<std::pair<std::vector<Aval>, Jaxpr>> made_;  // the latest last
};

}  // namespace weft::detail
