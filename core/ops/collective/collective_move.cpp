// all_gather, reduce_scatter, all_to_all, ppermute, pbroadcast and axis_index.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "weft/core/array/array_impl.h"
#include "weft/core/base/counted.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/collective/collective.h"
#include "weft/core/ops/collective/collective_groups.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/reduce/reduce.h"
#include "weft/core/text/text_rules.h"
#include "weft/core/trace/trace.h"

namespace weft::detail {
namespace {

[[noreturn]] void fail_unbound(std::string_view op, const std::string& axis) {
  throw AxisError(
      fmt::format("{}: the axis name `{}` is not bound here; call it inside the vmap, pmap or shard_map that names it", op, axis));
}

/// Splits dimension d of x, of size outer * inner, into two.
Array split_dim(const Array& x, int d, std::int64_t outer, SourceLoc loc) {
  return reshape_to(x, x.shape().with(d, x.shape()[d] / outer).inserted(d, outer), loc);
}
/// Merges dimensions d and d + 1.
Array merge_dims(const Array& x, int d, SourceLoc loc) {
  return reshape_to(x, x.shape().with(d, x.shape()[d] * x.shape()[d + 1]).erased(d + 1), loc);
}

/// The product of the sizes of axes in scope.
template <class Context>
std::int64_t size_together(const std::vector<std::string>& names, const Context& c) {
  std::int64_t n = 1;
  for (const std::string& name : names) {
    const AxisFrame* frame = find_axis(name);
    if (!frame)
      throw AxisError(fmt::format("{}: the size of the axis `{}` is not known here; take one axis at a time", c.op.name, name), c.loc);
    n *= frame->size;
  }
  return n;
}

/// The position over axes in scope, the last one fastest.
template <class Context>
Array position_over(const std::vector<std::string>& names, const Context& c) {
  Array position = bind_axis_index(names[0], c.loc);
  for (std::size_t k = 1; k < names.size(); ++k)
    position = position * Array(size_together({names[k]}, c)) + bind_axis_index(names[k], c.loc);
  return position;
}

/// The axis of the vmap that is applied, among the axes that an equation names: a position over all of them as a lane and a position over
/// the others.
struct AxisAmongOthers {
  AxisAmongOthers(const std::vector<std::string>& names, const BatchContext& c) : lanes_(static_cast<int>(c.axis.size)) {
    const auto here = std::find(names.begin(), names.end(), c.axis.name);
    others.assign(names.begin(), here);
    const std::vector<std::string> behind(here + 1, names.end());
    others.insert(others.end(), behind.begin(), behind.end());
    stride_ = static_cast<int>(size_together(behind, c));
  }
  int lane(int position) const { return position / stride_ % lanes_; }
  int other(int position) const { return position / stride_ / lanes_ * stride_ + position % stride_; }
  std::vector<std::string> others;

