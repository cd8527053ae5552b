// Pictures of which devices hold which blocks of an array, as SVG.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "weft/core/errors/error.h"
#include "weft/core/ir/mesh_axes.h"
#include "weft/library/plot/graph.h"
#include "weft/library/plot/svg_text.h"
#include "weft/runtime/sharded/print_sharding.h"

namespace weft {

using namespace detail;

std::string sharding_svg(const Shape& shape, const Sharding& sharding, Theme theme, SourceLoc loc) {
  const MeshAxes& mesh = sharding.named().mesh().axes();
  const PartitionSpec& spec = sharding.named().spec();
  if (const std::string problem = spec_problem(mesh, spec, shape); !problem.empty()) throw ShardingError("sharding_svg: " + problem, loc);
  const Shape block = block_shape(mesh, spec, shape);
  // The two dimensions that are drawn: those with several blocks, else the first ones.
  std::vector<int> drawn;
  for (const bool several : {true, false})
    for (int d = 0; d < shape.size() && drawn.size() < 2; ++d)
      if ((block[d] != shape[d]) == several && std::find(drawn.begin(), drawn.end(), d) == drawn.end()) drawn.push_back(d);
  std::sort(drawn.begin(), drawn.end());
  const int row_dim = drawn.size() == 2 ? drawn[0] : -1, column_dim = drawn.empty() ? -1 : drawn.back();
  // The devices of each block; blocks along dimensions that aren't drawn share a cell.
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::size_t>> cells;
  const std::vector<Device> devices = sharding.device_set();
  const auto number = [&](const std::vector<std::int64_t>& start, int d) {
    return d < 0 ? 0 : start[static_cast<std::size_t>(d)] / std::max<std::int64_t>(block[d], 1);
  };
  std::int64_t rows = 1, columns = 1;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const std::vector<std::int64_t> start = block_start(mesh, spec, block, static_cast<std::int64_t>(i));
    const std::pair at{number(start, row_dim), number(start, column_dim)};
    cells[at].push_back(i);
    rows = std::max(rows, at.first + 1), columns = std::max(columns, at.second + 1);
  }
  // In the proportions of the array, as far as they can be read.
  const double tall = row_dim < 0 ? 1 : static_cast<double>(std::max<std::int64_t>(shape[row_dim], 1)),
               wide = column_dim < 0 ? 1 : static_cast<double>(std::max<std::int64_t>(shape[column_dim], 1));
  double widest = 0;
  std::map<std::pair<std::int64_t, std::int64_t>, std::string> names;
  for (const auto& [at, who] : cells) {
    std::string& name = names[at];
    for (std::size_t k = 0; k < who.size() && k < 8; ++k) name += (k ? ", " : "") + to_string(devices[who[k]]);
    if (who.size() > 8) name += fmt::format(" and {} more", who.size() - 8);
    widest = std::max(widest, text_width(name, 11) + 14);
  }
  const double area = 260, ratio = std::clamp(wide / tall, 0.3, 3.0);
  const double width = std::max(area * std::min(1.0, ratio), widest * static_cast<double>(columns)),
               height = std::max(row_dim < 0 ? 44 : area * std::min(1.0, 1 / ratio) * 0.7, 26.0 * static_cast<double>(rows));
  const double left = row_dim < 0 ? 14 : 54, top = 46;
  SvgWriter out;
  const std::string title = fmt::format("{}, {}", to_string(shape), sharding);
  out.text(14, 20, title, 12, Anchor::start, "font-weight=\"600\"");
  for (const auto& [at, who] : cells) {
    const double w = width / static_cast<double>(columns), h = height / static_cast<double>(rows);
    const double x = left + w * static_cast<double>(at.second), y = top + h * static_cast<double>(at.first);
    const std::string color = hex(palette_color(who.front()));
    out.rect(x + 1, y + 1, w - 2, h - 2, fmt::format("rx=\"3\" fill=\"{0}\" fill-opacity=\".28\" stroke=\"{0}\"", color));
    out.text(x + w / 2, y + h / 2 + 4, names[at], 11, Anchor::middle);
  }
  const auto size_of = [&](int d) {
    std::string axes;
    for (const std::string& a : spec.axes_of(d)) axes += (axes.empty() ? "" : ", ") + a;
    return fmt::format("{}{}", shape[d], axes.empty() ? "" : " over " + axes);
  };
  if (column_dim >= 0) out.text(left + width / 2, top - 8, size_of(column_dim), 11, Anchor::middle, "fill-opacity=\".8\"");
  if (row_dim >= 0)
    out.text(left - 14, top + height / 2, size_of(row_dim), 11, Anchor::middle,
             fmt::format("fill-opacity=\".8\" transform=\"rotate(-90 {} {})\"", coordinate(left - 14), coordinate(top + height / 2)));
  return svg_document(std::max(left + width + 14, text_width(title, 12) * 1.06 + 28), top + height + 14, theme, title, out.str());
}

std::string sharding_svg(const Array& x, Theme theme, SourceLoc loc) { return sharding_svg(x.shape(), x.sharding(), theme, loc); }

}  // namespace weft
