// refused: weft: the primals and the tangents are tuples, of one entry for each argument
#include <weft/weft.h>
void f(const weft::Array& x) { weft::jvp([](weft::Array a) { return a; }, x, x); }
