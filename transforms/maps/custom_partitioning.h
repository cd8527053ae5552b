// A function that the partitioner treats as opaque: the user's rule shards it, another function computes a device's block.
#pragma once
#include "weft/runtime/sharded/mesh.h"
#include "weft/transforms/flat.h"

namespace weft {

/// The question that a rule of custom_partitioning answers: how to shard a function of these arrays, given how they are sharded.
struct PartitioningQuery {
  Mesh mesh;                              ///< the devices
  std::vector<ShapeDtypeStruct> args;     ///< each array among the arguments
  std::vector<PartitionSpec> arg_specs;   ///< how each of them is sharded now
  std::vector<ShapeDtypeStruct> results;  ///< each array among the results
};
/// The rule's answer: how each array among the arguments is to be sharded, and how each result then is. A result is the same on all devices
/// along an axis that its spec leaves out.
struct Partitioning {
  std::vector<PartitionSpec> arg_specs;     ///< of each array among the arguments
  std::vector<PartitionSpec> result_specs;  ///< of each array among the results
};
/// The first argument of the function on blocks: the mesh, and the rule's answer.
struct BlockContext {
  Mesh mesh;                                ///< the devices
  std::vector<PartitionSpec> arg_specs;     ///< of each array among the arguments
  std::vector<PartitionSpec> result_specs;  ///< of each array among the results
};

namespace detail {

/// The rule of one call and its function on blocks, both over leaves.
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
  KeptRef<const PartitioningFunctions<R, G>> functions_;
};

}  // namespace detail

/// f, partitioned over a mesh as `rule` says instead of operation by operation (jax.custom_partitioning). Where a program calls it on
/// sharded arrays, the rule decides how arguments and results are sharded, arguments are resharded accordingly, and each device runs
/// `on_blocks(context, blocks...)`, which takes f's arguments as blocks and returns the blocks of f's results. It may use collectives over
/// the mesh's axes; context.arg_specs says which axes shard each argument. On arrays that aren't sharded it is f. Derivatives and vmap are
/// those of f, partitioned operation by operation; a custom_vjp around it gives derivatives their own rules.
///
/// Throws ShardingError for specs that don't fit the mesh or the arrays, and where on_blocks returns other shapes.
template <class F, class R, class G>
detail::CustomPartitioned<F, R, G> custom_partitioning(F f, R rule, G on_blocks) {
  return {std::move(f), std::move(rule), std::move(on_blocks)};
}

}  // namespace weft
