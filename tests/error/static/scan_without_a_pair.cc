// refused: scan's function returns std::pair
#include <weft/weft.h>
using namespace weft;
auto program() {
  return scan([](Array c, Array x) { return c + x; }, 0.f, ones(3));
}
