// Errors of loops and branches.
#include "refused.h"

using namespace weft;

namespace {

auto dtype_changes = [](Array c, Array x) { return std::pair{c + x, x}; };
auto shape_changes = [](Array c, Array x) { return std::pair{concatenate({c, c}), x}; };
auto two_at_once = [](Array c, std::pair<Array, Array> x) { return std::pair{c, x.first + x.second}; };
auto same = [](Array x) { return x; };
auto as_integer = [](Array x) { return convert(x, int32); };
std::vector<Array> once(Array x) { return {x}; }
std::vector<Array> twice(Array x) { return {x, x}; }
auto one = [] { return Array(1.f); };
auto two = [] { return Array(2.f); };
using State = std::pair<Array, Array>;
auto below = [](State c) { return c.second < 3; };
auto half_more = [](State c) { return State{c.first, c.second + 0.5f}; };
auto itself = [](Array c) { return c; };
auto one_less = [](Array c) { return c - 1; };
const std::vector<std::function<Array(Array)>> kNone;

}  // namespace

REFUSED(scan_carry_dtype, DTypeError, scan(dtype_changes, zeros({}, int32), ones(3)), "scan", "i32[]", "f32[]", "carry")
REFUSED(scan_carry_shape, ShapeError, scan(shape_changes, ones(2), ones(3)), "scan", "f32[2]", "f32[4]", "carry")
REFUSED(scan_length_mismatch, ShapeError, scan(two_at_once, 0.f, std::pair{ones(3), ones(4)}), "scan", "3", "4")
REFUSED(cond_branch_types, DTypeError, cond(true, same, as_integer, ones(2)), "cond", "f32[2]", "i32[2]")
REFUSED(cond_branch_structures, PytreeError, cond(true, twice, once, 1.f), "cond", "true_fn", "false_fn", "2", "1")
REFUSED(cond_array_predicate, ShapeError, cond(array({true, false}), one, two), "cond", "one bool", "bool[2]")
REFUSED(while_body_type, DTypeError, while_loop(below, half_more, State{ones({}), zeros({}, int32)}), "while_loop", "i32[]", "f32[]",
        "init[1]")
REFUSED(while_cond_not_bool, DTypeError, while_loop(itself, one_less, 3), "while_loop", "bool", "i32[]")
REFUSED(switch_no_branches, Error, switch_(0, kNone, 1.f), "switch", "branch")
