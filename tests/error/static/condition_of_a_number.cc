// refused: weft: the first argument arrives as weft::Array
#include <weft/weft.h>
auto program() { return weft::while_loop([](int i) { return i < 3; }, [](weft::Array i) { return i + 1; }, 0); }
