// Compiling a program (see compiled.h): read, partitioned over its devices where there are several, and compiled by weft's backend.
#include "weft/frontends/pjrt/compiled.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "weft/core/array/constructors.h"
#include "weft/core/base/hash.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/ir/rewrite.h"
#include "weft/core/ir/sealed_program.h"
#include "weft/core/ops/collective/shard_map.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/reduce/reduce.h"
#include "weft/core/trace/trace.h"
#include "weft/frontends/pjrt/inspected.h"
#include "weft/frontends/stablehlo/module/narrow.h"
#include "weft/runtime/host/blocks.h"
#include "weft/runtime/host/program_cache.h"
#include "weft/runtime/partition/partition.h"
#include "weft/transforms/jit/jit_sharded.h"

namespace weft::pjrt {
namespace {

using detail::MeshAxes;
using detail::Ref;

constexpr const char* kMemoryKinds[] = {"device", "pinned_host", "unpinned_host"};

const char* memory_kind(const std::string& kind) {
  if (kind.empty()) return kMemoryKinds[0];
  for (const char* k : kMemoryKinds)
    if (kind == k) return k;
  invalid(fmt::format("there is no memory of the kind `{}`; there are device, pinned_host and unpinned_host", kind));
}

/// In which order an argument or a result of a program lies. An argument that is left to the compiler is row-major.
Order order_of_value(const detail::ProgramValue& v) {
  const std::string& mode = v.layout_mode;
  if (mode.empty() || mode == "default" || mode == "auto") return {};
  return order_of(mode, static_cast<std::size_t>(v.type.shape.size()));
}

/// In which order a result lies. One that is left to the compiler and has the dimensions of another value in another order lies as that one
/// does, so that no element moves; any other is row-major.
Order order_of_result(const detail::ImportedProgram& program, std::size_t i, const std::vector<Port>& arguments) {
  const detail::ProgramValue& v = program.results[i];
  if (v.layout_mode != "auto" || (v.sharding && !v.sharding->unreduced.empty())) return order_of_value(v);
  const detail::JaxprData& j = program.jaxpr.data();
  if (j.outputs[i].is_literal()) return {};
  for (const Eqn& e : j.eqns) {
    if (e.outputs[0] != j.outputs[i].var() || e.inputs.size() != 1 || e.inputs[0].is_literal()) continue;
    const detail::Var from = e.inputs[0].var();
    const std::optional<std::vector<int>> permutation = detail::permutation_of(*e.op, *e.params, j.avals[from], j.avals[e.outputs[0]]);
    if (!permutation) return {};
    Order order;
    if (from >= j.first_input() && from < j.first_result()) order = arguments[static_cast<std::size_t>(from - j.first_input())].order;
    order.tiles.clear();
    if (order.empty()) order.resize(permutation->size()), std::iota(order.begin(), order.end(), 0);
    for (int& d : order) d = static_cast<int>(std::find(permutation->begin(), permutation->end(), d) - permutation->begin());
    return std::is_sorted(order.begin(), order.end()) ? Order() : order;
  }
  return {};
}

/// Whether a module says where a value is over that many partitions: not where every dimension is left open.
bool states_sharding(const detail::ProgramValue& v, int num_partitions) {
  if (!v.sharding || v.sharding->mesh.axes.names.empty() || v.sharding->mesh.axes.num_devices() != num_partitions) return false;
  return v.sharding->open.empty() || !v.sharding->spec.trimmed().dims().empty() || !v.sharding->unreduced.empty();
}

/// The program of arrays as its ports have them: with dimensions in the order of memory, of one whose addends devices hold, with these
/// along a leading dimension, and of elements that weft has no dtype of, with their bits (0 is 0 in all of them).
Jaxpr as_ports_have_them(const Jaxpr& j, const std::vector<Port>& arguments, const std::vector<Port>& results) {
  const auto differs = [](const Port& p) { return p.is_sum || p.narrow || !p.order.empty(); };
  if (std::none_of(arguments.begin(), arguments.end(), differs) && std::none_of(results.begin(), results.end(), differs)) return j;
  std::vector<detail::Aval> inputs;
  for (const Port& p : arguments) inputs.push_back(p.whole);
  return detail::trace_jaxpr({"pjrt program", inputs, {}}, [&](std::span<const Array> args) {
    std::vector<Array> in(args.begin(), args.end());
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (arguments[i].narrow) in[i] = from_bits(*arguments[i].narrow, in[i]);
      if (arguments[i].is_sum) in[i] = detail::reduce_sum(in[i], {0}, {});
      if (arguments[i].order.empty()) continue;
      std::vector<int> back;
      for (int d = 0; d < in[i].ndim(); ++d) back.push_back(arguments[i].stored_at(d));
      in[i] = detail::permute(in[i], back, {});
    }
    std::vector<Array> out = detail::eval_jaxpr(j, in);
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (results[i].narrow) out[i] = to_bits(*results[i].narrow, out[i]);
      if (!results[i].order.empty()) out[i] = detail::permute(out[i], results[i].order, {});
      if (!results[i].is_sum) continue;
      // The first device has the array, the others zeros.
      const Shape& shape = results[i].whole.shape;
      std::vector<int> behind(static_cast<std::size_t>(out[i].ndim()));
      std::iota(behind.begin(), behind.end(), 1);
      const Array first = detail::iota_array(int32, shape, 0, {}) == detail::make_literal(detail::Number(0), int32);
      out[i] = where(first, detail::broadcast_in_dim(out[i], shape, behind, {}), detail::make_literal(detail::Number(0), out[i].dtype()));
    }
    return out;
  });
}

}  // namespace

