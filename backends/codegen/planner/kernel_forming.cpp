// From groups of roots to kernels and steps.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "weft/backends/codegen/emit/reduction_epilogue.h"
#include "weft/backends/codegen/planner/interleaved_complex.h"
#include "weft/backends/codegen/planner/planner.h"
#include "weft/backends/codegen/schedule/loop_partitioning.h"
#include "weft/backends/codegen/schedule/wide_moves.h"
#include "weft/core/array/shape.h"
#include "weft/core/ops/movement/scatter.h"

namespace weft::detail {

namespace {
constexpr std::int64_t kMaxScratchBytes = 64 * 1024;
}

/// Builds the kernel of one group.
class KernelFormer final : public LeafReader {
 public:
  KernelFormer(KernelPlanner& planner, const Group& group)
      : p_(planner), group_(group), dag_(kernel_.dag), expressions_(p_.j_, p_.defined_by_, dag_, *this, 100000) {}

  Kernel run(std::vector<BufferId>& buffers) {
    dag_.narrows_integers = p_.target_.narrows_integers;
    for (std::int64_t s : group_.sizes) kernel_.outer.push_back(add_dim(s));
    for (std::size_t i = 0; i < group_.roots.size(); ++i) add(static_cast<int>(i));
    buffers = std::move(buffers_);
    return std::move(kernel_);
  }

  bool is_leaf(Var v) override { return p_.is_root_[v] != 0; }

  KernelValue read(Var v, std::span<const NodeId> at, NodeId guard) override {
    const Aval& aval = p_.avals_[v];
    Member* m = find(v);
    if (!m) return load(argument(p_.buffer_of(v), aval.dtype, aval.size()), aval.dtype, row_major_position(dag_, aval.shape, at), guard);
    const bool same_nest = m->nest == nest_;
    if (m->level == Level::outer && (!same_nest || level_ != Level::body || no_loops(nest_))) return m->value;
    if (same_nest && m->level == level_ && std::equal(at.begin(), at.end(), m->coords.begin())) return m->value;
    const Storage& s = storage(*m);
    const KernelValue element =
        load(s.arg, aval.dtype, s.scratch ? inner_position(*m, at) : row_major_position(dag_, aval.shape, at), guard);
    // Each outer point has its own scratch.
    const std::uint64_t outer = (std::uint64_t{1} << kernel_.outer.size()) - 1;
    for (NodeId n : {element.id, element.imag})
      if (n >= 0) dag_.nodes[static_cast<std::size_t>(n)].dims |= outer;
    return element;
  }

 private:
  /// The scope in which a value may be used without memory: all later nests, the nest's parallel loops, or all of its loops.
  enum class Level { outer, parallel, body };
  struct Storage {
    int arg = -1;
    bool scratch = false;
  };
  struct Member {
    Var var;
    const Root* root;
    int nest;
    Level level;
    KernelValue value;
    std::vector<NodeId> coords;
    std::vector<int> inner;  ///< loops of the root that are no outer loops
    std::vector<int> outer;  ///< kernel loop for each of the root's loops that is an outer one, else -1
    Storage storage;
  };

  int add_dim(std::int64_t size) {
    const int d = dag_.add_dim(size);
    kernel_.limits.emplace_back();
    return d;
  }
  Member* find(Var v) {
    for (Member& m : members_)
      if (m.var == v) return &m;
    return nullptr;
  }
  Nest& nest(int n) { return kernel_.nests[static_cast<std::size_t>(n)]; }
  bool no_loops(int n) { return nest(n).parallel.empty() && nest(n).reduce.empty(); }

  int argument(BufferId buffer, DType dtype, std::int64_t elements) {
    const auto found = args_.find(buffer);
    if (found != args_.end()) return found->second;
    const int arg = static_cast<int>(kernel_.args.size());
    kernel_.args.push_back({dtype.real_part(), elements * (dtype.is_complex() ? 2 : 1), false, false});
    buffers_.push_back(buffer);
    args_.emplace(buffer, arg);
    return arg;
  }

