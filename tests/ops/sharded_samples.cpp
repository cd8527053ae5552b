// Every primitive on sharded operands: a program of each sample, partitioned over a mesh, gives what it gives on one device, whichever
// dimensions of its operands are sharded. A rule that is missing gathers; one that is wrong shows here.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <optional>

#include "program_checks.h"
#include "samples.h"
#include "weft/core/array/array_impl.h"
#include "weft/core/ir/rewrite.h"
#include "weft/core/ops/collective/sharding_constraint.h"
#include "weft/core/trace/trace.h"

namespace weft::test {

using namespace detail;
namespace {

const bool six_devices = [] {
  config.num_cpu_devices = 6;
  return true;
}();

/// The dimensions that an axis of the mesh can shard: (operand, dimension).
std::vector<std::pair<std::size_t, int>> shardable(const std::vector<Array>& in, std::int64_t parts) {
  std::vector<std::pair<std::size_t, int>> places;
  for (std::size_t i = 0; i < in.size(); ++i)
    for (int d = 0; d < in[i].ndim(); ++d)
      if (in[i].shape()[d] > 0 && in[i].shape()[d] % parts == 0) places.emplace_back(i, d);
  return places;
}

/// Not those that have effects or meshes of their own.
bool is_partitioned(const Sample& s) {
  const Kind kind = s.op->kind;
  return kind != Kind::effect && kind != Kind::collective && kind != Kind::spmd && !find_rule<ShardingConstraintTransform>(*s.op);
}

void check_sharded(const Sample& s) {
  const std::vector<Array> in = s.arguments();
  const auto run = jit([&](const std::vector<Array>& args) { return eval_jaxpr(s.program, args); });
  const std::vector<Array> want = run(in);
  const Mesh mesh = make_mesh({2, 3}, {"x", "y"});
  const auto xs = shardable(in, 2), ys = shardable(in, 3);
  // Each dimension by itself; in one dtype also each pair of dimensions over the two axes.
  std::vector<std::vector<std::vector<std::optional<std::string>>>> specs;
  const auto none_of = [&] {
    std::vector<std::vector<std::optional<std::string>>> all;
    for (const Array& a : in) all.emplace_back(static_cast<std::size_t>(a.ndim()));
    return all;
  };
  for (std::size_t i = 0; i <= xs.size(); ++i)
    for (std::size_t j = 0; j <= ys.size(); ++j) {
      if (i == xs.size() && j == ys.size()) continue;
      if (i < xs.size() && j < ys.size() && (s.dtype != float32 || xs[i] == ys[j])) continue;
      auto spec = none_of();
      if (i < xs.size()) spec[xs[i].first][static_cast<std::size_t>(xs[i].second)] = "x";
      if (j < ys.size()) spec[ys[j].first][static_cast<std::size_t>(ys[j].second)] = "y";
      specs.push_back(std::move(spec));
    }
  for (const auto& spec : specs) {
    std::vector<Array> sharded;
    std::string text;
    for (std::size_t i = 0; i < in.size(); ++i) {
      std::vector<std::vector<std::string>> dims;
      for (const auto& axis : spec[i]) dims.push_back(axis ? std::vector<std::string>{*axis} : std::vector<std::string>{});
      const PartitionSpec p = PartitionSpec::of(std::move(dims));
      sharded.push_back(device_put(in[i], NamedSharding{mesh, p}));
      text += to_string(p) + " ";
    }
    CAPTURE(text);
    const std::vector<Array> got = run(sharded);
    REQUIRE(got.size() == want.size());
    for (std::size_t k = 0; k < got.size(); ++k)
      CHECK(wrong_in(device_get(got[k]), want[k], 100 * s.rounding * epsilon(want[k].dtype())) == "");
  }
}

}  // namespace

TEST_CASE("every primitive gives the same on sharded operands, whichever dimensions are sharded") {
  int programs = 0;
  // The rules look at shapes, and at a dtype's kind.
  for (const DType dtype : {float32, int32, uint32, bool_, complex64})
    for (const Sample& s : samples_in(dtype)) {
      if (!is_partitioned(s)) continue;
      CAPTURE(s.title);
      CAPTURE(s.program);
      REQUIRE_NOTHROW(check_sharded(s));
      ++programs;
    }
  CHECK(programs > 300);
}

}  // namespace weft::test
