// psum, pmax, pmin, psum_invariant and pvary.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "weft/core/array/array_impl.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/collective/collective.h"
#include "weft/core/ops/collective/collective_groups.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/reduce/reduce.h"
#include "weft/core/text/text.h"
#include "weft/core/trace/varying.h"

namespace weft::detail {

std::string print_param(const AxisRefs& v) {
  std::string s = "(";
  for (std::size_t i = 0; i < v.size(); ++i) s += (i ? ", " : "") + (v[i].is_named() ? quoted(v[i].name) : std::to_string(v[i].position));
  return s + (v.size() == 1 ? ",)" : ")");
}
void read_param(ParamReader& r, AxisRefs& v) {
  v.clear();
  r.read_list([&] {
    const char c = r.peek();
    if (c == '\'' || c == '"')
      v.push_back({r.read_string(), -1});
    else
      read_param(r, v.emplace_back().position);
  });
}

namespace {

AxisRefs named(const std::vector<std::string>& axes) {
  AxisRefs refs;
  for (const std::string& a : axes) refs.push_back({a, -1});
  return refs;
}
std::vector<std::string> names_of(const AxisRefs& refs) {
  std::vector<std::string> names;
  for (const AxisRef& a : refs)
    if (a.is_named()) names.push_back(a.name);
  return names;
}
std::vector<int> positions_of(const AxisRefs& refs) {
  std::vector<int> positions;
  for (const AxisRef& a : refs)
    if (!a.is_named()) positions.push_back(a.position);
  std::sort(positions.begin(), positions.end());
  return positions;
}

Array multiplied(const Array& x, std::int64_t n, SourceLoc loc) {
  if (n == 1) return x;
  LocScope scope(loc);
  return x * scalar_like(x, static_cast<double>(n));
}

/// The common base of the three reductions over axes. Self::local reduces over dimensions of the operand, Self::repeated is the reduction
/// of n equal values.
template <class Self>
struct ReduceOverAxes : CollectiveOp<Self> {
  using Params = PsumParams;
  static constexpr Exchange exchange = Exchange::allreduce;
  static std::optional<LocalReduction> local_reduction(const PsumParams& p) {
    const std::vector<int> positions = positions_of(p.axes);
    if (positions.empty() && !p.axes.empty()) return {};
    PsumParams rest{named(names_of(p.axes)), p.axis_index_groups};
    return LocalReduction{positions, rest.axes.empty() ? ParamsRef() : make_params(std::move(rest))};
  }

  static std::vector<Aval> abstract_eval(const OpContext& c) {
    const auto& p = c.get<PsumParams>();
    if (p.axis_index_groups && (p.axes.size() != 1 || !p.axes[0].is_named()))
      c.fail<AxisError>("axis_index_groups are groups of one named axis", "reduce over one axis at a time");
    std::vector<Aval> out;
    for (const Aval& in : c.in) {
      std::vector<std::int64_t> sizes;
      const std::vector<int> drop = positions_of(p.axes);
      for (int a : drop)
        if (a < 0 || a >= in.ndim()) c.fail<AxisError>(fmt::format("axis {} is out of range", a));
      for (int d = 0; d < in.ndim(); ++d)
        if (!std::count(drop.begin(), drop.end(), d)) sizes.push_back(in.shape[d]);
      out.push_back(in.with_shape(Shape(sizes)));
    }
    return out;
  }

  static BatchResult batch(const BatchContext& c) {
    const auto& p = c.get<PsumParams>();
    const bool over_this =
        std::any_of(p.axes.begin(), p.axes.end(), [&](const AxisRef& a) { return a.is_named() && a.name == c.axis.name; });
    if (over_this && p.axis_index_groups) return batch_in_groups<Self, PsumParams>(c, [](PsumParams&) {});
    BatchResult r;
    for (std::size_t i = 0; i < c.in.size(); ++i) {
      Array x = c.in[i];
      const bool mapped = c.dims[i] != kNotMapped;
      if (mapped) x = move_batch_dim(x, c.dims[i], 0, c.loc);
      PsumParams q;
      q.axis_index_groups = p.axis_index_groups;
      for (const AxisRef& a : p.axes)
        if (!a.is_named())
          q.axes.push_back({{}, a.position + mapped});
        else if (a.name != c.axis.name)
          q.axes.push_back(a);
      if (over_this) x = mapped ? Self::local(x, {0}, c.loc) : Self::repeated(x, c.axis.size, c.loc);
      if (over_this && mapped)
        for (AxisRef& a : q.axes)
          if (!a.is_named()) --a.position;
      if (!q.axes.empty()) x = bind_one<Self>(std::move(q), {x}, c.loc);
      r.out.push_back(x);
      r.dims.push_back(mapped && !over_this ? 0 : kNotMapped);
    }
    return r;
  }