Compiled::Compiled(const Client& client, std::string_view code_in, std::string_view format_in, std::string_view options_in)
    : code(code_in), format(format_in), options_bytes(options_in), options(parse_options(options_in)) {
  if (format != "mlir") not_supported(fmt::format("a program in the format `{}`", format));
  if (options.num_replicas > 1 && options.num_partitions > 1)
    not_supported(fmt::format("{} replicas of {} partitions", options.num_replicas, options.num_partitions));
  for (const std::string& name_set : options.overrides)
    if (name_set.rfind("xla_", 0) != 0) invalid(fmt::format("No such compile option: '{}'", name_set));
  const Inspections inspections;
  const detail::ImportedProgram program = detail::import_program(code, "program", {});
  name = program.name;
  num_devices = options.num_replicas * options.num_partitions;
  if (program.num_partitions != 1 && program.num_partitions != options.num_partitions)
    invalid(fmt::format("the program is written for {} partitions, and compiled for {}", program.num_partitions, options.num_partitions));
  if (program.num_replicas != options.num_replicas)
    invalid(fmt::format("the program is written for {} replicas, and compiled for {}", program.num_replicas, options.num_replicas));
  devices = options.devices;
  if (devices.empty())
    for (int i = 0; i < num_devices; ++i) devices.push_back(i);
  for (int id : devices) client.device(id);
  fingerprint = fmt::format("{:016x}{:016x}", detail::fnv_of(code, detail::fnv_of(options_bytes)),
                            detail::fnv_of(platform_version(), detail::fnv_of(code, 88172645463325252u)));
  place_ports(client, program);

  detail::EagerScope eager;
  Jaxpr jaxpr = as_ports_have_them(program.jaxpr, arguments, results);
  bool is_partitioned = false;
  if (num_devices > 1) {
    // Where results are to be is part of the program; what is left open follows from the arguments.
    std::vector<std::optional<Placement>> in(arguments.size()), out;
    for (std::size_t i = 0; i < results.size(); ++i)
      out.push_back(states_sharding(program.results[i], num_devices) ? std::optional<Placement>(*results[i].sharding) : std::nullopt);
    const MeshAxes* mesh = nullptr;
    bool one_mesh = true;
    const auto look = [&](const Port& p) {
      if (!mesh)
        mesh = &p.sharding->mesh().axes();
      else
        one_mesh &= *mesh == p.sharding->mesh().axes();
    };
    std::for_each(arguments.begin(), arguments.end(), look);
    std::for_each(results.begin(), results.end(), look);
    const Jaxpr constrained = one_mesh ? detail::with_constraints(jaxpr, in, out, {}) : jaxpr;
    if (mesh && one_mesh) {
      std::vector<PartitionSpec> specs;
      for (const Port& p : arguments) specs.push_back(p.sharding->spec());
      std::optional<Jaxpr> partitioned;
      try {
        partitioned = detail::partition(constrained, *mesh, specs);
      } catch (const ShardingError&) {
        // A value that is sharded over another mesh: the program's maps still run on their devices.
      }
      is_partitioned = partitioned.has_value();
      if (partitioned) jaxpr = *partitioned;
    }
    // A sharding that isn't stated for a result is the one with which its map gives it.
    for (std::size_t i = 0; i < results.size(); ++i)
      if (const detail::Atom a = jaxpr.data().outputs[i]; !out[i] && !a.is_literal())
        for (const Eqn& e : jaxpr.data().eqns) {
          const detail::ShardMapParams* map = detail::device_map(e);
          if (!map || map->mesh.num_devices() != num_devices) continue;
          for (std::size_t k = 0; k < e.outputs.size(); ++k)
            if (e.outputs[k] == a.var()) set_sharding(results[i], NamedSharding(mesh_on(map->mesh), map->out_specs[k]));
        }
  }
  inspections.tell(is_partitioned, [&](int device) { return partition_on(device); });
  keep_what_no_result_takes(program);
  std::vector<bool> donated;
  for (const Port& p : arguments) donated.push_back(p.is_donated);
  if (std::find(donated.begin(), donated.end(), true) == donated.end()) donated.clear();
  const detail::ProgramEffects& effects = detail::effects_of(jaxpr);
  calls_back_ = effects.calls_back, has_open_loops_ = effects.may_not_end;
  executable_ = detail::cached_executable(client.device(devices[0]).device.platform(), jaxpr, {name, donated});
}

