// refused: weft::TextArg
#include <weft/weft.h>
using namespace weft;
Array program(Array x) { return linalg::polar(x, {.axis = 0}).u; }
