#include "weft/transforms/maps/shard_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "weft/core/base/sizes.h"
#include "weft/core/errors/error.h"
#include "weft/core/ops/collective/shard_map.h"
#include "weft/core/ops/common.h"
#include "weft/core/trace/varying.h"
#include "weft/core/trees/resolve_prefix.h"
#include "weft/runtime/host/blocks.h"
#include "weft/runtime/sharded/map_places.h"
#include "weft/transforms/autodiff/differentiate.h"
#include "weft/transforms/maps/map_scope.h"
#include "weft/transforms/numbers.h"

namespace weft::detail {
namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The difference between shard_map and smap: how specs are made from their options.
class SpecMaker : public RefCounted {
 public:
  virtual const char* name() const = 0;
  virtual const char* in_option() const = 0;
  virtual const char* out_option() const = 0;
  /// A result's spec as the caller gave it, and what to do if the result isn't the same on all devices that it says so of.
  virtual std::string told(const PartitionSpec& spec) const = 0;
  virtual const char* remedy() const = 0;
  /// What to do if there is no mesh.
  virtual const char* mesh_remedy() const = 0;
  virtual std::vector<PartitionSpec> in_specs(const FlatFunction& f) const = 0;
  virtual std::vector<PartitionSpec> out_specs(const FlatFunction& f, std::span<const Aval> blocks) const = 0;
  /// The mesh's axes that are the function's.
  virtual std::vector<std::string> axes(const Mesh& mesh, SourceLoc loc) const = 0;
  std::optional<Mesh> mesh;
  bool check_vma = true;
};

class GivenSpecs final : public SpecMaker {
 public:
  explicit GivenSpecs(const ShardMapOptions& o) : in_(o.in_specs), out_(o.out_specs), axis_names_(o.axis_names) {
    mesh = o.mesh, check_vma = o.check_vma;
  }
  const char* name() const override { return "shard_map"; }
  const char* in_option() const override { return "in_specs"; }
  const char* out_option() const override { return "out_specs"; }
  std::string told(const PartitionSpec& spec) const override { return to_string(spec); }
  const char* remedy() const override {
    return "name the axis in the spec, make it the same (by psum, pmean, pmax), or set check_vma = false if it is";
  }
  const char* mesh_remedy() const override { return "give one, or enter one with use_mesh"; }
  std::vector<PartitionSpec> in_specs(const FlatFunction& f) const override { return resolve(in_, f.arguments(), "in_specs", f.loc); }
  std::vector<PartitionSpec> out_specs(const FlatFunction& f, std::span<const Aval>) const override {
    return resolve(out_, f.result(), "out_specs", f.loc);
  }
  std::vector<std::string> axes(const Mesh& m, SourceLoc loc) const override {
    std::vector<std::string> names = m.axis_names();
    if (axis_names_.empty()) return names;
    for (const std::string& name : axis_names_)
      if (m.axes().find(name) < 0)
        throw ShardingError(
            fmt::format("shard_map: axis_names has `{}`, which is not an axis of the mesh {}; name some of its axes, or none for all", name,
                        print_param(m.axes())),
            loc);
    std::erase_if(names, [&](const std::string& name) { return !contains(axis_names_, name); });
    return names;
  }

 private:
  static std::vector<PartitionSpec> resolve(const Specs& prefix, const Skeleton& tree, const char* option, SourceLoc loc) {
    std::vector<PartitionSpec> out;
    resolve_prefix(prefix, tree, {"shard_map", option, loc}, [&](const Specs& s) { out.push_back(s.spec()); });
    return out;
  }
  Specs in_, out_;
  std::vector<std::string> axis_names_;
};

class SpecsOfAxes final : public SpecMaker {
 public:
  explicit SpecsOfAxes(const SmapOptions& o) : options_(o) {}
  const char* name() const override { return "smap"; }
  const char* in_option() const override { return "in_axes"; }
  const char* out_option() const override { return "out_axes"; }
  std::string told(const PartitionSpec&) const override { return "none"; }
  const char* remedy() const override {
    return "give the dimension along which the blocks are joined, or make it the same (by psum, pmean, pmax)";
  }
  const char* mesh_remedy() const override { return "enter one with use_mesh"; }
  std::vector<PartitionSpec> in_specs(const FlatFunction& f) const override {
    return resolve(options_.in_axes, f.arguments(), avals_of(f.args), "in_axes", f.loc);
  }
  std::vector<PartitionSpec> out_specs(const FlatFunction& f, std::span<const Aval> blocks) const override {
    return resolve(options_.out_axes, f.result(), blocks, "out_axes", f.loc);
  }
  std::vector<std::string> axes(const Mesh& m, SourceLoc loc) const override {
    if (m.axes().find(options_.axis_name) < 0)
      throw ShardingError(
          fmt::format("smap: axis_name is `{}`, which is not an axis of the mesh {}", options_.axis_name, print_param(m.axes())), loc);
    return {options_.axis_name};
  }

