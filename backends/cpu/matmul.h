// Matmuls: of float32 by oneDNN or tiles of weft's own, of other dtypes by packed/, or by OpenBLAS where the processor has no unit for
// them.
#pragma once
#include <memory>

#include "weft/backends/codegen/planner/program.h"

namespace weft::detail {

/// A matmul prepared for its sizes and strides. Thread-safe.
class Matmul {
 public:
  virtual ~Matmul() = default;
  /// The pieces are cut by the sizes only and run as tasks of the process's thread pool; each piece's inner sums stay whole.
  virtual void run(const void* a, const void* b, void* out) const = 0;
};
/// While it lives, creating a matmul initialises oneDNN on another thread. The destructor waits for that thread, since a library at work
/// while the process ends would use destroyed objects.
class MatmulPreparation {
 public:
  MatmulPreparation();
  ~MatmulPreparation();
  MatmulPreparation(const MatmulPreparation&) = delete;
  MatmulPreparation& operator=(const MatmulPreparation&) = delete;
};

/// A matmul cut into `pieces` matmuls, all but the last like `piece`; `step_a` and so on are the distances between their operands and
/// results, counted in elements.
struct MatmulPieces {
  MatmulStep piece, last;
  std::int64_t pieces = 1, step_a = 0, step_b = 0, step_out = 0;
};
MatmulPieces cut_matmul(const MatmulStep& p);

/// Whether a library matmul of operands in rows is faster than a kernel; and whether there is one for the matmul's strides.
bool prefers_matmul(const MatmulStep& p);
bool takes_matmul(const MatmulStep& p);
std::unique_ptr<Matmul> make_matmul(const MatmulStep& p);
std::unique_ptr<Matmul> make_blas_matmul(const MatmulStep& p);
/// A matmul by weft's own tiles; null where they don't support it, or don't run on this processor.
std::unique_ptr<Matmul> make_tiled_matmul(const MatmulStep& p);

}  // namespace weft::detail