  /// The extent, in each dimension, of the elements that belong to one outer point. If the outer loop is the fast part of a dimension, it
  /// is larger than their number.
  std::vector<std::int64_t> inner_extents(const Member& m) {
    const Aval& aval = p_.avals_[m.var];
    std::vector<std::int64_t> extents(static_cast<std::size_t>(aval.ndim()), 1);
    for (std::size_t k = 0; k < m.root->parallel.size(); ++k) {
      const Root::Dim& loop = m.root->parallel[k];
      if (m.outer[k] >= 0 || loop.value_dim < 0 || loop.value_dim >= aval.ndim()) continue;
      std::int64_t& extent = extents[static_cast<std::size_t>(loop.value_dim)];
      extent = std::max(extent, loop.size * loop.scale);
    }
    for (int d = 0; d < aval.ndim(); ++d) {
      std::int64_t& extent = extents[static_cast<std::size_t>(d)];
      if (m.root->kind == Root::Kind::cumulative && extent == 1 && !is_looped(m, d)) extent = aval.shape[d];
    }
    return extents;
  }
  /// The position among the elements that belong to one outer point.
  NodeId inner_position(const Member& m, std::span<const NodeId> at) {
    NodeId position = dag_.index(0);
    const std::vector<std::int64_t> extents = inner_extents(m);
    for (std::size_t d = 0; d < extents.size(); ++d) {
      if (extents[d] == 1) continue;
      NodeId c = at[d];
      for (std::size_t k = 0; k < m.root->parallel.size(); ++k)
        if (m.root->parallel[k].value_dim == static_cast<int>(d) && m.outer[k] >= 0)
          c = dag_.combine(c, 1, dag_.index_dim(m.outer[k]), -m.root->parallel[k].scale);
      position = dag_.combine(position, extents[d], c, 1);
    }
    return position;
  }
  static bool is_looped(const Member& m, int value_dim) {
    return std::any_of(m.root->parallel.begin(), m.root->parallel.end(), [&](const Root::Dim& d) { return d.value_dim == value_dim; });
  }

  KernelValue load(int arg, DType dtype, NodeId position, NodeId guard) {
    if (!dtype.is_complex()) return dag_.load(arg, dtype, position, guard);
    const NodeId re = dag_.scale(position, 2);
    return dag_.complex(dag_.load(arg, dtype.real_part(), re, guard), dag_.load(arg, dtype.real_part(), dag_.offset(re, 1), guard));
  }
  /// The element that a scatter updates: read, combined, and written back, in order of the indices.
  void scatter(const Root& r, const RootBody& body, int n, std::span<const int> loops) {
    const Eqn& e = p_.j_.eqns[static_cast<std::size_t>(r.eqn)];
    const Aval& aval = p_.avals_[r.var];
    const int arg = argument(p_.buffer_of(r.var), aval.dtype, aval.size());
    kernel_.args[static_cast<std::size_t>(arg)].written = true;
    const ScatterParams params = scatter_params(*e.op, *e.params);
    const bool any_order = params.unique_indices && p_.target_.unordered_scatters;
    const IndexedGeometry g = scatter_geometry(params.dimension_numbers, aval.ndim(), p_.j_.aval(e.inputs[2]).shape);
    for (std::size_t k = 0; k < r.parallel.size() && !any_order; ++k) {
      const bool indexed = r.parallel[k].value_dim == Root::kWindows ||
                           std::find(g.batch_dims.begin(), g.batch_dims.end(), r.parallel[k].value_dim) != g.batch_dims.end();
      if (indexed && std::find(kernel_.outer.begin(), kernel_.outer.end(), loops[k]) == kernel_.outer.end())
        kernel_.sequential |= std::uint64_t{1} << loops[k];
    }
    if (r.partitioned) kernel_.row_partition = {loops[0], body.row, dag_[body.row].high + 1};
    const NodeId position = row_major_position(dag_, aval.shape, body.coords), guard = dag_.is_true(body.inside) ? -1 : body.inside.id;
    KernelValue value = body.value;
    if (e.op->combiner) {
      const bool always_inside = dag_[position].low >= 0 && dag_[position].high < aval.size();
      const KernelValue old = load(arg, aval.dtype, position, always_inside ? -1 : guard);
      // The load is repeated for each update, even if its position stays the same.
      dag_.nodes[static_cast<std::size_t>(dag_.real(old).id)].dims |= kernel_.sequential;
      if (aval.dtype.is_complex()) dag_.nodes[static_cast<std::size_t>(dag_.imag(old).id)].dims |= kernel_.sequential;
      switch (*e.op->combiner) {
        case Combiner::sum: value = dag_.add(old, value); break;
        case Combiner::prod: value = dag_.mul(old, value); break;
        case Combiner::max: value = dag_.max(old, value); break;
        case Combiner::min: value = dag_.min(old, value); break;
        default: throw CompileError("codegen: internal error: a scatter whose combiner is not supported", e.loc);
      }
    }
    std::vector<Store>& stores = nest(n).stores;
    if (!value.dtype.is_complex()) {
      stores.push_back({arg, position, value.id, guard});
      return;
    }
    const NodeId re = dag_.scale(position, 2);
    stores.push_back({arg, re, dag_.real(value).id, guard});
    stores.push_back({arg, dag_.offset(re, 1), dag_.imag(value).id, guard});
  }

