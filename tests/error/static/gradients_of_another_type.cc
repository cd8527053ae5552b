// refused: weft: update(gradients, state, params): the gradients have the parameters' type
#include <weft/weft.h>
using weft::Array;
struct Weights {
  Array w, b;
};
struct Others {
  Array u, v;
};
auto f(const weft::optim::OptState& s) { return weft::optim::sgd(0.1).update(Others{1.f, 2.f}, s, Weights{1.f, 2.f}); }
