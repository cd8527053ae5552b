#include "weft/transforms/maps/pmap.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "weft/core/base/counted.h"
#include "weft/core/base/nesting.h"
#include "weft/core/base/sizes.h"
#include "weft/core/errors/error.h"
#include "weft/core/ir/sealed_program.h"
#include "weft/core/ops/collective/map_rows.h"
#include "weft/core/ops/collective/process_local.h"
#include "weft/core/ops/collective/shard_map.h"
#include "weft/core/ops/elementwise/stop_gradient.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/trace/trace.h"
#include "weft/runtime/host/blocks.h"
#include "weft/runtime/sharded/map_places.h"
#include "weft/runtime/sharded/spmd.h"
#include "weft/transforms/autodiff/differentiate.h"
#include "weft/transforms/maps/map_axes.h"
#include "weft/transforms/maps/map_scope.h"
#include "weft/transforms/numbers.h"

namespace weft::detail {
namespace {

PartitionSpec spec_at(std::optional<int> dim, const std::string& axis) {
  std::vector<std::vector<std::string>> dims;
  if (dim) {
    dims.resize(static_cast<std::size_t>(*dim) + 1);
    dims.back() = {axis};
  }
  return PartitionSpec::of(std::move(dims));
}

/// The last position along an axis, repeated, so that there are `size`. What is repeated counts for nothing, and has no derivative.
Array padded_to(const Array& x, int axis, std::int64_t size, SourceLoc loc) {
  const std::int64_t n = x.shape()[axis];
  if (n == size) return x;
  std::vector<Array> parts{x};
  const Array last = stop_gradient_of(slice_axis(x, axis, n - 1, n, loc), loc);
  for (std::int64_t i = n; i < size; ++i) parts.push_back(last);
  return concatenate_along(parts, axis, loc);
}

class PmapProgram final : public ProgramMaker {
 public:
  explicit PmapProgram(PmapOptions options) : options_(std::move(options)) {}

  Jaxpr make(FlatFunction& f) const override {
    if (const Mesh* const scope = inside_map() ? nullptr : mesh_in_scope()) {
      if (!options_.devices.empty())
        check_scope(*scope, f.loc);
      else if (const std::vector<Device> in_scope = scope->devices(); in_scope != weft::devices()) {
        PmapOptions there = options_;
        there.devices = in_scope;
        return PmapProgram(std::move(there)).make(f);
      }
    }
    if (!options_.axis_name.empty()) return make_named(f);
    // Each map without a name has an axis of its own, so that nested ones are spread over the devices too.
    PmapOptions named = options_;
    named.axis_name = kUnnamedAxis;
    for (int k = 2; find_axis(named.axis_name); ++k) named.axis_name = fmt::format("{}_{}", kUnnamedAxis, k);
    return PmapProgram(std::move(named)).make_named(f);
  }
  bool is_one_map() const override { return true; }

 private:
  void check_scope(const Mesh& scope, SourceLoc loc) const {
    const std::vector<Device> known = scope.devices();
    for (const Device& d : options_.devices)
      if (std::find(known.begin(), known.end(), d) == known.end())
        throw ShardingError(
            fmt::format("pmap: its devices have {}, which is not in the mesh in scope (of use_mesh), {} on {}; leave devices "
                        "out, or end the scope",
                        d, print_param(scope.axes()), device_list(scope.axes().device_ids)),
            loc);
  }

