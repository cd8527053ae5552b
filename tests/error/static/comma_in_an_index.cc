// refused: weft: x[a, b] is x[b] up to C++20: write x(a, b), or x[{a, b}]
#include <weft/weft.h>
using namespace weft;
Array program(Array x) { return x[slice(), 0]; }
