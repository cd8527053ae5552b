// refused: the keys of a map are static
#include <weft/weft.h>
#include <map>
using namespace weft;
struct Less {
  bool operator()(const Array& a, const Array& b) const { return a.size() < b.size(); }
};
struct Model {
  Array w;
  std::map<Array, int, Less> x;
};
auto program(const Model& m) { return tree::leaves(m); }
