// The making of a schedule: takes a kernel and a target, and chooses in stages which loops run by vectors, what is unrolled, and which
// tasks threads take. schedule.cpp runs the stages; each has a file of its own.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "weft/backends/codegen/schedule/cost.h"
#include "weft/backends/codegen/schedule/kernel_accesses.h"
#include "weft/backends/codegen/schedule/schedule.h"

namespace weft::detail {

class Scheduler {
 public:
  Scheduler(const Kernel& k, const Target& target, int vector_loop = -1);
  Schedule run();

 private:
  static constexpr double kNarrower = 0.85;  ///< of the cost by wider vectors, from which on narrower ones are taken

  std::int64_t size(int dim) const { return k_.dag.dims[static_cast<std::size_t>(dim)]; }
  bool runs_singly(int dim) const { return detail::runs_singly(k_, dim); }
  bool is_running(const Nest& t) const {
    return std::any_of(t.reductions.begin(), t.reductions.end(), [](const Reduction& r) { return r.running; });
  }
  /// The cost of one point of a nest.
  double work(std::size_t nest) const {
    double w = 0;
    for (NodeId id : nodes_[nest]) w += node_cost(k_.dag[id]);
    return w;
  }

  // schedule.cpp
  bool has_vectors() const;
  int choose_lanes(std::int64_t longest) const;
  void plan_nest(std::size_t i);
  void plan_outer();
  void plan_tasks();

  // vector_loops.cpp
  void choose_vector_loops();
  /// The cheapest loops for the schedule's lanes, and the cost of all nests by them.
  double find_vector_loops();
  /// Whether vectors may be narrower than registers: the kernel does the same by each length.
  bool may_narrow() const;
  /// The cost of a nest if the given loop (its own or an outer one) is vectorised; -1: none.
  double cost(std::size_t nest, int vector) const;
  /// Whether strided lanes along the given outer loop reduce contiguous elements: a square of as many steps as lanes is then loaded and
  /// transposed in registers.
  bool reads_squares(const Nest& t, NodeId position, int vector) const;
  bool maps_squares(std::size_t nest, NodeId position, int vector) const;
  /// Whether a nest accesses such squares of memory in any way.
  bool maps_squares(std::size_t nest) const;
  /// Whether lanes along the outer loop may be neighbouring elements of records instead.
  bool flattens_records(const Nest& t, int vector) const;
  /// Whether a condition depends on short outer loops only, the copies of which each have one outcome where records are joined.
  bool is_decided_in_records(NodeId guard) const;
  /// Whether registers hold the row whose elements the lanes read by computed indices.
  bool is_looked_up(NodeId load, int vector) const;

  // unrolling.cpp
  void unroll();
  /// How many loads in a nest's innermost loops do not depend on the loop.
  int shared_loads(std::size_t nest, int dim) const;
  /// Accumulators in a tile of points: vectors of them first, then points that share loads, then partial sums.
  bool tile(std::size_t i, bool with_outer);
  /// The shape of a tile of vectors and of points that share their loads, of so many accumulators at most: the one with the fewest cycles
  /// for all points, those that are left over by whole tiles included, where it is clearly better than the one there is.
  void shape_tile(LoopPlan& vectors, LoopPlan& points, std::int64_t room);
  /// Several nests of outer points only, such as sums of matmuls, run by the tile of the costliest of them. False if that has none.
  bool tile_outer_points();
  /// Column reductions of a matrix that is not cached: a few rows at a time, if the accumulators of all columns are cached. Otherwise each
  /// row is read in short pieces, which the hardware does not prefetch.
  bool go_by_rows(std::size_t i);
  /// How many vectors of outer points may run side by side, as each has sums of all points of a tile in registers.
  int vectors_beside_tiles() const;
  /// How many sums each of these vectors has, in the nest that has most.
  std::int64_t sums_beside() const;
  /// Whether reducing loops go through memory by whole rows along the vectorised loop, which are short and beyond the middle cache: taken
  /// whole, they are read in order.
  bool goes_through_rows(int vector) const;
  /// Vectors that go through counted loops side by side, as an iteration of one waits for its last, and the others need not: as many as
  /// hold their carried values in half of the registers.
  int side_by_side(const LoopPlan& lanes) const;
  /// Columns of a matrix that are gone through several times: so many vectors side by side that a good piece of each row is read at a time,
  /// as far as their scratch memory stays in the second cache.
  int columns_together() const;
  /// How often a vector loop is unrolled that has so much work in one point.
  /// Whether the kernel gathers elements to store them, and does nothing else with them: they are moved one by one.
  bool only_moves_gathered() const;
  int by_work(double w, const LoopPlan& l) const;

  // row_blocks.cpp
  /// Rows that are reduced and then read again: several are computed side by side if a row has few vectors, so that the latency of its
  /// reduction is not hidden.
  void take_rows_together();
  /// Whether a nest multiplies rows, one of each outer point, by a matrix: its vectors run along the matrix's columns.
  bool multiplies_rows(std::size_t nest, int rows) const;
  /// The costliest nest that multiplies rows by a matrix, where such nests cost more than the others together: all nests then run several
  /// rows side by side, as a matmul of two stored matrices does. -1: there is none.
  int matmul_of_rows() const;

  // squares.cpp
  /// Where some access is contiguous along another outer loop than the lanes, that loop is unrolled as far as there are lanes: squares of
  /// elements are transposed in registers. Where memory is far, the innermost loop is the one along which more is read in order: what is
  /// written a cache line here and there need not be awaited.
  bool transpose_squares();
  /// How many lanes squares have along a loop of that length: what is left over is loaded one by one, so that short loops have small ones.
  int square_lanes(std::int64_t length) const;

  /// Neighbouring outer loops, of which the inner one goes across the rows of what is read, and the outer one along them, in less than a
  /// cache line a step: tiles of both read each line once.
  struct Tile {
    std::size_t along, across;  ///< the loops, as the schedule counts them
    std::int64_t steps_along, steps_across;
  };
  std::optional<Tile> tile_across_rows() const;

  // row_blocks.cpp
  /// Points side by side where the vector loop has one vector only, or where they share loads that lanes take long for.
  void take_points_together();
  /// Whether a good part of a row's cost is what the rows of this loop share, of which there are loads that are strided along the lanes.
  bool shares_strided_loads(int rows) const;

  const Kernel& k_;
  const Target target_;
  const int vector_bytes_;
  int lane_bytes_ = 4;                      ///< of a lane in a vector that fills a register
  const int vector_loop_;                   ///< the outer loop that is run by vectors; -1: whichever costs least, or none
  std::vector<std::vector<NodeId>> nodes_;  // of each nest
  Schedule schedule_;
  std::vector<int> nest_vector_;
};

}  // namespace weft::detail
