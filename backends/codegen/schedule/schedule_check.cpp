// Checks that the code which a schedule describes computes what the kernel says.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "weft/backends/codegen/schedule/memory_steps.h"
#include "weft/backends/codegen/schedule/records.h"
#include "weft/backends/codegen/schedule/schedule_text.h"
#include "weft/core/errors/error.h"

namespace weft::detail {
namespace {

constexpr std::int64_t kMostCopies = 4096;  // of the body of a nest

class Checker {
 public:
  Checker(const Schedule& s, const Kernel& k, int vector_bytes) : s_(s), k_(k), target_{.vector_bytes = vector_bytes} {}

  void run() const {
    if (s_.nests.size() != k_.nests.size()) wrong("reorder", "it has other nests than the kernel");
    check_loops(k_.outer, s_.outer);
    check_vector(s_.outer, false);
    for (std::size_t i = 0; i < s_.nests.size(); ++i) {
      const NestSchedule& n = s_.nests[i];
      check_loops(k_.nests[i].parallel, n.parallel), check_loops(k_.nests[i].reduce, n.reduce);
      check_vector(n.parallel, false), check_vector(n.reduce, true);
      check_nest(i);
    }
    check_scratch();
    check_blocks();
    check_memory_steps();
    check_functions();
  }

 private:
  [[noreturn]] void wrong(const std::string& step, const std::string& why) const {
    throw CompileError(fmt::format("schedule: {}: step `{}`: {}", k_.name, step, why));
  }
  std::int64_t size(int dim) const { return k_.dag.dims[static_cast<std::size_t>(dim)]; }
  static std::string names(const std::vector<int>& dims) {
    std::string s;
    for (int d : dims) s += fmt::format(" i{}", d);
    return s;
  }
  std::string why_singly(int dim) const {
    return fmt::format(
        "the iterations of i{} run one after the other: {}", dim,
        k_.sequential >> dim & 1 ? "each may need what those before it wrote" : "how far a loop inside goes depends on them");
  }

  void check_loops(const std::vector<int>& dims, const std::vector<LoopPlan>& loops) const {
    std::vector<int> ordered;
    for (const LoopPlan& l : loops) ordered.push_back(l.dim);
    const std::string step = "reorder" + names(ordered);
    if (!std::is_permutation(ordered.begin(), ordered.end(), dims.begin(), dims.end()))
      wrong(step, fmt::format("it must name each of the loops{} once", names(dims)));
    const auto in_order = [&](const std::vector<int>& all) {
      std::vector<int> some;
      for (int d : all)
        if (k_.sequential >> d & 1) some.push_back(d);
      return some;
    };
    if (in_order(ordered) != in_order(dims))
      wrong(step, fmt::format("the loops{} run one inside the other as the kernel has them", names(in_order(dims))));
    for (std::size_t i = 0; i < ordered.size(); ++i)
      for (std::size_t inner = 0; inner < i; ++inner)
        if (k_.limits[static_cast<std::size_t>(ordered[inner])].outer == ordered[i])
          wrong(step,
                fmt::format("the number of iterations of i{} depends on i{}, which must be outside of it", ordered[inner], ordered[i]));
    for (const LoopPlan& l : loops) {
      if (l.unroll < 1) wrong(fmt::format("unroll i{} by {}", l.dim, l.unroll), "a loop has at least one copy");
      if (l.unroll > 1 && runs_singly(k_, l.dim)) wrong(fmt::format("unroll i{} by {}", l.dim, l.unroll), why_singly(l.dim));
      if (l.peeled && !can_peel(k_, l.dim, l.vector ? s_.lanes : 1))
        wrong(fmt::format("peel i{}", l.dim), "it has no borders, or too many of its vectors are at one; leave the step out");
    }
  }

