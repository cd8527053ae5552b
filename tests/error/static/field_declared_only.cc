// refused: a class that is declared only
#include <weft/weft.h>

#include <memory>
using namespace weft;
struct Later;
struct Model {
  Array w;
  std::shared_ptr<Later> x;
};
auto program(const Model& m) {
  return tree::leaves(m);
}
