// refused: the elements of a set are static
#include <weft/weft.h>

#include <set>
using namespace weft;
struct Less {
  bool operator()(const Array& a, const Array& b) const { return a.size() < b.size(); }
};
struct Model {
  Array w;
  std::set<Array, Less> x;
};
Array program(const Model& m) {
  return jit([](const Model& m) { return sum(m.w); })(m);
}
