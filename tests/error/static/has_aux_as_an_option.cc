// refused: weft: grad differentiates a function with a scalar result; has_aux, or vjp, else
#include <weft/weft.h>
using namespace weft;
auto program() { return value_and_grad([](Array x) { return std::pair{x, x}; }, {.has_aux = true})(1.f); }
