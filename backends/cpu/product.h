// Matrix products: of float32 by oneDNN or tiles of weft's own, of complex numbers by OpenBLAS, of other dtypes by packed/.
#pragma once
#include <memory>

#include "weft/backends/codegen/planner/program.h"

namespace weft::detail {

/// A product made ready for its sizes and strides. Thread-safe.
class Product {
 public:
  virtual ~Product() = default;
  /// The pieces are cut by the sizes only and run as tasks of the process's thread pool; each piece's inner sums stay whole.
  virtual void run(const void* a, const void* b, void* out) const = 0;
};
/// Products that are made while it lives have the library prepare itself on a thread of its own; its end waits for that: a library at work
/// while the process ends would use what is there no more.
class ProductPreparation {
 public:
  ProductPreparation();
  ~ProductPreparation();
  ProductPreparation(const ProductPreparation&) = delete;
  ProductPreparation& operator=(const ProductPreparation&) = delete;
};

/// A product cut by its sizes: `pieces` products, all but the last like `piece`, whose operands and results are so many elements apart.
struct ProductPieces {
  ProductStep piece, last;
  std::int64_t pieces = 1, step_a = 0, step_b = 0, step_out = 0;
};
ProductPieces cut_product(const ProductStep& p);

/// Whether one of these is faster than a kernel, its operands being in rows; and whether one takes a product with its strides.
bool prefers_product(const ProductStep& p);
bool takes_product(const ProductStep& p);
std::unique_ptr<Product> make_product(const ProductStep& p);
std::unique_ptr<Product> make_blas_product(const ProductStep& p);
/// Null where weft's own code is not for it, or not for this processor.
std::unique_ptr<Product> make_tiled_product(const ProductStep& p);

}  // namespace weft::detail
