// refused: weft: an array's elements can't be assigned to
#include <weft/weft.h>
using namespace weft;
void program(Array x) { x[0] += x; }
