// Errors of calls: numbers of arguments, trees, static values.
#include <map>

#include "refused.h"

using namespace weft;

namespace {
using Dict = std::map<std::string, Array>;
auto plus = [](Array x, Array y) { return x + y; };
const Dict kAb{{"a", Array(1)}, {"b", Array(2)}}, kAc{{"a", Array(1)}, {"c", Array(2)}};
}  // namespace

REFUSED(tree_map_structures, PytreeError, tree::map(plus, kAb, kAc), "b", "c")
REFUSED(cholesky_not_square, ShapeError, linalg::cholesky(ones({2, 3})), "cholesky", "square", "f32[2,3]")
REFUSED(random_bad_key, DTypeError, random::normal(ones(3), {2}), "f32[3]", "not a key", "random::key")
