// Kernel formation. Internal to form_program.
//
// Values that are stored, reduced or handed to a library are roots; everything else is fused into the roots that read it. Each root is a
// loop nest over its own space: one loop for each dimension of its value, and loops that reduce. Roots join one kernel while the outer
// loops of all of them run over the same points: a nest that reads what an earlier nest of the kernel computed must read it at its own
// outer point.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "weft/backends/codegen/planner/expressions.h"
#include "weft/backends/codegen/planner/lanes/lanes.h"
#include "weft/backends/codegen/planner/program.h"

namespace weft::detail {

/// A value with a loop nest of its own. Beside the program's variables there are partial results of split reductions, numbered after them.
struct Root {
  /// `rows`: of each window of a scatter's updates the row that it goes to (scatters.cpp).
  enum class Kind { map, reduce, arg_reduce, cumulative, matmul, copy, rows, scatter };
  Kind kind = Kind::map;
  Var var = 0;
  int eqn = -1;
  /// Splitting of a long reduction: first the reductions of chunks of its first axis, as partial results [chunks, ...], then the reduction
  /// of those.
  enum class Stage { whole, chunks, combine };
  Stage stage = Stage::whole;
  Var partial = 0;                     ///< of combine: the partial results
  std::int64_t chunks = 1, chunk = 0;  ///< how many, and of how many steps each (the last may have fewer)
  std::int64_t chunk_total = 0;        ///< steps of all together
  bool by_rows = false;                ///< of chunks: only the chunks are an outer loop
  bool partitioned = false;            ///< of a scatter: by rows
  std::optional<Var> rows;             ///< of one that is partitioned: its windows' rows, if they are in memory

  // The loops: those of the value's dimensions, a dimension perhaps split into several loops (slowest first), and reducing ones.
  struct Dim {
    int value_dim = 0;                 ///< kWindows: the dimensions of a scatter's indices, all as one
    std::int64_t size = 1, scale = 1;  ///< the dimension's coordinate is the sum of scale * loop
    friend bool operator==(const Dim&, const Dim&) = default;
  };
  static constexpr int kWindows = -1;
  std::vector<Dim> parallel;
  std::vector<std::int64_t> reduce;
  /// Whether there is a loop for this reduced dimension: one of a single element needs none beside others, so that the root shares the
  /// loops of values that have no such dimension.
  bool has_loop(std::size_t reduced) const {
    if (reduce[reduced] != 1) return true;
    return reduced + 1 == reduce.size() && std::count(reduce.begin(), reduce.end(), 1) == std::ssize(reduce);
  }
  /// The iterations of the reducing loops; at least one each.
  std::vector<std::int64_t> reducing_loops() const {
    std::vector<std::int64_t> sizes;
    for (std::size_t k = 0; k < reduce.size(); ++k)
      if (has_loop(k)) sizes.push_back(std::max<std::int64_t>(reduce[k], 1));
    return sizes;
  }
  /// Whether it computes each element by itself, so that its parallel loops may be split and run in any order.
  bool is_by_element() const {
    return (kind == Kind::map || kind == Kind::reduce || kind == Kind::matmul) && stage == Stage::whole && !by_rows;
  }

  // The reads and the cost of its expression, found by building it once by itself. Loops are numbered: parallel, then reducing ones.
  struct Read {
    Var var;
    std::vector<NodeId> coords;
  };
  std::vector<Read> reads;
  std::shared_ptr<Dag> dag;
  KernelValue value;
  std::optional<bool> unconditional;  ///< whether loop partitioning leaves its kernel without conditions, if that is known
  double cycles_per_point = 1;
  double points() const;
  double work() const { return points() * cycles_per_point; }
};

/// Roots that share a kernel. `outer[r][k]` is the loop of root r that runs along the kernel's outer loop k.
struct Group {
  std::vector<int> roots;
  std::vector<std::int64_t> sizes;
  std::vector<std::vector<int>> outer;
  double work = 0;
  int nodes = 0;
  bool closed = false;  ///< takes no more roots
};

inline std::string kernel_name(int number) { return "kernel" + std::to_string(number); }

/// The kernels and matmuls of a program and of all its sub-programs.
struct KernelTable {
  std::vector<Kernel> kernels;
  std::vector<MatmulStep> matmuls;
  std::unordered_multimap<std::uint64_t, int> by_hash;
  int add(Kernel k);  ///< its number; equal ones are one
};

/// Computing an element again at up to this cost is cheaper than storing and reading it.
inline constexpr double kCheap = 10;
/// Whether the equation moves its operand's elements in their order, perhaps repeating them: the operand is stored rather than the result.
bool keeps_order(const JaxprData& j, const Eqn& e);
/// Whether kernels support the combiner for the dtype.
bool can_reduce(Combiner c, DType t);
/// Whether the equation joins scalars along a last dimension, as index vectors do, so that a reader of one element computes that one only.
bool is_tuple(const JaxprData& j, const Eqn& e);

class KernelPlanner {
 public:
  KernelPlanner(const SimplifiedProgram& p, const TargetTraits& target, KernelTable& table, const std::vector<int>& donated);
  KernelProgram run();