  void store(Member& m, int arg, NodeId position) {
    kernel_.args[static_cast<std::size_t>(arg)].written = true;
    const bool body = m.level == Level::body;
    std::vector<Store>& stores = nest(m.nest).stores;
    if (!m.value.dtype.is_complex()) {
      stores.push_back({arg, position, m.value.id, -1, body});
      return;
    }
    const NodeId re = dag_.scale(position, 2);
    stores.push_back({arg, re, dag_.real(m.value).id, -1, body});
    stores.push_back({arg, dag_.offset(re, 1), dag_.imag(m.value).id, -1, body});
  }

  /// Memory for a value that a nest of this kernel reads: its buffer if it has one, else scratch.
  const Storage& storage(Member& m) {
    if (m.storage.arg >= 0) return m.storage;
    const Aval& aval = p_.avals_[m.var];
    const std::vector<std::int64_t> extents = inner_extents(m);
    const std::int64_t inner = std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>());
    if (inner * aval.dtype.itemsize() > kMaxScratchBytes) {
      m.storage = {argument(p_.buffer_of(m.var), aval.dtype, aval.size()), false};
      store(m, m.storage.arg, row_major_position(dag_, aval.shape, m.coords));
      return m.storage;
    }
    m.storage = {static_cast<int>(kernel_.args.size()), true};
    kernel_.args.push_back({aval.dtype.real_part(), inner * (aval.dtype.is_complex() ? 2 : 1), true, true});
    buffers_.push_back(-1);
    store(m, m.storage.arg, inner_position(m, m.coords));
    return m.storage;
  }

  /// The read's coordinates over the kernel's loops, given those of the reader; empty if they are not affine in its loops.
  std::vector<NodeId> translate(const Root& r, const Root::Read& read, std::span<const int> loops) {
    std::vector<NodeId> out;
    for (NodeId c : read.coords) {
      const Affine& a = r.dag->affine(c);
      NodeId sum = dag_.index(a.constant);
      for (const AffineTerm& t : a.terms) {
        if (t.atom < 0 || loops[static_cast<std::size_t>(t.atom)] < 0) return {};
        sum = dag_.combine(sum, 1, dag_.index_dim(loops[static_cast<std::size_t>(t.atom)]), t.coef);
      }
      out.push_back(sum);
    }
    return out;
  }

