// refused: weft: the arrays stand in braces: concatenate({x, y}, axis)
#include <weft/weft.h>
auto program(weft::Array x) { return concatenate(x, x, 1); }
