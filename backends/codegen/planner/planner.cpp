#include "weft/backends/codegen/planner/planner.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "weft/backends/codegen/planner/update_order.h"
#include "weft/backends/codegen/schedule/cost.h"
#include "weft/backends/codegen/schedule/records.h"
#include "weft/core/ops/contraction/dot.h"
#include "weft/core/ops/contraction/dot_expand.h"
#include "weft/core/ops/movement/gather.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/reduce/reduce.h"

namespace weft::detail {
namespace {

constexpr std::int64_t kRowChunks = 64;  // pieces into which the rows of large matrices are divided for column reductions
constexpr std::int64_t kLargeBytes = 24 << 20, kMaxColumnBytes = 64 << 10;
// Rows of transposed operands that do not fill vectors are stored if they have so many bytes, each element is read so often, and
// sums have so many terms: for shorter sums lanes are better along the rows of the other operand.
constexpr std::int64_t kNarrowRow = 32, kManyReads = 256, kManyTerms = 8;
constexpr std::size_t kLookAhead = 32;         // equations behind a contraction, among which its readers are looked for
constexpr std::int64_t kSplitAbove = 1 << 16;  // reductions of more elements per result are split into chunks

}  // namespace

bool is_tuple(const JaxprData& j, const Eqn& e) {
  if (e.op->kind != Kind::concatenate) return false;
  const Shape& all = j.avals[e.outputs[0]].shape;
  return !all.empty() && all.back() == static_cast<std::int64_t>(e.inputs.size()) &&
         std::all_of(e.inputs.begin(), e.inputs.end(), [&](Atom a) { return !j.aval(a).shape.empty() && j.aval(a).shape.back() == 1; });
}

bool can_reduce(Combiner c, DType t) {
  if (c == Combiner::logsumexp) return false;
  return !t.is_complex() || c == Combiner::sum || c == Combiner::prod;
}

double Root::points() const {
  double n = 1;
  for (const Dim& d : parallel) n *= static_cast<double>(d.size);
  for (std::int64_t s : reduce) n *= static_cast<double>(s);
  return n;
}

KernelPlanner::KernelPlanner(const SimplifiedProgram& p, const TargetTraits& target, KernelTable& table, const std::vector<int>& donated)
    : jaxpr_(p.program),
      names_(p.names),
      j_(jaxpr_.data()),
      target_(target),
      avals_(j_.avals),
      donated_(donated),
      updates_(scatters_in_place(j_, donated)),
      table_(table) {
  defined_by_.assign(avals_.size(), -1);
  for (std::size_t i = 0; i < j_.eqns.size(); ++i)
    for (Var v : j_.eqns[i].outputs) defined_by_[v] = static_cast<int>(i);
  times_read_.assign(avals_.size(), 0);
  const auto read = [&](Atom a) {
    if (!a.is_literal()) ++times_read_[a.var()];
  };
  for (const Eqn& e : j_.eqns)
    for (Atom a : e.inputs) read(a);
  for (Atom a : j_.outputs) read(a);
}

KernelProgram KernelPlanner::run() {
  if (std::optional<LaneKernel> lanes = form_lane_program(j_)) {
    is_output_.assign(avals_.size(), 0);
    for (Atom a : j_.outputs) is_output_[a.var()] = 1;
    std::vector<int> all(j_.eqns.size());
    std::iota(all.begin(), all.end(), 0);
    add_lanes(std::move(*lanes), std::move(all));
    add_outputs();
    return std::move(program_);
  }
  classify();
  for (bool again = true; again;) {
    choose_roots();
    make_roots();
    const std::vector<char> before = is_root_;
    build_roots();
    again = before != is_root_;
  }
  group();
  form_steps();
  return std::move(program_);
}

void KernelPlanner::classify() {
  is_root_.assign(avals_.size(), 0);
  is_output_.assign(avals_.size(), 0);
  library_.resize(j_.eqns.size());
  absorbed_.assign(j_.eqns.size(), 0);
  lanes_.reserve(j_.eqns.size());
  std::shared_ptr<const Definitions> known;
  for (const Eqn& e : j_.eqns) lanes_.push_back(form_lane_kernel(j_, e, known, [this](Var v) { return is_transposed_for_lanes(v); }));
  for (Var v = 0; v < j_.first_result(); ++v) is_root_[v] = 1;
  for (Atom a : j_.outputs)
    if (!a.is_literal()) is_root_[a.var()] = is_output_[a.var()] = 1;
  for (const Eqn& e : j_.eqns) injective_.push_back(is_injective(j_, e));
  for (std::size_t i = 0; i < j_.eqns.size(); ++i) {
    const Eqn& e = j_.eqns[i];
    if (injective_[i]) continue;
    for (Var v : e.outputs) is_root_[v] = 1;
    if (lanes_[i])
      for (Var v : lanes_[i]->buffers) is_root_[v] = 1;
    if (e.op->kind == Kind::dot && !matmul_is_kernel(e)) {
      if (try_library_matmul(e)) {
        is_root_[library_[i]->a] = is_root_[library_[i]->b] = 1;
        continue;
      }
    }
    for (std::size_t k = 0; k < e.inputs.size(); ++k)
      if (!e.inputs[k].is_literal() && needs_memory(e, static_cast<int>(k))) is_root_[e.inputs[k].var()] = 1;
  }
  name_outputs();
  if (target_.matmul_epilogues)
    for (std::size_t i = 0; i < j_.eqns.size(); ++i)
      if (j_.eqns[i].op->kind == Kind::dot && library_[i]) absorb_epilogue(i);
  store_reads_of_updated();
  cost_.assign(avals_.size(), 0);
  own_cost_.assign(j_.eqns.size(), -1);
  is_moved_.assign(avals_.size(), 0);
  for (std::size_t i = 0; i < j_.eqns.size() && target_.partitions_loops; ++i) {
    const Eqn& e = j_.eqns[i];
    if (!injective_[i] || !e.op->movement) continue;
    const bool moved = std::all_of(e.inputs.begin(), e.inputs.end(), [&](Atom a) {
      return a.is_literal() || defined_by_[a.var()] < 0 || is_root_[a.var()] || is_moved_[a.var()];
    });
    for (Var v : e.outputs) is_moved_[v] = moved;
  }
}

/// An output that only reshapes the result of a reduction, a matmul or a separate step shares the memory of that result.
void KernelPlanner::name_outputs() {
  for (Atom a : j_.outputs) {
    if (a.is_literal()) continue;
    Var v = a.var();
    while (defined_by_[v] >= 0) {
      const Eqn& e = j_.eqns[static_cast<std::size_t>(defined_by_[v])];
      if (!injective_[static_cast<std::size_t>(defined_by_[v])] || !keeps_order(j_, e) || e.inputs[0].is_literal() ||
          j_.aval(e.inputs[0]).size() != avals_[v].size())
        break;
      v = e.inputs[0].var();
    }
    const int by = defined_by_[v];
    if (v == a.var() || by < 0 || injective_[static_cast<std::size_t>(by)] || is_output_[v] || same_memory_.contains(a.var())) continue;
    is_output_[v] = 1;
    is_root_[a.var()] = is_output_[a.var()] = 0;
    same_memory_.emplace(a.var(), v);
  }
}

/// Reductions over more dimensions than a kernel can have loops are computed by the reference.
bool KernelPlanner::has_too_many_loops(const Eqn& e) const {
  if (!e.op->reduces) return false;
  std::size_t loops =
      2 + e.op->reduced_dims(*e.params).size();  // a split reduction has one more, and so has what tells real parts from imaginary ones
  for (const std::int64_t n : j_.avals[e.outputs[0]].shape) loops += n != 1;
  return loops > Dag::kMaxDims;
}

/// Whether the value is a gather (windows, rows) that data movements rearrange, into a matrix for example.
bool KernelPlanner::is_moved_gather(Var v) const {
  for (int by = defined_by_[v]; by >= 0; by = defined_by_[v]) {
    const Eqn& e = j_.eqns[static_cast<std::size_t>(by)];
    if (e.op->kind == Kind::gather) return true;
    if (e.op->kind != Kind::movement || e.inputs[0].is_literal()) return false;
    v = e.inputs[0].var();
  }
  return false;
}

/// Whether an equation that is not an expression reads this operand from memory.
bool KernelPlanner::needs_memory(const Eqn& e, int operand) const {
  if (const std::optional<LaneKernel>& lanes = lanes_[static_cast<std::size_t>(&e - j_.eqns.data())])
    return std::find(lanes->buffers.begin(), lanes->buffers.end(), e.inputs[static_cast<std::size_t>(operand)].var()) !=
           lanes->buffers.end();
  if (e.op->reduces) return !is_kernel_reduction(e) || (*e.op->reduces == Reduces::contraction && stores_factor(e, operand));
  return !is_kernel_scatter(e);
}

/// Whether an operand of a contraction is better stored than computed where it is read: once for each of the other's free elements.
bool KernelPlanner::stores_factor(const Eqn& e, int operand) const {
  const Atom a = e.inputs[static_cast<std::size_t>(operand)];
  const int by = defined_by_[a.var()];
  if (by < 0 || !injective_[static_cast<std::size_t>(by)]) return true;
  const Aval avals[] = {j_.aval(e.inputs[0]), j_.aval(e.inputs[1])}, &other = avals[1 - operand];
  const DotDimensions& dims = params_as<DotParams>(*e.params).dimension_numbers;
  const auto points = [&](const std::vector<int>& list) {
    return std::accumulate(list.begin(), list.end(), std::int64_t{1}, [&](std::int64_t n, int d) { return n * other.shape[d]; });
  };
  const std::int64_t times = points(dot_free_dims(dims, 1 - operand, other.ndim()));  // that an element is read
  if (times <= 1) return false;
  if (j_.eqns[static_cast<std::size_t>(by)].op->kind != Kind::movement || is_moved_gather(a.var())) return true;
  if (operand != 1 || !worth_transposing(e, avals)) return false;
  const bool may_be_narrow = times >= kManyReads && points(dims.contracting[0]) >= kManyTerms && !is_hidden_layer(e);
  return is_transposed(a.var(), may_be_narrow ? std::min<std::int64_t>(target_.vector_bytes, kNarrowRow) : target_.vector_bytes);
}

/// Whether an expensive function of a contraction's result is contracted again. If lanes are rows of all these contractions, all of them
/// are filled.
bool KernelPlanner::is_hidden_layer(const Eqn& e) const {
  std::vector<Var> results{e.outputs[0]}, expensive;
  const auto reads = [](const Eqn& reader, const std::vector<Var>& values) {
    return std::any_of(reader.inputs.begin(), reader.inputs.end(),
                       [&](const Atom& a) { return !a.is_literal() && std::find(values.begin(), values.end(), a.var()) != values.end(); });
  };
  const auto first = static_cast<std::size_t>(&e - j_.eqns.data()) + 1;
  for (std::size_t i = first; i < std::min(j_.eqns.size(), first + kLookAhead); ++i) {
    const Eqn& next = j_.eqns[i];
    const bool of_expensive = reads(next, expensive);
    if (of_expensive && next.op->reduces == Reduces::contraction) return true;
    if (!injective_[i] || !(of_expensive || reads(next, results))) continue;
    (of_expensive || equation_cost(j_, next) > kCheap ? expensive : results).push_back(next.outputs[0]);
  }
  return false;
}

/// Whether a loop nest computes the reduction, wherever it reads its operands.
bool KernelPlanner::is_kernel_reduction(const Eqn& e) const {
  if (!e.op->reduces || has_too_many_loops(e)) return false;
  const DType t = j_.aval(e.inputs[0]).dtype;
  const bool combines = e.op->combiner && can_reduce(*e.op->combiner, t);
  switch (*e.op->reduces) {
    case Reduces::total: return combines;
    case Reduces::prefixes: return combines && (!t.is_complex() || *e.op->combiner == Combiner::sum);
    case Reduces::position: return e.op->reduced_dims(*e.params).size() == 1 && !t.is_complex();
    case Reduces::contraction: return !avals_[e.outputs[0]].dtype.is_bool();
  }
  return false;
}

void KernelPlanner::make_roots() {
  roots_.clear();
  items_.clear();
  shares_buffer_.clear();
  avals_.resize(j_.avals.size());
  root_of_.assign(avals_.size(), -1);
  for (std::size_t i = 0; i < j_.eqns.size(); ++i) {
    const Eqn& e = j_.eqns[i];
    if (absorbed_[i]) continue;
    if (library_[i]) {
      items_.push_back({-1, static_cast<int>(i), -1});
      continue;
    }
    if (injective_[i]) {
      for (Var v : e.outputs) {
        if (!is_root_[v] || avals_[v].size() == 0) continue;
        items_.push_back({static_cast<int>(roots_.size()), -1, -1});
        roots_.push_back(map_root(v));
      }
      continue;
    }
    if (is_kernel_scatter(e)) {
      if (avals_[e.outputs[0]].size() != 0) add_scatter(static_cast<int>(i));
    } else if (!is_kernel_reduction(e)) {
      items_.push_back({-1, static_cast<int>(i), -1});
    } else if (avals_[e.outputs[0]].size() != 0) {
      add_reduction(static_cast<int>(i));
    }
  }
  root_of_.assign(avals_.size(), -1);
  is_root_.resize(avals_.size(), 1);
  is_output_.resize(avals_.size(), 0);
  for (std::size_t k = 0; k < roots_.size(); ++k) root_of_[roots_[k].var] = static_cast<int>(k);
}

/// Steps of about 16K elements: the same for every machine and number of threads.
static std::int64_t chunk_length(std::int64_t length, std::int64_t rest) {
  const std::int64_t wanted = std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(rest, 1));
  if (length < 2 * wanted) return length;
  for (std::int64_t c = wanted; c <= 2 * wanted; ++c)
    if (length % c == 0) return c;
  for (std::int64_t c = wanted; c > wanted / 2; --c)
    if (length % c == 0) return c;
  return wanted;
}

