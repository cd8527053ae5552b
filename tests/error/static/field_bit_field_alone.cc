// refused: a struct with a bit-field is not a pytree
#include <weft/weft.h>
struct Options {
  unsigned causal : 1;
  int heads;
};
auto program(const weft::Array& x, const Options& o) {
  return weft::jit([](const weft::Array& x, const Options& o) { return x * o.heads; })(x, o);
}
