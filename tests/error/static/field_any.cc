// refused: no arrays are found in this type of the standard library
#include <weft/weft.h>

#include <any>
using namespace weft;
struct Model {
  Array w;
  std::any x;
};
Array program(const Model& m) {
  return jit([](const Model& m) { return sum(m.w); })(m);
}
