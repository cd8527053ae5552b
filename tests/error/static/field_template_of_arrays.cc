// refused: a class that is not an aggregate must say what it is
#include <weft/weft.h>
using namespace weft;
template <class T>
class View {
 public:
  explicit View(T* p = nullptr) : p_(p) {}
  bool operator==(const View&) const = default;

 private:
  T* p_;
};
struct Model {
  Array w;
  View<Array> view;
};
Array program(const Model& m) {
  return jit([](const Model& m) { return sum(m.w); })(m);
}
