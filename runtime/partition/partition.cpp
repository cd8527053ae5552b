#include "weft/runtime/partition/partition.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/array/array_impl.h"
#include "weft/core/base/nesting.h"
#include "weft/core/errors/error.h"
#include "weft/core/ir/effects.h"
#include "weft/core/ir/rewrite.h"
#include "weft/core/ir/sealed_program.h"
#include "weft/core/ops/collective/process_local.h"
#include "weft/core/ops/collective/shard_map.h"
#include "weft/core/ops/collective/sharding_constraint.h"
#include "weft/core/ops/control/call.h"
#include "weft/core/ops/control/control.h"
#include "weft/core/trace/trace.h"
#include "weft/runtime/partition/partition_rules.h"

namespace weft::detail {
namespace {

template <class F>
void each_program(const Eqn& e, F&& f) {
  for (const ParamText& p : e.op->params_list(*e.params)) {
    if (p.jaxpr) f(*p.jaxpr);
    if (p.jaxprs)
      for (const Jaxpr& j : *p.jaxprs) f(j);
  }
}

bool same_mesh(const MeshAxes& a, const MeshAxes& b) {
  return a.names == b.names && a.sizes == b.sizes && (a.device_ids == b.device_ids || a.device_ids.empty() || b.device_ids.empty());
}

/// Whether every equation can run in a program of a device of the mesh.
bool can_partition(const Jaxpr& j, const MeshAxes& mesh) {
  check_nesting("programs inside programs", nesting_depth(j));
  for (const Eqn& e : j.eqns()) {
    if (has_effects(e) || e.op->kind == Kind::effect || e.op->kind == Kind::collective || is_process_local(*e.op)) return false;
    if (is_shard_map(*e.op)) {
      const auto& p = params_as<ShardMapParams>(*e.params);
      if (!same_mesh(p.mesh, mesh) || p.manual_axes().size() != p.mesh.names.size()) return false;
      continue;
    }
    bool all = true;
    each_program(e, [&](const Jaxpr& inner) { all = all && can_partition(inner, mesh); });
    if (!all) return false;
  }
  return true;
}

class Partitioner {
 public:
  explicit Partitioner(const MeshAxes& mesh) : p_(mesh) {}

  ShardedValues run(const Jaxpr& j, const ShardedValues& inputs) {
    const JaxprData& d = j.data();
    ShardedValues values(d.avals.size());
    for (std::size_t i = 0; i < d.consts.size(); ++i) values[i] = p_.replicated(d.consts[i]);
    std::copy(inputs.begin(), inputs.end(), values.begin() + d.num_consts);
    const auto read = [&](Atom a) {
      return a.is_literal() ? p_.replicated(make_literal(d.literals[a.literal()].aval, d.literals[a.literal()].bits)) : values[a.var()];
    };
    for (const Eqn& e : d.eqns) {
      LocScope scope(e.loc);
      ShardedValues in;
      std::vector<Aval> out;
      for (Atom a : e.inputs) in.push_back(read(a));
      for (Var v : e.outputs) out.push_back(d.avals[v]);
      ShardedValues results = eqn(e, in, out);
      for (std::size_t k = 0; k < results.size(); ++k) values[e.outputs[k]] = std::move(results[k]);
    }
    ShardedValues results;
    for (Atom a : d.outputs) results.push_back(read(a));
    return results;
  }

 private:
  ShardedValues eqn(const Eqn& e, const ShardedValues& in, std::span<const Aval> out) {
    if (is_sharding_constraint(*e.op)) return {constraint(e, in[0])};
    if (is_shard_map(*e.op)) return map(e, in);
    const bool moves = e.op->kind == Kind::movement || e.op->kind == Kind::concatenate;
    const auto is_sharded = [&](const ShardedValue& x) { return x.is_sharded() || (moves && x.slice); };
    if (std::none_of(in.begin(), in.end(), is_sharded) && !holds_shardings(e)) return replicated(e, in);
    if (e.op->kind == Kind::call) return call(e, in);
    if (e.op == &primitive_of<Scan>) return scan(e, in);
    if (e.op == &primitive_of<While>) return while_loop(e, in);
    if (e.op == &primitive_of<Cond>) return cond(e, in);
    if (std::optional<ShardedValues> results = partition_eqn({p_, e, in, out})) return std::move(*results);
    ShardedValues wholes;
    for (const ShardedValue& x : in) wholes.push_back(p_.gathered(x, e.loc));
    return replicated(e, wholes);
  }

