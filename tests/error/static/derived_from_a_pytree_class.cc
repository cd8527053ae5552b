// refused: a class derived from one with WEFT_PYTREE
#include <weft/weft.h>
using namespace weft;
class Base {
 public:
  explicit Base(Array b = 0) : b_(b) {}
  WEFT_PYTREE(Base, b_)

 private:
  Array b_;
};
class Model : public Base {
 public:
  Array w;
};
auto program(const Model& m) {
  return grad([](const Model& m) { return sum(m.w); })(m);
}
