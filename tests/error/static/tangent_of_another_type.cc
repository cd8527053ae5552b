// refused: a tangent has its argument's type
#include <weft/weft.h>
using namespace weft;
struct A {
  Array w;
};
struct B {
  Array w;
};
auto program(A a, B b) {
  return jvp([](A x) { return x.w; }, std::tuple{a}, std::tuple{b});
}
