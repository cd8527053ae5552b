// refused: the entries of one key of an unordered_multimap have no order
#include <weft/weft.h>

#include <unordered_map>
using namespace weft;
struct Model {
  Array w;
  std::unordered_multimap<int, Array> x;
};
auto program(const Model& m) {
  return grad([](const Model& m) { return sum(m.w); })(m);
}