 private:
  // planner.cpp: which values must be roots.
  void classify();
  void name_outputs();
  std::vector<int> last_kernels() const;  // scatters.cpp
  void store_reads_of_updated();
  bool is_moved_gather(Var v) const;
  bool needs_memory(const Eqn& reader, int operand) const;
  bool stores_factor(const Eqn& e, int operand) const;
  bool is_hidden_layer(const Eqn& e) const;
  bool has_too_many_loops(const Eqn& e) const;
  bool is_kernel_reduction(const Eqn& e) const;
  bool is_transposed(Var v, std::int64_t least_bytes) const;
  bool is_transposed_for_lanes(Var v) const;
  bool reads_transposed(Var v) const;
  bool matmul_is_kernel(const Eqn& e) const;
  bool comes_from_matmul(Var v) const;
  /// An array and the position in it of an element of an operand.
  struct OperandPlace {
    Var source;
    NodeId position;
  };
  OperandPlace library_operand(Atom operand, std::span<const NodeId> at, Dag& dag) const;
  bool try_library_matmul(const Eqn& e);
  void absorb_epilogue(std::size_t eqn);  // epilogues.cpp
  std::vector<std::vector<int>> readers_of_values() const;
  std::optional<Var> bias_added_to(Var value, const Eqn& e, std::int64_t columns) const;
  MatmulStep::Activation activation_given_by(const Eqn& e, Var value) const;
  std::optional<std::vector<int>> equations_between(Var value, int last, const std::vector<std::vector<int>>& readers) const;
  void make_roots();
  void add_reduction(int eqn);
  bool is_large_column_reduction(const Eqn& e, const Root& r, std::int64_t steps) const;

  // fusion.cpp: which further values are.
  void choose_roots();
  void estimate_own_costs();
  void estimate_costs();
  void choose_root(Var v, std::size_t eqn, bool several_nests, double points, bool gathered);
  void fuse_cheap_functions(const std::vector<char>& chosen, const std::vector<double>& points);

  // root_expressions.cpp: the expression of each root.
  void cut_deep_values();
  void build_roots();
  bool take_built(Root& r);
  void keep_built(const Root& plain, const Root& built);
  void build_alone(Root& r);
  void cut_values();
  bool cut_expression(const Root& r, const Expressions& expressions, std::size_t nodes);
  bool try_build(Root& r);
  bool partitions_without_conditions(const Root& r) const;
  Root map_root(Var v) const;
  void split_for_reshapes(Root& r);

  // scatters.cpp
  IndexedGeometry geometry_of_scatter(const Eqn& e) const;
  bool is_kernel_scatter(const Eqn& e) const;
  bool is_partitioned_scatter(const Eqn& e) const;
  bool stores_updates(const Eqn& e) const;
  bool stores_rows(const Eqn& e) const;
  bool takes_over_operand(const Eqn& e) const;
  bool copies_updated(const Root& r) const;
  void add_scatter(int eqn);
  void place_scatter(int root);

  // grouping.cpp: which roots share a kernel.
  void group();
  void place(int root);
  bool join(int step, int root);
  std::optional<std::vector<int>> align(const Group& g, int root) const;
  void keep_rows_whole(const Group& g, const Root& r, std::vector<int>& alignment) const;
  bool worthwhile(const Group& g, const Root& r, const std::vector<int>& alignment) const;
  void block_rows(Group& g);  // row_blocks.cpp

  // kernel_forming.cpp
  friend class KernelFormer;
  void form_steps();
  BufferId buffer_of(Var v);
  BufferId buffer_of(Atom a);
  BufferId new_buffer(Var v);
  void add_control(const Eqn& e, int number, Step& step);
  void add_kernels(Kernel whole, std::vector<BufferId> whole_buffers, int operations, const std::vector<int>& eqns);
  void add_lanes(LaneKernel lanes, std::vector<int> eqns);
  std::vector<int> equations_of(std::size_t step) const;  // step_equations.cpp
  void add_outputs();

