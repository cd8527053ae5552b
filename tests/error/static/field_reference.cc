// refused: a member that is a reference
#include <weft/weft.h>
using namespace weft;
struct Model {
  Array w;
  const Array& other;
};
auto program(const Model& m) {
  return grad([](const Model& m) { return sum(m.w); })(m);
}
