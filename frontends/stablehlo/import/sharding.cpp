// See sharding.h. Also Shardy's operations: values whose sharding is stated, and programs of one device.
#include "weft/frontends/stablehlo/import/sharding.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/ops/collective/sharding_constraint.h"
#include "weft/core/ops/control/custom_partitioning.h"
#include "weft/core/trace/trace.h"
#include "weft/frontends/stablehlo/import/manual.h"

namespace weft::detail::mlir {
namespace {

using Kind = Attribute::Kind;

const Attribute& entry(const Attribute& a, const char* key, Kind kind, const Importer& importer) {
  const Attribute* found = a.kind == Kind::dictionary ? a.find(key) : nullptr;
  if (!found || found->kind != kind) importer.fail(a.place, fmt::format("a mesh or a sharding has no `{}`", key));
  return *found;
}

std::string axis_name(const Attribute& a, const Importer& importer) {
  if (a.kind == Kind::dictionary) importer.fail(a.place, "an array is sharded over part of a mesh axis; weft shards over whole axes");
  if (a.kind != Kind::string) importer.fail(a.place, "an axis has no name");
  return a.text;
}

}  // namespace

ProgramMesh mesh_of(const Attribute& mesh, const std::string& name, const Importer& importer) {
  ProgramMesh out{name, {}};
  const Attribute &names = entry(mesh, "names", Kind::list, importer), &sizes = entry(mesh, "sizes", Kind::list, importer),
                  &devices = entry(mesh, "device_ids", Kind::list, importer);
  std::int64_t count = 1;
  for (std::size_t i = 0; i < names.items.size(); ++i) {
    const std::int64_t size = i < sizes.items.size() ? sizes.items[i].integer : 0;
    if (size < 1 || size > (1 << 20) || (count *= size) > (1 << 20)) importer.fail(mesh.place, "a mesh has 1 to 1048576 devices");
    if (out.axes.find(names.items[i].text) >= 0) importer.fail(mesh.place, fmt::format("a mesh has two axes `{}`", names.items[i].text));
    out.axes.names.push_back(names.items[i].text), out.axes.sizes.push_back(size);
  }
  for (const Attribute& d : devices.items) {
    if (d.kind != Kind::integer || d.integer < 0 || d.integer > (1 << 20))
      importer.fail(mesh.place, "a mesh lists devices by their numbers");
    out.axes.device_ids.push_back(static_cast<int>(d.integer));
  }
  if (!devices.items.empty() && static_cast<std::int64_t>(devices.items.size()) != count)
    importer.fail(mesh.place, fmt::format("a mesh lists {} devices, its axes have {}", devices.items.size(), count));
  return out;
}

ProgramSharding sharding_of(const Attribute& sharding, int ndim, const Importer& importer) {
  const Attribute* const mesh = sharding.kind == Kind::dictionary ? sharding.find("mesh") : nullptr;
  if (!mesh) importer.fail(sharding.place, "a sharding names no mesh");
  ProgramSharding out{mesh->kind == Kind::symbol ? importer.mesh(mesh->text, mesh->place) : mesh_of(*mesh, "", importer), {}, {}};
  out.is_maximal = out.mesh.axes.names.empty() && !out.mesh.axes.device_ids.empty();
  const Attribute& dims = entry(sharding, "dims", Kind::list, importer);
  if (static_cast<int>(dims.items.size()) != ndim && !out.is_maximal)
    importer.fail(sharding.place, fmt::format("a sharding is of {} dimensions, its array has {}", dims.items.size(), ndim));
  std::vector<std::vector<std::string>> names;
  for (const Attribute& dim : dims.items) {
    names.emplace_back();
    out.open.push_back(!dim.items.empty() && dim.items.back().kind == Kind::word);
    for (const Attribute& axis : dim.items)
      if (axis.kind != Kind::word) names.back().push_back(axis_name(axis, importer));
  }
  if (std::find(out.open.begin(), out.open.end(), true) == out.open.end()) out.open.clear();
  out.spec = PartitionSpec::of(std::move(names));
  if (const std::string problem = spec_problem(out.mesh.axes, out.spec); !problem.empty()) importer.fail(sharding.place, problem);
  if (const Attribute* sums = sharding.find("unreduced"))
    for (const Attribute& axis : sums->items) {
      out.unreduced.push_back(axis_name(axis, importer));
      if (out.mesh.axes.find(out.unreduced.back()) < 0 || out.spec.names(out.unreduced.back()) ||
          std::find(out.unreduced.begin(), out.unreduced.end() - 1, out.unreduced.back()) != out.unreduced.end() - 1)
        importer.fail(sharding.place, fmt::format("an array is the sum over `{}`, which is not an axis of the mesh that is free for it",
                                                  out.unreduced.back()));
    }
  return out;
}

namespace {

/// The axes of each dimension, but for those that don't divide it: XLA fills the last block up, and a value within a program is the same
/// value wherever its elements are.
PartitionSpec even_spec(const MeshAxes& mesh, const PartitionSpec& spec, const Shape& shape) {
  std::vector<std::vector<std::string>> dims = spec.dims();
  for (int d = 0; d < static_cast<int>(dims.size()); ++d) {
    std::vector<std::string>& axes = dims[static_cast<std::size_t>(d)];
    while (!axes.empty() && shape[d] % mesh.size_of(axes) != 0) axes.pop_back();
  }
  return PartitionSpec::of(std::move(dims));
}

Values import_constraint(OpCall& c) {
  const Attribute* sharding = c.find("sharding");
  for (const Attribute& w : c.op.words)
    if (!sharding && w.kind == Kind::dictionary) sharding = &w;
  if (!sharding) c.fail("it states no sharding");
  const ProgramSharding s = sharding_of(*sharding, c.in(0).ndim(), c.importer());
  // The program is that of whole arrays: an array whose sum is still to be made is that sum.
  // On one device, in a part of the mesh that is the body's own, and where a dimension may be sharded further, there is nothing to state.
  if (s.is_maximal || s.mesh.axes.num_devices() == 1 || !s.open.empty() || c.importer().manual()) return {c.in(0)};
  const PartitionSpec spec = even_spec(s.mesh.axes, s.spec, c.in(0).shape());
  if (spec.trimmed().dims().empty() && !s.spec.trimmed().dims().empty()) return {c.in(0)};
  return {bind_sharding_constraint(c.in(0), {s.mesh.axes, spec}, c.loc)};
}
const Import constraint_import("sdy.sharding_constraint", import_constraint);

/// How the partitioner shards two arrays of one shape alike: the second as the first, further where the second is and the first isn't.
class Alike final : public CallPartitioner {
 public:
  CallSpecs choose(const MeshAxes& mesh, std::span<const Aval> args, const std::vector<PartitionSpec>& now, std::span<const Aval>,
                   SourceLoc) const override {
    std::vector<std::vector<std::string>> dims;
    for (int d = 0; d < args[0].ndim(); ++d) dims.push_back(now[0].axes_of(d));
    for (int d = 0; d < args[0].ndim(); ++d) {
      const std::vector<std::string> others = now[1].axes_of(d);
      const auto is_free = [&](const std::string& axis) {
        return std::none_of(dims.begin(), dims.end(), [&](const auto& own) { return std::count(own.begin(), own.end(), axis) > 0; });
      };
      if (dims[static_cast<std::size_t>(d)].empty() && std::all_of(others.begin(), others.end(), is_free))
        dims[static_cast<std::size_t>(d)] = others;
    }
    const PartitionSpec both = even_spec(mesh, PartitionSpec::of(std::move(dims)), args[0].shape);
    return {{both, both}, {both, both}};
  }
  std::vector<Array> run(const MeshAxes&, const CallSpecs&, std::span<const Array> blocks, SourceLoc) const override {
    return {blocks.begin(), blocks.end()};
  }
  bool equals(const CallPartitioner& other) const override { return dynamic_cast<const Alike*>(&other); }
};

/// Values with the same number are to be sharded alike, in what follows the second.
Values import_group(OpCall& c) {
  const std::vector<NamedMesh>& meshes = c.importer().module().meshes;
  const auto has_devices = [&](const NamedMesh& m) { return mesh_of(m.mesh, m.name, c.importer()).axes.num_devices() > 1; };
  const Array member = c.in(0);
  if (c.importer().manual() || std::none_of(meshes.begin(), meshes.end(), has_devices)) return {};
  const std::optional<ValueId> first = c.importer().marked(c.integer("group_id"), c.op.operands[0]);
  if (!first || *first == c.op.operands[0]) return {};
  const Arrays both{c.importer().value(*first).array, member};
  if (both[0].shape() != both[1].shape()) return {};
  const Jaxpr same = trace_jaxpr({"shard_alike", {both[0].aval(), both[1].aval()}, {}},
                                 [](std::span<const Array> in) -> Arrays { return {in.begin(), in.end()}; });
  const Arrays sharded = bind_custom_partitioning("shard_alike", same, {"shard_alike", make_ref<Alike>()}, both, c.loc);
  c.importer().replace(*first, sharded[0]);
  c.importer().replace(c.op.operands[0], sharded[1]);
  return {};
}
const Import group_import("sdy.sharding_group", import_group);

Values import_manual(OpCall& c) {
  const Attribute &ins = c.need("in_shardings"), &outs = c.need("out_shardings"), &axes = c.need("manual_axes");
  if (ins.items.size() != c.num_operands())
    c.fail(fmt::format("it has {} operands, but {} shardings for them", c.num_operands(), ins.items.size()));
  if (outs.items.size() != c.op.result_types.size()) c.fail("it must have one sharding for each result");
  ManualComputation m;
  std::optional<ProgramMesh> mesh;
  auto sharding_at = [&](const Attribute& a, int ndim) {
    const ProgramSharding s = sharding_of(a, ndim, c.importer());
    if (mesh && !(mesh->axes == s.mesh.axes)) c.fail("its shardings are on different meshes");
    mesh = s.mesh;
    return s;
  };
  for (const Attribute& a : axes.items) m.axes.push_back(axis_name(a, c.importer()));
  // Only axes of the body's own count: over the others the whole is one array within.
  auto keep_own = [&](std::vector<std::string>& names) {
    std::erase_if(names, [&](const std::string& n) { return std::find(m.axes.begin(), m.axes.end(), n) == m.axes.end(); });
  };
  auto add_own = [&](ProgramSharding s, std::vector<PartitionSpec>& specs, std::vector<std::vector<std::string>>& unreduced) {
    std::vector<std::vector<std::string>> dims = s.spec.dims();
    for (std::vector<std::string>& names : dims) keep_own(names);
    keep_own(s.unreduced);
    specs.push_back(PartitionSpec::of(std::move(dims)));
    unreduced.push_back(std::move(s.unreduced));
  };
  // A token has no dimensions; its array has one, which is not sharded.
  const auto token_at = [](const std::vector<Type>& types, std::size_t i) {
    return i < types.size() && types[i].kind == Type::Kind::token;
  };
  const std::vector<Type> blocks = c.op.regions.empty() ? std::vector<Type>() : c.op.regions[0].types;
  for (std::size_t i = 0; i < ins.items.size(); ++i)
    add_own(sharding_at(ins.items[i], token_at(blocks, i) ? 0 : c.in(i).ndim()), m.in_specs, m.in_unreduced);
  for (std::size_t i = 0; i < outs.items.size(); ++i)
    add_own(sharding_at(outs.items[i], token_at(c.op.result_types, i) ? 0 : c.result(i).shape.size()), m.out_specs, m.out_unreduced);
  if (!mesh) c.fail("it has neither operands nor results, and so no mesh");
  for (const std::string& name : m.axes)
    if (mesh->axes.find(name) < 0) c.fail(fmt::format("its mesh has no axis `{}`", name));
  m.mesh = mesh->axes;
  return run_manual(c, m);
}
const Import manual_import("sdy.manual_computation", import_manual);

}  // namespace
}  // namespace weft::detail::mlir
