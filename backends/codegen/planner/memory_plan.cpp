// Places temporaries into one arena by best fit, and in place where a kernel may overwrite its last-used operand.
#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "weft/backends/codegen/planner/program.h"

namespace weft::detail {
namespace {

constexpr std::int64_t kAlignment = 64;
constexpr std::size_t kManyBlocks = 1000;  // beyond this number, the second order is not tried

struct Life {
  int first = std::numeric_limits<int>::max(), last = -1;
};

/// Which outputs of a kernel may overwrite which inputs: analysed once for a kernel, then queried for pairs of arguments.
class Overwrites {
 public:
  explicit Overwrites(const Kernel& k) : k_(k), written_(k.args.size()), read_(k.args.size()) {
    for (std::size_t n = 0; n < k.nests.size(); ++n)
      for (const Store& s : k.nests[n].stores) {
        Written& w = written_[static_cast<std::size_t>(s.arg)];
        if (s.in_reduction || (!w.positions.empty() && (w.nest != n || s.guard >= 0 || w.guarded))) w.never = true;
        w.positions.push_back(s.position), w.nest = n, w.guarded = s.guard >= 0;
      }
    for (Written& w : written_) w.never = w.never || w.positions.empty() || (w.positions.size() > 1 && !are_apart(w.positions));
    std::vector<std::size_t> seen(k.dag.nodes.size(), 0);  // the last nest that wants the node, and one
    for (std::size_t n = 0; n < k.nests.size(); ++n) {
      std::vector<NodeId> stack = wanted_nodes(k.nests[n]);
      if (n == 0) stack.push_back(k.row_partition.row);
      while (!stack.empty()) {
        const NodeId id = stack.back();
        stack.pop_back();
        if (id < 0 || std::exchange(seen[static_cast<std::size_t>(id)], n + 1) == n + 1) continue;
        const Node& node = k.dag[id];
        if (node.kind == NodeKind::load) {
          Read& r = read_[static_cast<std::size_t>(node.integer)];
          r.nest = r.nest == kNone || r.nest == n ? n : kSeveral;
          if (std::find(r.positions.begin(), r.positions.end(), node.operands[0]) == r.positions.end() &&
              r.positions.size() <= kMostPositions)
            r.positions.push_back(node.operands[0]);
        }
        stack.insert(stack.end(), node.operands.begin(), node.operands.end());
        if (node.kind == NodeKind::index)
          for (const AffineTerm& t : k.dag.affine(id).terms)
            if (t.atom < 0) stack.push_back(~t.atom);
      }
    }
  }

  /// Whether the kernel may write `out` over `in`: each element is read only where it is written, in the last step that touches it.
  bool allow(int in, int out) const {
    const KernelArg &a = k_.args[static_cast<std::size_t>(in)], &b = k_.args[static_cast<std::size_t>(out)];
    if (a.scratch || b.scratch || a.written || a.elements != b.elements || a.dtype.itemsize() != b.dtype.itemsize()) return false;
    const Written& w = written_[static_cast<std::size_t>(out)];
    if (w.never || read_[static_cast<std::size_t>(out)].nest != kNone) return false;
    // Memory whose position does not depend on an outer loop is read and written again by each of its iterations.
    for (int d : k_.outer)
      if (k_.dag.dims[static_cast<std::size_t>(d)] > 1 && !(k_.dag[w.positions[0]].dims >> d & 1)) return false;
    const Read& r = read_[static_cast<std::size_t>(in)];
    return r.nest == kNone ||
           (r.nest == w.nest && r.positions.size() <= kMostPositions && std::all_of(r.positions.begin(), r.positions.end(), [&](NodeId at) {
              return std::find(w.positions.begin(), w.positions.end(), at) != w.positions.end();
            }));
  }

 private:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max(), kSeveral = kNone - 1, kMostPositions = 64;
  struct Written {
    std::vector<NodeId> positions;  // of its stores
    std::size_t nest = 0;
    bool guarded = false, never = false;  // never: it is written in several nests or within a reduction, or its positions overlap
  };
  struct Read {
    std::size_t nest = kNone;
    std::vector<NodeId> positions;  // no more than are compared
  };

