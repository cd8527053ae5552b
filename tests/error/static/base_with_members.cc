// refused: a base class that has members
#include <weft/weft.h>
using namespace weft;
struct Base {
  Array b;
};
struct Model : Base {
  Array w;
};
auto program(const Model& m) {
  return grad([](const Model& m) { return sum(m.w); })(m);
}
