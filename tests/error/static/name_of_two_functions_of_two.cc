// refused: ambiguous
#include <weft/weft.h>
using namespace weft;
Array hypot(const Array& x, const Array& y) { return x + y; }
auto program(Array x) { return jit(hypot)(x, x); }