/// The devices of one of the program's meshes, or of a mesh of weft's devices.
Mesh Compiled::mesh_on(const MeshAxes& axes) const {
  std::vector<weft::Device> in_order;
  for (std::int64_t k = 0; k < axes.num_devices(); ++k) {
    const int id = axes.device_ids.empty() ? -1 : axes.device_ids[static_cast<std::size_t>(k)];
    const auto own = std::find_if(run_on_.begin(), run_on_.end(), [&](const weft::Device& d) { return d.id() == id; });
    const std::int64_t p = axes.device_ids.empty() ? k : own != run_on_.end() ? own - run_on_.begin() : id;
    if (p < 0 || p >= num_devices) invalid(fmt::format("a mesh names partition {} of {}", p, num_devices));
    in_order.push_back(run_on_[static_cast<std::size_t>(p)]);
  }
  return Mesh(in_order, Shape(axes.sizes), axes.names);
}

/// What each device has of the arguments and the results. The program's meshes number partitions; these are weft's first devices.
void Compiled::place_ports(const Client& client, const detail::ImportedProgram& program) {
  for (int k = 0; k < num_devices; ++k) run_on_.push_back(num_devices == 1 ? client.device(devices[0]).device : client.device(k).device);
  // For what says nothing: a mesh of all devices, over which it is the same; and for what each replica has.
  std::optional<Mesh> open;
  for (const detail::ProgramMesh& m : program.meshes)
    if (!open && m.axes.num_devices() == num_devices && !m.axes.names.empty()) open = mesh_on(m.axes);
  if (!open) open = Mesh(run_on_, Shape(std::int64_t{num_devices}), {num_replicas() > 1 ? "replica" : "partition"});

  const auto port = [&](const detail::ProgramValue& v, Order order) {
    Port p{v.narrow ? element_type_of(v.narrow->name) : element_type_of(v.type.dtype),
           {},
           {v.type.shape, v.narrow ? uint8 : v.type.dtype},
           memory_kind(v.memory_kind),
           v.is_donated || v.aliased_result,
           v.narrow,
           0,
           false,
           std::move(order),
           {},
           {},
           {}};
    const Shape& shape = v.type.shape;
    p.dims.assign(shape.begin(), shape.end());
    p.whole.shape = Shape(in_order(p.dims, p.order));
    if (num_replicas() > 1) {
      if (!p.order.empty()) not_supported("arrays of replicas in another order than rows");
      p.leading = num_replicas();
      p.whole.shape = p.whole.shape.inserted(0, p.leading);
      set_sharding(p, NamedSharding(*open, PartitionSpec(open->axes().names[0])));
      return p;
    }
    if (num_devices > 1) {
      if (v.sharding && v.sharding->is_maximal) not_supported("an argument or a result that is on one of several devices");
      const bool stated = states_sharding(v, num_devices);
      if (!v.other_sharding.empty() && v.other_sharding != "{replicated}" && v.other_sharding != "{unknown}")
        not_supported(fmt::format("the sharding {} of an argument or a result", v.other_sharding));
      PartitionSpec spec = stated ? v.sharding->spec : PartitionSpec();
      if (!p.order.empty()) {
        std::vector<std::vector<std::string>> dims;
        for (const int d : p.order) dims.push_back(spec.axes_of(d));
        spec = PartitionSpec::of(std::move(dims));
      }
      p.sharding = NamedSharding(stated ? mesh_on(v.sharding->mesh.axes) : *open, spec);
      if (stated && !v.sharding->unreduced.empty()) {
        if (v.type.dtype.is_bool()) invalid("an argument or a result is a sum of bools");
        if (!p.order.empty()) not_supported("a sum that devices hold addends of, in another order than rows");
        p.leading = v.sharding->mesh.axes.size_of(v.sharding->unreduced), p.is_sum = true;
        p.whole.shape = p.whole.shape.inserted(0, p.leading);
        std::vector<std::vector<std::string>> dims = v.sharding->spec.dims();
        dims.insert(dims.begin(), v.sharding->unreduced);
        p.sharding = NamedSharding(p.sharding->mesh(), PartitionSpec::of(std::move(dims)));
      }
      if (const std::string problem = detail::spec_problem(p.sharding->mesh().axes(), p.sharding->spec(), p.whole.shape); !problem.empty())
        invalid(problem);
      set_sharding(p, *p.sharding);
      return p;
    }
    return p;
  };
  for (const detail::ProgramValue& v : program.arguments) arguments.push_back(port(v, order_of_value(v)));
  for (std::size_t i = 0; i < program.results.size(); ++i)
    results.push_back(port(program.results[i], order_of_result(program, i, arguments)));
}

