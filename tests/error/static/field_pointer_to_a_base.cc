// refused: a pointer to a base class is not a pytree
#include <weft/weft.h>

#include <memory>
using namespace weft;
struct Layer {
  virtual ~Layer() = default;
  Array w;
  WEFT_PYTREE(Layer, w)
};
struct Model {
  Array w;
  std::shared_ptr<Layer> layer;
};
auto program(const Model& m) {
  return grad([](const Model& m) { return sum(m.w); })(m);
}
