// refused: weft: a tangent has its argument's type
#include <weft/weft.h>
struct P {
  weft::Array w;
};
void f(const P& p) {
  weft::jvp([](P a) { return a.w; }, p, std::tuple{p});
}
