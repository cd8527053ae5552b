// refused: weft: x({0, 1}) might mean an element or two rows
#include <weft/weft.h>
weft::Array f(const weft::Array& x) { return x.at({0, 1}).set(1); }
