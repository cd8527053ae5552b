// refused: a smart pointer to an array
#include <weft/weft.h>

#include <memory>
using namespace weft;
struct Deleter {
  void operator()(Array*) const {}
};
struct Model {
  Array w;
  std::unique_ptr<Array, Deleter> x;
};
auto program(const Model& m) {
  return tree::leaves(m);
}
