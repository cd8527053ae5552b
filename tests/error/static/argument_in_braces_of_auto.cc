// refused: weft: an argument in braces takes the type of the function's parameter
#include <weft/weft.h>
using namespace weft;
auto program(const Array& x) {
  return jit([](auto p) { return p; })({x, x});
}