  /// Whether the root may run inside nest n at the given level, its loops being the kernel's `loops`.
  bool fits(const Root& r, int n, Level level, std::span<const int> loops) {
    for (const Root::Read& read : r.reads) {
      const Member* m = find(read.var);
      if (!m || m->nest < n) continue;
      if (m->nest > n) return false;
      if (m->level == Level::outer && (level != Level::body || no_loops(n))) continue;
      const Level available = level == Level::body && nest(n).reduce.empty() ? Level::parallel : level;
      if (m->level != available || translate(r, read, loops) != m->coords) return false;
    }
    return true;
  }

  /// Whether rows shorter than a vector would be written in a nest that reduces: it is vectorised along its parallel loops, so that the
  /// lanes of a store would be in different rows.
  bool scatters_rows(const Root& r, int n) {
    const Nest& t = nest(n);
    if (r.reduce.empty() == t.reduce.empty() || reads_from(r, n)) return false;
    const std::vector<int>& loops = t.reduce.empty() ? t.parallel : t.reduce;
    const bool written = t.reduce.empty() ? !t.stores.empty() : p_.read_elsewhere_[r.var] != 0;
    const std::size_t reduced = t.reduce.empty() ? r.reduce.size() : t.reduce.size(), all = t.parallel.size() + t.reduce.size();
    return written && all > reduced &&
           dag_.dims[static_cast<std::size_t>(loops.back())] * p_.avals_[r.var].dtype.itemsize() < p_.target_.vector_bytes;
  }

  static LoopLimit limit_of(const Root& r, std::span<const int> parallel) {
    if (r.stage != Root::Stage::chunks) return {};
    return r.chunk_total % r.chunk == 0 ? LoopLimit{} : LoopLimit{parallel[0], r.chunk_total};
  }

  /// Where a root is computed: the nest, the level there of its result, and the loops that are its dimensions.
  struct Place {
    int nest = -1;
    Level level = Level::body;
    std::vector<int> parallel, reduce;
  };
  /// A root's parallel dimensions: the loops of those that the kernel's outer loops are, -1 for the others; and the others.
  struct Dims {
    std::vector<int> parallel, inner;
  };
  Dims dims_of(const Root& r, const std::vector<int>& outer) const {
    Dims d{std::vector<int>(r.parallel.size(), -1), {}};
    for (std::size_t k = 0; k < outer.size(); ++k) d.parallel[static_cast<std::size_t>(outer[k])] = static_cast<int>(k);
    for (std::size_t k = 0; k < d.parallel.size(); ++k)
      if (d.parallel[k] < 0) d.inner.push_back(static_cast<int>(k));
    return d;
  }

  /// Whether the loops have the sizes of the root's inner dimensions and of those that it reduces.
  bool has_sizes(const Root& r, const Dims& d, std::span<const int> loops) const {
    std::size_t at = 0;
    const auto next_is = [&](std::int64_t size) { return at < loops.size() && dag_.dims[static_cast<std::size_t>(loops[at++])] == size; };
    return std::all_of(d.inner.begin(), d.inner.end(), [&](int k) { return next_is(r.parallel[static_cast<std::size_t>(k)].size); }) &&
           std::ranges::all_of(r.reducing_loops(), next_is) && at == loops.size();
  }

  /// Whether the loops end where the root's do.
  bool has_limits(const Root& r, const Dims& d, std::span<const int> loops, std::span<const int> parallel) const {
    const LoopLimit limit = limit_of(r, parallel);
    for (std::size_t k = 0; k < loops.size(); ++k) {
      const LoopLimit& have = kernel_.limits[static_cast<std::size_t>(loops[k])];
      const bool is_chunk = k == d.inner.size() && !r.reduce.empty() && r.has_loop(0);
      if (have.outer != (is_chunk ? limit.outer : -1) || (have.outer >= 0 && have.total != limit.total)) return false;
    }
    return true;
  }