  const Jaxpr jaxpr_;
  const std::vector<NamedValue> names_;
  const JaxprData& j_;
  const TargetTraits target_;
  std::vector<Aval> avals_;         // of variables, then of partial results
  const std::vector<int> donated_;  // of each input, as plan_memory takes them
  const std::vector<int> updates_;  // of each variable: the scatter that may write its result there, -1 for none (update_order.h)
  std::vector<int> defined_by_;
  std::vector<char> injective_;  // of each equation
  std::vector<char> is_root_;    // of each variable: it is in memory, or the result of a nest
  std::vector<char> is_output_;
  std::vector<int> times_read_;   // of each variable: by equations and as a result
  std::vector<double> cost_;      // of computing one element of a variable from memory
  std::vector<double> own_cost_;  // of each equation, its operands aside; -1: not known yet
  std::vector<char> is_moved_;    // of each variable: it is what its operands' elements are moved to
  std::vector<char>
      stored_unless_partitioned_;  // of those: it becomes a root, unless loop partitioning leaves its readers without conditions
  std::vector<Var> cut_;           // values that became roots since because an expression was too large
  std::vector<Var> computed_;      // by the expression that was built last
  struct Built {
    Root plain, root;           // as it was made, and with its expression
    std::vector<Var> computed;  // by the expression
  };
  void store_unless_partitioned(Built& built);
  Var moved_from(Var v) const;
  std::vector<Var> outermost_moved(const Root& r, std::span<const Var> values) const;
  std::unordered_map<Var, Built> built_;
  struct LibraryMatmul {
    MatmulStep step;
    Var a = 0, b = 0, bias = 0;
  };
  std::vector<std::optional<LibraryMatmul>> library_;  // of each equation
  std::vector<char> absorbed_;                         // of each equation: a later matmul computes it
  std::vector<std::optional<LaneKernel>> lanes_;       // of each equation: a kernel of its own

  std::vector<Root> roots_;
  struct Item {
    int root = -1, eqn = -1, group = -1;  // a root, or an equation that is a step of its own
  };
  std::vector<Item> items_;  // in an order of evaluation
  std::vector<Item> steps_;
  std::vector<Group> groups_;
  std::vector<int> step_of_;  // of each variable in memory: the step that computes it, -1: an input
  std::vector<int> root_of_;
  std::vector<char> read_elsewhere_;  // of each variable: other steps than its own read it
  std::vector<int> last_read_;        // of each variable: the last step that reads it

  KernelProgram program_;
  std::vector<BufferId> buffers_;
  std::unordered_map<Var, int> output_numbers_;  // of each output, and of what is its memory: the first of its results
  std::unordered_map<Var, Var> same_memory_;     // outputs that are other shapes of these
  std::unordered_map<Var, Var> shares_buffer_;   // the copy that a scatter works on is its result
  std::vector<BufferId> literal_buffers_;
  KernelTable& table_;
};

/// A program and its memory; `donated` as in plan_memory.
KernelProgram plan_program(const SimplifiedProgram& simplified, const TargetTraits& target, KernelTable& table,
                           const std::vector<int>& donated);
/// A loop or a branch and its sub-programs. `unneeded`: of each operand, whether its memory may be overwritten.
ControlStep plan_control(const JaxprData& j, const Eqn& e, const std::vector<bool>& unneeded, const TargetTraits& target,
                         KernelTable& table);

/// The loops and the reductions of a root's expression.
struct RootBody {
  KernelValue value;  ///< of a map: what to store; of others: what the locals make of it
  std::vector<Reduction> reductions;
  std::vector<NodeId> coords;  ///< of a scatter: where the value goes
  KernelValue inside;          ///< and whether it goes anywhere
  NodeId row = -1;             ///< and the row, where the kernel is partitioned by rows
};
/// Whether a dimension's coordinate is determined by the indices.
bool is_indexed(const IndexedDim& d);
/// The row number of these coordinates in a scatter's operand; only indexed dimensions count.
NodeId number_of_row(Dag& dag, const IndexedGeometry& g, const Shape& operand, std::span<const NodeId> coords);
/// The coordinates in the operand of an update (at these coordinates of the updates) whose window is in the row.
std::vector<NodeId> coords_in_row(Dag& dag, const IndexedGeometry& g, const Shape& operand, NodeId row, std::span<const NodeId> update);
/// The coordinates in the updates: the given ones in the window, combined with those of the window's number.
std::vector<NodeId> coords_of_window(Dag& dag, const IndexedGeometry& g, const Shape& updates, NodeId window, std::vector<NodeId> coords);

/// The loops of a root's dimensions (indices into the Dag's), and the dimensions that the values of its reductions depend on.
struct RootLoops {
  std::span<const int> parallel, reduce;  ///< those that reduce are Root::reducing_loops
  std::uint64_t local_dims = 0;
};
/// What the expressions of a program's roots are built from and with. Locals are numbered from `locals.size()` on.
struct RootContext {
  const JaxprData& j;
  const std::vector<Aval>& avals;
  Expressions& expressions;
  LeafReader& leaves;
  Dag& dag;
  std::vector<DType>& locals;
};
RootBody build_root(const RootContext& c, const Root& r, const RootLoops& loops);
/// The coordinates of the root's value in terms of its loops.
std::vector<NodeId> root_coords(const Root& r, const Aval& aval, Dag& dag, std::span<const int> parallel, std::span<const int> reduce,
                                const JaxprData& j);

}  // namespace weft::detail
