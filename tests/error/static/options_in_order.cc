// refused: no matching function for call to
#include <weft/weft.h>
void f() { weft::pmap([](weft::Array a, weft::Array b) { return a + b; }, {0, 1}); }