  void check_vector(const std::vector<LoopPlan>& loops, bool reduces) const {
    int vectors = 0;
    for (const LoopPlan& l : loops) {
      if (!l.vector) continue;
      const std::string step = fmt::format("vectorize i{} by {}", l.dim, s_.lanes);
      if (s_.lanes < 2 || !std::has_single_bit(static_cast<unsigned>(s_.lanes)) || s_.lanes > target_.vector_bytes)
        wrong(step, fmt::format("vectors have a power of two of lanes, from 2 to {}", target_.vector_bytes));
      if (runs_singly(k_, l.dim)) wrong(step, why_singly(l.dim));
      if (++vectors > 1) wrong(step, "one loop of a list is run by vectors");
      if (reduces && &l != &loops.back())
        wrong(step, fmt::format("a reducing loop that is run by vectors is the innermost; reorder it after i{}", loops.back().dim));
    }
  }

  void check_nest(std::size_t i) const {
    const Nest& t = k_.nests[i];
    const NestSchedule& n = s_.nests[i];
    const auto vector_of = [](const std::vector<LoopPlan>& loops) {
      for (const LoopPlan& l : loops)
        if (l.vector) return l.dim;
      return -1;
    };
    const int parallel = vector_of(n.parallel), reduce = vector_of(n.reduce), vector = std::max(parallel, reduce);
    if (vector >= 0 && s_.vector_dim >= 0)
      wrong(fmt::format("vectorize i{} by {}", vector, s_.lanes),
            fmt::format("i{}, an outer loop around it, is run by vectors", s_.vector_dim));
    if (parallel >= 0 && reduce >= 0)
      wrong(fmt::format("vectorize i{} by {}", reduce, s_.lanes), fmt::format("i{}, a loop around it, is run by vectors", parallel));
    const bool running = std::any_of(t.reductions.begin(), t.reductions.end(), [](const Reduction& r) { return r.running; });
    std::int64_t copies = 1;
    for (const std::vector<LoopPlan>* loops : {&s_.outer, &n.parallel, &n.reduce})
      for (const LoopPlan& l : *loops)
        if ((copies *= l.unroll) > kMostCopies)
          wrong(fmt::format("unroll i{} by {}", l.dim, l.unroll),
                fmt::format("the nest's body would be repeated more than {} times", kMostCopies));
    // Partial sums are those of the innermost loop.
    for (std::size_t l = 0; l + 1 < n.reduce.size(); ++l)
      if (n.reduce[l].unroll > 1)
        wrong(fmt::format("unroll i{} by {}", n.reduce[l].dim, n.reduce[l].unroll),
              fmt::format("of reducing loops the innermost can be unrolled; reorder it after i{}", n.reduce.back().dim));
    if (running)
      for (std::size_t l = 0; l < n.reduce.size(); ++l)
        if (n.reduce[l].dim != t.reduce[l])
          wrong(fmt::format("reorder i{}", n.reduce[l].dim), "results within the loops depend on their order");
    if (!n.by_rows) return;
    const std::string step = n.reduce.empty() ? std::string("reduce_by_rows") : fmt::format("reduce_by_rows i{}", n.reduce[0].dim);
    if (n.reduce.size() != 1 || t.reductions.empty()) wrong(step, "the nest must have one reducing loop");
    if (runs_singly(k_, n.reduce[0].dim)) wrong(step, why_singly(n.reduce[0].dim));
    if (parallel < 0) wrong(step, "a parallel loop of the nest must be run by vectors");
    for (const Reduction& r : t.reductions)
      if (r.kind != Reduction::Kind::reduce || r.running || r.dtype.is_bool())
        wrong(step, "the nest reduces to something other than one number for each point");
    if (std::any_of(t.stores.begin(), t.stores.end(), [](const Store& store) { return store.in_reduction; }))
      wrong(step, "the nest stores something in each step");
    if (std::any_of(s_.outer.begin(), s_.outer.end(), [](const LoopPlan& l) { return l.unroll > 1; }))
      wrong(step, "the outer loops must not be unrolled");
    std::int64_t points = 1, bytes = 0;
    for (const LoopPlan& l : n.parallel) points *= l.vector ? (size(l.dim) + s_.lanes - 1) / s_.lanes * s_.lanes : size(l.dim);
    for (const Reduction& r : t.reductions) bytes += points * r.dtype.itemsize();
    if (bytes > target_.accumulators) wrong(step, fmt::format("the sums take {} bytes, more than {}", bytes, target_.accumulators));
  }

