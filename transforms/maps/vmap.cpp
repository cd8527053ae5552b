#include "weft/transforms/maps/vmap.h"

#include <fmt/format.h>

#include <map>

#include "weft/core/base/sizes.h"
#include "weft/core/errors/error.h"
#include "weft/core/ops/common.h"
#include "weft/core/trace/key_reuse.h"
#include "weft/core/trace/varying.h"
#include "weft/transforms/autodiff/differentiate.h"
#include "weft/transforms/evaluate.h"
#include "weft/transforms/maps/map_axes.h"
#include "weft/transforms/numbers.h"

namespace weft::detail {
std::vector<int> resolve_in_axes(const FlatFunction& f, const Axes& in_axes, const char* operation) {
  const Skeleton tree = f.arguments();
  std::vector<int> dims;
  resolve_prefix(in_axes, tree, {operation, "in_axes", f.loc}, [&](const Axes& entry) {
    const std::size_t i = dims.size();
    if (entry.is_none()) return dims.push_back(kNotMapped);
    const Aval& aval = f.args[i].aval();
    const int axis = entry.axis(), n = aval.ndim();
    if (axis < -n || axis >= n)
      throw AxisError(
          fmt::format("{}: in_axes maps axis {} of {}, which is {} and has {}", operation, axis, leaf_paths(tree)[i], to_string(aval),
                      n == 0 ? "no axes; give none for what is the same for all" : fmt::format("axes 0 to {}", n - 1)),
          f.loc);
    dims.push_back(axis < 0 ? axis + n : axis);
  });
  return dims;
}

namespace {
/// Throws the error for mapped axes of different sizes. It names the argument whose size differs from that of the others.
[[noreturn]] void throw_sizes_differ(const FlatFunction& f, const std::vector<int>& dims, const char* operation) {
  const std::vector<std::string> paths = leaf_paths(f.arguments());
  constexpr std::size_t kTold = 8;  // of those of one size
  std::map<std::int64_t, std::vector<std::size_t>> by_size;
  std::vector<std::string> told;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == kNotMapped) continue;
    const std::int64_t size = f.args[i].shape()[dims[i]];
    std::vector<std::size_t>& of_size = by_size[size];
    of_size.push_back(i);
    if (of_size.size() <= kTold)
      told.push_back(fmt::format("{} is {}, whose axis {} has size {}", paths[i], to_string(f.args[i].aval()), dims[i], size));
  }
  const std::string last = told.back();
  told.pop_back();
  std::string odd;
  std::size_t most = 0;
  for (const auto& [size, which] : by_size) most = std::max(most, which.size());
  if (by_size.size() == 2 && most > 1)
    for (const auto& [size, which] : by_size)
      if (which.size() == 1) odd = fmt::format("; {} is the odd one", paths[which[0]]);
  throw ShapeError(
      fmt::format("{}: the mapped axes have different sizes: {}, and {}{}; give none in in_axes for an argument that is not mapped",
                  operation, fmt::join(told, ", "), last, odd),
      f.loc);
}
}  // namespace

std::int64_t mapped_size(const FlatFunction& f, const std::vector<int>& dims, const std::optional<Int>& asked, const char* operation) {
  const std::optional<std::int64_t> given = asked;
  std::size_t first = dims.size();
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == kNotMapped) continue;
    const std::int64_t size = f.args[i].shape()[dims[i]];
    if (first == dims.size()) first = i;
    if (size != f.args[first].shape()[dims[first]]) throw_sizes_differ(f, dims, operation);
    if (given && size != *given)
      throw ShapeError(fmt::format("{}: axis_size is {}, but {} is {}, whose mapped axis {} has size {}", operation, *given,
                                   leaf_paths(f.arguments())[i], to_string(f.args[i].aval()), dims[i], size),
                       f.loc);
  }
  if (first != dims.size()) return f.args[first].shape()[dims[first]];
  if (!given) throw AxisError(fmt::format("{}: no argument is mapped; map one in in_axes, or give axis_size", operation), f.loc);
  if (*given < 0) throw AxisError(fmt::format("{}: axis_size is {}; it must not be negative", operation, *given), f.loc);
  return *given;
}

