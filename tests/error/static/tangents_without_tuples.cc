// refused: weft: the primals and the tangents are tuples, of one entry for each argument
#include <weft/weft.h>
struct P {
  weft::Array w;
};
void f(const P& p) { weft::jvp([](P a) { return a.w; }, p, p); }
