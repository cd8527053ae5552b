// refused: weft: the sizes of a shape stand in braces: zeros({2, 3})
#include <weft/weft.h>
auto program() { return weft::zeros(2, 3); }
