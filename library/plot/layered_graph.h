// Places the nodes of a directed acyclic graph in layers, so that edges go down and few of them cross (Sugiyama's method).
// Internal.
#pragma once
#include <utility>
#include <vector>

namespace weft::detail {

struct GraphNode {
  double width = 0, height = 0;
  int layer = 0;        ///< given: edges go to higher layers
  double x = 0, y = 0;  ///< found: the middle of its upper side
};
/// An edge's route: the bottom of its first node, points between other nodes, the top of its last.
struct GraphRoute {
  std::size_t from = 0, to = 0;
  std::vector<std::pair<double, double>> points;
};
struct GraphLayout {
  std::vector<GraphNode> nodes;
  std::vector<GraphRoute> routes;
  double width = 0, height = 0;
};
/// Edges that begin at the same node share their routes as far as possible.
GraphLayout lay_out_graph(std::vector<GraphNode> nodes, const std::vector<std::pair<std::size_t, std::size_t>>& edges);

}  // namespace weft::detail