/// A donor that names no result gives its memory to one of the same size on each device, in the same tiles, which tell sizes apart where
/// memory is in tiles; it stays the caller's where none is left.
void Compiled::keep_what_no_result_takes(const detail::ImportedProgram& program) {
  const auto bytes = [](const Port& p) {
    std::int64_t n = size_of(p.type);
    for (const std::int64_t d : p.dims) n *= d;
    return n;
  };
  std::vector<bool> taken(results.size());
  for (const detail::ProgramValue& v : program.arguments)
    if (v.aliased_result) taken[static_cast<std::size_t>(*v.aliased_result)] = true;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!program.arguments[i].is_donated || program.arguments[i].aliased_result) continue;
    std::size_t k = 0;
    const auto fits = [&](const Port& p) { return bytes(p) == bytes(arguments[i]) && p.order.tiles == arguments[i].order.tiles; };
    while (k < results.size() && (taken[k] || !fits(results[k]))) ++k;
    arguments[i].is_donated = k < results.size();
    if (k < results.size()) taken[k] = true;
  }
}

void Compiled::set_sharding(Port& p, const NamedSharding& s) const {
  const MeshAxes& axes = s.mesh().axes();
  p.sharding = s;
  p.placement = detail::make_placement(s);
  const Shape block = detail::block_shape(axes, s.spec(), p.whole.shape);
  p.dims = out_of_order({block.begin() + (p.leading > 0 ? 1 : 0), block.end()}, p.order);
  p.partition_of.clear();
  for (int id : axes.device_ids) p.partition_of.push_back(partition_on(id));
}

std::size_t Compiled::partition_on(int device) const {
  return static_cast<std::size_t>(std::find_if(run_on_.begin(), run_on_.end(), [&](const weft::Device& d) { return d.id() == device; }) -
                                  run_on_.begin());
}

}  // namespace weft::pjrt
