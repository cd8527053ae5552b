// refused: weft: an array's elements can't be assigned to: write x = x.at(i).set(v), x = x.at(i).add(v), ...
#include <weft/weft.h>
using namespace weft;
void program(Array x) { x(0) = 1.f; }
