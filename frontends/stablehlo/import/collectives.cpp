// Communication between the devices of a mesh, within programs of one device (`sdy.manual_computation`). StableHLO numbers devices and
// lists groups of them; weft names axes of the mesh, which the groups are lines along. A program of one device in all is the only one of
// its groups.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "weft/core/array/array_impl.h"
#include "weft/core/array/constructors.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ir/rewrite.h"
#include "weft/core/ops/collective/collective.h"
#include "weft/core/ops/movement/dynamic_slice.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/frontends/stablehlo/import/functions.h"
#include "weft/frontends/stablehlo/import/importer.h"
#include "weft/frontends/stablehlo/import/regions.h"

namespace weft::detail::mlir {
namespace {

using Groups = std::vector<std::vector<int>>;

/// Which devices an operation's groups are.
struct Lines {
  std::vector<std::string> axes;  ///< along which they are lines, the slowest first; none: each device is on its own
  std::int64_t size = 1;          ///< devices in each; 0: groups differ in it
  IndexGroups groups;             ///< where they are parts of lines, along a single axis: positions along it
};

/// The matrix's rows; entries of -1, which make rows equally long, left out.
Groups rows_of(const OpCall& c, const Attribute& a) {
  if (a.kind != Attribute::Kind::dense || a.type.kind != Type::Kind::tensor || a.type.tensor.shape.size() != 2)
    c.fail("its groups are not a matrix of devices");
  const std::vector<std::int64_t> all = integers_of(a, c);
  const std::int64_t rows = a.type.tensor.shape[0], columns = a.type.tensor.shape[1];
  Groups out(static_cast<std::size_t>(rows));
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t k = 0; k < columns; ++k) {
      const std::int64_t device = all[static_cast<std::size_t>(r * columns + k)];
      if (device < -1 || device > (1 << 20)) c.fail(fmt::format("there is no device {}", device));
      if (device >= 0) out[static_cast<std::size_t>(r)].push_back(static_cast<int>(device));
    }
  for (const std::vector<int>& row : out)
    if (row.empty()) c.fail("one of its groups has no devices");
  return out;
}

/// Whether the numbers are those of a mesh's devices, which are partitions or replicas; else they are those of the only replica.
bool among_devices(const OpCall& c) {
  if (const ManualScope* const scope = c.importer().manual(); scope && scope->of_replicas) return true;
  const Attribute* handle = c.find("channel_handle");
  const Attribute* number = handle ? handle->find("handle") : nullptr;
  return number && number->integer > 0;
}

const ManualScope& scope_of(const OpCall& c) {
  const ManualScope* const scope = c.importer().manual();
  if (!scope) c.fail("it communicates outside of a program of one device (sdy.manual_computation), where there is only one device");
  return *scope;
}

/// Where each device is in the mesh, by its number.
std::vector<std::int64_t> positions_of(const MeshAxes& mesh) {
  std::vector<std::int64_t> position(static_cast<std::size_t>(mesh.num_devices()));
  std::iota(position.begin(), position.end(), 0);
  for (std::size_t i = 0; i < mesh.device_ids.size() && i < position.size(); ++i)
    if (static_cast<std::size_t>(mesh.device_ids[i]) < position.size())
      position[static_cast<std::size_t>(mesh.device_ids[i])] = static_cast<std::int64_t>(i);
  return position;
}

/// Positions in the mesh in place of numbers of devices.
void to_positions(const OpCall& c, const MeshAxes& mesh, Groups& groups) {
  const std::vector<std::int64_t> position = positions_of(mesh);
  for (std::vector<int>& g : groups)
    for (int& device : g) {
      if (static_cast<std::size_t>(device) >= position.size()) c.fail(fmt::format("the mesh has no device {}", device));
      device = static_cast<int>(position[static_cast<std::size_t>(device)]);
    }
}

std::vector<std::int64_t> coordinates(const MeshAxes& mesh, std::int64_t position) {
  std::vector<std::int64_t> out(mesh.sizes.size());
  for (std::size_t k = out.size(); k-- > 0;) out[k] = position % mesh.sizes[k], position /= mesh.sizes[k];
  return out;
}
std::int64_t position_at(const MeshAxes& mesh, const std::vector<std::int64_t>& at) {
  std::int64_t position = 0;
  for (std::size_t k = 0; k < at.size(); ++k) position = position * mesh.sizes[k] + at[k];
  return position;
}

/// The axes along which a group goes on: the one that its neighbours differ in is the fastest.
std::vector<std::size_t> axes_of_group(const MeshAxes& mesh, const std::vector<int>& group) {
  std::vector<std::size_t> axes;
  const std::vector<std::int64_t> first = coordinates(mesh, group[0]);
  for (std::size_t step = 1; step < group.size();) {
    const std::vector<std::int64_t> here = coordinates(mesh, group[step]);
    std::size_t differing = here.size();
    for (std::size_t k = 0; k < here.size(); ++k)
      if (here[k] != first[k]) differing = differing == here.size() ? k : here.size() + 1;
    if (differing >= here.size() || std::find(axes.begin(), axes.end(), differing) != axes.end()) return {};
    axes.insert(axes.begin(), differing);
    step *= static_cast<std::size_t>(mesh.sizes[differing]);
  }
  return axes;
}

/// Whether the groups are all lines along these axes, each once.
bool are_lines(const MeshAxes& mesh, const Groups& groups, const std::vector<std::size_t>& axes) {
  std::size_t size = 1;
  for (const std::size_t k : axes) size *= static_cast<std::size_t>(mesh.sizes[k]);
  std::vector<bool> seen(static_cast<std::size_t>(mesh.num_devices()), false);
  for (const std::vector<int>& g : groups) {
    if (g.size() != size) return false;
    for (std::size_t i = 0; i < size; ++i) {
      std::vector<std::int64_t> at = coordinates(mesh, g[0]);
      std::size_t rest = i;
      for (std::size_t k = axes.size(); k-- > 0;) {
        const auto n = static_cast<std::size_t>(mesh.sizes[axes[k]]);
        at[axes[k]] = static_cast<std::int64_t>(rest % n), rest /= n;
      }
      if (position_at(mesh, at) != g[i] || seen[static_cast<std::size_t>(g[i])]) return false;
      seen[static_cast<std::size_t>(g[i])] = true;
    }
  }
  return std::find(seen.begin(), seen.end(), false) == seen.end();
}

/// Parts of the lines along the one axis that the groups differ in, the same ones in each line: as positions along it.
std::optional<Lines> parts_of_lines(const MeshAxes& mesh, const Groups& groups) {
  std::optional<std::size_t> axis;
  for (const std::vector<int>& g : groups)
    for (const int device : g) {
      const std::vector<std::int64_t> first = coordinates(mesh, g[0]), here = coordinates(mesh, device);
      for (std::size_t k = 0; k < here.size(); ++k) {
        if (here[k] == first[k]) continue;
        if (axis && *axis != k) return {};
        axis = k;
      }
    }
  if (!axis) return {};
  std::map<std::vector<std::int64_t>, Groups> by_line;
  for (const std::vector<int>& g : groups) {
    std::vector<int> along;
    std::vector<std::int64_t> line = coordinates(mesh, g[0]);
    line[*axis] = 0;
    for (const int device : g) along.push_back(static_cast<int>(coordinates(mesh, device)[*axis]));
    by_line[line].push_back(std::move(along));
  }
  if (static_cast<std::int64_t>(by_line.size()) != mesh.num_devices() / mesh.sizes[*axis]) return {};
  for (const auto& [line, parts] : by_line)
    if (parts != by_line.begin()->second) return {};
  const Groups& parts = by_line.begin()->second;
  const bool even = std::all_of(parts.begin(), parts.end(), [&](const std::vector<int>& p) { return p.size() == parts[0].size(); });
  return Lines{{mesh.names[*axis]}, even ? static_cast<std::int64_t>(parts[0].size()) : 0, parts};
}

Lines lines_of(const OpCall& c, const Attribute& given, bool are_devices) {
  const bool by_axes = given.kind == Attribute::Kind::dictionary && given.find("axes");
  if (!by_axes && !are_devices) {
    // There is one replica.
    for (const std::vector<int>& g : rows_of(c, given))
      if (g.size() > 1) c.fail("its groups are of several replicas, and the module has one");
    return {};
  }
  if (by_axes) {
    const MeshAxes& mesh = scope_of(c).mesh;
    Lines lines;
    for (const Attribute& axis : given.find("axes")->items) {
      if (axis.kind != Attribute::Kind::string || mesh.find(axis.text) < 0) c.fail("its groups are not along whole axes of the mesh");
      lines.axes.push_back(axis.text);
    }
    lines.size = mesh.size_of(lines.axes);
    return lines;
  }
  Groups groups = rows_of(c, given);
  std::size_t longest = 0;
  for (const std::vector<int>& g : groups) longest = std::max(longest, g.size());
  if (longest <= 1 && !c.importer().manual()) return {};
  const MeshAxes& mesh = scope_of(c).mesh;
  // Without groups it is all of them.
  if (groups.empty()) {
    groups.emplace_back(static_cast<std::size_t>(mesh.num_devices()));
    std::iota(groups[0].begin(), groups[0].end(), 0);
  }
  to_positions(c, mesh, groups);
  if (longest == 1) return {};
  const std::vector<std::size_t> axes = axes_of_group(mesh, groups[0]);
  if (!axes.empty() && are_lines(mesh, groups, axes)) {
    Lines lines;
    for (const std::size_t k : axes) lines.axes.push_back(mesh.names[k]);
    lines.size = mesh.size_of(lines.axes);
    return lines;
  }
  if (std::optional<Lines> parts = parts_of_lines(mesh, groups)) return *parts;
  c.fail("its groups are neither lines along the axes of the mesh nor parts of such lines");
}

/// The axes that the body has; others are of an array that the devices along them have in common.
void check_own(const OpCall& c, const Lines& lines) {
  if (lines.axes.empty()) return;
  const std::vector<std::string>& own = scope_of(c).axes;
  for (const std::string& axis : lines.axes)
    if (std::find(own.begin(), own.end(), axis) == own.end())
      c.fail(fmt::format("it communicates along `{}`, which is not a manual axis of the computation around it", axis));
}

Lines own_lines_of(const OpCall& c) {
  Lines lines = lines_of(c, c.need("replica_groups"), among_devices(c));
  check_own(c, lines);
  return lines;
}

/// The same of an operation whose result depends on how many devices a group has.
Lines even_lines_of(const OpCall& c) {
  Lines lines = own_lines_of(c);
  if (lines.size == 0) c.fail("its groups are not of the same size");
  return lines;
}

AllGatherParams gather_params(const Lines& lines, int dim, bool tiled) { return {dim, lines.groups, lines.axes, lines.size, tiled}; }

/// The combination of all devices' arrays by the operation's region.
Array combined(const OpCall& c, const Lines& lines, const Array& x) {
  if (lines.axes.empty()) return x;
  const Jaxpr region = c.region(0);
  if (region.data().input_avals().size() != 2 || region.data().outputs.size() != 1) c.fail("its region doesn't combine two values");
  check_returns(c, "its region", region, {{{}, x.dtype()}});
  const std::optional<Combiner> combiner = combiner_of(region);
  const bool ordered = !x.dtype().is_complex() && !x.dtype().is_bool();
  if (combiner == Combiner::sum && !x.dtype().is_bool()) return bind_psum(x, lines.axes, lines.groups, c.loc);
  if (combiner == Combiner::max && ordered) return bind_pmax(x, lines.axes, lines.groups, c.loc);
  if (combiner == Combiner::min && ordered) return bind_pmin(x, lines.axes, lines.groups, c.loc);
  if (x.dtype().is_bool() &&
      (combiner == Combiner::logical_and || combiner == Combiner::logical_or || combiner == Combiner::max || combiner == Combiner::min)) {
    const Array as_numbers = convert(Arg(x, c.loc), int32);
    const bool all = combiner == Combiner::logical_and || combiner == Combiner::min;
    return convert(
        Arg(all ? bind_pmin(as_numbers, lines.axes, lines.groups, c.loc) : bind_pmax(as_numbers, lines.axes, lines.groups, c.loc), c.loc),
        bool_);
  }
  if (lines.size == 0) c.fail("its groups are not of the same size, and its combiner is not a sum, a maximum or a minimum");
  // All the devices' arrays, side by side, from the first to the last.
  const Array all = bind_all_gather(x, gather_params(lines, 0, false), c.loc);
  auto of_device = [&](std::int64_t i) { return reshape_to(slice_axis(all, 0, i, i + 1, c.loc), {x.size()}, c.loc); };
  const Hoisted h = hoist_consts(region);
  std::vector<int> dims(h.consts.size(), kNotMapped);
  dims.resize(h.consts.size() + 2, 0);
  const Jaxpr mapped = batch_program(h.jaxpr, {"", x.size()}, dims, std::vector<int>{0}).jaxpr;
  Array sum = of_device(0);
  for (std::int64_t i = 1; i < lines.size; ++i) {
    Arrays in = h.consts;
    in.push_back(sum), in.push_back(of_device(i));
    sum = eval_jaxpr(mapped, in)[0];
  }
  return reshape_to(sum, x.shape(), c.loc);
}

/// The older form of an all_reduce that adds, which early versions of JAX write for maps within maps.
const Import cross_replica_sum_import("stablehlo.cross-replica-sum", [](OpCall& c) -> Values {
  const Lines lines = own_lines_of(c);
  if (lines.axes.empty()) return {c.in(0)};
  return {bind_psum(c.in(0), lines.axes, lines.groups, c.loc)};
});

int dimension_of(const OpCall& c, const char* name, const Array& x) {
  const std::int64_t d = c.integer(name);
  if (d < 0 || d >= x.ndim()) c.fail(fmt::format("{} is not a dimension of the operand", name));
  return static_cast<int>(d);
}

const Import all_reduce_import("stablehlo.all_reduce", [](OpCall& c) -> Values {
  const Lines lines = own_lines_of(c);
  Values out;
  for (std::size_t i = 0; i < c.num_operands(); ++i) out.push_back(combined(c, lines, promoted(c, i, 0, 0)));
  return out;
});

const Import all_gather_import("stablehlo.all_gather", [](OpCall& c) -> Values {
  const Lines lines = even_lines_of(c);
  Values out;
  for (const Array& x : c.ins()) {
    const int d = dimension_of(c, "all_gather_dim", x);
    out.push_back(lines.axes.empty() ? x : bind_all_gather(x, gather_params(lines, d, true), c.loc));
  }
  return out;
});

Array entry_at(const OpCall& c, const Array& table, const Array& at) {
  const Array operands[] = {table, at};
  return reshape_to(bind_all<DynamicSlice>({Shape{1}}, operands, c.loc)[0], {}, c.loc);
}

/// The position of the device along the axes, of which there is one at least: the last varies fastest.
Array position_along(const OpCall& c, const MeshAxes& mesh, const std::vector<std::string>& axes) {
  Array at = bind_axis_index(axes[0], c.loc);
  for (std::size_t k = 1; k < axes.size(); ++k)
    at = at * make_literal(Number(static_cast<long long>(mesh.size_of(axes[k]))), int32) + bind_axis_index(axes[k], c.loc);
  return at;
}

/// The position of the device in its group.
Array position_in(const OpCall& c, const Lines& lines) {
  const MeshAxes& mesh = scope_of(c).mesh;
  const Array at = position_along(c, mesh, lines.axes);
  if (!lines.groups) return at;
  std::vector<std::int64_t> place(static_cast<std::size_t>(mesh.size_of(lines.axes[0])), 0);
  for (const std::vector<int>& g : *lines.groups)
    for (std::size_t i = 0; i < g.size(); ++i) place[static_cast<std::size_t>(g[i])] = static_cast<std::int64_t>(i);
  const auto n = static_cast<std::int64_t>(place.size());
  const Array table = convert(Arg(array_of_elements(place.data(), int64, n, {n}, {}, c.loc), c.loc), int32);
  return entry_at(c, table, at);
}

const Import reduce_scatter_import("stablehlo.reduce_scatter", [](OpCall& c) -> Values {
  const Lines lines = even_lines_of(c);
  Values out;
  for (std::size_t i = 0; i < c.num_operands(); ++i) {
    const Array x = promoted(c, i, 0, 0);
    const int d = dimension_of(c, "scatter_dimension", x);
    if (lines.axes.empty()) {
      out.push_back(x);
      continue;
    }
    if (x.shape()[d] % lines.size != 0) c.fail(fmt::format("dimension {} can't be divided among {} devices", d, lines.size));
    if (combiner_of(c.region(0)) == Combiner::sum && !x.dtype().is_bool()) {
      out.push_back(bind_reduce_scatter(x, {lines.groups, lines.axes, lines.size, d, true}, c.loc));
      continue;
    }
    const std::int64_t part = x.shape()[d] / lines.size;
    Arrays in{combined(c, lines, x)};
    for (int k = 0; k < x.ndim(); ++k)
      in.push_back(k == d ? position_in(c, lines) * make_literal(Number(static_cast<long long>(part)), int32)
                          : make_literal(Number(0), int32));
    out.push_back(bind_all<DynamicSlice>({x.shape().with(d, part)}, in, c.loc)[0]);
  }
  return out;
});

/// The devices' parts along one dimension, joined along another: by one axis at a time, as each is an exchange of its own.
Array exchanged(const OpCall& c, const Lines& lines, const Array& x, int split, int concat) {
  if (lines.axes.size() == 1) return bind_all_to_all(x, {lines.groups, lines.axes[0], lines.size, concat, split, true}, c.loc);
  // The dimension as one for each axis and what is left, exchanged axis by axis in their places, and put together.
  const MeshAxes& mesh = scope_of(c).mesh;
  const auto n = static_cast<int>(lines.axes.size());
  Shape apart;
  for (const std::string& axis : lines.axes) apart.push_back(mesh.size_of(axis));
  for (int d = 0; d < x.ndim(); ++d) apart.push_back(d == split ? x.shape()[d] / lines.size : x.shape()[d]);
  Shape in_front = x.shape().with(split, x.shape()[split] / lines.size).inserted(split, lines.size);
  Array y = reshape_to(move_axis(reshape_to(x, in_front, c.loc), split, 0, c.loc), apart, c.loc);
  for (int k = 0; k < n; ++k)
    y = bind_all_to_all(y, {{}, lines.axes[static_cast<std::size_t>(k)], mesh.size_of(lines.axes[static_cast<std::size_t>(k)]), k, k, true},
                        c.loc);
  Shape together{lines.size};
  for (int d = n; d < y.ndim(); ++d) together.push_back(y.shape()[d]);
  y = move_axis(reshape_to(y, together, c.loc), 0, concat, c.loc);
  return reshape_to(y, y.shape().with(concat, y.shape()[concat] * y.shape()[concat + 1]).erased(concat + 1), c.loc);
}

const Import all_to_all_import("stablehlo.all_to_all", [](OpCall& c) -> Values {
  const Lines lines = even_lines_of(c);
  Values out;
  for (const Array& x : c.ins()) {
    const int split = dimension_of(c, "split_dimension", x), concat = dimension_of(c, "concat_dimension", x);
    if (c.integer("split_count") != lines.size) c.fail(fmt::format("split_count is not the number of devices in a group, {}", lines.size));
    if (x.shape()[split] % lines.size != 0) c.fail("split_dimension can't be divided by split_count");
    out.push_back(lines.axes.empty() ? x : exchanged(c, lines, x, split, concat));
  }
  return out;
});

// jax.lax.ragged_all_to_all: of rows of the operand, each device sends `send_sizes` from `input_offsets` to the devices of its group, where
// they come to be rows of the output from `output_offsets`. There may be several slices for each device, in order.
const Import ragged_import("custom_call.ragged_all_to_all", [](OpCall& c) -> Values {
  const Attribute& config = c.need("mhlo.backend_config", "backend_config");
  const Attribute* groups = config.find("replica_groups");
  if (!groups) c.fail("its backend_config lacks replica_groups");
  const Attribute* channel = config.find("channel_id");
  const Lines lines = lines_of(c, *groups, channel && channel->integer > 0);
  check_own(c, lines);
  if (lines.size == 0) c.fail("its groups are not of the same size");
  if (c.num_operands() != 6) c.fail("it takes the operand, the output, and four lists of offsets and sizes");
  const Array &x = c.in(0), &y = c.in(1);
  const std::int64_t n = lines.size;
  if (x.ndim() < 1 || y.ndim() != x.ndim() || x.dtype() != y.dtype() || x.shape().with(0, y.shape()[0]) != y.shape())
    c.fail("its operand and its output differ in more than the number of rows");
  const std::int64_t listed = c.in(2).size(), slices = listed / n;
  for (std::size_t i = 2; i < 6; ++i)
    if (c.in(i).ndim() != 1 || c.in(i).size() != listed || !c.in(i).dtype().is_integer() || slices * n != listed)
      c.fail("its offsets and sizes must be lists of one integer for each device of a group");
  const std::int64_t rows_in = x.shape()[0], rows_out = y.shape()[0];
  if (rows_in == 0 || rows_out == 0) return {y};
  // What each device of the group has, in order.
  const auto all = [&](const Array& part) {
    if (lines.axes.empty()) return reshape_to(part, part.shape().inserted(0, 1), c.loc);
    return bind_all_gather(part, gather_params(lines, 0, false), c.loc);
  };
  // Rows of zeros around the operand's, so that any slice of it can be laid over the whole output.
  PaddingConfig around(static_cast<std::size_t>(x.ndim()));
  around[0] = {rows_out, rows_out, 0};
  const Array operands = all(pad_with(x, scalar(x, 0), around, c.loc));
  const auto table = [&](std::size_t operand) { return all(convert(Arg(c.in(operand), c.loc), int32)); };
  const Array from = table(2), sizes = table(3), to = table(4);
  const auto number = [](std::int64_t v) { return make_literal(Number(static_cast<long long>(v)), int32); };
  const Array me = (lines.axes.empty() ? number(0) : position_in(c, lines)) * number(slices);
  const Shape column(std::vector<std::int64_t>(static_cast<std::size_t>(x.ndim()), 1));
  const Array rows = reshape_to(iota_array(int32, {rows_out}, 0, c.loc), column.with(0, rows_out), c.loc);
  Array out = y;
  for (std::int64_t device = 0; device < n; ++device)
    for (std::int64_t k = 0; k < slices; ++k) {
      const auto entry = [&](const Array& of_all) {
        return entry_at(c, reshape_to(slice_axis(of_all, 0, device, device + 1, c.loc), {listed}, c.loc), me + number(k));
      };
      const Array start = entry(to), size = entry(sizes);
      Arrays in{reshape_to(slice_axis(operands, 0, device, device + 1, c.loc), x.shape().with(0, rows_in + 2 * rows_out), c.loc)};
      in.push_back(number(rows_out) + entry(from) - start);
      in.resize(static_cast<std::size_t>(x.ndim()) + 1, number(0));
      const Array here = (rows >= start) & (rows < start + size);
      out = where(here, bind_all<DynamicSlice>({y.shape()}, in, c.loc)[0], out);
    }
  return {out};
});

/// Pairs of devices as pairs of positions along the axes that they differ in, if those are the same for all other coordinates.
PpermuteParams permutation_of(const OpCall& c) {
  Groups pairs = rows_of(c, c.need("source_target_pairs"));
  const ManualScope& scope = scope_of(c);
  for (const std::vector<int>& p : pairs)
    if (p.size() != 2) c.fail("source_target_pairs has a row that is not a pair");
  to_positions(c, scope.mesh, pairs);
  std::vector<bool> differs(scope.mesh.names.size(), false);
  for (const std::vector<int>& p : pairs) {
    const std::vector<std::int64_t> from = coordinates(scope.mesh, p[0]), to = coordinates(scope.mesh, p[1]);
    for (std::size_t k = 0; k < from.size(); ++k) differs[k] = differs[k] || from[k] != to[k];
  }
  // Along the axes that they differ in the pairs must be the same in each line; if they are not, or none differ, along all of the body's.
  auto along = [&](const std::vector<std::size_t>& axes) -> std::optional<std::vector<std::pair<int, int>>> {
    std::map<std::vector<std::int64_t>, std::vector<std::pair<int, int>>> by_line;
    std::int64_t lines = scope.mesh.num_devices();
    for (const std::size_t k : axes) lines /= scope.mesh.sizes[k];
    for (const std::vector<int>& p : pairs) {
      std::vector<std::int64_t> from = coordinates(scope.mesh, p[0]), to = coordinates(scope.mesh, p[1]);
      std::int64_t a = 0, b = 0;
      for (const std::size_t k : axes) a = a * scope.mesh.sizes[k] + from[k], b = b * scope.mesh.sizes[k] + to[k], from[k] = to[k] = 0;
      if (from != to) return {};
      by_line[from].emplace_back(static_cast<int>(a), static_cast<int>(b));
    }
    for (auto& [line, list] : by_line) std::sort(list.begin(), list.end());
    if (by_line.empty()) return std::vector<std::pair<int, int>>();
    if (static_cast<std::int64_t>(by_line.size()) != lines) return {};
    for (const auto& [line, list] : by_line)
      if (list != by_line.begin()->second) return {};
    return by_line.begin()->second;
  };
  std::vector<std::size_t> some, own;
  for (std::size_t k = 0; k < differs.size(); ++k) {
    if (differs[k]) some.push_back(k);
    if (std::find(scope.axes.begin(), scope.axes.end(), scope.mesh.names[k]) != scope.axes.end()) own.push_back(k);
  }
  for (const std::vector<std::size_t>& axes : {some, own}) {
    if (axes.empty()) continue;
    if (const auto perm = along(axes)) {
      Lines lines;
      for (const std::size_t k : axes) lines.axes.push_back(scope.mesh.names[k]);
      check_own(c, lines);
      return {lines.axes, *perm};
    }
  }
  c.fail("its pairs are not the same along the axes of the mesh");
}

const Import collective_permute_import("stablehlo.collective_permute", [](OpCall& c) -> Values {
  if (!among_devices(c)) {
    // There is one replica: it has its own array, or zeros.
    const Groups pairs = rows_of(c, c.need("source_target_pairs"));
    for (const std::vector<int>& p : pairs)
      if (p != std::vector<int>{0, 0}) c.fail("its pairs are of several replicas, and the module has one");
    return {pairs.empty() ? fill_shape(scalar(c.in(0), 0), c.in(0).shape(), c.loc) : c.in(0)};
  }
  return {bind_ppermute(c.in(0), permutation_of(c), c.loc)};
});

const Import collective_broadcast_import("stablehlo.collective_broadcast", [](OpCall& c) -> Values {
  if (c.flag("has_dynamic_root")) c.fail("a device chosen at run time is not supported");
  const Lines lines = even_lines_of(c);
  if (lines.axes.empty()) return {c.in(0)};
  // That of the first device of each group.
  const Array all = bind_all_gather(c.in(0), gather_params(lines, 0, false), c.loc);
  return {reshape_to(slice_axis(all, 0, 0, 1, c.loc), c.in(0).shape(), c.loc)};
});

/// The number of the device that runs the program.
Array device_number(const OpCall& c, const ManualScope& scope) {
  const MeshAxes& mesh = scope.mesh;
  if (mesh.names.empty()) return make_literal(Number(mesh.device_ids.empty() ? 0 : mesh.device_ids[0]), uint32);
  check_own(c, {mesh.names, 1, {}});
  Array at = position_along(c, mesh, mesh.names);
  if (!mesh.device_ids.empty()) {
    std::vector<std::int64_t> ids(mesh.device_ids.begin(), mesh.device_ids.end());
    const auto n = static_cast<std::int64_t>(ids.size());
    const Array table = array_of_elements(ids.data(), int64, n, {n}, {}, c.loc);
    at = entry_at(c, table, at);
  }
  return convert(Arg(at, c.loc), uint32);
}

const Import partition_id_import("stablehlo.partition_id", [](OpCall& c) -> Values {
  const ManualScope* const scope = c.importer().manual();
  if (scope && !scope->of_replicas) return {device_number(c, *scope)};
  const Attribute* n = c.importer().module().attributes.find("mhlo.num_partitions");
  if (!scope && n && n->integer > 1) scope_of(c);
  return {make_literal(Number(0), uint32)};
});

const Import replica_id_import("stablehlo.replica_id", [](OpCall& c) -> Values {
  const ManualScope* const scope = c.importer().manual();
  if (scope && scope->of_replicas) return {device_number(c, *scope)};
  const Attribute* n = c.importer().module().attributes.find("mhlo.num_replicas");
  if (n && n->integer > 1) c.fail("a module of several replicas is a program that devices run together; it is no function of one device");
  return {make_literal(Number(0), uint32)};
});

}  // namespace
}  // namespace weft::detail::mlir