  Jaxpr make_named(FlatFunction& f) const {
    for (std::size_t i = 0; i < options_.devices.size(); ++i)
      if (std::count(options_.devices.begin(), options_.devices.end(), options_.devices[i]) > 1)
        throw ShardingError(fmt::format("pmap: the device {} is given twice in devices", options_.devices[i]), f.loc);
    std::vector<int> dims = resolve_in_axes(f, options_.in_axes, "pmap");
    const std::int64_t rows = mapped_size(f, dims, options_.axis_size, "pmap");
    if (rows == 0) throw ShapeError("pmap: the mapped axis has size 0; there must be a row for one device at least", f.loc);
    const std::int64_t devices = rows_at_once(rows, f.loc);
    if (rows > devices && !options_.chunk) throw_too_many_rows(f, dims, rows, devices);

    TraceRequest request = request_for(f, "pmap", {});
    request.axes = {{options_.axis_name, checked_int(rows * num_processes(), "pmap", "the size of the mapped axis", f.loc)}};
    for (std::size_t i = 0; i < f.args.size(); ++i) {
      const Aval& aval = f.args[i].aval();
      request.inputs.push_back(dims[i] == kNotMapped ? aval : aval.with_shape(aval.shape.erased(dims[i])));
    }
    const std::int64_t rounds = (rows + devices - 1) / devices, used = (rows + rounds - 1) / rounds;
    Hoisted body = [&] {
      // A shard_map in it must be over this map's mesh. A pmap in a map is one device's program, in which the mesh around is in scope.
      const Mesh* const around = inside_map() ? mesh_in_scope() : nullptr;
      const Scope scope = use_mesh(around ? Mesh(*around) : mesh_of(mesh_for(used)));
      const MapBody inside;
      return hoist_consts(trace_with_numbers(f, request, [&](std::span<const Array> leaves) { return f.run(leaves); }));
    }();
    dims.insert(dims.begin(), body.consts.size(), kNotMapped);
    const std::vector<std::optional<int>> out_dims =
        resolve_added_axes(options_.out_axes, f.result(), body.jaxpr.data().output_avals(), {"pmap", "out_axes", f.loc});

    ShardMapParams p;
    p.mesh = mesh_for(used);
    for (int d : dims) p.in_specs.specs.push_back(spec_at(d == kNotMapped ? std::nullopt : std::optional(d), options_.axis_name));
    for (const std::optional<int>& d : out_dims) p.out_specs.specs.push_back(spec_at(d, options_.axis_name));
    // With chunk even one round: sums have the same bits on any number of devices. What has no rows is then known to be the same on them
    // all.
    p.check_vma = options_.chunk;
    p.jaxpr = options_.chunk ? in_rounds(f, body.jaxpr, dims, out_dims, {options_.axis_name, rows, rounds, used, num_processes()})
                             : without_axis(body.jaxpr, dims, out_dims, f.loc);
    const bool several = num_processes() > 1;
    if (several) p = over_processes(std::move(p), used, devices);
    if (!inside_map()) take_captured(body.consts, mesh_of_map(p));
    return trace_jaxpr({request.what, avals_of(f.args), {}}, [&](std::span<const Array> args) {
      LocScope scope(f.loc);
      std::vector<Array> inputs = body.consts;
      inputs.insert(inputs.end(), args.begin(), args.end());
      for (std::size_t i = 0; i < inputs.size(); ++i)
        if (dims[i] != kNotMapped) inputs[i] = padded_to(inputs[i], dims[i], used * rounds, f.loc);
      const auto moved = [&](const PartitionSpec& spec) { return ProcessLocalParams{p.mesh, num_processes(), {{spec}}}; };
      for (std::size_t i = 0; several && i < inputs.size(); ++i)
        if (dims[i] != kNotMapped) inputs[i] = bind_host_local_to_global(inputs[i], moved(p.in_specs[i]), f.loc);
      std::vector<Array> out = bind_shard_map(p, inputs, f.loc);
      for (std::size_t i = 0; several && i < out.size(); ++i) out[i] = bind_global_to_host_local(out[i], moved(p.out_specs[i]), f.loc);
      for (std::size_t i = 0; i < out.size(); ++i)
        if (out_dims[i] && used * rounds != rows) out[i] = slice_axis(out[i], *out_dims[i], 0, rows, f.loc);
      return out;
    });
  }

  [[noreturn]] void throw_too_many_rows(const FlatFunction& f, const std::vector<int>& dims, std::int64_t rows,
                                        std::int64_t devices) const {
    std::string what = fmt::format("axis_size is {}", rows);
    for (std::size_t i = dims.size(); i-- > 0;)
      if (dims[i] != kNotMapped)
        what = fmt::format("{} is {}, whose mapped axis {} has {} rows", leaf_paths(f.arguments())[i], to_string(f.args[i].aval()), dims[i],
                           rows);
    throw DeviceError(fmt::format("pmap: {}, and there {} {}; give at most {}, map the rest by a vmap inside, or use chunk = true to "
                                  "run them in rounds (WEFT_NUM_CPU_DEVICES sets the number of host devices)",
                                  what, devices == 1 ? "is" : "are", counted(devices, "device"), counted(devices, "row")),
                      f.loc);
  }

  /// The number of rows that the devices take; in the body of another map, all rows.
  std::int64_t rows_at_once(std::int64_t rows, SourceLoc loc) const {
    if (inside_map() && options_.devices.empty()) return rows;
    return static_cast<std::int64_t>(options_.devices.empty() ? local_devices().size() : local_ones(loc).size());
  }

