// refused: zeros(
#include <weft/weft.h>
auto program() { return weft::zeros({.n = 3}); }
