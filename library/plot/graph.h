// Programs, and the shardings of arrays, drawn as SVG.
#pragma once
#include <string>

#include "weft/core/ir/jaxpr.h"
#include "weft/library/plot/plot_options.h"
#include "weft/runtime/sharded/sharding.h"

namespace weft {

/// Options of graph_svg.
struct GraphOptions {
  std::string title = {};          ///< above the graph
  int max_equations = 400;         ///< larger programs throw Error, as their graph would be unreadable
  bool types = true;               ///< each value's type is below its operation
  bool programs = true;            ///< programs within equations (of loops, branches, calls) are drawn beneath, one below the other
  Theme theme = Theme::automatic;  ///< colors for light or dark pages, or for the viewer's setting
};
/// A program as a graph: inputs at the top, then the operations in the order in which they can run, results at the bottom, colored by kind
/// (elementwise, data movement, reduction, matmul, control flow, ...). An SVG document.
std::string graph_svg(const Jaxpr& program, const GraphOptions& options = {}, SourceLoc loc = SourceLoc::here());
/// Writes graph_svg. Throws IoError if the file can't be written.
void save_graph(const std::string& path, const Jaxpr& program, const GraphOptions& options = {}, SourceLoc loc = SourceLoc::here());

/// The placement of an array of this shape as an SVG document: the blocks along the first two sharded dimensions (or its first two), each
/// with its devices. Throws ShardingError where the sharding doesn't fit the shape.
std::string sharding_svg(const Shape& shape, const Sharding& sharding, Theme theme = Theme::automatic, SourceLoc loc = SourceLoc::here());
/// The same for an array and its own placement.
std::string sharding_svg(const Array& x, Theme theme = Theme::automatic, SourceLoc loc = SourceLoc::here());

}  // namespace weft
