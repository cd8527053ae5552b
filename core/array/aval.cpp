#include "weft/core/array/aval.h"

namespace weft::detail {
namespace {
std::string type_text(DType dtype, const Shape& shape) {
  std::string s(dtype.short_name());
  s += '[';
  for (int i = 0; i < shape.size(); ++i) s += (i ? "," : "") + std::to_string(shape[i]);
  return s + ']';
}
}  // namespace

std::string to_string(const Aval& aval) { return type_text(aval.dtype, aval.shape); }
std::string to_string(const ShapeDtypeStruct& aval) { return type_text(aval.dtype, aval.shape); }

}  // namespace weft::detail
