// refused: bool
#include <weft/weft.h>
auto program(const weft::Array& x) { return weft::repeat(x, true); }
