// refused: no arrays are found in this type of the standard library
#include <weft/weft.h>

#include <memory>
using namespace weft;
struct Model {
  Array w;
  std::weak_ptr<Array> other;
};
Array program(const Model& m) {
  return jit([](const Model& m) { return sum(m.w); })(m);
}
