#include "weft/library/plot/layered_graph.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace weft::detail {
namespace {

constexpr double kAcross = 14, kDown = 30, kPassing = 6;
constexpr int kOrderSweeps = 16, kPlaceSweeps = 24;

/// Positions with at least these distances between neighbours, as near as they can be to the wanted ones (least squares): what would
/// overlap moves together.
std::vector<double> apart(const std::vector<double>& wanted, const std::vector<double>& distances) {
  struct Block {
    double sum;
    int count;
    double mean() const { return sum / count; }
  };
  std::vector<Block> blocks;
  std::vector<double> offset(wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    offset[i] = i == 0 ? 0 : offset[i - 1] + distances[i - 1];
    blocks.push_back({wanted[i] - offset[i], 1});
    while (blocks.size() > 1 && blocks[blocks.size() - 2].mean() > blocks.back().mean()) {
      const Block last = blocks.back();
      blocks.pop_back();
      blocks.back().sum += last.sum, blocks.back().count += last.count;
    }
  }
  std::vector<double> out;
  for (const Block& b : blocks)
    for (int k = 0; k < b.count; ++k) out.push_back(b.mean() + offset[out.size()]);
  return out;
}

class Layout {
 public:
  Layout(std::vector<GraphNode> nodes, const std::vector<std::pair<std::size_t, std::size_t>>& edges)
      : real_(nodes.size()), nodes_(std::move(nodes)) {
    add_passing(edges);
    above_.resize(nodes_.size()), below_.resize(nodes_.size());
    for (const auto& [a, b] : links_) below_[a].push_back(b), above_[b].push_back(a);
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      if (static_cast<std::size_t>(nodes_[n].layer) >= layers_.size()) layers_.resize(static_cast<std::size_t>(nodes_[n].layer) + 1);
      layers_[static_cast<std::size_t>(nodes_[n].layer)].push_back(n);
    }
  }

  GraphLayout run() {
    for (int i = 0; i < kOrderSweeps; ++i) order(i % 2 == 0);
    place();
    GraphLayout out;
    double least = 0;
    for (const GraphNode& n : nodes_) least = std::min(least, n.x - n.width / 2);
    double y = 0;
    for (const auto& layer : layers_) {
      double height = 0;
      for (const std::size_t n : layer) height = std::max(height, nodes_[n].height);
      for (const std::size_t n : layer) {
        nodes_[n].x -= least;
        nodes_[n].y = y;
        if (n >= real_) nodes_[n].height = height;
        out.width = std::max(out.width, nodes_[n].x + nodes_[n].width / 2);
      }
      y += height + kDown;
    }
    out.height = std::max(0.0, y - kDown);
    for (const std::vector<std::size_t>& way : ways_) {
      GraphRoute r{way.front(), way.back(), {}};
      for (std::size_t i = 0; i < way.size(); ++i) {
        const GraphNode& n = nodes_[way[i]];
        if (i > 0) r.points.emplace_back(n.x, n.y);
        if (i + 1 < way.size()) r.points.emplace_back(n.x, n.y + n.height);
      }
      out.routes.push_back(std::move(r));
    }
    nodes_.resize(real_);
    out.nodes = std::move(nodes_);
    return out;
  }

 private:
  /// Narrow nodes where an edge passes through a layer, shared by the edges of one node.
  void add_passing(const std::vector<std::pair<std::size_t, std::size_t>>& edges) {
    std::map<std::pair<std::size_t, int>, std::size_t> passing;
    std::map<std::pair<std::size_t, std::size_t>, bool> linked;
    for (const auto& [from, to] : edges) {
      std::vector<std::size_t> way{from};
      for (int layer = nodes_[from].layer + 1; layer < nodes_[to].layer; ++layer) {
        const auto [found, is_new] = passing.try_emplace({from, layer}, nodes_.size());
        if (is_new) nodes_.push_back({kPassing, 0, layer});
        way.push_back(found->second);
      }
      way.push_back(to);
      for (std::size_t i = 0; i + 1 < way.size(); ++i)
        if (!std::exchange(linked[{way[i], way[i + 1]}], true)) links_.emplace_back(way[i], way[i + 1]);
      ways_.push_back(std::move(way));
    }
  }

  /// Each layer in the order of the mean places of the neighbours before it.
  void order(bool downward) {
    std::vector<double> position(nodes_.size());
    const auto number = [&](const std::vector<std::size_t>& layer) {
      for (std::size_t i = 0; i < layer.size(); ++i)
        position[layer[i]] = (static_cast<double>(i) + 0.5) / static_cast<double>(layer.size());
    };
    for (const auto& layer : layers_) number(layer);
    for (std::size_t k = 0; k < layers_.size(); ++k) {
      auto& layer = layers_[downward ? k : layers_.size() - 1 - k];
      std::map<std::size_t, double> mean;
      for (const std::size_t n : layer) {
        const auto& near = downward ? above_[n] : below_[n];
        double sum = 0;
        for (const std::size_t m : near) sum += position[m];
        mean[n] = near.empty() ? position[n] : sum / static_cast<double>(near.size());
      }
      std::stable_sort(layer.begin(), layer.end(), [&](std::size_t a, std::size_t b) { return mean[a] < mean[b]; });
      number(layer);
    }
  }

  void place() {
    for (auto& layer : layers_) {
      double x = 0;
      for (const std::size_t n : layer) nodes_[n].x = x + nodes_[n].width / 2, x += nodes_[n].width + kAcross;
      for (const std::size_t n : layer) nodes_[n].x -= x / 2;
    }
    for (int i = 0; i < kPlaceSweeps; ++i)
      for (std::size_t k = 0; k < layers_.size(); ++k) {
        const auto& layer = layers_[i % 2 == 0 ? k : layers_.size() - 1 - k];
        std::vector<double> wanted, distances;
        for (std::size_t p = 0; p < layer.size(); ++p) {
          const std::size_t n = layer[p];
          double sum = 0;
          for (const std::size_t m : above_[n]) sum += nodes_[m].x;
          for (const std::size_t m : below_[n]) sum += nodes_[m].x;
          const std::size_t near = above_[n].size() + below_[n].size();
          wanted.push_back(near == 0 ? nodes_[n].x : sum / static_cast<double>(near));
          if (p > 0) distances.push_back((nodes_[layer[p - 1]].width + nodes_[n].width) / 2 + kAcross);
        }
        const std::vector<double> x = apart(wanted, distances);
        for (std::size_t p = 0; p < layer.size(); ++p) nodes_[layer[p]].x = x[p];
      }
  }

  const std::size_t real_;
  std::vector<GraphNode> nodes_;
  std::vector<std::pair<std::size_t, std::size_t>> links_;
  std::vector<std::vector<std::size_t>> ways_, above_, below_, layers_;
};

}  // namespace

GraphLayout lay_out_graph(std::vector<GraphNode> nodes, const std::vector<std::pair<std::size_t, std::size_t>>& edges) {
  return Layout(std::move(nodes), edges).run();
}

}  // namespace weft::detail
