#include "weft/core/ops/control/custom_partitioning.h"
#include "weft/core/base/counted.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/errors/error.h"
#include "weft/core/ir/partition_rule.h"
#include "weft/core/ops/control/custom_derivatives.h"
#include "weft/core/text/text.h"
#include "weft/core/text/text_rules.h"
#include "weft/core/trace/trace.h"
#include "weft/core/trace/varying_rule.h"

namespace weft::detail {

std::string print_param(const CallPartitionerParam& v) { return print_param(v.name); }
void read_param(ParamReader& r, CallPartitionerParam& v) { v.name = r.read_string(); }

namespace {

struct CustomPartitioning {
  static constexpr std::string_view name = "custom_partitioning",
                                    doc = "A call that is partitioned over a mesh by a user's rule; on unsharded operands its body runs.";
  static constexpr Kind kind = Kind::call;
  using Params = CustomPartitioningParams;
  static const Jaxpr& body(const Params& p) { return p.call_jaxpr; }
  static std::vector<Aval> abstract_eval(const OpContext& c) { return call_types(c, c.get<Params>().call_jaxpr); }
  static JvpResult jvp_call(const JvpContext& c) { return jvp_of_call(c, c.get<Params>().call_jaxpr, run_in_place); }
  static JvpResult linearize_call(const JvpContext& c) { return linearize_of_call(c, c.get<Params>().call_jaxpr, run_in_place); }
  static std::vector<Tangent> transpose(const TransposeContext& c) {
    return transpose_of_call(c, c.get<Params>().call_jaxpr, run_in_place);
  }
  static BatchResult batch(const BatchContext& c) { return batch_of_call(c, c.get<Params>().call_jaxpr, run_in_place); }
};

/// What keeps the rule from being followed, or nothing.
std::string problem_of(const PartitionContext& c, const PartitionSpec& spec, const Shape& shape) {
  if (std::string problem = spec_problem(c.partition.mesh(), spec, shape); !problem.empty()) return problem;
  const std::vector<std::string>& free = c.partition.free_axes();
  for (const auto& dim : spec.dims())
    for (const std::string& axis : dim)
      if (!free.empty() && std::find(free.begin(), free.end(), axis) == free.end())
        return fmt::format("{} names the axis `{}`, which is that of a shard_map around", to_string(spec), axis);
  return {};
}

std::optional<ShardedValues> partition_custom(const PartitionContext& c) {
  const auto& p = c.get<CustomPartitioningParams>();
  if (!p.partition.rule) return {};  // read from a text: its body
  if (!p.partition.rule->asked_of_whole() && std::none_of(c.in.begin(), c.in.end(), [](const ShardedValue& x) { return x.is_sharded(); }))
    return {};
  const auto num_consts = static_cast<std::size_t>(p.num_consts);
  const auto fail = [&](const std::string& what) {
    throw ShardingError(fmt::format("custom_partitioning of {}: {}", p.name, what), c.eqn.loc);
  };
  std::vector<Aval> args;
  std::vector<PartitionSpec> now;
  for (std::size_t i = num_consts; i < c.in.size(); ++i) {
    args.push_back(c.in[i].aval());
    now.push_back(PartitionSpec::of(c.in[i].axes).trimmed());
  }
  const CallSpecs specs = p.partition.rule->choose(c.partition.mesh(), args, now, c.out, c.eqn.loc);
  if (specs.args.size() != args.size() || specs.results.size() != c.out.size())
    fail(fmt::format("its rule gives {} for {} and {} for {}; give one for each array", counted(specs.args.size(), "spec"),
                     counted(args.size(), "argument"), specs.results.size(), counted(c.out.size(), "result")));
  std::vector<Array> blocks;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (const std::string problem = problem_of(c, specs.args[i], args[i].shape); !problem.empty())
      fail(fmt::format("its rule's spec for argument {}, {}: {}", i, to_string(args[i]), problem));
    blocks.push_back(c.reshard(c.in[num_consts + i], dims_of(specs.args[i], args[i].ndim())).block);
  }
  const std::vector<Array> out = p.partition.rule->run(c.partition.mesh(), specs, blocks, c.eqn.loc);
  if (out.size() != c.out.size())
    fail(fmt::format("its function of blocks returns {}, the function of whole arrays {}", counted(out.size(), "array"), c.out.size()));
  ShardedValues results;
  for (std::size_t k = 0; k < out.size(); ++k) {
    if (const std::string problem = problem_of(c, specs.results[k], c.out[k].shape); !problem.empty())
      fail(fmt::format("its rule's spec for result {}, {}: {}", k, to_string(c.out[k]), problem));
    const DimAxes axes = dims_of(specs.results[k], c.out[k].ndim());
    const Aval wanted = c.out[k].with_shape(c.partition.block_of(c.out[k].shape, axes));
    if (out[k].shape() != wanted.shape || out[k].dtype() != wanted.dtype)
      fail(fmt::format("its function of blocks returns {} as result {}, and the rule's {} makes that {} of {}", to_string(out[k].aval()), k,
                       to_string(specs.results[k]), to_string(wanted), to_string(c.out[k])));
    results.push_back({out[k], c.out[k].shape, axes});
  }
  return results;
}

const PartitionRule<CustomPartitioning> custom_partitioning_rule(partition_custom);
const DecidesShardingRule<CustomPartitioning> custom_partitioning_decides([](const ParamsBase& p) {
  const CallPartitionerParam& partition = params_as<CustomPartitioningParams>(p).partition;
  return partition.rule && partition.rule->asked_of_whole();
});
constexpr ParamValue kLeftOut[] = {{"num_consts", "0"}};
const TextRule<CustomPartitioning> custom_partitioning_text([] { return TextTraits{.left_out = kLeftOut}; });
const VaryingRule<CustomPartitioning> custom_partitioning_varying(varying_of_body);
const MarkVaryingRule<CustomPartitioning> custom_partitioning_marks(mark_body);

const Rule<LinkedBodyTransform, CustomPartitioning> partitioning_body([] {});

}  // namespace

std::vector<Array> bind_custom_partitioning(const std::string& name, const Jaxpr& j, CallPartitionerParam rule,
                                            std::span<const Array> inputs, SourceLoc loc) {
  Hoisted h = hoist_consts(j);
  std::vector<Array> all = std::move(h.consts);
  const int num_consts = static_cast<int>(all.size());
  all.insert(all.end(), inputs.begin(), inputs.end());
  return bind_all<CustomPartitioning>({std::move(h.jaxpr), name, num_consts, std::move(rule)}, all, loc);
}

PrimitiveList custom_partitioning_primitives() {
  static constexpr const Primitive* list[] = {&primitive_of<CustomPartitioning>};
  return list;
}

}  // namespace weft::detail