  /// Whether different points of the loops never share one of these positions: the positions of a point are close together, and points are
  /// farther apart.
  bool are_apart(const std::vector<NodeId>& positions) const {
    const Affine& first = k_.dag.affine(positions[0]);
    std::int64_t low = first.constant, high = low, stride = 0;
    for (NodeId n : positions) {
      const Affine& a = k_.dag.affine(n);
      if (a.terms != first.terms) return false;
      low = std::min(low, a.constant), high = std::max(high, a.constant);
    }
    for (const AffineTerm& t : first.terms) stride = std::gcd(stride, t.coef);
    return high - low < stride;
  }

  const Kernel& k_;
  std::vector<Written> written_;  // of each argument
  std::vector<Read> read_;
};

/// The initial value that may be in the memory of a loop's result, which the loop updates step by step or never writes, or the operand that
/// may be in the memory of a branch's result; the value must have no other use. -1: there is none.
BufferId start_of(const ControlStep& c, const Step& step, std::size_t result) {
  const auto carried = static_cast<int>(result) - c.num_inputs;
  if (c.kind == ControlStep::Kind::cond) {
    const bool is_result = carried >= 0 && static_cast<std::size_t>(carried) < c.takes.size();
    const int from = is_result ? c.takes[static_cast<std::size_t>(carried)] : -1;
    return from < 0 ? -1 : step.buffers[static_cast<std::size_t>(from)];
  }
  if (carried < 0 || carried >= c.num_carry || c.carry[static_cast<std::size_t>(carried)].place == ControlStep::Carry::Place::swapped)
    return -1;
  return step.buffers[static_cast<std::size_t>(c.cond_consts + c.num_consts + carried)];
}

/// Which outputs of a step may overwrite which of its inputs.
class StepOverwrites {
 public:
  StepOverwrites(const KernelProgram& p, const Step& step, const std::vector<Kernel>& kernels) : step_(step) {
    for (std::size_t i = 0; i < step.buffers.size(); ++i)
      if (const BufferId b = step.buffers[i]; b >= 0) {
        last_[b] = i;
        ++times_[b];
      }
    if (step.kind == Step::Kind::control) control_ = &p.controls[static_cast<std::size_t>(step.number)];
    if (step.kind == Step::Kind::kernel) kernel_.emplace(kernels[static_cast<std::size_t>(step.number)]);
  }
  bool allow(BufferId in, BufferId out) const {
    const auto from = last_.find(in), to = last_.find(out);
    if (from == last_.end() || to == last_.end()) return false;
    if (kernel_) return kernel_->allow(static_cast<int>(from->second), static_cast<int>(to->second));
    return control_ && times_.at(in) == 1 && start_of(*control_, step_, to->second) == in;
  }

