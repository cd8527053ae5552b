// refused: a class that is not an aggregate must say what it is
#include <weft/weft.h>
using namespace weft;
class Layer {
 public:
  explicit Layer(Array b) : b_(b) {}
  bool operator==(const Layer&) const = default;

 private:
  Array b_;
};
struct Model {
  Array w;
  Layer layer;
};
Array program(const Model& m) {
  return jit([](const Model& m) { return sum(m.w); })(m);
}
