// refused: the function can't be called with these arguments (is it another number of them?)
#include <weft/weft.h>
weft::Array f(const weft::Array& x) {
  return weft::jit([](auto a, auto b) { return a + b; })(x);
}
