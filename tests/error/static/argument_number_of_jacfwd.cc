// refused: weft: the numbers of arguments are template arguments: jacfwd<1>(f), jacfwd<0, 2>(f)
#include <weft/weft.h>
using namespace weft;
void program() { jacfwd([](Array x, Array y) { return x * y; }, 1); }
