// refused: text in a struct or a container must be its own
#include <weft/weft.h>
using namespace weft;
struct Options {
  const char* activation = "relu";
  bool operator==(const Options&) const = default;
};
auto program(const Array& x, const Options& options) {
  return jit([](const Array& x, const Options& o) { return o.activation[0] == 'r' ? nn::relu(x) : x; })(x, options);
}
