// refused: weft: min(x, axis) reduces along an axis; the smaller of two arrays or numbers is minimum(a, b)
#include <weft/weft.h>
void f(const weft::Array& x) { min(x, x); }
