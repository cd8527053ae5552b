// refused: no arrays are found in this type of the standard library
#include <weft/weft.h>
using namespace weft;
struct Model {
  Array w;
  std::span<const Array> rest;
};
auto program(const Model& m) {
  return tree::leaves(m);
}