  /// All devices do the same.
  ShardedValues replicated(const Eqn& e, const ShardedValues& in) {
    std::vector<Array> blocks;
    for (const ShardedValue& x : in) blocks.push_back(x.block);
    ShardedValues results;
    for (const Array& y : bind_primitive(*e.op, e.params, blocks, e.loc)) results.push_back(p_.replicated(y));
    if (e.op->kind == Kind::movement && in.size() == 1 && in[0].whole.size() == 0)
      for (ShardedValue& y : results) y.scalar = in[0].block;
    return results;
  }

  static bool holds_shardings(const Eqn& e) {
    bool any = false;
    each_program(e, [&](const Jaxpr& inner) {
      for (const Eqn& one : inner.eqns()) any = any || is_sharding_constraint(*one.op) || is_shard_map(*one.op) || holds_shardings(one);
    });
    return any;
  }

  ShardedValue constraint(const Eqn& e, const ShardedValue& x) {
    const SpecOnMesh& s = params_as<ShardingConstraintParams>(*e.params).sharding;
    if (!same_mesh(s.mesh, p_.mesh()))
      throw ShardingError(
          fmt::format("sharding_constraint: {} on the mesh {}, in a program whose arguments are sharded over the mesh {}; use one mesh",
                      to_string(s.spec), print_param(s.mesh), print_param(p_.mesh())),
          e.loc);
    return p_.reshard(x, dims_of(s.spec, x.whole.size()), e.loc);
  }

  ShardedValues map(const Eqn& e, const ShardedValues& in) {
    const auto& q = params_as<ShardMapParams>(*e.params);
    std::vector<Array> blocks;
    for (std::size_t i = 0; i < in.size(); ++i)
      blocks.push_back(p_.reshard(in[i], dims_of(q.in_specs[i], in[i].whole.size()), e.loc).block);
    const std::vector<Array> out = eval_jaxpr(q.jaxpr, blocks);
    ShardedValues results;
    for (std::size_t i = 0; i < out.size(); ++i) results.push_back(p_.of_block(out[i], dims_of(q.out_specs[i], out[i].ndim())));
    return results;
  }

  ShardedValues call(const Eqn& e, const ShardedValues& in) {
    std::vector<Aval> avals;
    for (const ShardedValue& x : in) avals.push_back(x.aval());
    return run(executed_body(*e.op, *e.params, avals), in);
  }

  /// A program of blocks, with results sharded as wanted (as they come where nothing is said).
  struct Sub {
    Jaxpr jaxpr;
    std::vector<DimAxes> out;
  };
  Sub sub(const char* what, const Jaxpr& j, const std::vector<DimAxes>& in, const std::vector<DimAxes>& wanted, SourceLoc loc) {
    const auto avals = j.data().input_avals();
    std::vector<Aval> blocks;
    for (std::size_t i = 0; i < in.size(); ++i) blocks.push_back(avals[i].with_shape(p_.block_of(avals[i].shape, in[i])));
    Sub s;
    const Jaxpr traced = trace_jaxpr({what, std::move(blocks), {}}, [&](std::span<const Array> args) {
      ShardedValues inputs;
      for (std::size_t i = 0; i < args.size(); ++i) inputs.push_back({args[i], avals[i].shape, in[i], {}});
      std::vector<Array> out;
      ShardedValues results = run(j, inputs);
      for (std::size_t i = 0; i < results.size(); ++i) {
        const ShardedValue y = i < wanted.size() ? p_.reshard(results[i], wanted[i], loc) : results[i];
        s.out.push_back(results[i].axes);
        out.push_back(y.block);
      }
      return out;
    });
    const Hoisted h = hoist_consts(traced);
    if (!h.consts.empty()) throw Error("partition: internal error: a loop's program has constants", loc);
    s.jaxpr = dce_program(h.jaxpr);
    return s;
  }

