// refused: weft: where(c, x, y) chooses between x and y; where(c) gives the positions at which c holds
#include <weft/weft.h>
auto program(weft::Array x) { return where(x > 0, x); }
