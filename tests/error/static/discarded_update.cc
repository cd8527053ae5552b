// refused: weft: an array is a value and stays as it is: write x = x.at(i).set(v)
#include <weft/weft.h>
#pragma GCC diagnostic error "-Wunused-result"
void f(weft::Array x) { x.at(0).set(1); }
