// refused: weft: the primals and the tangents are tuples, of one entry for each argument
#include <weft/weft.h>
struct P {
  weft::Array w;
};
weft::Array f(const P& p) {
  auto [y, dy] = weft::jvp([](P a) { return a.w; }, p, p);
  return dy;
}
