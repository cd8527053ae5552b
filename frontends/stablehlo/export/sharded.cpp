// Programs of one device of a mesh, in Shardy's operations, and communication between the devices by their numbers.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "weft/core/array/array_impl.h"
#include "weft/core/array/constructors.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/collective/collective.h"
#include "weft/core/ops/collective/shard_map.h"
#include "weft/core/ops/collective/sharding_constraint.h"
#include "weft/core/ops/movement/dynamic_slice.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/frontends/stablehlo/export/spelling.h"

namespace weft::detail::mlir {
namespace {

/// `<@mesh, [{"x"}, {}]>`
std::string sharding_text(const std::string& mesh, const PartitionSpec& spec, int ndim) {
  std::string dims;
  for (int d = 0; d < ndim; ++d) {
    std::string axes;
    for (const std::string& a : spec.axes_of(d)) axes += (axes.empty() ? "" : ", ") + quoted(a);
    dims += (d ? ", {" : "{") + axes + "}";
  }
  return fmt::format("<@{}, [{}]>", mesh, dims);
}

const Spelling constraint_spelling("sharding_constraint", [](ExportCall& c) -> Names {
  const SpecOnMesh& s = c.get<ShardingConstraintParams>().sharding;
  if (c.block.manual()) return c.in;
  const std::string mesh = c.block.module().mesh(s.mesh).name;
  return c.block.line(
      fmt::format("sdy.sharding_constraint {} {} : {}", c.in[0].text, sharding_text(mesh, s.spec, c.out[0].ndim()), type_text(c.out[0])),
      c.out);
});

const Spelling shard_map_spelling("shard_map", [](ExportCall& c) -> Names {
  const auto& p = c.get<ShardMapParams>();
  if (c.block.manual()) c.fail("is a map within another one, which has no spelling in StableHLO", "name all axes in one map");
  if (c.in.empty() && c.out.empty()) return {};
  const ManualMesh mesh = c.block.module().mesh(p.mesh);
  std::string operands, in_shardings, out_shardings, axes;
  for (std::size_t i = 0; i < c.in.size(); ++i) {
    operands += (i ? ", " : "") + c.in[i].text;
    in_shardings += (i ? ", " : "") + sharding_text(mesh.name, p.in_specs[i], c.in[i].aval.ndim());
  }
  for (std::size_t i = 0; i < c.out.size(); ++i)
    out_shardings += (i ? ", " : "") + sharding_text(mesh.name, p.out_specs[i], c.out[i].ndim());
  for (const std::string& a : p.manual_axes()) axes += (axes.empty() ? "" : ", ") + quoted(a);
  BlockWriter body = c.block.within(&mesh, true);
  body.set_line(c.eqn.loc);
  std::string arguments;
  const auto inputs = p.jaxpr.data().input_avals();
  const Names names = body.arguments(inputs, arguments);
  body.end("sdy.return", body.write(p.jaxpr, names));
  return c.block.line(
      fmt::format("sdy.manual_computation({}) in_shardings=[{}] out_shardings=[{}] manual_axes={{{}}} ({}) {{\n{}{}}} : {}", operands,
                  in_shardings, out_shardings, axes, arguments, body.text(), c.block.indentation(), function_type(c.in, c.out)),
      c.out);
});

const Spelling pvary_spelling("pvary", [](ExportCall& c) -> Names { return c.in; });

// Groups of devices.

const MeshAxes& mesh_of(ExportCall& c, const std::vector<std::string>& axes) {
  const ManualMesh* const mesh = c.block.manual();
  for (const std::string& a : axes)
    if (!mesh || mesh->axes.find(a) < 0)
      c.fail(fmt::format("communicates over `{}`, which is not an axis of an enclosing map", a), "export the map that names it");
  return mesh->axes;
}

int device_at(const MeshAxes& mesh, std::int64_t position) {
  return mesh.device_ids.empty() ? static_cast<int>(position) : mesh.device_ids[static_cast<std::size_t>(position)];
}

/// For each line along the axes its positions in the mesh, in the order of the axes: the last varies fastest.
std::vector<std::vector<std::int64_t>> lines_along(const MeshAxes& mesh, const std::vector<std::string>& axes) {
  std::map<std::int64_t, std::vector<std::int64_t>> lines;  // by the position of the line's first device
  for (std::int64_t i = 0; i < mesh.num_devices(); ++i) {
    std::int64_t first = 0;
    for (const std::string& name : mesh.names) {
      const bool along = std::find(axes.begin(), axes.end(), name) != axes.end();
      first = first * mesh.size_of(name) + (along ? 0 : mesh.coordinate(i, {name}));
    }
    std::vector<std::int64_t>& line = lines[first];
    line.resize(static_cast<std::size_t>(mesh.size_of(axes)));
    line[static_cast<std::size_t>(mesh.coordinate(i, axes))] = i;
  }
  std::vector<std::vector<std::int64_t>> out;
  for (auto& [first, line] : lines) out.push_back(std::move(line));
  return out;
}

/// The groups of devices that communicate, by their numbers.
std::vector<std::vector<std::int64_t>> groups_of(ExportCall& c, const std::vector<std::string>& axes, const IndexGroups& parts) {
  const MeshAxes& mesh = mesh_of(c, axes);
  std::vector<std::vector<std::int64_t>> groups;
  for (const std::vector<std::int64_t>& line : lines_along(mesh, axes)) {
    if (!parts) groups.push_back(line);
    for (std::size_t k = 0; parts && k < parts->size(); ++k) {
      groups.emplace_back();
      for (const int at : (*parts)[k]) groups.back().push_back(line[static_cast<std::size_t>(at)]);
    }
  }
  for (std::vector<std::int64_t>& g : groups)
    for (std::int64_t& d : g) d = device_at(mesh, d);
  return groups;
}

constexpr std::string_view kChannel = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>";

std::string groups_text(ExportCall& c, const std::vector<std::string>& axes, const IndexGroups& parts) {
  std::vector<std::vector<std::int64_t>> groups = groups_of(c, axes, parts);
  std::size_t longest = 0;
  for (const auto& g : groups) longest = std::max(longest, g.size());
  for (auto& g : groups) g.resize(longest, -1);
  return fmt::format("{}, {}", kChannel, matrix_attribute("replica_groups", groups, longest));
}

Name all_reduced(ExportCall& c, std::string_view combine, const Name& x, const std::vector<std::string>& axes, const IndexGroups& parts) {
  return c.block.op("stablehlo.all_reduce", {x}, groups_text(c, axes, parts) + ", use_global_device_ids", std::span(&x.aval, 1),
                    c.combining(combine, x.aval.dtype))[0];
}

/// Over dimensions of the operand first.
template <Literal Combine>
Names reduction(ExportCall& c) {
  const CollectiveRules& rules = collective_rules(*c.eqn.op);
  const IndexGroups* const groups = rules.groups(*c.eqn.params);
  std::vector<std::string> axes = rules.axes(*c.eqn.params);
  Names all = c.in;
  if (const std::optional<LocalReduction> local = rules.local_reduction(*c.eqn.params)) {
    for (Name& x : all) x = c.expand_one({x}, [&](auto xs) { return local->dims.empty() ? xs[0] : rules.local(xs[0], local->dims, {}); });
    if (!local->rest) return all;
    axes = rules.axes(*local->rest);
  }
  for (Name& x : all) x = all_reduced(c, Combine, x, axes, groups ? *groups : IndexGroups());
  return all;
}
const Spelling psum_spelling("psum", reduction<"stablehlo.add">), pmax_spelling("pmax", reduction<"stablehlo.maximum">),
    pmin_spelling("pmin", reduction<"stablehlo.minimum">), psum_invariant_spelling("psum_invariant", reduction<"stablehlo.add">);

/// The devices' operands along a dimension, which is new where they are not tiled.
const Spelling all_gather_spelling("all_gather", [](ExportCall& c) -> Names {
  const auto& p = c.get<AllGatherParams>();
  const int d = p.all_gather_dimension;
  Names out;
  for (std::size_t i = 0; i < c.in.size(); ++i) {
    const Name x = p.tiled ? c.in[i] : c.block.reshape(c.in[i], c.in[i].aval.shape.inserted(d, 1));
    out.push_back(
        c.block.op("stablehlo.all_gather", {x},
                   fmt::format("all_gather_dim = {} : i64, {}, use_global_device_ids", d, groups_text(c, p.axis_name, p.axis_index_groups)),
                   std::span(&c.out[i], 1))[0]);
  }
  return out;
});

const Spelling reduce_scatter_spelling("reduce_scatter", [](ExportCall& c) -> Names {
  const auto& p = c.get<ReduceScatterParams>();
  Names out;
  for (std::size_t i = 0; i < c.in.size(); ++i) {
    const Aval& x = c.in[i].aval;
    const Aval scattered{x.shape.with(p.scatter_dimension, x.shape[p.scatter_dimension] / p.axis_size), x.dtype};
    const Name y = c.block.op("stablehlo.reduce_scatter", {c.in[i]},
                              fmt::format("{}, scatter_dimension = {} : i64, use_global_device_ids",
                                          groups_text(c, p.axis_name, p.axis_index_groups), p.scatter_dimension),
                              std::span(&scattered, 1), c.combining("stablehlo.add", x.dtype))[0];
    out.push_back(c.block.reshape(y, c.out[i].shape));
  }
  return out;
});

const Spelling all_to_all_spelling("all_to_all", [](ExportCall& c) -> Names {
  const auto& p = c.get<AllToAllParams>();
  const std::vector<std::vector<std::int64_t>> groups = groups_of(c, {p.axis_name}, p.axis_index_groups);
  return {c.op("stablehlo.all_to_all", c.in,
               fmt::format("{}, concat_dimension = {} : i64, split_count = {} : i64, split_dimension = {} : i64",
                           groups_text(c, {p.axis_name}, p.axis_index_groups), p.concat_axis, groups[0].size(), p.split_axis))};
});

const Spelling ppermute_spelling("ppermute", [](ExportCall& c) -> Names {
  const auto& p = c.get<PpermuteParams>();
  std::vector<std::vector<std::int64_t>> pairs;
  for (const std::vector<std::int64_t>& line : groups_of(c, p.axis_name, {}))
    for (const auto& [from, to] : p.perm) pairs.push_back({line[static_cast<std::size_t>(from)], line[static_cast<std::size_t>(to)]});
  Names out;
  for (const Name& x : c.in)
    out.push_back(c.block.op("stablehlo.collective_permute", {x},
                             fmt::format("{}, {}", kChannel, matrix_attribute("source_target_pairs", pairs, 2)), std::span(&x.aval, 1))[0]);
  return out;
});

/// The device's position along the axes, from its number.
Name position_along(ExportCall& c, const std::vector<std::string>& axes) {
  const MeshAxes mesh = mesh_of(c, axes);
  const Aval number{{}, uint32};
  const Name id = c.block.line("stablehlo.partition_id : tensor<ui32>", std::span(&number, 1))[0];
  return c.expand_one({id}, [&](auto x) {
    std::int64_t devices = mesh.num_devices();
    for (const int d : mesh.device_ids) devices = std::max<std::int64_t>(devices, d + 1);
    // A table from numbers to positions, unless they are the same.
    std::vector<std::int32_t> places(static_cast<std::size_t>(devices), 0);
    for (std::int64_t i = 0; i < mesh.num_devices(); ++i)
      places[static_cast<std::size_t>(device_at(mesh, i))] = static_cast<std::int32_t>(mesh.coordinate(i, axes));
    Array at = convert(x[0], int32);
    if (mesh.device_ids.empty() && axes.size() == 1) {
      std::int64_t inner = 1;
      for (std::size_t k = static_cast<std::size_t>(mesh.find(axes[0])) + 1; k < mesh.sizes.size(); ++k) inner *= mesh.sizes[k];
      return rem(div(at, make_literal(Number(static_cast<long long>(inner)), int32)),
                 make_literal(Number(static_cast<long long>(mesh.size_of(axes[0]))), int32));
    }
    const Array table = array_of_elements(places.data(), int32, devices, {devices}, {}, {});
    const Array operands[] = {table, at};
    return reshape_to(bind_all<DynamicSlice>({Shape{1}}, operands, {})[0], {}, {});
  });
}
const Spelling axis_index_spelling("axis_index",
                                   [](ExportCall& c) -> Names { return {position_along(c, {c.get<AxisIndexParams>().axis_name})}; });

/// The sum of what one device has, and of others' zeros.
const Spelling pbroadcast_spelling("pbroadcast", [](ExportCall& c) -> Names {
  const auto& p = c.get<PbroadcastParams>();
  const Name at = position_along(c, p.axis_name);
  Names out;
  for (const Name& x : c.in) {
    const bool bools = x.aval.dtype.is_bool();
    const Name own = c.expand_one({x, at}, [&](auto xs) {
      const Array here = xs[1] == make_literal(Number(p.source), int32), y = bools ? convert(xs[0], int32) : xs[0];
      return where(broadcast_trailing(here, y.shape(), {}), y, scalar_like(y, 0));
    });
    const Name sum = all_reduced(c, "stablehlo.add", own, p.axis_name, {});
    out.push_back(bools ? compared(c, "NE", sum, c.block.broadcast(c.block.number(int32, Number(0)), sum.aval.shape), false) : sum);
  }
  return out;
});

}  // namespace
}  // namespace weft::detail::mlir