  /// Only positions can be reduced here: a name refers to devices, or to a vmap that has resolved it.
  static void reference(const ReferenceContext& c) {
    const auto& p = c.get<PsumParams>();
    if (const std::vector<std::string> names = names_of(p.axes); !names.empty())
      throw AxisError(fmt::format("{}: the axis name `{}` is not bound here; call it inside the vmap, pmap or shard_map that names it",
                                  Self::name, names[0]));
    const Primitive* local = find_primitive(Self::local_name);
    const ParamsRef params = make_params(ReduceParams{positions_of(p.axes)});
    for (std::size_t i = 0; i < c.in.size(); ++i) {
      if (p.axes.empty())
        std::memcpy(c.out[i].data, c.in[i].data, static_cast<std::size_t>(c.in[i].aval.bytes()));
      else
        local->reference({*params, c.in.subspan(i, 1), c.out.subspan(i, 1)});
    }
  }
};

struct Psum : ReduceOverAxes<Psum> {
  static constexpr std::string_view name = "psum", local_name = "reduce_sum";
  static constexpr Combiner combiner = Combiner::sum;
  static constexpr std::string_view doc = "Sum over named axes (and dimensions).";
  static Array local(const Array& x, const std::vector<int>& axes, SourceLoc loc) { return reduce_sum(x, axes, loc); }
  static Array repeated(const Array& x, std::int64_t n, SourceLoc loc) { return multiplied(x, n, loc); }
  static std::vector<Tangent> jvp(const JvpContext& c) {
    std::vector<Tangent> out;
    for (const Tangent& t : c.tangents) out.push_back(t ? Tangent(bind_one<Psum>(c.get<PsumParams>(), {*t}, c.loc)) : Tangent());
    return out;
  }
  /// A psum over names is its own transpose; over dimensions, a broadcast.
  static std::vector<Tangent> transpose(const TransposeContext& c) {
    const auto& p = c.get<PsumParams>();
    std::vector<Tangent> out;
    for (std::size_t i = 0; i < c.in.size(); ++i) {
      if (!c.cotangents[i] || !c.in[i].is_linear()) {
        out.emplace_back();
        continue;
      }
      Array ct = *c.cotangents[i];
      if (const std::vector<std::string> names = names_of(p.axes); !names.empty()) ct = bind_psum(ct, names, p.axis_index_groups, c.loc);
      const std::vector<int> dropped = positions_of(p.axes);
      if (!dropped.empty()) {
        std::vector<int> kept;
        for (int d = 0; d < c.in[i].aval.ndim(); ++d)
          if (!std::count(dropped.begin(), dropped.end(), d)) kept.push_back(d);
        ct = broadcast_in_dim(ct, c.in[i].aval.shape, kept, c.loc);
      }
      out.emplace_back(ct);
    }
    return out;
  }
};

/// The tangent of an extremum: the mean of the tangents of those that attain it.
template <class Self>
struct ReduceToExtremum : ReduceOverAxes<Self> {
  static bool agrees(const PsumParams& p) { return !p.axis_index_groups; }
  static Array repeated(const Array& x, std::int64_t, SourceLoc) { return x; }
  static std::vector<Tangent> jvp(const JvpContext& c) {
    const auto& p = c.get<PsumParams>();
    LocScope scope(c.loc);
    std::vector<Tangent> out;
    for (std::size_t i = 0; i < c.in.size(); ++i) {
      if (!c.tangents[i]) {
        out.emplace_back();
        continue;
      }
      const Array& x = c.in[i];
      Array extremum = c.out[i];
      const std::vector<int> dropped = positions_of(p.axes);
      if (!dropped.empty()) {
        std::vector<int> kept;
        for (int d = 0; d < x.ndim(); ++d)
          if (!std::count(dropped.begin(), dropped.end(), d)) kept.push_back(d);
        extremum = broadcast_in_dim(extremum, x.shape(), kept, c.loc);
      }
      const Array attains = convert(x == extremum, x.dtype());
      const auto total = [&](const Array& v) {
        // Under check_vma an extremum is one value for all devices, and so is its tangent.
        const std::vector<std::string> names = names_of(p.axes);
        if (!p.axis_index_groups && dropped.empty() && varying_over(names)) return bind_psum_invariant(v, names, c.loc);
        return bind_one<Psum>(p, {v}, c.loc);
      };
      out.emplace_back(total(*c.tangents[i] * attains) / total(attains));
    }
    return out;
  }
  static constexpr bool not_linear = true;
};
struct Pmax : ReduceToExtremum<Pmax> {
  static constexpr std::string_view name = "pmax", local_name = "reduce_max", doc = "Maximum over named axes (and dimensions).";
  static constexpr Combiner combiner = Combiner::max;
  static Array local(const Array& x, const std::vector<int>& axes, SourceLoc loc) { return reduce_max(x, axes, loc); }
};
struct Pmin : ReduceToExtremum<Pmin> {
  static constexpr std::string_view name = "pmin", local_name = "reduce_min", doc = "Minimum over named axes (and dimensions).";
  static constexpr Combiner combiner = Combiner::min;
  static Array local(const Array& x, const std::vector<int>& axes, SourceLoc loc) { return reduce_min(x, axes, loc); }
};

std::vector<std::string> without(std::vector<std::string> names, const std::string& name) {
  names.erase(std::remove(names.begin(), names.end(), name), names.end());
  return names;
}

/// The sum as a value that is known to be the same on all devices of the axes: JAX's psum where check_vma is on.
struct PsumInvariant : CollectiveOp<PsumInvariant> {
  static constexpr std::string_view name = "psum_invariant", called = "psum",
                                    doc = "Sum over named axes, the result marked as the same on all their devices.";
  using Params = VaryParams;
  static constexpr Exchange exchange = Exchange::allreduce;
  static constexpr Combiner combiner = Combiner::sum;
  static constexpr bool marks = true;
  static bool agrees(const Params&) { return true; }
  static std::vector<Aval> abstract_eval(const OpContext& c) { return {c.in.begin(), c.in.end()}; }
  static std::vector<Tangent> jvp(const JvpContext& c) {
    std::vector<Tangent> out;
    for (const Tangent& t : c.tangents) out.push_back(t ? Tangent(bind_one<PsumInvariant>(c.get<VaryParams>(), {*t}, c.loc)) : Tangent());
    return out;
  }
  static std::vector<Tangent> transpose(const TransposeContext& c) {
    std::vector<Tangent> out;
    for (const Tangent& t : c.cotangents) out.push_back(t ? Tangent(bind_pvary(*t, c.get<VaryParams>().axes, c.loc)) : Tangent());
    return out;
  }
  static BatchResult batch(const BatchContext& c) {
    const std::vector<std::string> rest = without(c.get<VaryParams>().axes, c.axis.name);
    const bool over_this = rest.size() != c.get<VaryParams>().axes.size();
    BatchResult r;
    for (std::size_t i = 0; i < c.in.size(); ++i) {
      Array x = c.in[i];
      int dim = c.dims[i];
      if (over_this) x = dim == kNotMapped ? multiplied(x, c.axis.size, c.loc) : reduce_sum(x, {dim}, c.loc), dim = kNotMapped;
      r.out.push_back(rest.empty() ? x : bind_psum_invariant(x, rest, c.loc));
      r.dims.push_back(dim);
    }
    return r;
  }
};

/// Marks a value as different on the devices of the axes; the identity otherwise.
struct Pvary : CollectiveOp<Pvary> {
  static constexpr std::string_view name = "pvary", doc = "The operand, marked as varying over named axes.";
  using Params = VaryParams;
  static constexpr Exchange exchange = Exchange::none;
  static constexpr bool marks = true;
  static std::vector<Aval> abstract_eval(const OpContext& c) { return {c.in.begin(), c.in.end()}; }
  static std::vector<Tangent> jvp(const JvpContext& c) {
    std::vector<Tangent> out;
    for (const Tangent& t : c.tangents) out.push_back(t ? Tangent(bind_one<Pvary>(c.get<VaryParams>(), {*t}, c.loc)) : Tangent());
    return out;
  }
  static std::vector<Tangent> transpose(const TransposeContext& c) {
    std::vector<Tangent> out;
    for (const Tangent& t : c.cotangents) out.push_back(t ? Tangent(bind_psum_invariant(*t, c.get<VaryParams>().axes, c.loc)) : Tangent());
    return out;
  }
  static BatchResult batch(const BatchContext& c) {
    const std::vector<std::string> rest = without(c.get<VaryParams>().axes, c.axis.name);
    BatchResult r;
    for (std::size_t i = 0; i < c.in.size(); ++i) {
      r.out.push_back(rest.empty() ? c.in[i] : bind_pvary(c.in[i], rest, c.loc));
      r.dims.push_back(c.dims[i]);
    }
    return r;
  }
  static void reference(const ReferenceContext& c) {
    for (std::size_t i = 0; i < c.in.size(); ++i) std::memcpy(c.out[i].data, c.in[i].data, static_cast<std::size_t>(c.in[i].aval.bytes()));
  }
};

constexpr const Primitive* kPrimitives[] = {&primitive_of<Psum>, &primitive_of<Pmax>, &primitive_of<Pmin>, &primitive_of<PsumInvariant>,
                                            &primitive_of<Pvary>};

}  // namespace

PrimitiveList collective_reduction_primitives() { return kPrimitives; }

Array bind_psum(const Array& x, const std::vector<std::string>& axes, const IndexGroups& groups, SourceLoc loc) {
  return bind_one<Psum>({named(axes), groups}, {x}, loc);
}
Array bind_pmax(const Array& x, const std::vector<std::string>& axes, const IndexGroups& groups, SourceLoc loc) {
  return bind_one<Pmax>({named(axes), groups}, {x}, loc);
}
Array bind_pmin(const Array& x, const std::vector<std::string>& axes, const IndexGroups& groups, SourceLoc loc) {
  return bind_one<Pmin>({named(axes), groups}, {x}, loc);
}
Array bind_psum_invariant(const Array& x, const std::vector<std::string>& axes, SourceLoc loc) {
  return bind_one<PsumInvariant>({axes}, {x}, loc);
}
Array bind_pvary(const Array& x, const std::vector<std::string>& axes, SourceLoc loc) { return bind_one<Pvary>({axes}, {x}, loc); }

}  // namespace weft::detail
