// refused: the first argument arrives as weft::Array (the counter of a loop, too): declare the parameter as Array
#include <weft/weft.h>
void f(const weft::Array& x) { weft::fori_loop(0, 3, [](int i, weft::Array a) { return a * i; }, x); }