/// Whether each result is that of elements that lie one behind the other.
static bool reduces_rows(const ReduceParams& p, int ndim) {
  const auto n = static_cast<int>(p.axes.size());
  for (int i = 0; i < n; ++i)
    if (std::find(p.axes.begin(), p.axes.end(), ndim - n + i) == p.axes.end()) return false;
  return true;
}

/// Column reductions of matrices larger than the caches: rows are read in order if each thread takes some of them.
bool KernelPlanner::is_large_column_reduction(const Eqn& e, const Root& r, std::int64_t steps) const {
  if (r.kind != Root::Kind::reduce || r.reduce.size() != 1 || avals_[e.outputs[0]].dtype.is_bool()) return false;
  const Aval &in = j_.aval(e.inputs[0]), &out = avals_[e.outputs[0]];
  return params_as<ReduceParams>(*e.params).axes[0] != in.ndim() - 1 && out.size() > 512 && out.bytes() <= kMaxColumnBytes &&
         steps >= 8 * kRowChunks && in.bytes() >= kLargeBytes;
}

/// Whether lanes that read a row of the value at a time would gather each of its elements, and storing it costs less: its squares are
/// transposed in registers, and it is still in the caches when it is read.
bool KernelPlanner::is_transposed_for_lanes(Var v) const {
  const Aval& a = j_.avals[v];
  return a.ndim() > 1 && a.size() / a.shape.back() > kLongestRecord && a.bytes() <= target_.transposed_for_lanes &&
         is_transposed(v, target_.vector_bytes);
}

