// refused: weft: apply_updates(params, updates): the updates have the parameters' type
#include <weft/weft.h>
using weft::Array;
struct Weights {
  Array w, b;
};
auto f(const Weights& w) { return weft::optim::apply_updates(w, 1.f); }
