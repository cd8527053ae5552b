// refused: weft: the numbers of arguments are template arguments: grad<1>(f), grad<0, 2>(f)
#include <weft/weft.h>
void f() { weft::grad([](weft::Array a, weft::Array b) { return sum(a * b); }, 1); }
