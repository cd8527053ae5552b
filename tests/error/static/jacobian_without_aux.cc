// refused: with has_aux the function returns std::pair{result, aux}
#include <weft/weft.h>
using namespace weft;
int main() { jacfwd([](Array x) { return x; }, has_aux)(ones(3)); }
