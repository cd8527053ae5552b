#include "weft/core/ops/collective/rename_axis.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/array/array_impl.h"
#include "weft/core/base/nesting.h"
#include "weft/core/ir/jaxpr_copy.h"
#include "weft/core/ir/sealed_program.h"
#include "weft/core/ir/sub_programs.h"
#include "weft/core/trace/trace.h"

namespace weft::detail {
namespace {

/// The same program with other parameters of its equations.
template <class F>
Jaxpr with_params(const Jaxpr& j, F&& params_of) {
  check_nesting("programs inside programs", nesting_depth(j));
  JaxprCopy copy(j);
  copy.add_inputs();
  for (const Eqn& e : j.eqns()) copy.add(e, params_of(e));
  return std::move(copy).finish(j.data().outputs);
}

bool holds_programs(const Eqn& e) { return e.op->kind == Kind::call || e.op->kind == Kind::control; }

struct Names {
  const std::string &from, &to;
  void operator()(std::string& name) const {
    if (name == from) name = to;
  }
  void operator()(std::vector<std::string>& names) const {
    for (std::string& name : names) (*this)(name);
  }
};

/// The map in `p` has the axis `from` under the name `to`.
void rename_own_axis(ShardMapParams& p, const std::string& from, const std::string& to) {
  const Names names{from, to};
  p.jaxpr = rename_axis(p.jaxpr, from, to);
  names(p.mesh.names), names(p.newly_manual_axes.names);
  for (SpecList* list : {&p.in_specs, &p.out_specs})
    for (PartitionSpec& spec : list->specs) {
      std::vector<std::vector<std::string>> dims = spec.dims();
      for (auto& axes : dims) names(axes);
      spec = PartitionSpec::of(std::move(dims));
    }
}

/// The axis names of enclosing maps: all axes of their meshes, and those over which they map.
struct Around {
  std::vector<std::string> names, manual;
};
Jaxpr without_shadowing(const Jaxpr& j, const Around& around);
ShardMapParams without_shadowing(ShardMapParams p, Around around) {
  const auto taken = [&](const std::string& name) { return std::count(around.names.begin(), around.names.end(), name) > 0; };
  // On the same devices it may be an axis that is left to this map, but none that a map around has already.
  const auto is_new = [&](const std::string& name) {
    return p.mesh.device_ids.empty() || std::count(around.manual.begin(), around.manual.end(), name) > 0;
  };
  if (const std::string own = p.mesh.names[0]; p.mesh.names.size() == 1 && taken(own) && is_new(own)) {
    int k = 2;
    while (taken(fmt::format("{}_{}", own, k))) ++k;
    rename_own_axis(p, own, fmt::format("{}_{}", own, k));
  }
  around.names.insert(around.names.end(), p.mesh.names.begin(), p.mesh.names.end());
  for (const std::string& name : p.manual_axes()) around.manual.push_back(name);
  p.jaxpr = without_shadowing(p.jaxpr, around);
  return p;
}

bool has_maps(const Jaxpr& j) {
  check_nesting("programs inside programs", nesting_depth(j));
  const auto& eqns = j.eqns();
  return std::any_of(eqns.begin(), eqns.end(),
                     [](const Eqn& e) { return device_map(e) || (holds_programs(e) && any_program(e, has_maps)); });
}

Jaxpr without_shadowing(const Jaxpr& j, const Around& around) {
  if (!has_maps(j)) return j;
  return with_params(j, [&](const Eqn& e) {
    if (const ShardMapParams* map = device_map(e)) return make_params(without_shadowing(*map, around));
    if (!holds_programs(e)) return e.params;
    return map_programs(e, [&](const Jaxpr& body) { return without_shadowing(body, around); });
  });
}

}  // namespace

Jaxpr rename_axis(const Jaxpr& j, const std::string& from, const std::string& to) {
  return with_params(j, [&](const Eqn& e) {
    if (e.op->kind == Kind::collective) return collective_rules(*e.op).renamed(*e.params, from, to);
    if (const ShardMapParams* map = device_map(e)) {
      ShardMapParams p = *map;
      if (p.mesh.find(from) < 0) p.jaxpr = rename_axis(p.jaxpr, from, to);
      return make_params(std::move(p));
    }
    if (!holds_programs(e)) return e.params;
    if (const auto own = find_rule<RenameAxisTransform>(*e.op)) return own(*e.params, from, to);
    return map_programs(e, [&](const Jaxpr& body) { return rename_axis(body, from, to); });
  });
}

ShardMapParams without_shadowing(const ShardMapParams& p) { return without_shadowing(p, Around{}); }

}  // namespace weft::detail
