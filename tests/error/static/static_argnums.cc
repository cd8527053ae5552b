// refused: weft: a parameter that is declared int, bool, float, std::string, an enum, ... is static already
#include <weft/weft.h>
using namespace weft;
auto program() { return jit([](Array x, int n) { return x * n; }, {.static_argnums = {1}})(1.f, 2); }
