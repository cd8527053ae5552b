// A function of the user's that the partitioner doesn't look into: a rule says how it is sharded, another function what one device does.
#pragma once
#include "weft/runtime/sharded/mesh.h"
#include "weft/transforms/flat.h"

namespace weft {

/// What a rule of custom_partitioning is asked: how to shard a function of these arrays, which come sharded so.
struct PartitioningQuery {
  Mesh mesh;                              ///< the devices
  std::vector<ShapeDtypeStruct> args;     ///< each array among the arguments
  std::vector<PartitionSpec> arg_specs;   ///< how each of them is sharded now
  std::vector<ShapeDtypeStruct> results;  ///< each array among the results
};
/// Its answer: how each array among the arguments is to be sharded, and how each result then is. Axes that result_specs leave out have the
/// same result on all their devices.
struct Partitioning {
  std::vector<PartitionSpec> arg_specs;     ///< of each array among the arguments
  std::vector<PartitionSpec> result_specs;  ///< of each array among the results
};
/// What the function of blocks is told beside its blocks: the mesh, and the rule's answer.
struct BlockContext {
  Mesh mesh;                                ///< the devices
  std::vector<PartitionSpec> arg_specs;     ///< of each array among the arguments
  std::vector<PartitionSpec> result_specs;  ///< of each array among the results
};

namespace detail {

/// One call's rule, and its function of blocks over leaves.
struct FlatPartitioner : RefCounted {
  virtual Partitioning choose(const PartitioningQuery& query) const = 0;
  virtual std::vector<Array> run(const BlockContext& context, std::span<const Array> blocks) const = 0;
  virtual Skeleton arguments() const = 0;
  const void* owner = nullptr;  ///< the user's functions, alive as long as this is
};
std::vector<Array> flat_custom_partitioning(FlatFunction& f, Ref<const FlatPartitioner> partitioner);

template <class R, class G>
struct PartitioningFunctions : RefCounted {
  PartitioningFunctions(R r, G g) : rule(std::move(r)), on_blocks(std::move(g)) {}
  mutable R rule;
  mutable G on_blocks;
};

template <class R, class G, class Params, class Out>
struct PartitionerOf final : FlatPartitioner {
  PartitionerOf(Ref<const PartitioningFunctions<R, G>> f, const Params& p) : functions(std::move(f)), params(without_leaves(p)) {
    owner = functions.get();
  }
  const Ref<const PartitioningFunctions<R, G>> functions;
  const Params params;

  Partitioning choose(const PartitioningQuery& query) const override { return functions->rule(query); }
  std::vector<Array> run(const BlockContext& context, std::span<const Array> blocks) const override {
    const Out out =
        to_traced(std::apply([&](const auto&... args) { return functions->on_blocks(context, args...); }, with_leaves(params, blocks)));
    return leaves_of(out);
  }
  Skeleton arguments() const override { return skeleton_of_args(params); }
};

template <class F, class R, class G>
class CustomPartitioned : public Callable<CustomPartitioned<F, R, G>> {
 public:
  using weft_inner = F;
  CustomPartitioned(F f, R rule, G on_blocks)
      : f_(std::move(f)), functions_(make_ref<PartitioningFunctions<R, G>>(std::move(rule), std::move(on_blocks))) {}
  template <class... A>
  out_t<F, A...> call(SourceLoc loc, const A&... args) const {
    using P = params_t<F, A...>;
    FlatCall<F, A...> flat(f_, loc, args...);
    const std::vector<Array> results =
        flat_custom_partitioning(flat, make_ref<PartitionerOf<R, G, P, out_t<F, A...>>>(functions_, flat.params));
    return flat.make_result(results);
  }

 private:
  mutable F f_;
  Ref<const PartitioningFunctions<R, G>> functions_;
};

}  // namespace detail

/// f, which is partitioned over a mesh as `rule` says, and not by what it is made of (jax.custom_partitioning). Where a program of sharded
/// arrays calls it, the rule is asked how arguments and results are sharded; arguments are moved to where it wants them, and each device
/// runs `on_blocks(context, blocks...)`: it takes what f takes, blocks in place of arrays, and gives the blocks of f's results. It may
/// speak of the mesh's axes in collectives; context.arg_specs tells which of them shard what. On arrays that aren't sharded it is f.
/// Derivatives and vmap are those of f, partitioned by what it is made of; custom_vjp around it gives derivatives with rules of their own.
///
/// Throws ShardingError for specs that don't fit the mesh or the arrays, and where on_blocks gives other blocks than the rule says.
template <class F, class R, class G>
detail::CustomPartitioned<F, R, G> custom_partitioning(F f, R rule, G on_blocks) {
  return {std::move(f), std::move(rule), std::move(on_blocks)};
}

}  // namespace weft
