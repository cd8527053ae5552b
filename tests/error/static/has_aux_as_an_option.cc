// refused: weft: has_aux is an argument of its own: grad(f, has_aux), value_and_grad(f, has_aux)
#include <weft/weft.h>
using namespace weft;
auto program() { return value_and_grad([](Array x) { return std::pair{x, x}; }, {.has_aux = true})(1.f); }