  static DimAxes without_first(DimAxes axes) {
    axes.erase(axes.begin());
    return axes;
  }
  static DimAxes with_first(DimAxes axes) {
    axes.insert(axes.begin(), std::vector<std::string>());
    return axes;
  }

  /// A carry that starts replicated is sharded as the body gives it back; others keep their sharding.
  static bool adopt(std::vector<DimAxes>& carry, const std::vector<DimAxes>& out) {
    bool changed = false;
    for (std::size_t k = 0; k < carry.size(); ++k) {
      const auto is_sharded = [](const DimAxes& axes) {
        return std::any_of(axes.begin(), axes.end(), [](const auto& dim) { return !dim.empty(); });
      };
      if (is_sharded(carry[k]) || !is_sharded(out[k])) continue;
      carry[k] = out[k];
      changed = true;
    }
    return changed;
  }

  ShardedValues scan(const Eqn& e, const ShardedValues& in) {
    Scan::Params q = params_as<Scan::Params>(*e.params);
    const auto consts = static_cast<std::size_t>(q.num_consts), num_carry = static_cast<std::size_t>(q.num_carry),
               fixed = consts + num_carry;
    std::vector<DimAxes> body_in, carry;
    for (std::size_t i = 0; i < in.size(); ++i) body_in.push_back(i < fixed ? in[i].axes : without_first(in[i].axes));
    carry.assign(body_in.begin() + static_cast<std::ptrdiff_t>(consts), body_in.begin() + static_cast<std::ptrdiff_t>(fixed));
    Sub body;
    for (bool again = true; again;) {
      std::copy(carry.begin(), carry.end(), body_in.begin() + static_cast<std::ptrdiff_t>(consts));
      body = sub("scan", q.jaxpr, body_in, carry, e.loc);
      again = adopt(carry, body.out);
    }
    std::vector<Array> operands;
    for (std::size_t i = 0; i < in.size(); ++i)
      operands.push_back(p_.reshard(in[i], i < fixed ? body_in[i] : with_first(body_in[i]), e.loc).block);
    q.jaxpr = body.jaxpr;
    const std::vector<Array> out = bind_all<Scan>(q, operands, e.loc);
    ShardedValues results;
    for (std::size_t k = 0; k < out.size(); ++k) results.push_back(p_.of_block(out[k], k < num_carry ? carry[k] : with_first(body.out[k])));
    return results;
  }

  ShardedValues while_loop(const Eqn& e, const ShardedValues& in) {
    While::Params q = params_as<While::Params>(*e.params);
    const auto a = static_cast<std::size_t>(q.cond_nconsts), b = static_cast<std::size_t>(q.body_nconsts);
    std::vector<DimAxes> axes;
    for (const ShardedValue& x : in) axes.push_back(x.axes);
    const auto at = [&](std::size_t i) { return axes.begin() + static_cast<std::ptrdiff_t>(i); };
    std::vector<DimAxes> carry(at(a + b), axes.end());
    Sub body;
    for (bool again = true; again;) {
      std::vector<DimAxes> body_in(at(a), at(a + b));
      body_in.insert(body_in.end(), carry.begin(), carry.end());
      body = sub("while", q.body_jaxpr, body_in, carry, e.loc);
      again = adopt(carry, body.out);
    }
    std::vector<DimAxes> cond_in(axes.begin(), at(a));
    cond_in.insert(cond_in.end(), carry.begin(), carry.end());
    const Sub stop = sub("while", q.cond_jaxpr, cond_in, {DimAxes()}, e.loc);
    std::vector<Array> operands;
    for (std::size_t i = 0; i < in.size(); ++i) operands.push_back(p_.reshard(in[i], i < a + b ? axes[i] : carry[i - a - b], e.loc).block);
    q.body_jaxpr = body.jaxpr, q.cond_jaxpr = stop.jaxpr;
    const std::vector<Array> out = bind_all<While>(q, operands, e.loc);
    ShardedValues results;
    for (std::size_t k = 0; k < out.size(); ++k) results.push_back(p_.of_block(out[k], carry[k]));
    return results;
  }

