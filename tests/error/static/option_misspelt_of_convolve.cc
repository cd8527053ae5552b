// refused: convolve(
#include <weft/weft.h>
using namespace weft;
Array program(Array x) { return convolve(x, x, {.axis = 0}); }
