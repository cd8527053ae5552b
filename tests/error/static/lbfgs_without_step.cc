// refused: weft: lbfgs has no line search: give it a step, lbfgs(0.1), or use optimize::minimize, which searches
#include <weft/optim.h>
#include <weft/weft.h>
weft::optim::GradientTransformation f() { return weft::optim::lbfgs(); }
