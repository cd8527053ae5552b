// refused: a struct with a bit-field is not a pytree
#include <weft/weft.h>
using namespace weft;
struct Model {
  Array w;
  unsigned steps : 3;
};
auto program(const Model& m) {
  return grad([](const Model& m) { return sum(m.w); })(m);
}