  /// The number of processes over which the devices are spread. Each process passes its own rows, and gets its own; the axis has those of
  /// all. In the body of a map around they are one device's.
  int num_processes() const {
    if (inside_map()) return 1;
    if (options_.devices.empty()) return process_count();
    std::set<int> some;
    for (const Device& d : options_.devices) some.insert(d.process_index());
    return static_cast<int>(some.size());
  }
  /// Those of the given devices that belong to this process.
  std::vector<Device> local_ones(SourceLoc loc) const {
    std::map<int, int> counts;
    std::vector<Device> mine;
    for (const Device& d : options_.devices) {
      ++counts[d.process_index()];
      if (d.process_index() == process_index()) mine.push_back(d);
    }
    for (const auto& [process, n] : counts)
      if (n != counts.begin()->second || mine.empty())
        throw DeviceError(fmt::format("pmap: process {} has {} of the given devices, process {} has {}; each process must have the same "
                                      "number, this one too ({})",
                                      process, n, counts.begin()->first, counts.begin()->second, mine.size()),
                          loc);
    return mine;
  }
  /// The first `used` devices of each process.
  MeshAxes mesh_for(std::int64_t used) const {
    MeshAxes mesh{{options_.axis_name}, {used * num_processes()}, {}};
    if (options_.devices.empty() && num_processes() == 1 && (inside_map() || weft::devices()[0].platform() == "cpu")) return mesh;
    std::map<int, std::int64_t> taken;
    for (const Device& d : options_.devices.empty() ? weft::devices() : options_.devices)
      if ((num_processes() == 1 && !options_.devices.empty()) || taken[d.process_index()]++ < used) mesh.device_ids.push_back(d.id());
    return mesh;
  }

  /// The map over the devices of all processes: on each, maps in it are spread over the devices that it has beyond its rows.
  ShardMapParams over_processes(ShardMapParams p, std::int64_t used, std::int64_t devices) const {
    ShardMapParams own = p;
    own.mesh = {{options_.axis_name}, {used}, {}};
    own = spread_nested_maps(own, devices);
    p.jaxpr = own.jaxpr;
    p.mesh = mesh_for(own.mesh.num_devices());
    p.mesh.names = own.mesh.names, p.mesh.sizes = own.mesh.sizes;
    p.mesh.sizes[0] *= num_processes();
    p.newly_manual_axes.names = {options_.axis_name};
    return params_as_run(p);
  }

  /// Blocks have the mapped axis with size 1; the function doesn't see it.
  Jaxpr without_axis(const Jaxpr& j, const std::vector<int>& dims, const std::vector<std::optional<int>>& out_dims, SourceLoc loc) const {
    std::vector<Aval> blocks;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      const Aval& aval = j.data().input_avals()[i];
      blocks.push_back(dims[i] == kNotMapped ? aval : aval.with_shape(aval.shape.inserted(dims[i], 1)));
    }
    return trace_jaxpr({"pmap", std::move(blocks), {}}, [&](std::span<const Array> args) {
      std::vector<Array> in(args.begin(), args.end());
      for (std::size_t i = 0; i < in.size(); ++i)
        if (dims[i] != kNotMapped) in[i] = squeeze_axes(in[i], {dims[i]}, loc);
      std::vector<Array> out = eval_jaxpr(j, in);
      for (std::size_t i = 0; i < out.size(); ++i)
        if (out_dims[i]) out[i] = insert_axes(out[i], {*out_dims[i]}, loc);
      return out;
    });
  }

  /// Blocks hold one row for each round, on which the function is run. Collectives over the axis join all rows.
  Jaxpr in_rounds(const FlatFunction& f, const Jaxpr& j, const std::vector<int>& dims, const std::vector<std::optional<int>>& out_dims,
                  const RowsInRounds& rows) const {
    MapRowsParams p{rows.devices, dims, j, {{rows.axis}, {rows.rows * rows.processes}, {}}, {}, rows.processes, rows.rounds};
    check_unmapped(out_dims, axes_of_row_results(p), f.result(), j.data().output_avals(), {"pmap", "out_axes", f.loc});
    std::vector<Aval> blocks;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      const Aval& aval = j.data().input_avals()[i];
      blocks.push_back(dims[i] == kNotMapped ? aval : aval.with_shape(aval.shape.inserted(dims[i], rows.rounds)));
    }
    for (const std::optional<int>& d : out_dims) p.out_axes.push_back(d ? *d : kNotMapped);
    return trace_jaxpr({"pmap", std::move(blocks), {}}, [&](std::span<const Array> args) { return bind_map_rows(p, args, f.loc); });
  }

  PmapOptions options_;
};

}  // namespace

Ref<const ProgramMaker> make_pmap(const PmapOptions& options) { return Ref<const ProgramMaker>(new PmapProgram(options)); }

JitOptions jit_options_of(const PmapOptions& options) { return {.donate_argnums = options.donate_argnums}; }

}  // namespace weft::detail
