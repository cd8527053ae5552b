// refused: in loops the counter and all numbers of the carry are weft::Array
#include <weft/weft.h>
void f(const weft::Array& x) { weft::fori_loop(0, 3, [](int i, weft::Array a) { return a * i; }, x); }
