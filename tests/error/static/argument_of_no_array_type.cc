// refused: the function can't be called with these arguments
#include <weft/weft.h>
using namespace weft;
Array program() {
  return jit([](Array x) { return x; })("text");
}
