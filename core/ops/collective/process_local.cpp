#include "weft/core/ops/collective/process_local.h"

#include "weft/core/array/array_impl.h"
#include "weft/core/ir/rewrite.h"

namespace weft::detail {

namespace {

PartitionSpec with_dim(const PartitionSpec& spec, int at) {
  std::vector<std::vector<std::string>> dims = spec.dims();
  if (static_cast<int>(dims.size()) < at) return spec;
  dims.insert(dims.begin() + at, std::vector<std::string>{});
  return PartitionSpec::of(std::move(dims));
}

template <class Op>
struct Move {
  static constexpr Kind kind = Kind::spmd;
  static constexpr int num_operands = 1;
  using Params = ProcessLocalParams;

  static Aval abstract_eval(const OpContext& c) {
    const auto& p = c.get<Params>();
    if (p.spec.size() != 1 || p.processes < 1) c.fail<ShardingError>("it takes one spec and a number of processes");
    Shape shape = c.in[0].shape;
    for (int d = 0; d < shape.size(); ++d) {
      if (!p.spans_processes(d)) continue;
      if (!Op::global && shape[d] % p.processes != 0) c.fail<ShardingError>("the processes don't divide the dimension");
      shape = shape.with(d, Op::global ? shape[d] * p.processes : shape[d] / p.processes);
    }
    return c.in[0].with_shape(shape);
  }
  static std::vector<Tangent> jvp(const JvpContext& c) {
    if (!c.tangents[0]) return {Tangent{}};
    return {bind_primitive(c.op, c.params, std::span(&*c.tangents[0], 1), c.loc)[0]};
  }
  static std::vector<Tangent> transpose(const TransposeContext& c) {
    if (!c.cotangents[0]) return {Tangent{}};
    return {Op::back(*c.cotangents[0], c.get<Params>(), c.loc)};
  }
  static BatchResult batch(const BatchContext& c) {
    if (c.dims[0] == kNotMapped) return {bind_primitive(c.op, c.params, c.in, c.loc), {kNotMapped}};
    Params p = c.get<Params>();
    p.spec.specs[0] = with_dim(p.spec[0], c.dims[0]);
    return {bind_primitive(c.op, make_params(std::move(p)), c.in, c.loc), {c.dims[0]}};
  }
};

struct HostLocalToGlobal : Move<HostLocalToGlobal> {
  static constexpr std::string_view name = "host_local_to_global", doc = "One process's array as its part of a global array.";
  static constexpr bool global = true;
  static Array back(const Array& x, const ProcessLocalParams& p, SourceLoc loc) { return bind_global_to_host_local(x, p, loc); }
};
struct GlobalToHostLocal : Move<GlobalToHostLocal> {
  static constexpr std::string_view name = "global_to_host_local", doc = "One process's part of a global array.";
  static constexpr bool global = false;
  static Array back(const Array& x, const ProcessLocalParams& p, SourceLoc loc) { return bind_host_local_to_global(x, p, loc); }
};

const Rule<ProcessMoveTransform, HostLocalToGlobal> to_global([] { return ProcessMoveTo::global; });
const Rule<ProcessMoveTransform, GlobalToHostLocal> to_host_local([] { return ProcessMoveTo::host_local; });

constexpr const Primitive* kPrimitives[] = {&primitive_of<HostLocalToGlobal>, &primitive_of<GlobalToHostLocal>};

}  // namespace

PrimitiveList process_local_primitives() { return kPrimitives; }
std::optional<ProcessMoveTo> process_move(const Primitive& op) {
  ProcessMoveTransform::Function* const rule = op.kind == Kind::spmd ? find_rule<ProcessMoveTransform>(op) : nullptr;
  return rule ? std::optional(rule()) : std::nullopt;
}
Array bind_host_local_to_global(const Array& x, ProcessLocalParams params, SourceLoc loc) {
  return bind_one<HostLocalToGlobal>(std::move(params), {x}, loc);
}
Array bind_global_to_host_local(const Array& x, ProcessLocalParams params, SourceLoc loc) {
  return bind_one<GlobalToHostLocal>(std::move(params), {x}, loc);
}

}  // namespace weft::detail