  /// The root in all loops of a nest, or, as an epilogue, in those that follow the nest's reductions.
  std::optional<Place> place_in(const Root& r, const Dims& d, int n, bool epilogue) {
    const Nest& candidate = nest(n);
    if (epilogue && (!r.reduce.empty() || candidate.reduce.empty())) return {};
    if (!epilogue && !r.reduce.empty() && !candidate.reduce.empty() && r.reducing_loops().size() != candidate.reduce.size()) return {};
    std::vector<int> loops = candidate.parallel;
    if (!epilogue) loops.insert(loops.end(), candidate.reduce.begin(), candidate.reduce.end());
    if (!has_sizes(r, d, loops)) return {};
    Place place{n, Level::parallel, d.parallel, {}};
    for (std::size_t k = 0; k < d.inner.size(); ++k) place.parallel[static_cast<std::size_t>(d.inner[k])] = loops[k];
    const auto reduced = loops.begin() + static_cast<std::ptrdiff_t>(d.inner.size());
    std::vector<int> all = place.parallel;
    all.insert(all.end(), reduced, loops.end());
    if (!epilogue && !has_limits(r, d, loops, place.parallel)) return {};
    if (!fits(r, n, epilogue ? Level::parallel : Level::body, all)) return {};
    if (epilogue) return place;
    if (scatters_rows(r, n)) return {};
    place.reduce.assign(reduced, loops.end());
    if (!r.reduce.empty() && candidate.reduce.empty()) turn_into_reduction(n, d.inner.size());
    if (r.reduce.empty() && !nest(n).reduce.empty()) place.level = Level::body;
    return place;
  }

  /// In the last nest that has its loops, but not in front of one whose results it reads.
  std::optional<Place> place_in_any(const Root& r, const Dims& d) {
    for (int n = static_cast<int>(kernel_.nests.size()) - 1; n >= 0; --n) {
      const std::vector<Reduction>& reductions = nest(n).reductions;
      if (std::none_of(reductions.begin(), reductions.end(), [](const Reduction& f) { return f.running; }))
        for (const bool epilogue : {false, true})
          if (std::optional<Place> place = place_in(r, d, n, epilogue)) return place;
      if (reads_from(r, n)) return {};
    }
    return {};
  }

  Place in_new_nest(const Root& r, const Dims& d) {
    Place place{static_cast<int>(kernel_.nests.size()), r.kind == Root::Kind::cumulative ? Level::body : Level::parallel, d.parallel, {}};
    Nest fresh;
    for (int k : d.inner) {
      place.parallel[static_cast<std::size_t>(k)] = add_dim(r.parallel[static_cast<std::size_t>(k)].size);
      fresh.parallel.push_back(place.parallel[static_cast<std::size_t>(k)]);
    }
    for (std::int64_t s : r.reducing_loops()) place.reduce.push_back(add_dim(s));
    fresh.reduce = place.reduce;
    if (!place.reduce.empty() && r.has_loop(0)) kernel_.limits[static_cast<std::size_t>(place.reduce[0])] = limit_of(r, place.parallel);
    kernel_.nests.push_back(std::move(fresh));
    return place;
  }

  void add(int index) {
    const Root& r = p_.roots_[static_cast<std::size_t>(group_.roots[static_cast<std::size_t>(index)])];
    const Dims d = dims_of(r, group_.outer[static_cast<std::size_t>(index)]);
    std::optional<Place> found = r.kind == Root::Kind::cumulative ? std::nullopt : place_in_any(r, d);
    const Place place = found ? std::move(*found) : in_new_nest(r, d);
    nest_ = place.nest;
    // The level at which the expression is evaluated, then that of its result.
    level_ = r.reduce.empty() ? place.level : Level::body;
    if (level_ == Level::body && nest(place.nest).reduce.empty()) level_ = Level::parallel;
    std::uint64_t local_dims = (std::uint64_t{1} << kernel_.outer.size()) - 1;
    for (int loop : nest(place.nest).parallel) local_dims |= std::uint64_t{1} << loop;
    const std::span<const int> reduce = r.reduce.empty() ? std::span<const int>() : place.reduce;
    RootBody body = build_root({p_.j_, p_.avals_, expressions_, *this, dag_, kernel_.locals}, r, {place.parallel, reduce, local_dims});
    if (r.kind == Root::Kind::scatter) {
      scatter(r, body, place.nest, place.parallel);
      return;
    }
    for (Reduction& f : body.reductions) nest(place.nest).reductions.push_back(f);
    Member m{r.var, &r, place.nest, place.level, body.value, {}, d.inner, d.parallel, {}};
    m.coords = root_coords(r, p_.avals_[r.var], dag_, place.parallel, reduce, p_.j_);
    if (m.level == Level::parallel && nest(place.nest).parallel.empty()) m.level = Level::outer;
    if (p_.read_elsewhere_[r.var]) {
      const Aval& aval = p_.avals_[r.var];
      m.storage = {argument(p_.buffer_of(r.var), aval.dtype, aval.size()), false};
      store(m, m.storage.arg, row_major_position(dag_, aval.shape, m.coords));
    }
    members_.push_back(std::move(m));
  }

