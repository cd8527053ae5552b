// refused: weft:
#include <weft/weft.h>
using namespace weft;
class Mode {
 public:
  explicit Mode(int n) : n_(n) {}
  int n() const { return n_; }

 private:
  int n_;
};
Array program() {
  return jit([](Array x, Mode m) { return x * m.n(); })(1.f, Mode(2));
}
