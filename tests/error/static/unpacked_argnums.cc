// refused: weft: the numbers of arguments are template arguments: grad<1>(f), grad<0, 2>(f)
#include <weft/weft.h>
using namespace weft;
void f() {
  auto [a, b] = grad([](Array x, Array y) { return x * y; }, {.argnums = {0, 1}})(1.f, 2.f);
  make_jaxpr(grad([](Array x, Array y) { return x * y; }, 1))(1.f, 2.f);
}