  ShardedValues cond(const Eqn& e, const ShardedValues& in) {
    Cond::Params q = params_as<Cond::Params>(*e.params);
    std::vector<DimAxes> branch_in, out_axes;
    for (std::size_t i = 1; i < in.size(); ++i) branch_in.push_back(in[i].axes);
    for (Jaxpr& j : q.branches) {
      const Sub s = sub("cond", j, branch_in, out_axes, e.loc);
      if (out_axes.empty()) out_axes = s.out;
      j = s.jaxpr;
    }
    std::vector<Array> operands{p_.gathered(in[0], e.loc).block};
    for (std::size_t i = 1; i < in.size(); ++i) operands.push_back(in[i].block);
    const std::vector<Array> out = bind_all<Cond>(q, operands, e.loc);
    ShardedValues results;
    for (std::size_t k = 0; k < out.size(); ++k) results.push_back(p_.of_block(out[k], out_axes[k]));
    return results;
  }

  Partition p_;
};

}  // namespace

const MeshAxes* constrained_mesh(const Jaxpr& j) {
  check_nesting("programs inside programs", nesting_depth(j));
  for (const Eqn& e : j.eqns()) {
    if (is_sharding_constraint(*e.op)) return &params_as<ShardingConstraintParams>(*e.params).sharding.mesh;
    const MeshAxes* inner = nullptr;
    if (!is_shard_map(*e.op)) each_program(e, [&](const Jaxpr& p) { inner = inner ? inner : constrained_mesh(p); });
    if (inner) return inner;
  }
  return nullptr;
}

std::optional<Jaxpr> partition(const Jaxpr& j, const MeshAxes& mesh, const std::vector<PartitionSpec>& in_specs) {
  if (!can_partition(j, mesh)) return {};
  const auto avals = j.data().input_avals();
  ShardMapParams q;
  q.mesh = mesh;
  q.newly_manual_axes.names = mesh.names;
  q.in_specs.specs = in_specs;
  TraceRequest request{"jit", {}, {}};
  for (std::size_t i = 0; i < mesh.names.size(); ++i) request.axes.push_back({mesh.names[i], static_cast<int>(mesh.sizes[i])});
  for (std::size_t i = 0; i < avals.size(); ++i)
    request.inputs.push_back(avals[i].with_shape(block_shape(mesh, in_specs[i], avals[i].shape)));
  const Hoisted body = hoist_consts(trace_jaxpr(request, [&](std::span<const Array> args) {
    ShardedValues inputs;
    for (std::size_t i = 0; i < args.size(); ++i) inputs.push_back({args[i], avals[i].shape, dims_of(in_specs[i], avals[i].ndim()), {}});
    std::vector<Array> out;
    for (const ShardedValue& y : Partitioner(mesh).run(j, inputs)) {
      out.push_back(y.block);
      q.out_specs.specs.push_back(PartitionSpec(y.axes).trimmed());
    }
    return out;
  }));
  q.jaxpr = dce_program(body.jaxpr);  // what was gathered for equations that did without
  q.in_specs.specs.insert(q.in_specs.specs.begin(), body.consts.size(), PartitionSpec());
  return trace_jaxpr({"jit", {avals.begin(), avals.end()}, {}}, [&](std::span<const Array> args) {
    std::vector<Array> inputs = body.consts;
    inputs.insert(inputs.end(), args.begin(), args.end());
    return bind_shard_map(q, inputs, {});
  });
}

}  // namespace weft::detail
