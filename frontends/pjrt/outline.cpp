// See outline.h. The form of a sharding is that of xla/hlo/ir/hlo_sharding.h: how many tiles each dimension has, and the devices of the
// tiles in row-major order, those that have the same tile next to each other.
#include "weft/frontends/pjrt/outline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "weft/frontends/stablehlo/export/writer.h"
#include "weft/frontends/stablehlo/module/narrow.h"

namespace weft::pjrt {
namespace {

/// How an array is cut: dimensions of tiles, those of copies and partial sums behind them, and the tiles' devices. Without dimensions:
/// each device has all of it.
struct Tiling {
  std::vector<std::int64_t> tiles;
  std::vector<std::size_t> devices;
  bool is_copied = false, is_addend = false;
};

Tiling tiling_of(const Port& p) {
  if (!p.sharding) return {};
  const detail::MeshAxes& mesh = p.sharding->mesh().axes();
  const PartitionSpec& spec = p.sharding->spec();
  const int first = p.is_sum ? 1 : 0, num_dims = p.whole.ndim() - first;
  std::vector<std::int64_t> tiles;
  std::int64_t count = 1;
  for (int d = 0; d < num_dims; ++d) tiles.push_back(mesh.size_of(spec.axes_of(p.stored_at(d)))), count *= tiles.back();
  if (count == 1 && !p.is_sum) return {};
  // The tiles' dimensions are followed by those of the devices that have the same tile: copies, then partial sums, by the mesh's axes in
  // order.
  std::vector<std::string> of_copies, of_addends;
  for (const std::string& axis : mesh.names) {
    if (!spec.names(axis)) of_copies.push_back(axis);
    if (first == 1 && std::find(spec.axes_of(0).begin(), spec.axes_of(0).end(), axis) != spec.axes_of(0).end()) of_addends.push_back(axis);
  }
  std::vector<std::pair<std::array<std::int64_t, 3>, std::size_t>> places;
  for (std::size_t k = 0; k < p.partition_of.size(); ++k) {
    const auto at = static_cast<std::int64_t>(k);
    std::int64_t tile = 0;
    for (int d = 0; d < num_dims; ++d) tile = tile * tiles[static_cast<std::size_t>(d)] + mesh.coordinate(at, spec.axes_of(p.stored_at(d)));
    places.push_back({{tile, mesh.coordinate(at, of_copies), mesh.coordinate(at, of_addends)}, p.partition_of[k]});
  }
  std::sort(places.begin(), places.end());
  const std::int64_t copies = mesh.size_of(of_copies), addends = mesh.size_of(of_addends);
  Tiling t{std::move(tiles), {}, copies > 1, addends > 1};
  if (t.is_copied) t.tiles.push_back(copies);
  if (t.is_addend) t.tiles.push_back(addends);
  for (const auto& [place, device] : places) t.devices.push_back(device);
  return t;
}

std::string sharding_text(const Port& p) {
  const Tiling t = tiling_of(p);
  if (t.tiles.empty()) return "{replicated}";
  const char* const last = t.is_addend   ? t.is_copied ? " last_tile_dims={replicated, unreduced}" : " last_tile_dims={unreduced}"
                           : t.is_copied ? " last_tile_dim_replicate"
                                         : "";
  return fmt::format("{{devices=[{}]{}{}}}", fmt::join(t.tiles, ","), fmt::join(t.devices, ","), last);
}

std::string type_text(const Port& p) {
  static constexpr const char* names[] = {"i1",   "i8",  "i16",  "i32", "i64", "ui8",          "ui16",        "ui32",
                                          "ui64", "f16", "bf16", "f32", "f64", "complex<f32>", "complex<f64>"};
  std::string out = "tensor<";
  const int num_dims = p.whole.ndim() - (p.is_sum ? 1 : 0);
  for (int d = 0; d < num_dims; ++d) out += fmt::format("{}x", p.whole.shape[p.stored_at(d)]);
  return out + (p.narrow ? std::string(p.narrow->mlir) : std::string(names[p.whole.dtype.id()])) + ">";
}

/// The orders of arrays in memory, where one of them isn't that of rows, as attributes of a module.
std::string layouts_text(const Compiled& c) {
  const auto is_ordered = [](const Port& p) { return !p.order.is_default(); };
  if (std::none_of(c.arguments.begin(), c.arguments.end(), is_ordered) && std::none_of(c.results.begin(), c.results.end(), is_ordered))
    return "";
  const auto list = [&](const char* layouts, const char* tiles, const std::vector<Port>& ports) {
    std::vector<std::string> orders, tiles_of;
    for (const Port& p : ports) {
      const std::string order = p.dims.empty() ? "" : fmt::format("[{}]", order_text(p.order, p.dims.size()));
      orders.push_back(fmt::format("dense<{}> : tensor<{}xindex>", order, p.dims.size()));
      std::vector<std::string> own;
      for (const std::vector<std::int64_t>& tile : p.order.tiles)
        own.push_back(fmt::format("dense<[{}]> : tensor<{}xindex>", fmt::join(tile, ", "), tile.size()));
      tiles_of.push_back(fmt::format("[{}]", fmt::join(own, ", ")));
    }
    return fmt::format(", mhlo.xla_entry_computation_{} = [{}], mhlo.xla_entry_computation_{} = [{}]", layouts, fmt::join(orders, ", "),
                       tiles, fmt::join(tiles_of, ", "));
  };
  return list("parameter_layouts", "parameter_tiles", c.arguments) + list("result_layout", "result_tiles", c.results);
}

}  // namespace

// The numbers of fields and kinds are those of xla/xla_data.proto.
std::string sharding_message(const Port& p) {
  constexpr std::uint64_t kType = 1, kTileDims = 3, kTileDevices = 4, kCopiesAreLast = 6, kLastDims = 8;  // fields
  constexpr std::uint64_t kReplicated = 0, kOther = 3, kUnreduced = 6;                                    // kinds of sharding
  constexpr std::uint64_t kNumber = 0, kBytes = 2;                                                        // how fields are written
  const auto number = [](std::string& out, std::uint64_t v) {
    for (; v >= 0x80; v >>= 7) out.push_back(static_cast<char>(v | 0x80));
    out.push_back(static_cast<char>(v));
  };
  std::string out;
  const auto one = [&](std::uint64_t field, std::uint64_t v) { number(out, field << 3 | kNumber), number(out, v); };
  const auto list = [&](std::uint64_t field, const auto& values) {
    std::string packed;
    for (const auto v : values) number(packed, static_cast<std::uint64_t>(v));
    number(out, field << 3 | kBytes), number(out, packed.size());
    out += packed;
  };
  const Tiling t = tiling_of(p);
  one(kType, t.tiles.empty() ? kReplicated : kOther);
  if (t.tiles.empty()) return out;
  list(kTileDims, t.tiles), list(kTileDevices, t.devices);
  if (t.is_addend)
    list(kLastDims, t.is_copied ? std::vector{kReplicated, kUnreduced} : std::vector{kUnreduced});
  else if (t.is_copied)
    one(kCopiesAreLast, 1);
  return out;
}

std::string outline_of(const Compiled& c) {
  std::vector<std::string> arguments, parameters, types, shardings, values, lines;
  for (std::size_t i = 0; i < c.arguments.size(); ++i) {
    arguments.push_back(fmt::format("%arg{}: {}", i, type_text(c.arguments[i])));
    parameters.push_back(fmt::format("\"{}\"", sharding_text(c.arguments[i])));
  }
  for (std::size_t i = 0; i < c.results.size(); ++i) {
    const std::string type = type_text(c.results[i]);
    const DType dtype = c.results[i].whole.dtype;
    types.push_back(type);
    shardings.push_back(sharding_text(c.results[i]));
    values.push_back(fmt::format("%{}", i));
    lines.push_back(fmt::format("    %{} = stablehlo.constant dense<{}> : {}\n", i,
                                dtype.is_bool()                                                                           ? "false"
                                : dtype.is_complex()                                                                      ? "(0.0,0.0)"
                                : dtype.is_floating() || (c.results[i].narrow && c.results[i].narrow->wide.is_floating()) ? "0.0"
                                                                                                                          : "0",
                                type));
  }
  const std::string of_results = shardings.size() == 1 ? shardings[0]
                                 : shardings.empty()   ? "{replicated}"
                                                       : fmt::format("{{{}}}", fmt::join(shardings, ", "));
  return fmt::format(
      "module {} attributes {{mhlo.num_partitions = {} : i32, mhlo.num_replicas = 1 : i32, mhlo.spmd_output_sharding = \"{}\", "
      "mhlo.spmd_parameters_shardings = [{}]{}}} {{\n  func.func public @main({}) -> ({}) {{\n{}    return{}{}{}{}\n  }}\n}}\n",
      detail::mlir::symbol(c.name), c.num_devices, of_results, fmt::join(parameters, ", "), layouts_text(c), fmt::join(arguments, ", "),
      fmt::join(types, ", "), fmt::join(lines, ""), values.empty() ? "" : " ", fmt::join(values, ", "), values.empty() ? "" : " : ",
      fmt::join(types, ", "));
}

}  // namespace weft::pjrt
