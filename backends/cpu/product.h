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
/// Products that are made while it lives have the library prepare itself on a thread of its own; its end waits for that: a library at work
/// while the process ends would use what is there no more.
class ProductPreparation {
 public:
  ProductPreparation() = default;
  ~ProductPreparation();
  ProductPreparation(const ProductPreparation&) = delete;
  ProductPreparation& operator=(const ProductPreparation&) = delete;
};

std::unique_ptr<Product> make_product(const ProductStep& p);

}  // namespace weft::detail
