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

[[noreturn]] void throw_places(const CompiledFunction& f, std::span<const Array> inputs, std::size_t num_consts, std::size_t first,
                               std::size_t other, const MeshAxes& mesh, FunctionRef<Skeleton()> arguments, SourceLoc loc) {
  const std::vector<std::string> paths = leaf_paths(arguments());
  const auto name = [&](std::size_t i) {
    return fmt::format("{}, {},", i < num_consts ? std::string("a value that it captures") : paths[i - num_consts],
                       to_string(inputs[i].aval()));
  };
  const ConcreteArray& b = *placed(inputs[other]);
  std::string message;
  if (first == inputs.size()) {
    message = fmt::format("jit of {}: {} is on {}, and the function shards values over {} on {}", f.name(), name(other),
                          described(sharding_of(b)), print_param(mesh), device_list(mesh.device_ids));
  } else {
    const auto [one, two] = described_apart(sharding_of(*placed(inputs[first])), sharding_of(b));
    message = fmt::format("jit of {}: {} is sharded as {}, and {} is on {}", f.name(), name(first), one, name(other), two);
  }
  const std::string remedy = "; move one with device_put or reshard";
  if (b.buffer) throw DeviceError(message + remedy, loc);
  throw ShardingError(message + remedy, loc);
}

}  // namespace

Ref<CompiledFunction> ShardedPrograms::find(const CompiledFunction& f, std::span<const Array> arguments_given,
                                            FunctionRef<Skeleton()> arguments, SourceLoc loc) {
  const auto divided = [](const Array& x) { return placed(x) && !placed(x)->buffer; };
  if (std::none_of(arguments_given.begin(), arguments_given.end(), divided)) {
    const std::lock_guard lock(mutex_);
    if (!divides_) {
      const std::vector<Array>& consts = f.jaxpr().data().consts;
      divides_ = !constrained_meshes(f.jaxpr()).empty() || std::any_of(consts.begin(), consts.end(), divided);
    }
    if (!*divides_) return {};
  }
  const Hoisted& h = [&]() -> const Hoisted& {
    const std::lock_guard lock(mutex_);
    if (!hoisted_) {
      hoisted_ = hoist_consts(f.jaxpr());
      constrained_ = constrained_meshes(hoisted_->jaxpr);
    }
    return *hoisted_;
  }();
  std::vector<Array> inputs = h.consts;
  inputs.insert(inputs.end(), arguments_given.begin(), arguments_given.end());
  const std::size_t num_consts = h.consts.size();
  std::size_t first = 0;
  while (first < inputs.size() && !divided(inputs[first])) ++first;

  MeshAxes first_mesh;
  if (first < inputs.size()) {
    first_mesh = sharding_of(*placed(inputs[first])).named().mesh().axes();
  } else {
    if (constrained_.empty() || constrained_[0].num_devices() == 1) return {};
    first_mesh = mesh_of(constrained_[0]).axes();
  }
  const MeshAxes mesh = mesh_for(first_mesh, inputs);
  std::vector<PartitionSpec> specs;
  std::size_t misplaced = inputs.size();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    specs.emplace_back();
    const ConcreteArray* x = placed(inputs[i]);
    if (!x) continue;
    const NamedSharding s = sharding_of(*x).named();
    const MeshAxes& own = s.mesh().axes();
    if (!x->buffer && own == mesh) {
      specs.back() = s.spec().trimmed();
      continue;
    }
    std::optional<PartitionSpec> spec;
    if (!x->buffer && own.device_ids == mesh.device_ids) spec = spec_over(mesh, s.spec(), own);
    if (spec)
      specs.back() = *spec;
    else
      misplaced = std::min(misplaced, i);
  }
  const std::lock_guard lock(mutex_);
  const auto known = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& e) { return e.mesh == mesh && e.specs == specs && e.results_over == first_mesh; });
  Ref<CompiledFunction> program;
  if (known != entries_.end()) {
    program = known->program;
  } else {
    if (const std::optional<Jaxpr> j = partition(h.jaxpr, mesh, specs, &first_mesh)) {
      const Jaxpr own = trace_jaxpr({"jit of " + f.name(), avals_of(arguments_given), {}}, [&](std::span<const Array> args) {
        std::vector<Array> all = h.consts;
        all.insert(all.end(), args.begin(), args.end());
        return eval_jaxpr(*j, all);
      });
      program = make_ref<CompiledFunction>(f.name(), own, f.donated(), -1);
      program->set_numbers(f.numbers());
    }
    constexpr std::size_t kMost = 256;
    if (entries_.size() >= kMost) entries_.erase(entries_.begin());  // those that known_ has are kept by it
    entries_.push_back({mesh, first_mesh, specs, program});
  }
  if (program && misplaced < inputs.size()) throw_places(f, inputs, num_consts, first, misplaced, mesh, arguments, loc);
  if (misplaced == inputs.size() && f.donated().empty() && !reshards_implicitly()) add_known(arguments_given, program);
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
  const auto divides = [](const std::optional<weft::Placement>& p) { return p && p->sharding().named().mesh().size() > 1; };
  if (std::none_of(in.begin(), in.end(), divides) && std::none_of(out.begin(), out.end(), divides)) return j;
  const auto constrain = [&](std::vector<Array> values, const std::vector<std::optional<weft::Placement>>& where) {
    for (std::size_t i = 0; i < where.size(); ++i)
      if (divides(where[i])) {
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
