// refused: with has_aux the function returns std::pair{scalar loss, aux}
#include <weft/weft.h>
using namespace weft;
int main() { grad([](Array x) { return std::tuple{sum(x), x, x}; }, has_aux)(ones(3)); }