 private:
  int lanes_, stride_ = 1;
};

/// Linear primitives of one operand: the operation is applied to the tangent as well.
template <class Self>
struct LinearCollective : CollectiveOp<Self> {
  static constexpr int num_operands = 1;
  static std::vector<Tangent> jvp(const JvpContext& c) {
    if (!c.tangents[0]) return {Tangent()};
    return {bind_one<Self>(c.get<typename Self::Params>(), {*c.tangents[0]}, c.loc)};
  }
  static std::vector<Tangent> transpose(const TransposeContext& c) {
    if (!c.cotangents[0]) return {Tangent()};
    return {Self::transposed(*c.cotangents[0], c)};
  }
  static bool names_axis(const BatchContext& c) {
    const auto& names = c.get<typename Self::Params>().axis_name;
    return !c.axis.name.empty() && std::count(names.begin(), names.end(), c.axis.name) > 0;
  }
};

struct AllGather : LinearCollective<AllGather> {
  static constexpr std::string_view name = "all_gather", doc = "The operands of all devices along named axes, concatenated or stacked.";
  using Params = AllGatherParams;
  static constexpr Exchange exchange = Exchange::allgather;
  static ExchangeParts parts(const Params& p) { return {.dim = p.all_gather_dimension}; }
  static Aval abstract_eval(const OpContext& c) {
    const auto& p = c.get<Params>();
    const Shape& in = c.in[0].shape;
    if (p.all_gather_dimension < 0 || p.all_gather_dimension >= in.size() + !p.tiled)
      c.fail<AxisError>(fmt::format("axis {} is out of range", p.all_gather_dimension));
    return c.in[0].with_shape(p.tiled ? in.with(p.all_gather_dimension, in[p.all_gather_dimension] * p.axis_size)
                                      : in.inserted(p.all_gather_dimension, p.axis_size));
  }
  static Array transposed(const Array& ct, const TransposeContext& c) {
    const auto& p = c.get<Params>();
    return bind_reduce_scatter(ct, {p.axis_index_groups, p.axis_name, p.axis_size, p.all_gather_dimension, p.tiled}, c.loc);
  }
  static BatchResult batch(const BatchContext& c) {
    const auto& p = c.get<Params>();
    const int d = p.all_gather_dimension;
    if (!names_axis(c)) {
      AllGatherParams q = p;
      q.all_gather_dimension += 1;
      return {{bind_all_gather(move_batch_dim(c.in[0], c.dims[0], 0, c.loc), q, c.loc)}, {0}};
    }
    if (p.axis_index_groups) return batch_in_groups<AllGather, Params>(c, [](Params& q) { q.all_gather_dimension += 1; });
    bool mapped = c.dims[0] != kNotMapped;
    Array x = mapped ? move_batch_dim(c.in[0], c.dims[0], 0, c.loc) : c.in[0];
    if (!p.tiled) x = insert_axes(x, {d + mapped}, c.loc);
    // With several axes the last varies fastest: gather over those behind the mapped one, then over it, then over those before it.
    const auto here = std::find(p.axis_name.begin(), p.axis_name.end(), c.axis.name);
    const std::vector<std::string> before(p.axis_name.begin(), here), behind(here + 1, p.axis_name.end());
    const std::int64_t others = p.axis_size / c.axis.size, size_behind = before.empty() ? others : size_together(behind, c);
    if (!behind.empty()) x = bind_all_gather(x, {d + mapped, {}, behind, size_behind, true}, c.loc);
    x = mapped ? move_axis(x, 0, d, c.loc) : broadcast_batch_dim(x, c.axis.size, d, c.loc);
    x = merge_dims(x, d, c.loc);
    if (!before.empty()) x = bind_all_gather(x, {d, {}, before, others / size_behind, true}, c.loc);
    return {{x}, {kNotMapped}};
  }
  static void reference(const ReferenceContext& c) { fail_unbound(name, c.get<Params>().axis_name[0]); }
};

struct ReduceScatter : LinearCollective<ReduceScatter> {
  static constexpr std::string_view name = "reduce_scatter", doc = "The sum over named axes, each device keeping its part of it.";
  using Params = ReduceScatterParams;
  static constexpr Exchange exchange = Exchange::reduce_scatter;
  static constexpr Combiner combiner = Combiner::sum;
  static ExchangeParts parts(const Params& p) { return {.dim = p.scatter_dimension}; }
  static Aval abstract_eval(const OpContext& c) {
    const auto& p = c.get<Params>();
    const Shape& in = c.in[0].shape;
    const int d = p.scatter_dimension;
    if (d < 0 || d >= in.size()) c.fail<AxisError>(fmt::format("axis {} is out of range", d));
    if (!p.tiled && in[d] != p.axis_size)
      c.fail<ShapeError>(fmt::format("dimension {} has size {}, the axis has {}", d, in[d], p.axis_size),
                         "make them equal, or use tiled = true");
    if (in[d] % p.axis_size != 0)
      c.fail<ShapeError>(fmt::format("dimension {} of size {} can't be divided among {}", d, in[d], counted(p.axis_size, "device")),
                         "pad it to a multiple");
    return c.in[0].with_shape(p.tiled ? in.with(d, in[d] / p.axis_size) : in.erased(d));
  }
  static Array transposed(const Array& ct, const TransposeContext& c) {
    const auto& p = c.get<Params>();
    return bind_all_gather(ct, {p.scatter_dimension, p.axis_index_groups, p.axis_name, p.axis_size, p.tiled}, c.loc);
  }
  static BatchResult batch(const BatchContext& c) {
    const auto& p = c.get<Params>();
    const int d = p.scatter_dimension;
    if (!names_axis(c)) {
      ReduceScatterParams q = p;
      q.scatter_dimension += 1;
      return {{bind_reduce_scatter(move_batch_dim(c.in[0], c.dims[0], 0, c.loc), q, c.loc)}, {0}};
    }
    if (p.axis_index_groups) return batch_in_groups<ReduceScatter, Params>(c, [](Params& q) { q.scatter_dimension += 1; });
    LocScope scope(c.loc);
    Array x = c.dims[0] == kNotMapped ? c.in[0] * scalar_like(c.in[0], static_cast<double>(c.axis.size))
                                      : reduce_sum(c.in[0], {c.dims[0]}, c.loc);
    // With several axes the first varies slowest: parts go to those before the mapped one, then to its positions, then to those behind.
    const auto here = std::find(p.axis_name.begin(), p.axis_name.end(), c.axis.name);
    const std::vector<std::string> before(p.axis_name.begin(), here), behind(here + 1, p.axis_name.end());
    const std::int64_t others = p.axis_size / c.axis.size, size_behind = before.empty() ? others : size_together(behind, c);
    if (!before.empty()) x = bind_reduce_scatter(x, {{}, before, others / size_behind, d, true}, c.loc);
    x = move_axis(split_dim(x, d, c.axis.size, c.loc), d, 0, c.loc);
    if (!behind.empty()) x = bind_reduce_scatter(x, {{}, behind, size_behind, d + 1, true}, c.loc);
    return {{p.tiled ? x : squeeze_axes(x, {d + 1}, c.loc)}, {0}};
  }
  static void reference(const ReferenceContext& c) { fail_unbound(name, c.get<Params>().axis_name[0]); }
};

struct AllToAll : CollectiveOp<AllToAll> {
  static constexpr int num_operands = 1;
  static constexpr std::string_view
      name = "all_to_all",
      doc = "Splits a dimension into one part for each device, exchanges the parts, and concatenates them along another dimension.";
  using Params = AllToAllParams;
  static constexpr Exchange exchange = Exchange::alltoall;
  static ExchangeParts parts(const Params& p) { return {.dim = p.split_axis, .concat_dim = p.concat_axis}; }
  /// The number of devices; a JAX text leaves it to the context.
  static std::int64_t group_size(const OpContext& c) {
    const auto& p = c.get<Params>();
    if (p.axis_size != 0) return p.axis_size;
    if (!p.tiled) return c.in[0].shape[p.split_axis];
    if (p.axis_index_groups) return static_cast<std::int64_t>(p.axis_index_groups->front().size());
    if (const AxisFrame* frame = find_axis(p.axis_name)) return frame->size;
    c.fail<AxisError>(fmt::format("the size of the axis `{}` is not known", p.axis_name), "give it as axis_size");
  }
  static Aval abstract_eval(const OpContext& c) {
    const auto& p = c.get<Params>();
    const Shape& in = c.in[0].shape;
    for (int d : {p.split_axis, p.concat_axis})
      if (d < 0 || d >= in.size()) c.fail<AxisError>(fmt::format("axis {} is out of range", d));
    if (p.split_axis == p.concat_axis && p.axis_size == 0) return c.in[0];
    const std::int64_t n = group_size(c);
    if (in[p.split_axis] % n != 0)
      c.fail<ShapeError>(
          fmt::format("dimension {} of size {} can't be divided among {}", p.split_axis, in[p.split_axis], counted(n, "device")),
          "pad it to a multiple");
    const Shape split = in.with(p.split_axis, in[p.split_axis] / n);
    return c.in[0].with_shape(split.with(p.concat_axis, split[p.concat_axis] * n));
  }
  static std::vector<Tangent> jvp(const JvpContext& c) {
    if (!c.tangents[0]) return {Tangent()};
    return {bind_one<AllToAll>(c.get<Params>(), {*c.tangents[0]}, c.loc)};
  }
  static std::vector<Tangent> transpose(const TransposeContext& c) {
    if (!c.cotangents[0]) return {Tangent()};
    AllToAllParams p = c.get<Params>();
    if (p.axis_size == 0 && !p.tiled) p.axis_size = c.in[0].aval.shape[p.split_axis];
    std::swap(p.split_axis, p.concat_axis);
    return {bind_all_to_all(*c.cotangents[0], p, c.loc)};
  }
  static BatchResult batch(const BatchContext& c) {
    AllToAllParams p = c.get<Params>();
    if (p.axis_name != c.axis.name) {
      p.split_axis += 1, p.concat_axis += 1;
      return {{bind_all_to_all(move_batch_dim(c.in[0], c.dims[0], 0, c.loc), p, c.loc)}, {0}};
    }
    if (p.axis_index_groups) return batch_in_groups<AllToAll, Params>(c, [](Params& q) { q.split_axis += 1, q.concat_axis += 1; });
    Array x = materialize_batch_dim(c.in[0], c.dims[0], c.axis.size, 0, c.loc);  // (from, ..., split, ...)
    x = split_dim(x, p.split_axis + 1, c.axis.size, c.loc);                      // (from, ..., to, part, ...)
    x = move_axis(x, p.split_axis + 1, 0, c.loc);                                // (to, from, ..., part, ...)
    x = move_axis(x, 1, p.concat_axis + 1, c.loc);                               // (to, ..., from, concat, ...)
    return {{merge_dims(x, p.concat_axis + 1, c.loc)}, {0}};
  }
  static void reference(const ReferenceContext& c) { fail_unbound(name, c.get<Params>().axis_name); }
};

constexpr ParamValue kAllToAllLeftOut[] = {{"axis_size", "0"}};
const TextRule<AllToAll> all_to_all_text([] { return TextTraits{.left_out = kAllToAllLeftOut}; });

struct Ppermute : LinearCollective<Ppermute> {
  static constexpr std::string_view name = "ppermute",
                                    doc = "Sends each device's operand to another device; a device that receives none gets zeros.";
  using Params = PpermuteParams;
  static constexpr Exchange exchange = Exchange::permute;
  static ExchangeParts parts(const Params& p) { return {.perm = p.perm}; }
  static Aval abstract_eval(const OpContext& c) {
    const auto& p = c.get<Params>();
    std::vector<int> from, to;
    for (const auto& [a, b] : p.perm) from.push_back(a), to.push_back(b);
    for (std::vector<int>* side : {&from, &to}) {
      std::sort(side->begin(), side->end());
      if (const auto twice = std::adjacent_find(side->begin(), side->end()); twice != side->end())
        c.fail<AxisError>(fmt::format("perm names the {} {} twice", side == &from ? "source" : "destination", *twice),
                          "each device sends to one and receives from one at most");
      if (!side->empty() && side->front() < 0)
        c.fail<AxisError>(fmt::format("perm holds the device {}", side->front()), "devices are numbered from 0");
    }
    return c.in[0];
  }
  static Array transposed(const Array& ct, const TransposeContext& c) {
    PpermuteParams p = c.get<Params>();
    for (auto& [a, b] : p.perm) std::swap(a, b);
    return bind_ppermute(ct, p, c.loc);
  }
  static BatchResult batch(const BatchContext& c) {
    const auto& p = c.get<Params>();
    if (!names_axis(c)) return {{bind_ppermute(c.in[0], p, c.loc)}, {c.dims[0]}};
    if (p.axis_name.size() != 1) return {{permuted_among_others(c)}, {0}};
    const auto n = static_cast<int>(c.axis.size);
    std::vector<int> source(static_cast<std::size_t>(n), -1);
    for (const auto& [from, to] : p.perm) {
      if (from >= n || to >= n)
        throw AxisError(
            fmt::format("{}: perm holds ({}, {}), the axis `{}` has {}", c.op.name, from, to, c.axis.name, counted(n, "device")), c.loc);
      source[static_cast<std::size_t>(to)] = from;
    }
    const Array x = materialize_batch_dim(c.in[0], c.dims[0], c.axis.size, 0, c.loc);
    // Runs of lanes that stay adjacent move together: a shift becomes two slices.
    std::vector<Array> parts;
    for (int i = 0; i < n;) {
      const int first = source[static_cast<std::size_t>(i)];
      int k = 1;
      while (i + k < n && source[static_cast<std::size_t>(i + k)] == (first < 0 ? -1 : first + k)) ++k;
      if (first < 0)
        parts.push_back(zeros_of(x.aval().with_shape(x.shape().with(0, k)), c.loc));
      else
        parts.push_back(slice_axis(x, 0, first, first + k, c.loc));
      i += k;
    }
    return {{parts.size() == 1 ? parts[0] : concatenate_along(parts, 0, c.loc)}, {0}};
  }
  /// Over the axis of a vmap and others: lanes whose values take the same way along the others go together.
  static Array permuted_among_others(const BatchContext& c) {
    const auto& p = c.get<Params>();
    const AxisAmongOthers split(p.axis_name, c);
    const auto n = static_cast<std::size_t>(c.axis.size);
    std::vector<std::vector<std::vector<std::pair<int, int>>>> ways(n, std::vector<std::vector<std::pair<int, int>>>(n));
    for (const auto& [from, to] : p.perm)
      ways[static_cast<std::size_t>(split.lane(from))][static_cast<std::size_t>(split.lane(to))].emplace_back(split.other(from),
                                                                                                              split.other(to));
    const Array x = materialize_batch_dim(c.in[0], c.dims[0], c.axis.size, 0, c.loc);
    const auto lane = [&](const Array& of, std::size_t i) {
      return slice_axis(of, 0, static_cast<std::int64_t>(i), static_cast<std::int64_t>(i) + 1, c.loc);
    };
    LocScope scope(c.loc);
    const Array position = position_over(split.others, c);
    std::map<std::vector<std::pair<int, int>>, std::vector<std::pair<std::size_t, std::size_t>>> lanes_of;  // (from, to) by their way
    for (std::size_t from = 0; from < n; ++from)
      for (std::size_t to = 0; to < n; ++to)
        if (!ways[from][to].empty()) lanes_of[ways[from][to]].emplace_back(from, to);
    std::vector<Array> results(n, zeros_of(x.aval().with_shape(x.shape().with(0, 1)), c.loc));
    for (const auto& [way, lanes] : lanes_of) {
      std::vector<Array> sent;
      for (const auto& [from, to] : lanes) sent.push_back(lane(x, from));
      const Array received = bind_ppermute(sent.size() == 1 ? sent[0] : concatenate_along(sent, 0, c.loc), {split.others, way}, c.loc);
      Array here = make_literal(false, bool_);
      for (const auto& [from, to] : way) here = here | (position == Array(to));
      for (std::size_t k = 0; k < lanes.size(); ++k) {
        Array& result = results[lanes[k].second];
        result = where(here, lane(received, k), result);
      }
    }
    return n == 1 ? results[0] : concatenate_along(results, 0, c.loc);
  }
  static void reference(const ReferenceContext& c) { fail_unbound(name, c.get<Params>().axis_name[0]); }
};

struct Pbroadcast : LinearCollective<Pbroadcast> {
  static constexpr std::string_view name = "pbroadcast", doc = "The operand of one device, broadcast to all devices along named axes.";
  using Params = PbroadcastParams;
  static constexpr Exchange exchange = Exchange::broadcast;
  static ExchangeParts parts(const Params& p) { return {.source = p.source}; }
  static Aval abstract_eval(const OpContext& c) {
    if (c.get<Params>().source < 0)
      c.fail<AxisError>(fmt::format("source is {}", c.get<Params>().source), "it is a position along the axis");
    return c.in[0];
  }
  /// The cotangents of all devices are summed at the source.
  static Array transposed(const Array& ct, const TransposeContext& c) {
    const auto& p = c.get<Params>();
    LocScope scope(c.loc);
    const Array here = position_over(p.axis_name, c) == Array(p.source);
    return bind_psum(ct, p.axis_name, {}, c.loc) * convert(here, ct.dtype());
  }
  static BatchResult batch(const BatchContext& c) {
    const auto& p = c.get<Params>();
    if (!names_axis(c)) return {{bind_pbroadcast(c.in[0], p, c.loc)}, {c.dims[0]}};
    const AxisAmongOthers split(p.axis_name, c);
    if (split.others.empty() && p.source >= c.axis.size)
      throw AxisError(
          fmt::format("{}: source is {}, the axis `{}` has {}", c.op.name, p.source, c.axis.name, counted(c.axis.size, "device")), c.loc);
    Array x = c.in[0];
    const int source = split.lane(p.source);
    if (c.dims[0] != kNotMapped) x = squeeze_axes(slice_axis(x, c.dims[0], source, source + 1, c.loc), {c.dims[0]}, c.loc);
    if (!split.others.empty()) x = bind_pbroadcast(x, {split.others, split.other(p.source)}, c.loc);
    return {{x}, {kNotMapped}};
  }
  static void reference(const ReferenceContext& c) { fail_unbound(name, c.get<Params>().axis_name[0]); }
};

struct AxisIndex : CollectiveOp<AxisIndex> {
  static constexpr int num_operands = 0;
  static constexpr std::string_view name = "axis_index", doc = "The device's position along a named axis.";
  static constexpr bool zero_tangent = true, not_linear = true;
  using Params = AxisIndexParams;
  static constexpr Exchange exchange = Exchange::position;
  static Aval abstract_eval(const OpContext&) { return {{}, int32}; }
  static BatchResult batch(const BatchContext& c) {
    if (c.get<Params>().axis_name != c.axis.name) return {{bind_axis_index(c.get<Params>().axis_name, c.loc)}, {kNotMapped}};
    return {{iota_array(int32, {c.axis.size}, 0, c.loc)}, {0}};
  }
  static void reference(const ReferenceContext& c) { fail_unbound(name, c.get<Params>().axis_name); }
};

constexpr const Primitive* kPrimitives[] = {&primitive_of<AllGather>, &primitive_of<ReduceScatter>, &primitive_of<AllToAll>,
                                            &primitive_of<Ppermute>,  &primitive_of<Pbroadcast>,    &primitive_of<AxisIndex>};

}  // namespace

PrimitiveList collective_move_primitives() { return kPrimitives; }

const CollectiveRules& collective_rules(const Primitive& op) {
  if (!op.collective) throw Error(fmt::format("{}: internal error: not a collective", op.name));
  return op.collective();
}
std::vector<std::string> collective_axes(const Primitive& op, const ParamsBase& params) { return collective_rules(op).axes(params); }
const IndexGroups* collective_groups(const Primitive& op, const ParamsBase& params) { return collective_rules(op).groups(params); }

Array bind_all_gather(const Array& x, AllGatherParams params, SourceLoc loc) { return bind_one<AllGather>(std::move(params), {x}, loc); }
Array bind_reduce_scatter(const Array& x, ReduceScatterParams params, SourceLoc loc) {
  return bind_one<ReduceScatter>(std::move(params), {x}, loc);
}
Array bind_all_to_all(const Array& x, AllToAllParams params, SourceLoc loc) { return bind_one<AllToAll>(std::move(params), {x}, loc); }
Array bind_ppermute(const Array& x, PpermuteParams params, SourceLoc loc) { return bind_one<Ppermute>(std::move(params), {x}, loc); }
Array bind_pbroadcast(const Array& x, PbroadcastParams params, SourceLoc loc) { return bind_one<Pbroadcast>(std::move(params), {x}, loc); }
Array bind_axis_index(const std::string& axis, SourceLoc loc) { return bind_one<AxisIndex>({axis}, {}, loc); }

}  // namespace weft::detail
