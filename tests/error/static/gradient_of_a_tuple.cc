// refused: grad differentiates a function with a scalar result
#include <weft/weft.h>
using namespace weft;
auto program(Array x) {
  return grad([](Array a) { return std::pair{a, a}; })(x);
}