  bool reads_from(const Root& r, int n) {
    return std::any_of(r.reads.begin(), r.reads.end(), [&](const Root::Read& read) {
      const Member* m = find(read.var);
      return m && m->nest == n;
    });
  }

  /// Turns the last loops of a parallel nest into reducing loops; its stores stay within them.
  void turn_into_reduction(int n, std::size_t num_parallel) {
    Nest& t = nest(n);
    t.reduce.assign(t.parallel.begin() + static_cast<std::ptrdiff_t>(num_parallel), t.parallel.end());
    t.parallel.resize(num_parallel);
    for (Store& s : t.stores) s.in_reduction = true;
    for (Member& m : members_)
      if (m.nest == n) m.level = Level::body;
  }

  KernelPlanner& p_;
  const Group& group_;
  Kernel kernel_;
  Dag& dag_;
  Expressions expressions_;
  std::vector<Member> members_;
  std::vector<BufferId> buffers_;
  std::map<BufferId, int> args_;
  int nest_ = 0;
  Level level_ = Level::outer;
};

BufferId KernelPlanner::buffer_of(Var v) {
  if (buffers_.size() < avals_.size()) buffers_.resize(avals_.size(), -1);
  if (buffers_[v] >= 0) return buffers_[v];
  // Values in the same memory may be a chain as long as the program, each of which learns where it ends.
  const auto next = [&](Var from) {
    if (const auto same = same_memory_.find(from); same != same_memory_.end()) return same->second;
    const auto shared = shares_buffer_.find(from);
    return shared == shares_buffer_.end() ? from : shared->second;
  };
  Var last = v;
  while (next(last) != last && buffers_[last] < 0) last = next(last);
  const BufferId id = buffers_[last] >= 0 ? buffers_[last] : new_buffer(last);
  for (Var on_way = v; buffers_[on_way] < 0; on_way = next(on_way)) buffers_[on_way] = id;
  return id;
}

BufferId KernelPlanner::new_buffer(Var v) {
  BufferInfo info;
  info.aval = avals_[v];
  if (v < j_.first_input())
    info.role = BufferInfo::Role::constant, info.number = static_cast<int>(v);
  else if (v < j_.first_result())
    info.role = BufferInfo::Role::input, info.number = static_cast<int>(v) - j_.num_consts;
  else if (is_output_[v]) {
    info.role = BufferInfo::Role::output;
    if (output_numbers_.empty())
      for (std::size_t k = 0; k < j_.outputs.size(); ++k) {
        if (j_.outputs[k].is_literal()) continue;
        const Var output = j_.outputs[k].var();
        output_numbers_.emplace(output, static_cast<int>(k));
        if (const auto same = same_memory_.find(output); same != same_memory_.end())
          output_numbers_.emplace(same->second, static_cast<int>(k));
      }
    if (const auto number = output_numbers_.find(v); number != output_numbers_.end()) info.number = number->second;
  }
  program_.buffers.push_back(std::move(info));
  return static_cast<BufferId>(program_.buffers.size()) - 1;
}

