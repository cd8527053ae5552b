// Kernels that would leave their memory are refused.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include "tests/backends/agree.h"
#include "weft/backends/codegen/planner/kernel.h"
#include "weft/core/errors/error.h"

using namespace weft;
using namespace weft::detail;

namespace {

/// out[position] = in[position] over one loop.
Kernel copy(std::int64_t steps, std::int64_t in_elements, std::int64_t out_elements, std::int64_t scale, std::int64_t offset) {
  Kernel k;
  k.name = "copy";
  k.outer = {k.dag.add_dim(steps)};
  k.limits.resize(1);
  k.args = {{float32, in_elements, false, false}, {float32, out_elements, true, true}};
  const NodeId position = k.dag.offset(k.dag.scale(k.dag.index_dim(0), scale), offset);
  Nest nest;
  nest.stores.push_back({1, position, k.dag.load(0, float32, position).id, -1, false});
  k.nests.push_back(nest);
  return k;
}

}  // namespace

TEST_CASE("a kernel that reads or writes past its memory is refused") {
  CHECK_NOTHROW(check_bounds(copy(10, 10, 10, 1, 0)));
  CHECK_NOTHROW(check_bounds(copy(10, 28, 28, 3, 0)));
  CHECK_THROWS_WITH_AS(check_bounds(copy(10, 27, 28, 3, 0)), doctest::Contains("copy reads argument 0 from 0 to 27, which has 27 elements"),
                       CompileError);
  CHECK_THROWS_WITH_AS(check_bounds(copy(10, 28, 27, 3, 0)),
                       doctest::Contains("copy writes argument 1 from 0 to 27, which has 27 elements"), CompileError);
  CHECK_THROWS_WITH_AS(check_bounds(copy(10, 10, 10, 1, -1)), doctest::Contains("from -1 to 8"), CompileError);
  CHECK_NOTHROW(check_bounds(copy(10, 10, 10, -1, 9)));
}

TEST_CASE("what is read on a condition may lie outside") {
  Kernel k = copy(10, 10, 10, 1, 0);
  const NodeId beyond = k.dag.offset(k.dag.index_dim(0), 5);
  k.nests[0].stores[0].value = k.dag.load(0, float32, beyond, k.dag.below(beyond, 10).id).id;
  CHECK_NOTHROW(check_bounds(k));
  k.nests[0].stores[0].value = k.dag.load(0, float32, beyond).id;
  CHECK_THROWS_AS(check_bounds(k), CompileError);
}

TEST_CASE("what nobody uses is not read") {
  Kernel k = copy(10, 10, 10, 1, 0);
  k.dag.load(0, float32, k.dag.offset(k.dag.index_dim(0), 5));
  CHECK_NOTHROW(check_bounds(k));
}

TEST_CASE("stores within loops, at any depth, are looked at too") {
  for (const bool deep : {false, true}) {
    Kernel k = copy(10, 10, 10, 1, 0);
    Repeat loop;
    loop.dim = k.dag.add_dim(3);
    k.limits.resize(2);
    loop.stores.push_back({1, k.dag.add(k.dag.index_dim(0), k.dag.index_dim(loop.dim)), k.nests[0].stores[0].value, -1, false});
    if (deep) {
      Repeat around;
      around.dim = k.dag.add_dim(2);
      k.limits.resize(3);
      around.inner.push_back(loop);
      loop = around;
    }
    k.nests[0].repeats.push_back(loop);
    CHECK_THROWS_WITH_AS(check_bounds(k), doctest::Contains("writes argument 1 from 0 to 11"), CompileError);
    k.args[1].elements = 12;
    CHECK_NOTHROW(check_bounds(k));
  }
}

TEST_CASE("the last of the chunks of a loop is as long as is left") {
  Kernel k;
  k.name = "chunks";
  k.outer = {k.dag.add_dim(4)};
  k.limits = {{}, {0, 29}};
  const int step = k.dag.add_dim(8);
  k.args = {{float32, 29, false, false}, {float32, 4, false, true}};
  const NodeId position = k.dag.combine(k.dag.index_dim(0), 8, k.dag.index_dim(step), 1);
  Nest nest;
  nest.reduce = {step};
  Reduction reduction;
  reduction.value = k.dag.load(0, float32, position).id;
  reduction.local = 0;
  k.locals = {float32};
  nest.reductions.push_back(reduction);
  nest.stores.push_back({1, k.dag.index_dim(0), k.dag.local(0, float32, 1).id, -1, false});
  k.nests.push_back(nest);
  CHECK_NOTHROW(check_bounds(k));
  k.args[0].elements = 28;
  CHECK_THROWS_WITH_AS(check_bounds(k), doctest::Contains("from 0 to 28, which has 28 elements"), CompileError);
  // By halves of the position the steps that are not done would be seen too: such bounds prove nothing.
  k.args[0].elements = 15;
  k.nests[0].reductions[0].value = k.dag.load(0, float32, k.dag.divide(position, 2)).id;
  CHECK_NOTHROW(check_bounds(k));
}

TEST_CASE("one computed number that is a coordinate along dimensions of several sizes keeps within the least of them") {
  const Array x = reshape(arange(24, float32), {4, 2, 3}), k = array({5, -3, 0, 1});
  for (const DType t : {int8, uint8, int16, int32, int64}) {
    CAPTURE(t.name());
    const auto along = [&](const test::Arrays& v) { return convert(v[1] % 2, t); };
    test::same([&](test::Xs v) { return v[0](along(v), along(v), along(v)); }, {x, k});
    test::same([&](test::Xs v) { return v[0](slice(), along(v), along(v)); }, {x, k});
    test::same([&](test::Xs v) { return swapaxes(v[0], 0, 2)(along(v), along(v)); }, {x, k});
    test::same([&](test::Xs v) { return v[0].at(along(v), along(v), along(v)).add(1.f); }, {x, k});
    test::same([&](test::Xs v) { return dynamic_slice(v[0], {along(v)[0], along(v)[0], along(v)[0]}, {1, 1, 1}); }, {x, k});
    // As far as the remainder is known, without counting from the end.
    const auto bound_once = [&](const Array& i) {
      const std::string type = detail::to_string(i.aval());
      const Jaxpr j =
          parse("{ lambda ; a:f32[2,3] b:" + type +
                ". let c:f32[4] = gather[dimension_numbers=GatherDimensionNumbers(offset_dims=(), collapsed_slice_dims=(0, 1), "
                "start_index_map=(1, 0), operand_batching_dims=(), start_indices_batching_dims=()) fill_value=0 "
                "indices_are_sorted=False mode=GatherScatterMode.FILL_OR_DROP slice_sizes=(1, 1) unique_indices=False] a b in (c,) }");
      return j(x[0], i)[0];
    };
    test::same([&](test::Xs v) { return bound_once(convert(broadcast_to(expand_dims(rem(v[1], 2), 1), {4, 2}), t)); }, {x, k});
  }
}
