#include "weft/transforms/jit/jit_sharded.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/array/array_impl.h"
#include "weft/core/errors/error.h"
#include "weft/core/ops/collective/sharding_constraint.h"
#include "weft/core/trace/trace.h"
#include "weft/runtime/host/blocks.h"
#include "weft/runtime/partition/common_mesh.h"
#include "weft/runtime/partition/partition.h"
#include "weft/transforms/autodiff/differentiate.h"

namespace weft::detail {
namespace {

/// The array if it is placed on devices, or null.
const ConcreteArray* placed(const Array& x) {
  const ConcreteArray* c = as_concrete(x);
  return c && c->placement ? c : nullptr;
}

bool is_sharded(const Array& x) { return placed(x) && !placed(x)->buffer; }

bool any_sharded(std::span<const Array> arrays) { return std::any_of(arrays.begin(), arrays.end(), is_sharded); }

}  // namespace

/// What a call computes with, and how that is sharded over one mesh.
struct ShardedPrograms::Inputs {
  std::vector<Array> arrays;   ///< what the function captured, then the arguments
  std::size_t num_consts = 0;  ///< how many were captured
  std::size_t first = 0;       ///< the first that is sharded; the number of arrays where none is
  std::size_t misplaced = 0;   ///< the first that is not on the mesh; the number of arrays where all are
  MeshAxes mesh, results_over;
  std::vector<PartitionSpec> specs;
};

bool ShardedPrograms::shards_values(const CompiledFunction& f) {
  const std::lock_guard lock(mutex_);
  if (!shards_values_) shards_values_ = !constrained_meshes(f.jaxpr()).empty() || any_sharded(f.jaxpr().data().consts);
  return *shards_values_;
}

const Hoisted& ShardedPrograms::hoisted(const CompiledFunction& f) {
  const std::lock_guard lock(mutex_);
  if (!hoisted_) {
    hoisted_ = hoist_consts(f.jaxpr());
    constrained_ = constrained_meshes(hoisted_->jaxpr);
  }
  return *hoisted_;
}

std::optional<ShardedPrograms::Inputs> ShardedPrograms::inputs_on_mesh(std::span<const Array> consts,
                                                                       std::span<const Array> arguments) const {
  Inputs r;
  r.num_consts = consts.size();
  r.arrays.assign(consts.begin(), consts.end());
  r.arrays.insert(r.arrays.end(), arguments.begin(), arguments.end());
  r.first = static_cast<std::size_t>(std::find_if(r.arrays.begin(), r.arrays.end(), is_sharded) - r.arrays.begin());
  if (r.first < r.arrays.size()) {
    r.results_over = sharding_of(*placed(r.arrays[r.first])).named().mesh().axes();
  } else {
    if (constrained_.empty() || constrained_[0].num_devices() == 1) return {};
    r.results_over = mesh_of(constrained_[0]).axes();
  }
  r.mesh = mesh_for(r.results_over, r.arrays);
  r.misplaced = r.arrays.size();
  for (std::size_t i = 0; i < r.arrays.size(); ++i) {
    r.specs.emplace_back();
    const ConcreteArray* x = placed(r.arrays[i]);
    if (!x) continue;
    const NamedSharding s = sharding_of(*x).named();
    const MeshAxes& own = s.mesh().axes();
    if (!x->buffer && own == r.mesh) {
      r.specs.back() = s.spec().trimmed();
      continue;
    }
    std::optional<PartitionSpec> spec;
    if (!x->buffer && own.device_ids == r.mesh.device_ids) spec = spec_over(r.mesh, s.spec(), own);
    if (spec)
      r.specs.back() = *spec;
    else
      r.misplaced = std::min(r.misplaced, i);
  }
  return r;
}

Ref<CompiledFunction> ShardedPrograms::find_or_partition(const CompiledFunction& f, const Hoisted& h, const Inputs& in) {
  const std::lock_guard lock(mutex_);
  const auto known = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) {
    return e.mesh == in.mesh && e.specs == in.specs && e.results_over == in.results_over;
  });
  if (known != entries_.end()) return known->program;
  Ref<CompiledFunction> program;
  if (const std::optional<Jaxpr> j = partition(h.jaxpr, in.mesh, in.specs, &in.results_over)) {
    const std::span<const Array> arguments = std::span(in.arrays).subspan(in.num_consts);
    const Jaxpr own = trace_jaxpr({"jit of " + f.name(), avals_of(arguments), {}}, [&](std::span<const Array> args) {
      std::vector<Array> all = h.consts;
      all.insert(all.end(), args.begin(), args.end());
      return eval_jaxpr(*j, all);
    });
    program = make_ref<CompiledFunction>(f.name(), own, f.donated(), -1);
    program->set_numbers(f.numbers());
  }
  constexpr std::size_t kMost = 256;
  if (entries_.size() >= kMost) entries_.erase(entries_.begin());  // those that known_ has are kept by it
  entries_.push_back({in.mesh, in.results_over, in.specs, program});
  return program;
}