BufferId KernelPlanner::buffer_of(Atom a) {
  if (!a.is_literal()) return buffer_of(a.var());
  literal_buffers_.resize(j_.literals.size(), -1);
  BufferId& id = literal_buffers_[a.literal()];
  if (id < 0) {
    id = static_cast<BufferId>(program_.buffers.size());
    program_.buffers.push_back({j_.literals[a.literal()].aval, BufferInfo::Role::literal, static_cast<int>(a.literal()), -1, -1});
  }
  return id;
}

int KernelTable::add(Kernel k) {
  const std::uint64_t h = structural_hash(k);
  const auto [first, last] = by_hash.equal_range(h);
  for (auto it = first; it != last; ++it)
    if (same_code(kernels[static_cast<std::size_t>(it->second)], k)) return it->second;
  const int number = static_cast<int>(kernels.size());
  k.name = kernel_name(number);
  check_bounds(k);
  by_hash.emplace(h, number);
  kernels.push_back(std::move(k));
  return number;
}

/// A loop or a branch, with the memory that its sub-programs share.
void KernelPlanner::add_control(const Eqn& e, int number, Step& step) {
  std::vector<bool> unneeded;
  for (Atom a : e.inputs) {
    unneeded.push_back(false);
    if (a.is_literal() || is_output_[a.var()] || last_read_[a.var()] > number || a.var() < j_.first_input()) continue;
    const std::size_t input = a.var() - j_.first_input();
    unneeded.back() = a.var() >= j_.first_result() || (input < donated_.size() && donated_[input] != kNotDonated);
  }
  ControlStep c = plan_control(j_, e, unneeded, target_, table_);
  c.eqn = static_cast<int>(&e - j_.eqns.data());
  if (c.scratch_bytes > 0) {
    step.buffers.push_back(static_cast<BufferId>(program_.buffers.size()));
    program_.buffers.push_back({Aval{Shape{c.scratch_bytes}, uint8}, BufferInfo::Role::temporary, 0, -1, -1});
  }
  step.number = static_cast<int>(program_.controls.size());
  program_.controls.push_back(std::move(c));
}

