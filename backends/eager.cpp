#include "weft/backends/eager.h"

#include <fmt/core.h>

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "weft/backends/interp/interp.h"
#include "weft/core/array/array_lists.h"
#include "weft/core/base/process_wide.h"
#include "weft/core/ir/effects.h"
#include "weft/core/ops/contraction/terms.h"
#include "weft/core/ops/control/call.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/trace/trace.h"
#include "weft/runtime/host/accelerator.h"
#include "weft/runtime/host/blocks.h"
#include "weft/runtime/host/buffer.h"
#include "weft/runtime/host/device.h"
#include "weft/runtime/host/executable.h"
#include "weft/runtime/host/process_end.h"
#include "weft/runtime/host/program_cache.h"
#include "weft/runtime/processes/process_local.h"
#include "weft/runtime/processes/processes.h"
#include "weft/runtime/sharded/global_arrays.h"
#include "weft/runtime/sharded/sharded_call.h"
#include "weft/runtime/sharded/spmd.h"

namespace weft::detail {
namespace {

bool is_sharded(const Array& x) {
  const ConcreteArray* c = as_concrete(x);
  return c && !c->buffer;
}

/// Where an operation runs, as its committed operands say.
struct Target {
  const ConcreteArray* committed = nullptr;  ///< the first committed operand; null: the thread's default device
  bool sharded = false;
};
Target target_of(const Primitive& op, std::span<const Array> inputs, SourceLoc loc) {
  Target target;
  for (const Array& x : inputs) {
    const ConcreteArray* c = as_concrete(x);
    if (!c || !c->placement) continue;
    target.sharded |= !c->buffer;
    if (!target.committed) {
      target.committed = c;
      continue;
    }
    if (c->placement.get() == target.committed->placement.get()) continue;
    const Sharding a = sharding_of(*target.committed), b = sharding_of(*c);
    if (a.named().mesh().axes().device_ids != b.named().mesh().axes().device_ids) {
      const auto [one, other] = described_apart(a, b);
      throw DeviceError(
          fmt::format("{}: operands are committed to different devices, {} and {}; move one with device_put", op.name, one, other), loc);
    }
  }
  return target;
}

/// The same value on every device of a mesh.
Array replicate(const Array& x, const Sharding& where, const Ref<const Placement>& placement) {
  const std::vector<int>& ids = where.named().mesh().axes().device_ids;
  const std::vector<std::size_t> here = local_positions(ids);
  std::vector<Ref<Buffer>> shards(ids.size());
  const Ref<Buffer> whole = whole_of(x, ids[here.at(0)]);
  for (std::size_t k : here) shards[k] = shared_with(whole, ids[k]);
  return Array(Ref<ArrayImpl>(new ConcreteArray(x.aval(), std::move(shards), placement)));
}

/// The operand that the device at a position of the mesh needs for its block of the result; dimensions of size 1 are not sharded.
Array local_operand(const Array& x, const MeshAxes& mesh, const PartitionSpec& spec, const Shape& result_block, std::int64_t position) {
  if (x.ndim() == 0 && !is_sharded(x)) return x;
  const ConcreteArray* c = as_concrete(x);
  Shape block = x.shape();
  std::vector<std::int64_t> start = block_start(mesh, spec, result_block, position);
  for (int d = 0; d < block.size(); ++d)
    if (block[d] != 1)
      block[d] = result_block[d];
    else
      start[static_cast<std::size_t>(d)] = 0;
  const auto k = static_cast<std::size_t>(position);
  if (c && !c->buffer && x.ndim() > 0) {
    const Sharding s = sharding_of(*c);
    if (equivalent_shardings(s.named().mesh().axes(), s.named().spec(), mesh, spec, x.shape()))
      return wrap_buffer(x.aval().with_shape(block), c->shards[k]);
  }
  return wrap_buffer(x.aval().with_shape(block), box_of(x, start, block, mesh.device_ids[k]));
}

constexpr double kWorthCompiling = 65536;  // elements read or written, or products summed

/// How much there is to do: an estimate, in elements.
double work_of(const Primitive& op, const ParamsBase& params, std::span<const Array> inputs, std::span<const Aval> out_avals) {
  double most = 0;
  for (const Array& x : inputs) most = std::max(most, static_cast<double>(x.size()));
  for (const Aval& a : out_avals) most = std::max(most, static_cast<double>(a.size()));
  // An element of a result sums no more terms than an operand has elements: for small arrays there is no need to ask.
  return most * most <= kWorthCompiling ? most : std::max(most, summed_terms(op, params, avals_of(inputs), out_avals));
}

bool is_compiled(const Primitive& op, const ParamsRef& params, std::span<const Array> inputs, std::span<const Aval> out_avals) {
  if (config.debug_nans) return false;
  switch (op.kind) {
    // A callback that is traced anew is equal to none before: nothing compiled for it would be used again.
    case Kind::control: return !calls_back(Eqn{&op, params, {}, {}, {}});
    case Kind::call:
    case Kind::spmd:
    case Kind::collective:
    case Kind::effect:
    case Kind::library: return false;
    default: return !op.has_effects && work_of(op, *params, inputs, out_avals) > kWorthCompiling;
  }
}

/// On operands that each are in one place: small work by the reference function, large work as a program of one equation, compiled once.
std::vector<Array> run_on(const Primitive& op, const ParamsRef& params, std::span<const Array> inputs, std::span<const Aval> out_avals,
                          int device, SourceLoc loc) {
  // On a GPU everything is compiled that can be, so that it stays there.
  const bool elsewhere = is_accelerator(device) && !config.debug_nans && op.reference && !op.has_effects;
  if (!elsewhere && !is_compiled(op, params, inputs, out_avals)) return interpret_eqn(op, params, inputs, out_avals, device, loc);
  JaxprBuilder builder;
  std::vector<Atom> operands;
  std::vector<Array> values;
  for (const Array& x : inputs) {
    operands.push_back(builder.add_input(x.aval()));
    const ConcreteArray* c = as_concrete(x);
    values.push_back(c && c->placement ? wrap_buffer(x.aval(), c->buffer) : x);
  }
  const std::vector<Atom> results = builder.add_eqn(op, params, std::move(operands), out_avals, loc);
  const Jaxpr program = std::move(builder).finish(results);
  return cached_executable(Device::of_id(device).platform(), program, {std::string(op.name), {}})->call(values, device);
}

/// Whether operands that are sharded are all sharded alike, so that the result of an elementwise operation is, too.
bool sharded_alike(std::span<const Array> inputs, const Array& lead) {
  const ConcreteArray& first = *as_concrete(lead);
  const NamedSharding a = sharding_of(first).named();
  return std::all_of(inputs.begin(), inputs.end(), [&](const Array& x) {
    const ConcreteArray* c = as_concrete(x);
    if (!c || c->buffer || c->placement.get() == first.placement.get()) return true;
    const NamedSharding b = sharding_of(*c).named();
    return !(a.mesh() == b.mesh()) || (x.shape() == lead.shape() && a == b);
  });
}

/// An elementwise operation whose result is sharded as its first sharded operand of the same shape: each device computes its block.
std::optional<std::vector<Array>> run_by_blocks(const Primitive& op, const ParamsRef& params, std::span<const Array> inputs,
                                                std::span<const Aval> out_avals, SourceLoc loc) {
  if (op.kind != Kind::elementwise || out_avals.size() != 1) return {};
  const auto lead =
      std::find_if(inputs.begin(), inputs.end(), [&](const Array& x) { return is_sharded(x) && x.shape() == out_avals[0].shape; });
  if (lead == inputs.end() || !sharded_alike(inputs, *lead)) return {};
  const ConcreteArray& c = *as_concrete(*lead);
  const Sharding where = sharding_of(c);
  const MeshAxes& mesh = where.named().mesh().axes();
  const PartitionSpec& spec = where.named().spec();
  const Shape block = block_shape(mesh, spec, out_avals[0].shape);
  std::vector<Ref<Buffer>> shards(mesh.device_ids.size());
  for (std::size_t k : local_positions(mesh.device_ids)) {
    std::vector<Array> local;
    for (const Array& x : inputs) local.push_back(local_operand(x, mesh, spec, block, static_cast<std::int64_t>(k)));
    const Aval aval = out_avals[0].with_shape(block);
    shards[k] = whole_of(run_on(op, params, local, {&aval, 1}, mesh.device_ids[k], loc)[0], mesh.device_ids[k]);
  }
  return std::vector<Array>{Array(Ref<ArrayImpl>(new ConcreteArray(out_avals[0], std::move(shards), c.placement)))};
}

/// Where a movement's result begins in its operand, if it is a piece of it with all dimensions as they are.
std::optional<std::vector<std::int64_t>> start_of_piece(const Primitive& op, const ParamsBase& params, const Aval& in, const Aval& out) {
  if (op.kind != Kind::movement || in.ndim() != out.ndim()) return {};
  const Movement m = op.movement(params, {&in, 1}, out, 0);
  if (m.guarded || m.reshape) return {};
  std::vector<std::int64_t> start;
  for (std::size_t d = 0; d < m.dims.size(); ++d) {
    const MovementDim& dim = m.dims[d];
    if (dim.out_dim != static_cast<int>(d) || dim.scale != 1 || dim.divisor != 1 || dim.modulus != 0) return {};
    start.push_back(dim.offset);
  }
  return start;
}

/// Sharded as jit shards it: a program of one equation, partitioned over the mesh of the operands and compiled once. Nothing where that
/// can't be.
std::optional<std::vector<Array>> run_partitioned(const Primitive& op, const ParamsRef& params, std::span<const Array> inputs,
                                                  std::span<const Aval> out_avals, SourceLoc loc) {
  if (config.debug_nans || op.has_effects) return {};
  JaxprBuilder builder;
  std::vector<Atom> operands;
  for (const Array& x : inputs) operands.push_back(builder.add_input(x.aval()));
  const std::vector<Atom> results = builder.add_eqn(op, params, std::move(operands), out_avals, loc);
  return call_sharded(std::string(op.name), std::move(builder).finish(results), inputs);
}

/// Whether each process that has a device of the mesh has the block of the device at a position.
bool all_processes_have(const MeshAxes& mesh, const PartitionSpec& spec, const Shape& block, std::size_t position) {
  const std::vector<std::int64_t> begin = block_start(mesh, spec, block, static_cast<std::int64_t>(position));
  std::vector<int> ids;
  for (std::size_t k = 0; k < mesh.device_ids.size(); ++k)
    if (block_start(mesh, spec, block, static_cast<std::int64_t>(k)) == begin) ids.push_back(mesh.device_ids[k]);
  return processes().processes_of(ids) == processes().processes_of(mesh.device_ids);
}

/// A piece that is within one device's block stays on that device, uncommitted; of a global array, where all processes have the block, so
/// that all do the same.
std::optional<std::vector<Array>> slice_one_shard(const Primitive& op, const ParamsRef& params, const Array& x, const Aval& out) {
  if (!is_sharded(x)) return {};
  const auto piece = start_of_piece(op, *params, x.aval(), out);
  if (!piece) return {};
  const ConcreteArray& c = *as_concrete(x);
  const NamedSharding s = sharding_of(c).named();
  if (sharding_of(c).is_fully_replicated()) return {};
  const MeshAxes& mesh = s.mesh().axes();
  const Shape block = block_shape(mesh, s.spec(), x.shape());
  for (std::size_t k = 0; k < c.shards.size(); ++k) {
    const std::vector<std::int64_t> begin = block_start(mesh, s.spec(), block, static_cast<std::int64_t>(k));
    bool inside = true;
    std::vector<std::int64_t> start(begin.size());
    for (std::size_t d = 0; d < begin.size(); ++d) {
      const int dim = static_cast<int>(d);
      inside &= (*piece)[d] >= begin[d] && (*piece)[d] + out.shape[dim] <= begin[d] + block[dim];
      start[d] = (*piece)[d] - begin[d];
    }
    if (!inside) continue;
    if (has_remote_shards(c) && !all_processes_have(mesh, s.spec(), block, k)) return {};
    if (c.shards[k])
      return std::vector<Array>{
          wrap_buffer(out, box_of(wrap_buffer(x.aval().with_shape(block), c.shards[k]), start, out.shape, mesh.device_ids[k]))};
  }
  return {};
}

/// Another shape of the same elements, where they are.
std::optional<std::vector<Array>> reshaped_in_place(const Primitive& op, const ParamsRef& params, std::span<const Array> inputs,
                                                    std::span<const Aval> out) {
  if (inputs.size() != 1 || out.size() != 1) return {};
  const ConcreteArray* c = as_concrete(inputs[0]);
  if (!c || !c->buffer || !is_view(op, *params, c->aval, out[0])) return {};
  if (!c->placement) return std::vector<Array>{wrap_buffer(out[0], c->buffer)};
  return std::vector<Array>{placed_as_operand(out[0], c->buffer, c->placement, c->aval.ndim())};
}

/// Whether an operation makes a number of numbers, which no device needs to be asked for.
bool makes_number(std::span<const Array> inputs, std::span<const Aval> out_avals) {
  return out_avals.size() == 1 && out_avals[0].weak && out_avals[0].shape.empty() && out_avals[0].dtype.is_inexact() &&
         std::all_of(inputs.begin(), inputs.end(), [](const Array& x) { return as_literal(x); });
}

std::vector<Array> execute(const Primitive& op, const ParamsRef& params, std::span<const Array> inputs, std::span<const Aval> out_avals,
                           SourceLoc loc) {
  if (auto results = reshaped_in_place(op, params, inputs, out_avals)) return *results;
  const Target target = target_of(op, inputs, loc);
  if (!target.committed) {
    const int device = default_device_id();
    const bool on_host = is_accelerator(device) && makes_number(inputs, out_avals);
    return run_on(op, params, inputs, out_avals, on_host ? processes().first_local() : device, loc);
  }
  const Sharding where = sharding_of(*target.committed);
  const std::vector<std::size_t> here = local_positions(where.named().mesh().axes().device_ids);
  if (here.empty())
    throw DeviceError(
        fmt::format("{}: its operands are on {}, none of which is this process's", op.name, target.committed->placement->describe()), loc);
  const int device = where.named().mesh().axes().device_ids[here[0]];
  if (!target.sharded) {
    std::vector<Array> results = run_on(op, params, inputs, out_avals, device, loc);
    for (Array& x : results)
      x = placed_as_operand(x.aval(), whole_of(x, device), target.committed->placement, target.committed->aval.ndim());
    return results;
  }
  if (auto results = run_by_blocks(op, params, inputs, out_avals, loc)) return *results;
  if (inputs.size() == 1 && out_avals.size() == 1)
    if (auto results = slice_one_shard(op, params, inputs[0], out_avals[0])) return *results;
  if (auto results = run_partitioned(op, params, inputs, out_avals, loc)) return *results;
  std::vector<Array> gathered;
  // What belongs to several processes is gathered by all of them: each computes the result.
  for (const Array& x : inputs)
    gathered.push_back(is_sharded(x) ? has_remote_shards(*as_concrete(x)) ? allgather_array(x, false, loc)
                                                                          : wrap_buffer(x.aval(), whole_of(x, device))
                                     : x);
  std::vector<Array> results = run_on(op, params, gathered, out_avals, device, loc);
  const Sharding everywhere(NamedSharding(where.named().mesh(), PartitionSpec()));
  const Ref<const Placement> placement = make_placement(everywhere);
  for (Array& x : results) x = replicate(x, everywhere, placement);
  return results;
}

/// A program of a jit, where its operands are: in one place, or sharded over a mesh. `is_admitted`: asked before it is compiled.
std::optional<std::vector<Array>> run_compiled(const std::string& name, const Jaxpr& j, std::span<const Array> inputs,
                                               FunctionRef<bool()> is_admitted) {
  const ConcreteArray* committed = nullptr;
  for (const Array& x : inputs) {
    const ConcreteArray* c = as_concrete(x);
    if (!c || !c->placement) continue;
    if (!c->buffer) return call_sharded(name, j, inputs);
    if (committed && committed->buffer->device_id() != c->buffer->device_id()) return {};
    committed = c;
  }
  const int device = committed ? committed->buffer->device_id() : default_device_id();
  const std::string platform = Device::of_id(device).platform();
  Ref<Executable> program = known_executable(platform, j);
  if (!program) {
    if (!is_admitted()) return {};
    program = cached_executable(platform, j, {name, {}});
  }
  std::vector<Array> results = program->call(inputs, device);
  if (committed)
    for (Array& x : results)
      if (const ConcreteArray* c = as_concrete(x); c && !c->placement)
        x = placed_as_operand(c->aval, c->buffer, committed->placement, committed->aval.ndim());
  return results;
}

/// A hash of a program's operations and types, whatever its numbers and parameters.
std::uint64_t hash_of_operations(const Jaxpr& j) {
  const JaxprData& d = j.data();
  std::uint64_t h = d.eqns.size();
  const auto add = [&](std::uint64_t word) { h = (h ^ word) * 0x9e3779b97f4a7c15ULL, h ^= h >> 32; };
  for (const Aval& a : d.avals) {
    add(static_cast<std::uint64_t>(a.dtype.id()));
    for (const std::int64_t n : a.shape) add(static_cast<std::uint64_t>(n));
  }
  for (const Eqn& e : d.eqns) add(reinterpret_cast<std::uintptr_t>(e.op));
  return h;
}

/// How many programs of the same operations and types were compiled. A loop whose number of steps, rate, or place changes at each step
/// makes a new program each time, and must not compile them all.
class Variants {
 public:
  /// Whether one more of this hash may be compiled.
  bool admit(std::uint64_t operations, std::uint64_t program) {
    const std::lock_guard lock(mutex_);
    if (variants_.size() > kMost) variants_.clear();
    std::vector<std::uint64_t>& known = variants_[operations];
    if (contains_program(known, program)) return true;
    if (known.size() >= kOfOne) return false;
    known.push_back(program);
    return true;
  }

