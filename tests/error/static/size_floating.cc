// refused: double
#include <weft/weft.h>
auto program(const weft::Array& x) { return weft::repeat(x, 2.5); }
