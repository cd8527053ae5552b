// Matrix products by oneDNN.
#pragma once
#include <memory>

#include "backends/codegen/program.h"

namespace weft::detail {

/// A product made ready for its sizes and strides. Thread-safe.
class Product {
 public:
  virtual ~Product() = default;
  /// The pieces are cut by the sizes only and run as tasks of the process's thread pool; each piece's inner sums stay whole.
  virtual void run(const float* a, const float* b, float* out) const = 0;
};
std::unique_ptr<Product> make_product(const ProductStep& p);

}  // namespace weft::detail
