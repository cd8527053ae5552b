// refused: fwd returns std::pair{output, residuals}
#include <weft/weft.h>
using namespace weft;
int main() {
  custom_vjp([](Array x) { return x; }, [](Array x) { return x; }, [](Array, Array ct) { return std::tuple{ct}; })(1.f);
}
