#include "weft/backends/codegen/planner/stepped_kernel.h"

#include <algorithm>
#include <cstdlib>

namespace weft::detail {
namespace {

constexpr std::int64_t kCacheBytes = 512 << 10;
constexpr std::int64_t kMostIterations = 64;
constexpr std::int64_t kLeastBlocks = 16;  // blocks of a tile for each neighbouring block that it needs

bool is_parallel(const Schedule& s) { return is_forked(s.num_blocks, s.grain); }

class Finder {
 public:
  Finder(const ControlStep& scan, const std::vector<Kernel>& kernels, const std::vector<Schedule>& schedules)
      : c_(scan), body_(scan.programs[0]), kernels_(kernels), schedules_(schedules) {}

  std::optional<SteppedKernel> run() {
    for (std::size_t s = 0; s < body_.steps.size(); ++s) {
      const Step& step = body_.steps[s];
      if (step.kind != Step::Kind::kernel) return {};
      if (!is_parallel(schedules_[static_cast<std::size_t>(step.number)])) continue;
      if (out_.step >= 0) return {};
      out_.step = static_cast<int>(s);
    }
    if (out_.step < 0 || !find_carried() || !is_alone() || !find_radius()) return {};
    return std::move(out_);
  }

 private:
  const Step& step() const { return body_.steps[static_cast<std::size_t>(out_.step)]; }
  const Kernel& kernel() const { return kernels_[static_cast<std::size_t>(step().number)]; }
  const Schedule& schedule() const { return schedules_[static_cast<std::size_t>(step().number)]; }
  const BufferInfo& info(BufferId b) const { return body_.buffers[static_cast<std::size_t>(b)]; }
  ControlStep::Carry::Place place(int n) const { return c_.carry[static_cast<std::size_t>(n)].place; }
  SteppedKernel::Carried& carried(int n) {
    for (SteppedKernel::Carried& v : out_.carried)
      if (v.number == n) return v;
    return out_.carried.emplace_back(SteppedKernel::Carried{n, -1, -1});
  }

  /// Finds the carried values that the kernel reads and writes, in buffers that are swapped at each iteration; other operands must be
  /// constant.
  bool find_carried() {
    using Place = ControlStep::Carry::Place;
    int pointer = -1;
    for (std::size_t a = 0; a < kernel().args.size(); ++a) {
      const BufferId b = step().buffers[a];
      if (b < 0) continue;
      ++pointer;
      const BufferInfo& buffer = info(b);
      if (kernel().args[a].written) {
        if (buffer.role != BufferInfo::Role::output || buffer.number >= c_.num_carry || place(buffer.number) != Place::swapped)
          return false;
        carried(buffer.number).to = pointer;
        memory_.push_back(b);
        written_.push_back(static_cast<int>(a));
        continue;
      }
      if (buffer.role == BufferInfo::Role::constant || buffer.role == BufferInfo::Role::literal) continue;
      if (buffer.role != BufferInfo::Role::input) return false;
      if (buffer.number < c_.num_consts) continue;
      const int n = buffer.number - c_.num_consts;
      if (n >= c_.num_carry) return false;
      if (place(n) == Place::kept) continue;
      if (place(n) != Place::swapped) return false;
      carried(n).from = pointer;
      read_.push_back(static_cast<int>(a));
    }
    for (BufferId b = 0; b < static_cast<BufferId>(body_.buffers.size()); ++b)
      for (const SteppedKernel::Carried& v : out_.carried)
        if (info(b).role == BufferInfo::Role::input && info(b).number == c_.num_consts + v.number) memory_.push_back(b);
    return std::all_of(out_.carried.begin(), out_.carried.end(), [](const SteppedKernel::Carried& v) { return v.to >= 0; });
  }

  /// Whether nothing else in the body reads or writes that memory, and each result is that of its own carried value.
  bool is_alone() const {
    const auto touches = [&](BufferId b) { return std::find(memory_.begin(), memory_.end(), b) != memory_.end(); };
    for (std::size_t s = 0; s < body_.steps.size(); ++s)
      if (static_cast<int>(s) != out_.step && std::any_of(body_.steps[s].buffers.begin(), body_.steps[s].buffers.end(), touches))
        return false;
    for (std::size_t k = 0; k < body_.outputs.size(); ++k) {
      const ProgramOutput& o = body_.outputs[k];
      if (!touches(o.buffer)) continue;
      if (o.same_as >= 0 || info(o.buffer).role != BufferInfo::Role::output || info(o.buffer).number != static_cast<int>(k)) return false;
      for (std::size_t l = 0; l < k; ++l)
        if (body_.outputs[l].buffer == o.buffer) return false;
    }
    return true;
  }

  /// Blocks are consecutive pieces of the output; reads must be at fixed distances from it.
  bool find_radius() {
    const Kernel& k = kernel();
    const Schedule& s = schedule();
    if (k.nests.size() != 1 || s.task_loops != 1) return false;
    const Nest& t = k.nests[0];
    if (!t.reduce.empty() || !t.reductions.empty() || !t.repeats.empty() || t.stores.empty() || t.stores.size() != written_.size())
      return false;
    const NodeId position = t.stores[0].position;
    for (const Store& store : t.stores)
      if (store.position != position || store.guard >= 0) return false;
    const Affine& to = k.dag.affine(position);
    const int dim = s.outer[0].dim;
    std::int64_t row = 0, within = 0;
    for (const AffineTerm& term : to.terms) {
      if (term.atom < 0 || term.coef <= 0) return false;
      if (term.atom == dim)
        row = term.coef;
      else
        within += term.coef * (k.dag.dims[static_cast<std::size_t>(term.atom)] - 1);
    }
    if (to.constant != 0 || row == 0 || within >= row) return false;
    const std::vector<char> live = live_nodes(k);
    std::int64_t farthest = 0, bytes = 0;
    for (std::size_t n = 0; n < k.dag.nodes.size(); ++n) {
      const Node& node = k.dag.nodes[n];
      if (!live[n] || node.kind != NodeKind::load) continue;
      if (std::find(written_.begin(), written_.end(), static_cast<int>(node.integer)) != written_.end()) return false;
      if (std::find(read_.begin(), read_.end(), static_cast<int>(node.integer)) == read_.end()) continue;
      const Affine& from = k.dag.affine(node.operands[0]);
      if (from.terms != to.terms) return false;
      farthest = std::max(farthest, std::abs(from.constant));
    }
    for (const std::vector<int>* args : {&read_, &written_})
      for (int a : *args) bytes += k.args[static_cast<std::size_t>(a)].dtype.itemsize();
    const std::int64_t block = s.block[0] * row;
    out_.radius = std::max<std::int64_t>(1, (farthest + block - 1) / block);
    out_.tile = std::clamp<std::int64_t>(kCacheBytes / (block * bytes * out_.radius), 1, kMostIterations);
    return s.num_blocks >= kLeastBlocks * out_.radius && out_.tile > 1;
  }

  const ControlStep& c_;
  const KernelProgram& body_;
  const std::vector<Kernel>& kernels_;
  const std::vector<Schedule>& schedules_;
  SteppedKernel out_;
  std::vector<BufferId> memory_;     // of carried values that the kernel reads and writes
  std::vector<int> read_, written_;  // the kernel's arguments among it
};

}  // namespace

std::optional<SteppedKernel> find_stepped_kernel(const ControlStep& scan, const std::vector<Kernel>& kernels,
                                                 const std::vector<Schedule>& schedules) {
  if (scan.kind != ControlStep::Kind::scan || scan.length < 2) return {};
  return Finder(scan, kernels, schedules).run();
}

}  // namespace weft::detail