  void check_scratch() const {
    std::int64_t scratch = 0, copies = s_.vector_dim >= 0 ? s_.lanes : 1;
    for (const KernelArg& a : k_.args)
      if (a.scratch) scratch += a.elements * a.dtype.itemsize();
    for (const LoopPlan& l : s_.outer) copies *= l.unroll;
    if (scratch * copies > target_.most_scratch && copies > 1)
      wrong(s_.vector_dim >= 0 ? fmt::format("vectorize i{} by {}", s_.vector_dim, s_.lanes) : std::string("unroll"),
            fmt::format("{} points side by side take {} bytes of scratch memory, more than {}; take fewer", copies, scratch * copies,
                        target_.most_scratch));
  }

  void check_blocks() const {
    for (std::size_t i = 0; i < s_.block.size(); ++i) {
      const LoopPlan& l = s_.outer[i];
      const std::string step = fmt::format("split i{} by {}", l.dim, s_.block[i]);
      const std::int64_t unit = std::int64_t{l.unroll} * (l.vector ? s_.lanes : 1);
      if (s_.block[i] % unit != 0) wrong(step, fmt::format("a block holds whole steps of the loop, which are {} iterations", unit));
      if ((k_.sequential >> l.dim & 1) && s_.grain != 0) wrong(step, why_singly(l.dim));
    }
    if (s_.row_bits >= 0) {
      const std::string step = fmt::format("partition_rows by {} into {}", std::int64_t{1} << s_.row_bits, s_.num_blocks);
      if (k_.row_partition.loop < 0) wrong(step, "the kernel's writes can't be split by rows");
      if (s_.task_loops > 0 || !s_.outer.empty()) wrong(step, "its outer loops are split");
      const LoopPlan& first = s_.nests[0].parallel[0];
      if (first.dim != k_.row_partition.loop) wrong(step, fmt::format("i{} must be the outermost loop", k_.row_partition.loop));
    } else if (s_.grain != 0 && s_.task_loops == 0) {
      wrong(fmt::format("parallel by {}", s_.grain),
            k_.row_partition.loop >= 0 ? "there are no blocks; partition_rows makes them" : "there are no blocks; split an outer loop");
    }
  }