std::vector<std::optional<int>> resolve_added_axes(const Axes& prefix, const Skeleton& tree, std::span<const Aval> avals,
                                                   const PrefixNames& names) {
  std::vector<std::optional<int>> out;
  resolve_prefix(prefix, tree, names, [&](const Axes& entry) {
    if (entry.is_none()) return out.push_back(std::nullopt);
    const Aval& aval = avals[out.size()];
    const int n = aval.ndim() + 1;
    if (entry.axis() < -n || entry.axis() >= n)
      throw AxisError(fmt::format("{}: {} puts the mapped axis at {} of {}, which is {} and gets axes 0 to {}", names.operation,
                                  names.option, entry.axis(), leaf_paths(tree)[out.size()], to_string(aval), n - 1),
                      names.loc);
    out.push_back(entry.axis() < 0 ? entry.axis() + n : entry.axis());
  });
  return out;
}

void check_unmapped(const std::vector<std::optional<int>>& wanted, const std::vector<int>& dims, const Skeleton& tree,
                    std::span<const Aval> avals, const PrefixNames& names) {
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (!wanted[i] && dims[i] != kNotMapped)
      throw AxisError(fmt::format("{}: {} is none for {}, but it depends on the mapped axis ({} for each example); give an axis",
                                  names.operation, names.option, leaf_paths(tree)[i], to_string(avals[i])),
                      names.loc);
}

std::vector<Array> flat_vmap(FlatFunction& f, const VmapOptions& options) {
  check_no_array_is_empty(f);
  const std::vector<int> arg_dims = resolve_in_axes(f, options.in_axes, "vmap");
  const MappedAxis axis{options.axis_name, mapped_size(f, arg_dims, options.axis_size, "vmap"), options.spmd_axis_name};

  TraceRequest request = request_for(f, "vmap", {});
  for (std::size_t i = 0; i < f.args.size(); ++i) {
    const Aval& aval = f.args[i].aval();
    request.inputs.push_back(arg_dims[i] == kNotMapped ? aval : aval.with_shape(aval.shape.erased(arg_dims[i])));
  }
  if (!axis.name.empty()) request.axes.push_back({axis.name, checked_int(axis.size, "vmap", "the size of the named axis", f.loc)});
  const Hoisted h = hoist_consts([&] {
    const InputsVary varying(f.args);
    return trace_with_numbers(f, request, [&](std::span<const Array> leaves) { return f.run(leaves); });
  }());
  std::vector<int> dims(h.consts.size(), kNotMapped);
  dims.insert(dims.end(), arg_dims.begin(), arg_dims.end());
  const std::vector<Aval> out_avals = h.jaxpr.data().output_avals();

  const Skeleton tree = f.result();
  const PrefixNames names{"vmap", "out_axes", f.loc};
  const std::vector<std::optional<int>> wanted = resolve_added_axes(options.out_axes, tree, out_avals, names);
  const BatchedProgram batched = in_transform("vmap", f, [&] { return batch_program(h.jaxpr, axis, dims); });
  check_unmapped(wanted, batched.out_dims, tree, out_avals, names);
  std::vector<Array> inputs = h.consts;
  inputs.insert(inputs.end(), f.args.begin(), f.args.end());
  if (config.debug_key_reuse) note_key_uses(h.jaxpr, inputs, request.what, f.loc);
  std::vector<Array> results = evaluate(dce_program(batched.jaxpr), inputs);
  LocScope scope(f.loc);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i]) results[i] = materialize_batch_dim(results[i], batched.out_dims[i], axis.size, *wanted[i], f.loc);
  return results;
}

}  // namespace weft::detail
