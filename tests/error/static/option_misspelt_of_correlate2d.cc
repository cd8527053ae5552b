// refused: correlate2d(
#include <weft/weft.h>
using namespace weft;
Array program(Array x) { return correlate2d(x, x, {.boundary = 0}); }