 private:
  std::vector<PartitionSpec> resolve(const Axes& prefix, const Skeleton& tree, std::span<const Aval> avals, const char* option,
                                     SourceLoc loc) const {
    std::vector<PartitionSpec> out;
    resolve_prefix(prefix, tree, {"smap", option, loc}, [&](const Axes& entry) {
      const Aval& aval = avals[out.size()];
      if (entry.is_none()) return out.push_back({});
      const int n = aval.ndim(), axis = entry.axis() < 0 ? entry.axis() + n : entry.axis();
      if (axis < 0 || axis >= n)
        throw AxisError(
            fmt::format("smap: {} names axis {} of {}, which is {}", option, entry.axis(), leaf_paths(tree)[out.size()], to_string(aval)),
            loc);
      std::vector<std::vector<std::string>> dims(static_cast<std::size_t>(axis) + 1);
      dims.back() = {options_.axis_name};
      out.push_back(PartitionSpec::of(std::move(dims)));
    });
    return out;
  }
  SmapOptions options_;
};

class ShardMapProgram final : public ProgramMaker {
 public:
  ShardMapProgram(Ref<const SpecMaker> specs, Mesh mesh) : specs_(std::move(specs)), mesh_(std::move(mesh)) {}

  Jaxpr make(FlatFunction& f) const override {
    ShardMapParams p;
    p.mesh = mesh_.axes();
    p.check_vma = specs_->check_vma;
    p.newly_manual_axes.names = specs_->axes(mesh_, f.loc);
    for (const std::string& axis : p.newly_manual_axes.names)
      if (find_axis(axis))
        throw AxisError(fmt::format("{}: the axis `{}` of its mesh is in scope already, of a map around it; map over another axis",
                                    specs_->name(), axis),
                        f.loc);
    const std::vector<PartitionSpec> in_specs = specs_->in_specs(f);
    TraceRequest request = request_for(f, specs_->name(), {});
    for (const std::string& axis : p.newly_manual_axes.names)
      request.axes.push_back({axis, checked_int(p.mesh.size_of(axis), "shard_map", "the size of a mesh axis", SourceLoc{})});
    for (std::size_t i = 0; i < f.args.size(); ++i) {
      const Aval& aval = f.args[i].aval();
      if (const std::string problem = spec_problem(p.mesh, in_specs[i], aval.shape); !problem.empty())
        throw ShardingError(fmt::format("{}: {}: {} is {}: {}", specs_->name(), specs_->in_option(), leaf_paths(f.arguments())[i],
                                        to_string(aval), problem),
                            f.loc);
      if (const std::string problem = foreign_axis(p, in_specs[i]); !problem.empty())
        throw ShardingError(fmt::format("{}: in_specs: {}: {}", specs_->name(), leaf_paths(f.arguments())[i], problem), f.loc);
      request.inputs.push_back(aval.with_shape(block_shape(p.mesh, in_specs[i], aval.shape)));
    }

    std::vector<PartitionSpec> out_specs;
    Hoisted body = hoist_consts(trace_body(f, p, request, in_specs, out_specs));
    take_captured(body.consts, mesh_);
    p.jaxpr = body.jaxpr;
    p.in_specs.specs.assign(body.consts.size(), PartitionSpec());
    p.in_specs.specs.insert(p.in_specs.specs.end(), in_specs.begin(), in_specs.end());
    p.out_specs.specs = std::move(out_specs);
    return trace_jaxpr({request.what, avals_of(f.args), {}}, [&](std::span<const Array> args) {
      LocScope scope(f.loc);
      std::vector<Array> inputs = body.consts;
      inputs.insert(inputs.end(), args.begin(), args.end());
      return bind_shard_map(p, inputs, f.loc);
    });
  }

  bool follows_shardings() const override { return specs_->axes(mesh_, {}).size() < mesh_.axes().names.size(); }

 private:
  /// What is wrong with a spec that names an axis which isn't the function's, or nothing.
  static std::string foreign_axis(const ShardMapParams& p, const PartitionSpec& spec) {
    const std::vector<std::string> own = p.manual_axes();
    for (const std::string& axis : named_axes(spec))
      if (!contains(own, axis))
        return fmt::format(
            "{} names the axis `{}`, and axis_names are `{}`; add it there, or leave it out: how an array is sharded over "
            "the mesh's other axes is the caller's to say",
            to_string(spec), axis, fmt::join(own, "`, `"));
    return {};
  }

