// refused: weft::Shape
#include <weft/weft.h>
auto program() { return weft::zeros({.n = 3}); }