 private:
  const Step& step_;
  std::unordered_map<BufferId, std::size_t> last_;  // where a buffer is among the step's, the last time
  std::unordered_map<BufferId, int> times_;
  const ControlStep* control_ = nullptr;
  std::optional<Overwrites> kernel_;
};

/// A block of memory that is live from one step to another.
struct Block {
  std::int64_t size = 0;
  int first = 0, last = 0;
  std::vector<BufferId> buffers;  ///< one after the other, each in the place of the one before
};

/// Places blocks in the order of their first steps, each into the smallest gap between live blocks, the lowest of equal ones. Returns the
/// total size.
std::int64_t place_by_life(const std::vector<Block>& blocks, std::vector<std::int64_t>& offsets) {
  std::map<std::int64_t, std::int64_t> taken;            // begin and end of those that are alive, which are disjoint
  std::set<std::pair<std::int64_t, std::int64_t>> gaps;  // between them: size and begin
  std::multimap<int, std::size_t> ending;                // by their last step
  std::int64_t total = 0;
  offsets.assign(blocks.size(), -1);
  const auto end_before = [&](auto it) { return it == taken.begin() ? 0 : std::prev(it)->second; };
  const auto add_gap = [&](std::int64_t from, std::int64_t to) {
    if (to > from) gaps.emplace(to - from, from);
  };
  const auto drop_gap = [&](std::int64_t from, std::int64_t to) { gaps.erase({to - from, from}); };
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const Block& b = blocks[i];
    while (!ending.empty() && ending.begin()->first < b.first) {
      const auto over = taken.find(offsets[ending.begin()->second]);
      ending.erase(ending.begin());
      const std::int64_t from = end_before(over);
      drop_gap(from, over->first);
      const auto next = std::next(over);
      if (next != taken.end()) {
        drop_gap(over->second, next->first);
        add_gap(from, next->first);
      }
      taken.erase(over);
    }
    const auto gap = gaps.lower_bound({b.size, 0});
    const std::int64_t at = gap != gaps.end() ? gap->second : taken.empty() ? 0 : taken.rbegin()->second;
    if (gap != gaps.end()) {
      const std::int64_t to = gap->second + gap->first;
      gaps.erase(gap);
      add_gap(at + b.size, to);
    }
    taken.emplace(at, at + b.size);
    ending.emplace(b.last, i);
    offsets[i] = at;
    total = std::max(total, at + b.size);
  }
  return total;
}

/// Places blocks in the given order, each into the smallest gap between earlier placed blocks whose lifetimes overlap. Returns the total
/// size.
std::int64_t place(const std::vector<Block>& blocks, const std::vector<std::size_t>& order, std::vector<std::int64_t>& offsets) {
  std::vector<std::pair<std::int64_t, std::int64_t>> taken;  // begin and end
  std::int64_t total = 0;
  offsets.assign(blocks.size(), -1);
  for (std::size_t i : order) {
    const Block& b = blocks[i];
    taken.clear();
    for (std::size_t k = 0; k < blocks.size(); ++k)
      if (offsets[k] >= 0 && blocks[k].first <= b.last && b.first <= blocks[k].last)
        taken.emplace_back(offsets[k], offsets[k] + blocks[k].size);
    std::sort(taken.begin(), taken.end());
    std::int64_t best = -1, best_gap = std::numeric_limits<std::int64_t>::max(), end = 0;
    for (const auto& [from, to] : taken) {
      const std::int64_t gap = from - end;
      if (gap >= b.size && gap < best_gap) best = end, best_gap = gap;
      end = std::max(end, to);
    }
    offsets[i] = best >= 0 ? best : end;
    total = std::max(total, offsets[i] + b.size);
  }
  return total;
}

/// Whether both buffers are the same memory whenever the program runs.
bool is_same_memory(const KernelProgram& p, BufferId a, BufferId b) {
  if (a == b) return true;
  const BufferInfo &x = p.buffers[static_cast<std::size_t>(a)], &y = p.buffers[static_cast<std::size_t>(b)];
  if (x.role == BufferInfo::Role::temporary) return y.role == x.role && x.offset == y.offset;
  const auto takes = [](const BufferInfo& out, const BufferInfo& in) {
    return out.role == BufferInfo::Role::output && in.role == BufferInfo::Role::input && out.reuses_input == in.number;
  };
  return takes(x, y) || takes(y, x);
}

/// Whether all that the step does is to copy memory onto itself. What it copies from a donated input is then expected to be there.
bool does_nothing(KernelProgram& p, const Step& step, const std::vector<Kernel>& kernels) {
  if (step.kind != Step::Kind::kernel) return false;
  const Kernel& k = kernels[static_cast<std::size_t>(step.number)];
  std::vector<BufferId> inside;
  const bool nothing = std::all_of(k.nests.begin(), k.nests.end(), [&](const Nest& t) {
    const auto copied = copied_arguments(k, t);
    return copied && std::all_of(copied->begin(), copied->end(), [&](const std::pair<int, int>& c) {
             const BufferId from = step.buffers[static_cast<std::size_t>(c.first)], to = step.buffers[static_cast<std::size_t>(c.second)];
             if (from != to) inside.push_back(to);
             return from >= 0 && to >= 0 && is_same_memory(p, from, to);
           });
  });
  if (nothing)
    for (BufferId b : inside)
      if (BufferInfo& to = p.buffers[static_cast<std::size_t>(b)]; to.role == BufferInfo::Role::output) to.begins_as_input = true;
  return nothing;
}

/// Chooses where in memory each buffer of a program is. The steps are to be taken in this order: what one decides, the later ones respect.
class MemoryPlanner {
 public:
  MemoryPlanner(KernelProgram& p, const std::vector<Kernel>& kernels)
      : p_(p), kernels_(kernels), life_(p.buffers.size()), reused_(p.buffers.size(), -1) {
    for (std::size_t s = 0; s < p_.steps.size(); ++s)
      for (BufferId b : p_.steps[s].buffers)
        if (b >= 0)
          life(b).first = std::min(life(b).first, static_cast<int>(s)), life(b).last = std::max(life(b).last, static_cast<int>(s));
  }