  /// The function of blocks. Results are checked against their specs.
  Jaxpr trace_body(FlatFunction& f, const ShardMapParams& p, TraceRequest& request, const std::vector<PartitionSpec>& in_specs,
                   std::vector<PartitionSpec>& out_specs) const {
    std::vector<Varying> varying = varying_of(f.args);
    const CheckedAxes checked(p.check_vma ? p.manual_axes() : std::vector<std::string>());
    std::optional<InputsVary> inputs;
    if (p.check_vma) {
      for (std::size_t i = 0; i < varying.size(); ++i) varying[i] |= varying_over(named_axes(in_specs[i]));
      inputs.emplace(std::move(varying));
    }
    const Scope inside = use_mesh(mesh_);
    const MapBody body;
    return trace_with_numbers(f, request, [&](std::span<const Array> leaves) {
      std::vector<Array> out = f.run(leaves);
      out_specs = specs_->out_specs(f, avals_of(out));
      for (std::size_t i = 0; i < out.size(); ++i) {
        const Aval& block = out[i].aval();
        const auto fail = [&](const std::string& problem) {
          throw ShardingError(fmt::format("{}: {}: {} is {} on each device: {}", specs_->name(), specs_->out_option(),
                                          leaf_paths(f.result())[i], to_string(block), problem),
                              f.loc);
        };
        if (const std::string problem = spec_problem(p.mesh, out_specs[i]); !problem.empty()) fail(problem);
        if (const std::string problem = foreign_axis(p, out_specs[i]); !problem.empty()) fail(problem);
        if (const std::size_t dims = out_specs[i].trimmed().dims().size(); dims > static_cast<std::size_t>(block.ndim()))
          fail(
              fmt::format("{} shards {} dimension{}, the result has {}; keep a dimension for each (keepdims, expand_dims), or leave them "
                          "out of the spec",
                          to_string(out_specs[i]), dims, dims == 1 ? "" : "s", block.ndim()));
        if (!p.check_vma) continue;
        const Varying named = varying_over(named_axes(out_specs[i]));
        if (const Varying wrong = varying_of(out[i]) & varying_over(p.manual_axes()) & ~named)
          fail(fmt::format("{} says that it is the same on all devices of `{}`, but it may differ there; {}", specs_->told(out_specs[i]),
                           fmt::join(names_of(wrong), "`, `"), specs_->remedy()));
        out[i] = vary_over(out[i], named, f.loc);
      }
      return out;
    });
  }

  Ref<const SpecMaker> specs_;
  Mesh mesh_;
};

class Caches final : public ShardMapCaches {
 public:
  explicit Caches(Ref<const SpecMaker> specs) : specs_(std::move(specs)) {}

  Ref<JitCache> find(SourceLoc loc) {
    const Mesh* const mesh = specs_->mesh ? &*specs_->mesh : mesh_in_scope();
    if (!mesh) throw ShardingError(fmt::format("{}: there is no mesh; {}", specs_->name(), specs_->mesh_remedy()), effective_loc(loc));
    check_scope(*mesh, loc);
    const std::lock_guard lock(mutex_);
    for (const auto& [known, cache] : caches_)
      if (known == *mesh) return cache;
    caches_.emplace_back(*mesh, JitCache::make({}, "_fun", Ref<const ProgramMaker>(new ShardMapProgram(specs_, *mesh))));
    return caches_.back().second;
  }

 private:
  /// The mesh in scope is that of use_mesh, or of the map around this one.
  void check_scope(const Mesh& mesh, SourceLoc loc) const {
    const Mesh* const around = mesh_in_scope();
    if (!around || *around == mesh) return;
    const auto told = [](const Mesh& m) { return print_param(m.axes()) + " on " + device_list(m.axes().device_ids); };
    throw ShardingError(fmt::format("{}: its mesh is {}, and the mesh in scope (of use_mesh, or of the map around it) is {}; they must be "
                                    "one: leave the mesh out, or end the scope",
                                    specs_->name(), told(mesh), told(*around)),
                        effective_loc(loc));
  }

  Ref<const SpecMaker> specs_;
  std::mutex mutex_;
  std::vector<std::pair<Mesh, Ref<JitCache>>> caches_;
};

}  // namespace

Ref<ShardMapCaches> ShardMapCaches::make(const ShardMapOptions& options) {
  return Ref<ShardMapCaches>(new Caches(Ref<const SpecMaker>(new GivenSpecs(options))));
}
Ref<ShardMapCaches> ShardMapCaches::make(const SmapOptions& options) {
  return Ref<ShardMapCaches>(new Caches(Ref<const SpecMaker>(new SpecsOfAxes(options))));
}
Ref<JitCache> ShardMapCaches::cache(SourceLoc loc) { return static_cast<Caches*>(this)->find(loc); }

}  // namespace weft::detail