 private:
  static bool contains_program(const std::vector<std::uint64_t>& known, std::uint64_t program) {
    return std::find(known.begin(), known.end(), program) != known.end();
  }
  static constexpr std::size_t kMost = 4096, kOfOne = 8;
  ProcessMutex mutex_{LockRank::eager_variants};
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> variants_;
};

}  // namespace

std::optional<std::vector<Array>> execute_program_eagerly(const Jaxpr& j, std::span<const Array> inputs) {
  if (std::any_of(inputs.begin(), inputs.end(), is_sharded)) return {};
  static auto& variants = process_wide<Variants>();
  static const auto& name = process_wide<std::string>("eager program");
  EagerScope eager;
  std::optional<std::vector<Array>> results =
      run_compiled(name, j, inputs, [&] { return variants.admit(hash_of_operations(j), structural_hash(j)); });
  if (!results) return {};
  // Programs that differ in weak types alone are compiled once.
  for (std::size_t k = 0; k < results->size(); ++k) {
    const Aval& aval = j.data().aval(j.data().outputs[k]);
    const ConcreteArray* c = as_concrete((*results)[k]);
    if (!c || c->aval.weak == aval.weak) continue;
    (*results)[k] = c->placement ? placed_as_operand(aval, c->buffer, c->placement, aval.ndim()) : wrap_buffer(aval, c->buffer);
  }
  return results;
}

std::vector<Array> execute_eagerly(const Primitive& op, const ParamsRef& params, std::span<const Array> inputs,
                                   std::span<const Aval> out_avals, SourceLoc loc) {
  if (op.kind == Kind::call) {
    EagerScope eager;
    const Jaxpr body = executed_body(op, *params, avals_of(inputs));
    if (const auto compiled_as = call_traits(op).compiled_as; compiled_as && !config.debug_nans)
      if (auto results = run_compiled(compiled_as(*params), body, inputs, [] { return true; })) return *results;
    return eval_jaxpr(body, inputs);
  }
  if (process_move(op)) return {run_process_local(op, *params, inputs[0], loc)};
  if (op.kind == Kind::spmd) {
    EagerScope eager;
    return spmd_program(params, backend(config.debug_nans ? "interp" : "cpu"))->run(inputs, loc);
  }
  return execute(op, params, inputs, out_avals, loc);
}

}  // namespace weft::detail
