#include "weft/runtime/processes/process_local.h"

#include "weft/core/errors/error.h"
#include "weft/runtime/processes/processes.h"
#include "weft/runtime/sharded/global_arrays.h"

namespace weft::detail {
namespace {

const ProcessLocalParams& checked(const ParamsBase& params, SourceLoc loc) {
  const auto& p = params_as<ProcessLocalParams>(params);
  if (p.processes != process_count()) throw DistributedError("pmap: it was traced for another number of processes", loc);
  return p;
}

}  // namespace

ProcessMove::ProcessMove(const Primitive& op, const ParamsBase& params, SourceLoc loc)
    : to_global_(process_move(op) == ProcessMoveTo::global),
      params_(checked(params, loc)),
      mesh_(mesh_of(params_.mesh)),
      here_(local_positions(mesh_.axes().device_ids)) {}

Array ProcessMove::run(const Array& x, SourceLoc loc) {
  const ConcreteArray* c = as_concrete(x);
  if (c && c->placement) {
    Ref<const Placement> to;
    {
      const std::lock_guard lock(mutex_);
      if (last_.from.get() == c->placement.get()) to = last_.to;
    }
    if (to) {
      Shape shape = x.shape();
      for (int d = 0; d < shape.size(); ++d)
        if (params_.spans_processes(d)) shape = shape.with(d, to_global_ ? shape[d] * process_count() : shape[d] / process_count());
      std::vector<Ref<Buffer>> shards(to_global_ ? mesh_.axes().device_ids.size() : here_.size());
      for (std::size_t i = 0; i < here_.size(); ++i) shards[to_global_ ? here_[i] : i] = c->shards[to_global_ ? i : here_[i]];
      return Array(Ref<ArrayImpl>(new ConcreteArray(x.aval().with_shape(shape), std::move(shards), std::move(to))));
    }
  }
  const Array out =
      to_global_ ? host_local_to_global(x, mesh_, params_.spec[0], loc) : global_to_host_local(x, mesh_, params_.spec[0], loc);
  if (!c || !c->placement || c->shards.size() != (to_global_ ? here_.size() : mesh_.axes().device_ids.size())) return out;
  const ConcreteArray& o = *as_concrete(out);
  bool shared = true;
  for (std::size_t i = 0; i < here_.size(); ++i) {
    const Ref<Buffer>&from = c->shards[to_global_ ? i : here_[i]], &to = o.shards[to_global_ ? here_[i] : i];
    shared &= from && to && from->data() == to->data() && from->device_id() == to->device_id();
  }
  if (shared) {
    const std::lock_guard lock(mutex_);
    last_ = {c->placement, o.placement};
  }
  return out;
}

Array run_process_local(const Primitive& op, const ParamsBase& params, const Array& x, SourceLoc loc) {
  return ProcessMove(op, params, loc).run(x, loc);
}

}  // namespace weft::detail