void KernelPlanner::form_steps() {
  read_elsewhere_.assign(avals_.size(), 0), last_read_.assign(avals_.size(), -1);
  for (Var v = 0; v < is_output_.size(); ++v) read_elsewhere_[v] = is_output_[v];
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    const Item& step = steps_[s];
    const auto reads = [&](Var v, bool elsewhere = true) {
      if (elsewhere) read_elsewhere_[v] = 1;
      last_read_[v] = static_cast<int>(s);
    };
    if (step.group >= 0) {
      for (int root : groups_[static_cast<std::size_t>(step.group)].roots)
        if (const Root& r = roots_[static_cast<std::size_t>(root)]; r.kind == Root::Kind::scatter) reads(r.partial);
      for (int root : groups_[static_cast<std::size_t>(step.group)].roots)
        for (const Root::Read& read : roots_[static_cast<std::size_t>(root)].reads)
          reads(read.var, step_of_[read.var] != static_cast<int>(s));
    } else if (const std::optional<LibraryMatmul>& matmul = library_[static_cast<std::size_t>(step.eqn)]) {
      reads(matmul->a), reads(matmul->b);
      if (matmul->step.bias) reads(matmul->bias);
    } else if (const std::optional<LaneKernel>& lanes = lanes_[static_cast<std::size_t>(step.eqn)]) {
      for (Var v : lanes->buffers) reads(v);
    } else {
      for (Atom a : j_.eqns[static_cast<std::size_t>(step.eqn)].inputs)
        if (!a.is_literal()) reads(a.var());
    }
  }
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    const Item& item = steps_[s];
    Step step;
    if (item.group >= 0) {
      std::vector<BufferId> buffers;
      Kernel k = KernelFormer(*this, groups_[static_cast<std::size_t>(item.group)]).run(buffers);
      interleave_complex(k);
      const std::vector<int>& roots = groups_[static_cast<std::size_t>(item.group)].roots;
      const bool unconditional =
          std::any_of(roots.begin(), roots.end(), [&](int r) { return roots_[static_cast<std::size_t>(r)].unconditional == true; });
      add_kernels(std::move(k), std::move(buffers), unconditional ? kPartitionedOperations : 0, equations_of(s));
      continue;
    } else if (const std::optional<LibraryMatmul>& matmul = library_[static_cast<std::size_t>(item.eqn)]) {
      step = {Step::Kind::matmul,
              static_cast<int>(table_.matmuls.size()),
              {buffer_of(matmul->a), buffer_of(matmul->b), buffer_of(j_.eqns[static_cast<std::size_t>(item.eqn)].outputs[0])}};
      if (matmul->step.bias) step.buffers.push_back(buffer_of(matmul->bias));
      table_.matmuls.push_back(matmul->step);
    } else if (std::optional<LaneKernel>& lanes = lanes_[static_cast<std::size_t>(item.eqn)]) {
      add_lanes(std::move(*lanes), equations_of(s));
      continue;
    } else {
      const Eqn& e = j_.eqns[static_cast<std::size_t>(item.eqn)];
      if (!e.op->reference && e.op->kind != Kind::control)
        throw CompileError(fmt::format("{}: the {} backend has no lowering for it", e.op->name, target_.platform), e.loc);
      step = {e.op->kind == Kind::control ? Step::Kind::control : Step::Kind::opaque, item.eqn, {}};
      for (Atom a : e.inputs) step.buffers.push_back(buffer_of(a));
      for (Var v : e.outputs) step.buffers.push_back(buffer_of(v));
      if (step.kind == Step::Kind::control) add_control(e, static_cast<int>(s), step);
    }
    step.eqns = equations_of(s);
    program_.steps.push_back(std::move(step));
  }
  add_outputs();
}

/// A kernel, or the parts that it is cut into if it has no more operations than that.
void KernelPlanner::add_kernels(Kernel whole, std::vector<BufferId> whole_buffers, int operations, const std::vector<int>& eqns) {
  std::vector<PlacedKernel> parts;
  if (target_.partitions_loops)
    parts = partition_loops(std::move(whole), std::move(whole_buffers), operations);
  else
    parts.push_back({std::move(whole), std::move(whole_buffers)});
  for (auto& [k, buffers] : parts) {
    collapse_loops(k);
    if (target_.partitions_loops) widen_moves(k);
    k.cost = estimate_cost(k, target_.vector_bytes);
    if (target_.vectors_in_epilogue && split_reduction_epilogue(k, target_.vector_bytes)) {
      k.cost = estimate_cost(k, target_.vector_bytes);
      buffers.resize(k.args.size(), -1);
    }
    program_.steps.push_back({Step::Kind::kernel, table_.add(std::move(k)), std::move(buffers), eqns});
  }
}

/// A kernel whose arguments are known by their variables.
void KernelPlanner::add_lanes(LaneKernel lanes, std::vector<int> eqns) {
  collapse_loops(lanes.kernel);
  lanes.kernel.cost = estimate_cost(lanes.kernel, target_.vector_bytes);
  Step step{Step::Kind::kernel, table_.add(std::move(lanes.kernel)), {}, std::move(eqns)};
  for (Var v : lanes.buffers) step.buffers.push_back(buffer_of(v));
  program_.steps.push_back(std::move(step));
}

void KernelPlanner::add_outputs() {
  std::unordered_map<BufferId, int> first;
  for (std::size_t k = 0; k < j_.outputs.size(); ++k) {
    const BufferId buffer = buffer_of(j_.outputs[k]);
    const auto [seen, is_new] = first.emplace(buffer, static_cast<int>(k));
    program_.outputs.push_back({buffer, is_new ? -1 : seen->second});
  }
  // Inputs keep their numbers, even those that are never read.
  program_.jaxpr = jaxpr_;
}

}  // namespace weft::detail
