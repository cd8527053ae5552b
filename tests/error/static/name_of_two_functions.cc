// refused: ambiguous
#include <weft/weft.h>
using namespace weft;
// weft has a function of this name: neither is taken for the other.
Array square(const Array& x) { return 3 * x; }
auto program(Array x) { return grad(square)(x); }
