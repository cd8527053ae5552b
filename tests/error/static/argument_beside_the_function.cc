// refused: weft: grad(f) gives a function, which takes the arguments: grad(f)(x)
#include <weft/weft.h>
auto program(weft::Array x) { return weft::grad([](weft::Array v) { return sum(v); }, x); }
