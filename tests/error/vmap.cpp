// Errors of vmap.
#include "refused.h"

using namespace weft;

namespace {

std::string line(int n) { return "vmap.cpp:" + std::to_string(n); }
auto same = [](Array x) { return x; };
auto doubled = [](Array x) { return x * 2; };
auto plus = [](Array x, Array y) { return x + y; };
constexpr int kBodies = __LINE__;
auto unbound = [](Array x) { return psum(x, "j"); };
const VmapOptions kShort{.in_axes = {0}};
const VmapOptions kNamed{.axis_name = "i"};
}  // namespace

REFUSED(vmap_axis_out_of_range, AxisError, vmap(same, {.in_axes = 2})(ones({3, 4})), "vmap", "in_axes", "2", "f32[3,4]")
REFUSED(vmap_batch_size_mismatch, ShapeError, vmap(plus)(ones({3, 2}), ones({4, 2})), "vmap", "args[0]", "3", "args[1]", "4")
REFUSED(vmap_in_axes_wrong_length, PytreeError, vmap(plus, kShort)(ones(3), ones(3)), "vmap", "in_axes", "1", "2")
REFUSED(vmap_out_axes_none_of_batched, AxisError, vmap(doubled, {.out_axes = none})(ones(3)), "vmap", "out_axes", "none", "mapped")
REFUSED(vmap_nothing_mapped, AxisError, vmap(same, {.in_axes = none})(ones(3)), "vmap", "axis_size")

// The line is that of the psum.
static const test::Covers covers_unbound("psum_unbound_axis");
TEST_CASE("psum_unbound_axis") {
  test::refused(typeid(AxisError), "psum_unbound_axis", [] { vmap(unbound, kNamed)(ones(3)); }, {"psum", "j", "i", line(kBodies + 1)});
}
TEST_CASE("a collective outside of any map") {
  test::refused(typeid(AxisError), "psum", [] { psum(ones(3), "rows"); }, {"psum", "rows"});
  test::refused(typeid(AxisError), "axis_index", [] { axis_index("rows"); }, {"axis_index", "rows"});
}