  /// Outputs in the memory of donated inputs that nothing reads any more.
  void reuse_donated(const std::vector<int>& donated) {
    std::vector<char> taken(p_.buffers.size());
    for (const ProgramOutput& o : p_.outputs) taken[static_cast<std::size_t>(o.buffer)] = 1;  // an input that is also a result stays
    Donated free;
    for (std::size_t i = 0; i < p_.buffers.size(); ++i)
      if (const auto n = static_cast<std::size_t>(p_.buffers[i].number);
          !taken[i] && p_.buffers[i].role == BufferInfo::Role::input && n < donated.size() && donated[n] != kNotDonated)
        free[{p_.buffers[i].aval.bytes(), donated[n]}].emplace(life_[i].last, static_cast<BufferId>(i));
    // Loops and branches take the values that they begin with; what is left is anybody's.
    for (const bool begins : {true, false})
      for (std::size_t b = 0; b < p_.buffers.size(); ++b)
        for (const int to : {p_.buffers[b].number, kDonated}) reuse_donated(static_cast<BufferId>(b), to, begins, free);
  }

  /// Temporaries in the memory of the output that a kernel writes over them, where nothing reads them afterwards.
  void write_over_temporaries() {
    for (std::size_t b = 0; b < p_.buffers.size(); ++b) {
      const auto out = static_cast<BufferId>(b);
      if (p_.buffers[b].role != BufferInfo::Role::output || life_[b].last < 0) continue;
      while (const std::optional<BufferId> t = overwritten_by(out)) {
        const Life l = std::exchange(life(*t), Life());
        life_[b].first = l.first;
        for (int s = l.first; s <= l.last; ++s) {
          std::vector<BufferId>& buffers = p_.steps[static_cast<std::size_t>(s)].buffers;
          if (std::find(buffers.begin(), buffers.end(), *t) == buffers.end()) continue;
          std::replace(buffers.begin(), buffers.end(), *t, out);
          known_.erase(s);
        }
      }
    }
  }

  /// The other temporaries in the arena.
  void place_temporaries() {
    const std::vector<Block> blocks = blocks_of_temporaries();
    // Which order wastes least memory depends on the program: by lifetime, or by size, the largest first.
    std::vector<std::size_t> largest_first(blocks.size());
    std::iota(largest_first.begin(), largest_first.end(), std::size_t{0});
    std::vector<std::int64_t> offsets, other;
    p_.arena_bytes = place_by_life(blocks, offsets);
    if (blocks.size() <= kManyBlocks) {
      std::stable_sort(largest_first.begin(), largest_first.end(),
                       [&](std::size_t a, std::size_t b) { return blocks[a].size > blocks[b].size; });
      if (const std::int64_t total = place(blocks, largest_first, other); total < p_.arena_bytes) p_.arena_bytes = total, offsets = other;
    }
    for (std::size_t i = 0; i < blocks.size(); ++i)
      for (BufferId b : blocks[i].buffers) p_.buffers[static_cast<std::size_t>(b)].offset = offsets[i];
  }

 private:
  /// Donated inputs, by their bytes and the output that may have their memory (kDonated: any): the last step that reads each, and its
  /// buffer.
  using Donated = std::map<std::pair<std::int64_t, int>, std::set<std::pair<int, BufferId>>>;

  Life& life(BufferId b) { return life_[static_cast<std::size_t>(b)]; }
  const Step& step_at(int s) const { return p_.steps[static_cast<std::size_t>(s)]; }
  /// Whether step s may write `out` over `in`.
  bool overwritable(int s, BufferId in, BufferId out) {
    const Step& step = step_at(s);
    if (step.kind != Step::Kind::control && step.kind != Step::Kind::kernel) return false;
    return known_.try_emplace(s, p_, step, kernels_).first->second.allow(in, out);
  }

  /// `begins`: only of an output that a loop or a branch writes, over a value that it begins with.
  void reuse_donated(BufferId b, int donated_to, bool begins, Donated& free) {
    BufferInfo& out = p_.buffers[static_cast<std::size_t>(b)];
    const int first = life(b).first;
    if (out.role != BufferInfo::Role::output || out.aval.size() == 0 || life(b).last < 0 || out.reuses_input >= 0) return;
    if (begins && step_at(first).kind != Step::Kind::control) return;
    const auto found = free.find({out.aval.bytes(), donated_to});
    if (found == free.end()) return;
    for (auto in = found->second.begin(); in != found->second.end() && in->first <= first; ++in)
      if ((in->first < first && !begins) || (in->first == first && overwritable(first, in->second, b))) {
        out.reuses_input = p_.buffers[static_cast<std::size_t>(in->second)].number;
        reused_[static_cast<std::size_t>(b)] = in->second;
        found->second.erase(in);
        return;
      }
  }

