// refused: no arrays are found in this type of the standard library
#include <weft/weft.h>

#include <functional>
using namespace weft;
struct Model {
  Array w;
  std::function<Array(Array)> activation;
};
auto program(const Model& m) {
  return grad([](const Model& m) { return sum(m.w); })(m);
}