void ShardedPrograms::throw_misplaced(const CompiledFunction& f, const Inputs& in, FunctionRef<Skeleton()> arguments, SourceLoc loc) {
  const std::vector<std::string> paths = leaf_paths(arguments());
  const auto name = [&](std::size_t i) {
    return fmt::format("{}, {},", i < in.num_consts ? std::string("a value that it captures") : paths[i - in.num_consts],
                       to_string(in.arrays[i].aval()));
  };
  const ConcreteArray& b = *placed(in.arrays[in.misplaced]);
  std::string message;
  if (in.first == in.arrays.size()) {
    message = fmt::format("jit of {}: {} is on {}, and the function shards values over {} on {}", f.name(), name(in.misplaced),
                          described(sharding_of(b)), print_param(in.mesh), device_list(in.mesh.device_ids));
  } else {
    const auto [one, two] = described_apart(sharding_of(*placed(in.arrays[in.first])), sharding_of(b));
    message = fmt::format("jit of {}: {} is sharded as {}, and {} is on {}", f.name(), name(in.first), one, name(in.misplaced), two);
  }
  const std::string remedy = "; move one with device_put or reshard";
  if (b.buffer) throw DeviceError(message + remedy, loc);
  throw ShardingError(message + remedy, loc);
}

Ref<CompiledFunction> ShardedPrograms::find(const CompiledFunction& f, std::span<const Array> arguments_given,
                                            FunctionRef<Skeleton()> arguments, SourceLoc loc) {
  if (!any_sharded(arguments_given) && !shards_values(f)) return {};
  const Hoisted& h = hoisted(f);
  const std::optional<Inputs> in = inputs_on_mesh(h.consts, arguments_given);
  if (!in) return {};
  const Ref<CompiledFunction> program = find_or_partition(f, h, *in);
  const bool all_placed = in->misplaced == in->arrays.size();
  if (program && !all_placed) throw_misplaced(f, *in, arguments, loc);
  if (all_placed && f.donated().empty() && !reshards_implicitly()) add_known(arguments_given, program);
  return program;
}

MeshAxes ShardedPrograms::mesh_for(const MeshAxes& first, std::span<const Array> inputs) const {
  std::vector<MeshAxes> meshes{first};
  const auto add = [&](const MeshAxes& mesh) {
    if (mesh.device_ids == first.device_ids && !std::count(meshes.begin(), meshes.end(), mesh)) meshes.push_back(mesh);
  };
  for (const Array& x : inputs)
    if (placed(x)) add(sharding_of(*placed(x)).named().mesh().axes());
  for (const MeshAxes& mesh : constrained_) add(mesh_of(mesh).axes());
  return common_mesh(meshes).value_or(first);
}

void ShardedPrograms::remember(std::span<const Array> inputs) {
  const std::lock_guard lock(mutex_);
  add_known(inputs, {});
}

void ShardedPrograms::add_known(std::span<const Array> inputs, const Ref<CompiledFunction>& program) {
  constexpr std::size_t kMost = 16;
  Known k;
  for (const Array& x : inputs) {
    const ConcreteArray* c = as_concrete(x);
    k.placements.push_back(c ? c->placement : Ref<const detail::Placement>());
  }
  k.program = program;
  for (const auto& known : known_)
    if (known->placements == k.placements) return last_.store(known.get(), std::memory_order_release);
  if (known_.size() >= kMost) return;
  known_.push_back(std::make_unique<const Known>(std::move(k)));
  last_.store(known_.back().get(), std::memory_order_release);
}

CompiledFunction* ShardedPrograms::same_as_last(std::span<const Array> inputs, CompiledFunction& whole) const {
  const Known* k = last_.load(std::memory_order_acquire);
  if (!k || k->placements.size() != inputs.size()) return nullptr;
  CompiledFunction* const function = k->program ? k->program.get() : &whole;
  if (!function->takes_placed()) return nullptr;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ArrayImpl::Kind kind = inputs[i].impl()->kind;
    if (kind == ArrayImpl::Kind::literal) {
      if (k->placements[i]) return nullptr;
      continue;
    }
    if (kind != ArrayImpl::Kind::concrete) return nullptr;
    const auto& c = static_cast<const ConcreteArray&>(*inputs[i].impl());
    if (c.placement.get() != k->placements[i].get() || (!c.buffer && c.shards.empty())) return nullptr;
  }
  return function;
}

Jaxpr with_constraints(const Jaxpr& j, const std::vector<std::optional<weft::Placement>>& in,
                       const std::vector<std::optional<weft::Placement>>& out, SourceLoc loc) {
  const auto shards = [](const std::optional<weft::Placement>& p) { return p && p->sharding().named().mesh().size() > 1; };
  if (std::none_of(in.begin(), in.end(), shards) && std::none_of(out.begin(), out.end(), shards)) return j;
  const auto constrain = [&](std::vector<Array> values, const std::vector<std::optional<weft::Placement>>& where) {
    for (std::size_t i = 0; i < where.size(); ++i)
      if (shards(where[i])) {
        const NamedSharding& s = where[i]->sharding().named();
        values[i] = bind_sharding_constraint(values[i], {s.mesh().axes(), s.spec()}, loc);
      }
    return values;
  };
  const auto avals = j.data().input_avals();
  return trace_jaxpr({"jit", {avals.begin(), avals.end()}, {}},
                     [&](std::span<const Array> args) { return constrain(eval_jaxpr(j, constrain({args.begin(), args.end()}, in)), out); });
}

}  // namespace weft::detail