/// Whether the value is computed elementwise from a transposed operand, so that consecutive elements are loaded with a stride.
bool KernelPlanner::reads_transposed(Var v) const {
  constexpr std::size_t most = 32;
  std::vector<Var> values{v};
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (is_transposed(values[i], target_.vector_bytes)) return true;
    const int made = defined_by_[values[i]];
    if (is_root_[values[i]] || made < 0 || !injective_[static_cast<std::size_t>(made)]) continue;
    const Eqn& e = j_.eqns[static_cast<std::size_t>(made)];
    if (e.op->movement) continue;  // its result is not elementwise in its operand
    for (Atom a : e.inputs)
      if (!a.is_literal() && j_.aval(a).size() == j_.avals[v].size() && values.size() < most &&
          std::find(values.begin(), values.end(), a.var()) == values.end())
        values.push_back(a.var());
  }
  return false;
}

namespace {
/// The loop nest that computes what a reduction gives.
Root::Kind nest_of(Reduces what) {
  switch (what) {
    case Reduces::total: return Root::Kind::reduce;
    case Reduces::position: return Root::Kind::arg_reduce;
    case Reduces::prefixes: return Root::Kind::cumulative;
    case Reduces::contraction: return Root::Kind::matmul;
  }
  return Root::Kind::reduce;
}
}  // namespace

