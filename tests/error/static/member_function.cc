// refused: weft: a member function is passed in a lambda
#include <weft/weft.h>
struct Model {
  weft::Array w;
  weft::Array apply(weft::Array x) const { return w * x; }
};
void f(const Model& m, const weft::Array& x) { weft::jit(&Model::apply)(m, x); }
