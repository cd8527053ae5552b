// refused: weft: cond calls one of two functions: cond(c, f, g, x); where(c, x, y) chooses between arrays
#include <weft/weft.h>
auto program(weft::Array x) { return cond(x[0] > 0, x, -x); }
