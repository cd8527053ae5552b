// Tables of which devices hold which blocks of an array, as text and as SVG.
#include "weft/runtime/sharded/global_arrays.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "weft/core/base/files.h"
#include "weft/core/errors/error.h"
#include "weft/core/ir/mesh_axes.h"
#include "weft/core/trace/trace.h"
#include "weft/runtime/host/blocks.h"

namespace weft {

using namespace detail;

namespace {

/// The cells of an array's table: which devices have each block, in rows and columns.
struct Cells {
  std::vector<std::int64_t> row_starts, column_starts;  // of the blocks
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<int>> devices;
  std::int64_t rows = 1, columns = 1;
};

Cells cells_of(const Array& x, SourceLoc given) {
  const SourceLoc loc = effective_loc(given);
  if (x.ndim() == 0 || x.ndim() > 2)
    throw ShapeError(fmt::format("visualize_array_sharding: {} has {} dimensions; only arrays of one or two can be shown",
                                 detail::to_string(x.aval()), x.ndim()),
                     loc);
  Cells c;
  if (x.ndim() == 2) c.rows = x.shape()[0];
  c.columns = x.shape()[x.ndim() - 1];
  const NamedSharding s = x.sharding().named();
  const MeshAxes& mesh = s.mesh().axes();
  const Shape block = block_shape(mesh, s.spec(), x.shape());
  for (std::size_t k = 0; k < mesh.device_ids.size(); ++k) {
    const std::vector<std::int64_t> start = block_start(mesh, s.spec(), block, static_cast<std::int64_t>(k));
    const std::int64_t row = x.ndim() == 2 ? start[0] : 0, column = start.back();
    c.devices[{row, column}].push_back(mesh.device_ids[k]);
    c.row_starts.push_back(row), c.column_starts.push_back(column);
  }
  for (std::vector<std::int64_t>* list : {&c.row_starts, &c.column_starts}) {
    std::sort(list->begin(), list->end());
    list->erase(std::unique(list->begin(), list->end()), list->end());
  }
  return c;
}

std::string label_of(const std::vector<int>& ids) { return fmt::format("{} {}", Device::of_id(ids[0]).platform(), fmt::join(ids, ",")); }

}  // namespace

std::string visualize_array_sharding(const Array& x, SourceLoc loc) {
  const Cells c = cells_of(x, loc);
  std::size_t width = 0;
  for (const auto& [at, ids] : c.devices) width = std::max(width, label_of(ids).size() + 2);
  std::string line = "+", text;
  for (std::size_t i = 0; i < c.column_starts.size(); ++i) line += std::string(width, '-') + "+";
  for (std::int64_t row : c.row_starts) {
    text += line + "\n|";
    for (std::int64_t column : c.column_starts) text += fmt::format("{:^{}}|", label_of(c.devices.at({row, column})), width);
    text += "\n";
  }
  text += line + "\n";
  std::fputs(text.c_str(), stdout);
  return text;
}

void save_array_sharding(const Array& x, const std::string& path, SourceLoc loc) {
  const Cells c = cells_of(x, loc);
  if (!path.ends_with(".svg"))
    throw IoError(fmt::format("save_array_sharding: {} has no known format; end it in .svg", path), effective_loc(loc));
  constexpr double kSize = 480, kRow = 32;
  const double height =
      x.ndim() == 1 ? kRow : kSize * static_cast<double>(c.rows) / static_cast<double>(std::max<std::int64_t>(c.columns, 1));
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" height=\"{1:.0f}\">\n", kSize, height);
  const double w = kSize / static_cast<double>(c.column_starts.size()), h = height / static_cast<double>(c.row_starts.size());
  for (std::size_t i = 0; i < c.row_starts.size(); ++i)
    for (std::size_t j = 0; j < c.column_starts.size(); ++j) {
      const std::vector<int>& ids = c.devices.at({c.row_starts[i], c.column_starts[j]});
      text += fmt::format(
          "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"hsl({}, 60%, 80%)\" stroke=\"black\"/>"
          "<text x=\"{:.2f}\" y=\"{:.2f}\" font-size=\"12\" text-anchor=\"middle\" dominant-baseline=\"middle\">{}</text>\n",
          static_cast<double>(j) * w, static_cast<double>(i) * h, w, h, ids[0] * 47 % 360, (static_cast<double>(j) + .5) * w,
          (static_cast<double>(i) + .5) * h, label_of(ids));
    }
  write_file(path, {text, "</svg>\n"}, effective_loc(loc), "save_array_sharding");
}

}  // namespace weft
