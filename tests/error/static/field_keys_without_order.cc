// refused: the entries of an unordered map are taken in the order of their keys
#include <weft/weft.h>

#include <unordered_map>
using namespace weft;
struct Key {
  int n;
  bool operator==(const Key&) const = default;
};
template <>
struct std::hash<Key> {
  std::size_t operator()(const Key& k) const { return static_cast<std::size_t>(k.n); }
};
struct Model {
  Array w;
  std::unordered_map<Key, Array> x;
};
Array program(const Model& m) {
  return jit([](const Model& m) { return sum(m.w); })(m);
}
