// refused: a raw pointer is neither a pytree nor static
#include <weft/weft.h>
using namespace weft;
struct Model {
  Array w;
  Array* other;
};
auto program(const Model& m) {
  return grad([](const Model& m) { return sum(m.w); })(m);
}
