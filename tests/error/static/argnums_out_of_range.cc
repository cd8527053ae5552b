// refused: an argument number that the call doesn't have
#include <weft/weft.h>
using namespace weft;
auto program() {
  return grad<1>([](Array x) { return x; })(1.f);
}