  void check_memory_steps() const {
    const std::vector<NodeId> loads = plain_loads(k_);
    const std::vector<NestLoops> loops = nest_loops(s_);
    const auto any_access = [&](int arg, auto&& holds) {
      for (std::size_t i = 0; i < loops.size(); ++i)
        if (loops[i].vector >= 0)
          for (const Access& a : accesses(k_, k_.nests[i]))
            if ((arg < 0 || a.arg == arg) && !k_.args[static_cast<std::size_t>(a.arg)].scratch && holds(a, loops[i])) return true;
      return false;
    };
    for (int arg : s_.transposed)
      if (!any_access(arg, [&](const Access& a, const NestLoops& n) {
            return std::any_of(n.loops.begin(), n.loops.end(), [&](const LoopPlan& l) {
              return l.unroll == s_.lanes && square_direction(k_, a.position, n.vector, l.dim) != 0;
            });
          }))
        wrong(fmt::format("transpose a{}", arg), fmt::format("there is no block to transpose: lanes must be strided in a{}, and a loop "
                                                             "along which it is contiguous must be unrolled by the number of lanes",
                                                             arg));
    if (s_.flat_records && !can_flatten_records(k_, s_))
      wrong("flatten_records",
            "it needs join_records, and a kernel that does the same with each element of whole records, in memory's order");
    for (int arg : s_.records) {
      bool writes = false;
      for (std::size_t i = 0; i < loops.size(); ++i) writes |= writes_records(k_, k_.nests[i], arg, loops[i].vector);
      if (!writes && !any_access(arg, [&](const Access& a, const NestLoops& n) { return reads_records(k_, loads, a, n.vector, s_.lanes); }))
        wrong(fmt::format("transpose_records a{} by {}", arg, s_.shuffled_record),
              fmt::format("lanes read and write no records of several elements in a{}", arg));
    }
    for (int arg : s_.streamed) {
      const std::string step = fmt::format("stream a{}", arg);
      if (k_.args[static_cast<std::size_t>(arg)].scratch || !k_.args[static_cast<std::size_t>(arg)].written)
        wrong(step, "the kernel does not write it");
      if (is_loaded(k_, arg)) wrong(step, "the kernel reads it, too");
      bool whole = false;
      for (std::size_t i = 0; i < loops.size(); ++i)
        for (const Store& store : k_.nests[i].stores)
          whole |= store.arg == arg && loops[i].vector >= 0 &&
                   (is_aligned(k_, store, loops[i].vector, s_.lanes, target_.vector_bytes) ||
                    is_aligned_record(k_, store, loops[i].vector, s_.lanes, target_.vector_bytes, s_.record_dims));
      if (!whole) wrong(step, fmt::format("no whole vectors of {} bytes, aligned, are written", target_.vector_bytes));
    }
    for (int arg : s_.prepared) {
      bool fills = false;
      for (std::size_t i = 0; i < loops.size(); ++i)
        for (const Store& store : k_.nests[i].stores)
          fills |= store.arg == arg && loops[i].vector >= 0 && fills_lines(k_, store, loops[i], s_.record_dims);
      if (!fills)
        wrong(fmt::format("prefetch_stored a{} by {}", arg, s_.stored_ahead),
              fmt::format("no innermost loop writes a{} by vectors, in memory's order", arg));
    }
    for (int arg : s_.gathered)
      if (!any_access(arg, [&](const Access& a, const NestLoops& n) {
            return a.load >= 0 && n.vector >= 0 && std::any_of(n.loops.begin(), n.loops.end(), [&](const LoopPlan& l) {
                     return l.dim != n.vector && gathered_row(k_, a.position, n.vector, l.dim);
                   });
          }))
        wrong(fmt::format("prefetch_gathered a{} by {}", arg, s_.gathered_ahead),
              fmt::format("lanes gather no elements of rows of a{} that a loop goes through", arg));
    if (s_.rows_ahead > 0 && !any_access(-1, [&](const Access& a, const NestLoops& n) {
          std::int64_t along = 0, down = 0;
          const std::int64_t bytes = k_.args[static_cast<std::size_t>(a.arg)].dtype.itemsize();
          if (!k_.dag.stride(a.position, n.vector, along) || along != 1) return false;
          return std::any_of(n.loops.begin(), n.loops.end(), [&](const LoopPlan& l) {
            return l.dim != n.vector && k_.dag.stride(a.position, l.dim, down) && down * bytes >= s_.row_bytes;
          });
        }))
      wrong(fmt::format("prefetch by {} beyond {}", s_.rows_ahead, s_.row_bytes), "no vectors are read or written in rows that far apart");
    if (s_.steps_ahead > 0 && !any_access(-1, [&](const Access& a, const NestLoops& n) { return advances(k_, s_, a, n) != 0; }))
      wrong(fmt::format("prefetch_steps by {}", s_.steps_ahead), "no innermost loop goes through memory by vectors");
  }

  void check_functions() const {
    const std::vector<char> live = live_nodes(k_);
    bool any = false;
    for (std::size_t n = 0; n < live.size(); ++n) any |= live[n] && k_.dag.nodes[n].kind == NodeKind::math;
    if (s_.at_once > 0 && !any)
      wrong(fmt::format("interleave by {}", s_.at_once), "the kernel has no functions, whose chains of instructions are long");
    for (const NodeId n : s_.by_inverse) {
      const std::string step = fmt::format("by_inverse %{}", n);
      if (!divides_by_sum(k_, k_.dag[n])) wrong(step, "it is not a quotient by a sum of exponentials that are in scratch memory");
      if (s_.lanes != 16) wrong(step, "vectors of sixteen lanes have instructions for it, others have none");
    }
  }

  const Schedule& s_;
  const Kernel& k_;
  const Target target_;
};

}  // namespace

void check_schedule(const Schedule& s, const Kernel& k, int vector_bytes) { Checker(s, k, vector_bytes).run(); }

}  // namespace weft::detail