void KernelPlanner::add_reduction(int eqn) {
  const Eqn& e = j_.eqns[static_cast<std::size_t>(eqn)];
  const Aval &in = j_.aval(e.inputs[0]), &out = avals_[e.outputs[0]];
  Root r;
  const std::span<const int> reduced = e.op->reduced_dims(*e.params);
  r.var = e.outputs[0], r.eqn = eqn, r.kind = nest_of(*e.op->reduces);
  for (int d : reduced) r.reduce.push_back(in.shape[d]);
  for (int d = 0; d < out.ndim(); ++d)
    if (out.shape[d] != 1 && !(r.kind == Root::Kind::cumulative && d == reduced[0])) r.parallel.push_back({d, out.shape[d], 1});

  std::int64_t steps = 1;
  for (std::int64_t s : r.reduce) steps *= s;
  const bool by_rows = is_large_column_reduction(e, r, steps);
  const auto are_many_rows = [&] {
    return target_.many_rows > 0 && out.size() >= target_.many_rows && reduces_rows(params_as<ReduceParams>(*e.params), in.ndim()) &&
           (e.inputs[0].is_literal() || !reads_transposed(e.inputs[0].var()));
  };
  const bool is_long = steps * out.size() >= kSplitAbove && out.size() <= 512;
  if (r.kind == Root::Kind::reduce && !r.reduce.empty() && (by_rows || (is_long && !are_many_rows()))) {
    const std::int64_t rest = steps / r.reduce[0] * out.size();
    const std::int64_t chunk = by_rows ? std::max<std::int64_t>(r.reduce[0] / kRowChunks, 1) : chunk_length(r.reduce[0], rest);
    const std::int64_t chunks = (r.reduce[0] + chunk - 1) / chunk;
    if (chunks > 1) {
      Root parts = r;
      parts.stage = Root::Stage::chunks;
      parts.by_rows = by_rows;
      parts.chunks = chunks, parts.chunk = chunk, parts.chunk_total = r.reduce[0];
      const DType held = out.dtype == float16 || out.dtype == bfloat16 ? float32 : out.dtype;
      parts.var = static_cast<Var>(avals_.size());
      avals_.push_back(Aval{out.shape.inserted(0, chunks), held});
      for (Root::Dim& d : parts.parallel) ++d.value_dim;
      parts.parallel.insert(parts.parallel.begin(), {0, chunks, 1});
      parts.reduce[0] = chunk;
      r.stage = Root::Stage::combine;
      r.partial = parts.var;
      r.chunks = chunks;
      r.reduce = {chunks};
      items_.push_back({static_cast<int>(roots_.size()), -1, -1});
      roots_.push_back(std::move(parts));
    }
  }
  items_.push_back({static_cast<int>(roots_.size()), -1, -1});
  roots_.push_back(std::move(r));
}

}  // namespace weft::detail
