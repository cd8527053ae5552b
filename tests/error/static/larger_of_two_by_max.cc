// refused: weft: max(x, axis) reduces along an axis; the larger of two arrays or numbers is maximum(a, b)
#include <weft/weft.h>
void f(const weft::Array& x) { max(x, 0.f); }
