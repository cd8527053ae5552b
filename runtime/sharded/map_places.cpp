#include "weft/runtime/sharded/map_places.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/array/array_impl.h"
#include "weft/core/base/config.h"
#include "weft/core/base/environment.h"
#include "weft/core/base/nesting.h"
#include "weft/core/errors/error.h"
#include "weft/core/ir/liveness.h"
#include "weft/core/ir/sealed_program.h"
#include "weft/core/ir/sub_programs.h"
#include "weft/core/ops/collective/process_local.h"
#include "weft/runtime/host/blocks.h"
#include "weft/runtime/host/buffer.h"
#include "weft/runtime/processes/processes.h"
#include "weft/runtime/sharded/global_arrays.h"
#include "weft/runtime/sharded/spmd.h"

namespace weft::detail {
namespace {

std::vector<int> sorted(std::vector<int> ids) {
  std::sort(ids.begin(), ids.end());
  return ids;
}
std::vector<int> own_of(const std::vector<int>& ids) {
  std::vector<int> mine;
  for (std::size_t k : local_positions(ids)) mine.push_back(ids[k]);
  return mine;
}

}  // namespace

Mesh mesh_of_map(const ShardMapParams& p) { return mesh_of(spread_nested_maps(p, processes().num_devices()).mesh); }

bool reshards_implicitly() {
  static const bool by_environment = is_switched_on("WEFT_IMPLICIT_RESHARD");
  return by_environment || config.implicit_reshard;
}

void throw_elsewhere(const std::string& what, const Sharding& now, const Mesh& mesh, const PartitionSpec* spec, SourceLoc loc) {
  const MeshAxes& axes = mesh.axes();
  const std::string devices = device_list(axes.device_ids);
  std::string takes = "runs over " + print_param(axes) + " on " + devices;
  if (spec && spec->trimmed().dims().empty()) {
    takes = "takes it whole on each of " + devices;
  } else if (spec && axes.names.size() == 1) {
    std::size_t d = 0;
    while (spec->dims()[d].empty()) ++d;
    takes = fmt::format("takes one position along dimension {} on each of {}", d, devices);
  } else if (spec) {
    takes = fmt::format("takes {} of {} on {}", to_string(*spec), print_param(axes), devices);
  }
  const std::string where = now.is_single_device() ? std::string() : " on " + device_list(now.named().mesh().axes().device_ids);
  throw ShardingError(fmt::format("{}, is committed to {}{}, and the map {}; move it with reshard or device_put "
                                  "(config.implicit_reshard or WEFT_IMPLICIT_RESHARD=1 has maps do that themselves)",
                                  what, described(now), where, takes),
                      loc);
}

/// Whether it is what a map takes that all its devices have alike: it is on one device, or alike on this process's devices of the map.
bool is_alike(const Sharding& now, const Mesh& mesh, const PartitionSpec& spec) {
  if (!spec.trimmed().dims().empty()) return false;
  const std::vector<int>& there = now.named().mesh().axes().device_ids;
  return there.size() == 1 || (now.is_fully_replicated() && sorted(there) == sorted(own_of(mesh.axes().device_ids)));
}

bool may_move_to(const Sharding& now, const Mesh& mesh, const PartitionSpec& spec) {
  if (reshards_implicitly() || is_alike(now, mesh, spec)) return true;
  return sorted(now.named().mesh().axes().device_ids) == sorted(mesh.axes().device_ids);
}

bool fits_in_shardings(const Sharding& now, const Sharding& wanted, const Shape& shape) {
  const MeshAxes &there = now.named().mesh().axes(), &here = wanted.named().mesh().axes();
  if (now.is_fully_replicated() && wanted.is_fully_replicated()) return true;
  return sorted(there.device_ids) == sorted(here.device_ids) && same_blocks(there, now.named().spec(), here, wanted.named().spec(), shape);
}

void take_captured(std::vector<Array>& values, const Mesh& mesh) {
  for (Array& x : values) {
    const ConcreteArray* c = as_concrete(x);
    if (!c || !c->placement || has_remote_shards(*c)) continue;
    const std::vector<int>& there = sharding_of(*c).named().mesh().axes().device_ids;
    if (there != mesh.axes().device_ids) x = wrap_buffer(c->aval, whole_of(x, there[0]));
  }
}

MapPlaces::MapPlaces(const Jaxpr& j, bool is_one_map) {
  add_maps(j);
  if (meshes_.empty()) return;
  const JaxprData& d = j.data();
  const LiveSet needed = live_set_of(j);
  const auto n = static_cast<std::size_t>(d.num_inputs);
  arguments_.resize(n);
  for (std::size_t i = 0; i < n; ++i) arguments_[i].needed = needed.input(j, i);
  for (const Eqn& e : d.eqns)
    for (std::size_t k = 0; k < e.inputs.size(); ++k) {
      const Atom a = e.inputs[k];
      if (a.is_literal() || a.var() < d.first_input() || a.var() >= d.first_input() + n) continue;
      Argument& argument = arguments_[a.var() - d.first_input()];
      if (!is_one_map) continue;
      if (process_move(*e.op)) {
        const auto& p = params_as<ProcessLocalParams>(*e.params);
        std::vector<std::vector<std::string>> dims = p.spec[0].dims();
        for (auto& axes : dims) std::erase_if(axes, [&](const std::string& axis) { return axis != p.mesh.names[0]; });
        argument.sharding = NamedSharding(local_mesh(mesh_of(p.mesh), "pmap", e.loc), PartitionSpec::of(std::move(dims)));
        argument.as_run = p.spec[0];
      } else if (const ShardMapParams* map = device_map(e)) {
        argument.sharding = NamedSharding(mesh_of_map(*map), map->in_specs[k]);
        argument.as_run = params_as_run(*map).in_specs[k];
      }
    }
}

void MapPlaces::add_maps(const Jaxpr& j) {
  check_nesting("programs inside programs", nesting_depth(j));
  for (const Eqn& e : j.eqns()) {
    process_local_ |= process_move(*e.op).has_value();
    if (const ShardMapParams* map = device_map(e)) {
      const Mesh mesh = mesh_of_map(*map);
      const auto same = [&](const Mesh& m) { return m.axes().device_ids == mesh.axes().device_ids; };
      if (std::none_of(meshes_.begin(), meshes_.end(), same)) meshes_.push_back(mesh);
      continue;
    }
    for_each_program(e, [&](const Jaxpr& inner) { add_maps(inner); });
  }
}

void MapPlaces::check(std::span<const Array> inputs, const std::string& what, FunctionRef<Skeleton()> paths, SourceLoc loc) const {
  if (meshes_.empty() || reshards_implicitly()) return;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ConcreteArray* c = as_concrete(inputs[i]);
    const Argument& argument = arguments_[i];
    if (!c || !c->placement || !argument.needed) continue;
    const Sharding now = sharding_of(*c);
    const MeshAxes& there = now.named().mesh().axes();
    const auto refuse = [&](const Mesh& mesh, const PartitionSpec* spec) {
      throw_elsewhere(fmt::format("{}: {}, {}", what, leaf_paths(paths())[i], to_string(c->aval)), now, mesh, spec, loc);
    };
    if (argument.sharding) {
      const NamedSharding& wanted = *argument.sharding;
      const MeshAxes& here = wanted.mesh().axes();
      if (is_alike(now, wanted.mesh(), wanted.spec())) continue;
      const auto is_divided_as = [&](const PartitionSpec& spec) {
        return same_blocks(there, now.named().spec(), here, spec, c->aval.shape);
      };
      if (!may_move_to(now, wanted.mesh(), wanted.spec()) || !(is_divided_as(wanted.spec()) || is_divided_as(argument.as_run)))
        refuse(wanted.mesh(), &wanted.spec());
      continue;
    }
    for (const Mesh& mesh : meshes_) {
      const std::vector<int>& ids = mesh.axes().device_ids;
      if (process_local_ ? own_of(there.device_ids) != own_of(ids) : there.device_ids != ids) refuse(mesh, nullptr);
    }
  }
}

}  // namespace weft::detail