  /// A temporary that the first step of the output may overwrite with it, and whose whole life may be in the output's memory.
  std::optional<BufferId> overwritten_by(BufferId out) {
    const int first = life(out).first;
    const std::int64_t bytes = p_.buffers[static_cast<std::size_t>(out)].aval.bytes();
    const BufferId input = reused_[static_cast<std::size_t>(out)];
    for (const BufferId t : step_at(first).buffers) {
      if (t < 0) continue;
      const BufferInfo& temporary = p_.buffers[static_cast<std::size_t>(t)];
      const Life l = life(t);
      if (temporary.role == BufferInfo::Role::temporary && temporary.aval.bytes() == bytes && l.last == first && l.first < l.last &&
          overwritable(l.last, t, out) && (input < 0 || may_begin_in(t, input)))
        return t;
    }
    return {};
  }
  bool may_begin_in(BufferId t, BufferId in) {
    const int last = life(in).last, first = life(t).first;
    return last < first || (last == first && overwritable(first, in, t));
  }

  /// Temporaries in the order of their first write, one in the memory of another where a step may overwrite it.
  std::vector<Block> blocks_of_temporaries() {
    std::vector<BufferId> order;
    for (std::size_t b = 0; b < p_.buffers.size(); ++b)
      if (p_.buffers[b].role == BufferInfo::Role::temporary && life_[b].last >= 0) order.push_back(static_cast<BufferId>(b));
    std::stable_sort(order.begin(), order.end(), [&](BufferId a, BufferId b) { return life(a).first < life(b).first; });
    std::vector<Block> blocks;
    std::map<std::pair<int, std::int64_t>, std::vector<std::size_t>> ending;  // blocks by their last step and size
    std::unordered_map<BufferId, std::size_t> holds;                          // the block of each buffer that is the last one in it
    for (BufferId b : order) {
      const Life& l = life(b);
      const std::int64_t bytes = p_.buffers[static_cast<std::size_t>(b)].aval.bytes();
      const std::int64_t size = std::max((bytes + kAlignment - 1) / kAlignment * kAlignment, kAlignment);
      std::vector<std::size_t>& over = ending[{l.first, size}];
      auto reusable = over.end();
      if (const Step& step = step_at(l.first); step.kind == Step::Kind::control) {
        const ControlStep& c = p_.controls[static_cast<std::size_t>(step.number)];
        const auto result = std::find(step.buffers.begin() + c.num_inputs, step.buffers.end(), b);
        const BufferId start =
            result == step.buffers.end() ? -1 : start_of(c, step, static_cast<std::size_t>(result - step.buffers.begin()));
        if (const auto block = holds.find(start); block != holds.end() && overwritable(l.first, start, b))
          reusable = std::find(over.begin(), over.end(), block->second);
      } else {
        reusable =
            std::find_if(over.begin(), over.end(), [&](std::size_t x) { return overwritable(l.first, blocks[x].buffers.back(), b); });
      }
      std::size_t number = blocks.size();
      if (reusable != over.end()) {
        number = *reusable;
        over.erase(reusable);
        blocks[number].last = l.last;
        blocks[number].buffers.push_back(b);
      } else {
        blocks.push_back({size, l.first, l.last, {b}});
      }
      ending[{l.last, size}].push_back(number);
      holds[b] = number;
    }
    return blocks;
  }

  KernelProgram& p_;
  const std::vector<Kernel>& kernels_;
  std::vector<Life> life_;                         // of each buffer
  std::vector<BufferId> reused_;                   // of each output: the input in whose memory it is, or -1
  std::unordered_map<int, StepOverwrites> known_;  // by step
};

}  // namespace

void plan_memory(KernelProgram& p, const std::vector<Kernel>& kernels, const std::vector<int>& donated) {
  MemoryPlanner planner(p, kernels);
  planner.reuse_donated(donated);
  planner.write_over_temporaries();
  planner.place_temporaries();
  std::erase_if(p.steps, [&](const Step& step) { return does_nothing(p, step, kernels); });
}

}  // namespace weft::detail
