#include "weft/backends/codegen/planner/partial_sorts.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

#include "weft/core/array/indexing.h"
#include "weft/core/ir/rules.h"
#include "weft/core/ir/walk.h"
#include "weft/core/ops/elementwise/bitcast.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/movement/ranges.h"
#include "weft/core/ops/movement/sort.h"
#include "weft/core/trace/trace.h"

namespace weft::detail {
namespace {

constexpr std::int64_t kShare = 8;      // of a line that may be read at most, as a divisor
constexpr std::int64_t kShortest = 64;  // line
// Arrays that are sorted alone are sorted side by side: what is read of short lines must be less to pay.
constexpr std::int64_t kLongestAlone = 1024, kShortestAlone = 256, kShareAlone = 32;

/// What is read of the sorted lines: the first or the last so many.
struct Part {
  std::int64_t length = 0, count = 0;
  bool first = true;
};

/// The parameters of an operation that sorts lines.
struct SortedLines {
  using Function = const Sort::Params&(const Eqn& e);
};
/// The dimensions that an operation reverses.
struct ReversedDims {
  using Function = const std::vector<int>&(const Eqn& e);
};
/// The parameters of an operation that reads a range of each dimension.
struct ReadRanges {
  using Function = const SliceParams&(const Eqn& e);
};
const Rule<SortedLines, Sort> sort_lines([](const Eqn& e) -> const Sort::Params& { return params_as<Sort::Params>(*e.params); });
const RuleOf<ReversedDims> reversed_dims(reverse_primitive(), [](const Eqn& e) -> const std::vector<int>& {
  return params_as<RevParams>(*e.params).dimensions;
});
const RuleOf<ReadRanges> slice_ranges(slice_primitive(),
                                      [](const Eqn& e) -> const SliceParams& { return params_as<SliceParams>(*e.params); });

bool has_sorts(const Jaxpr& j) {
  const auto& eqns = j.eqns();
  return std::any_of(eqns.begin(), eqns.end(), [](const Eqn& e) { return find_rule<SortedLines>(*e.op) != nullptr; });
}

Array bound(std::string_view name, std::initializer_list<Array> in, SourceLoc loc) {
  return bind_primitive(*find_primitive(name), make_params(NoParams()), std::span(in.begin(), in.size()), loc)[0];
}

class PartialSorts {
 public:
  PartialSorts(const JaxprData& d, Expansion expansion) : d_(d) {
    std::vector<char> sorted(d.avals.size()), returned(d.avals.size());
    for (const Eqn& e : d.eqns)
      if (is_candidate(e))
        for (const Var v : e.outputs) sorted[v] = true;
    for (const Eqn& e : d.eqns)
      if (is_reverse(e) && !e.inputs[0].is_literal() && sorted[e.inputs[0].var()]) sorted[e.outputs[0]] = true;
    for (const Eqn& e : d.eqns)
      for (const Atom a : e.inputs)
        if (!a.is_literal() && sorted[a.var()]) readers_[a.var()].push_back(&e);
    for (const Atom a : d.outputs)
      if (!a.is_literal()) returned[a.var()] = true;
    for (const Eqn& e : d.eqns)
      if (is_candidate(e)) add(e, returned, expansion);
  }

  bool empty() const { return parts_.empty(); }

  /// The results of an equation whose operands may be parts of what they were.
  std::vector<Array> apply(const Eqn& e, std::span<const Array> in) const {
    if (find_rule<SortedLines>(*e.op))
      if (const auto found = parts_.find(e.outputs[0]); found != parts_.end())
        return chosen(params_as<Sort::Params>(*e.params), found->second, in, e.loc);
    const auto from = e.inputs.empty() || e.inputs[0].is_literal() ? parts_.end() : parts_.find(e.inputs[0].var());
    if (from == parts_.end() || is_reverse(e)) return bind_primitive(*e.op, e.params, in, e.loc);
    const auto& [part, axis] = std::pair(from->second, axes_.at(from->first));
    SliceParams p = params_as<SliceParams>(*e.params);
    if (!part.first) p.start_indices[axis] -= part.length - part.count, p.limit_indices[axis] -= part.length - part.count;
    return bind_primitive(*e.op, make_params(std::move(p)), in, e.loc);
  }

 private:
  static bool is_reverse(const Eqn& e) { return find_rule<ReversedDims>(*e.op) != nullptr; }

  bool is_candidate(const Eqn& e) const {
    SortedLines::Function* const rule = find_rule<SortedLines>(*e.op);
    if (!rule) return false;
    const auto& p = rule(e);
    const Aval& key = d_.aval(e.inputs[0]);
    const std::int64_t n = key.shape[p.dimension];
    if (p.num_keys != 1 || n < 2 || n >= std::numeric_limits<std::int32_t>::max()) return false;
    return key.dtype.is_integer() || key.dtype.is_floating();
  }

  /// Widens [low, high) by what is read of a value along the axis; false if it is read otherwise than by slices.
  bool read(Var v, int axis, const std::vector<char>& returned, std::int64_t length, bool reversed,
            std::pair<std::int64_t, std::int64_t>& range) const {
    if (returned[v]) return false;
    const auto found = readers_.find(v);
    if (found == readers_.end()) return true;
    return std::all_of(found->second.begin(), found->second.end(), [&](const Eqn* e) {
      if (ReadRanges::Function* const rule = find_rule<ReadRanges>(*e->op)) {
        const SliceParams& p = rule(*e);
        std::int64_t begin = p.start_indices[static_cast<std::size_t>(axis)], end = p.limit_indices[static_cast<std::size_t>(axis)];
        if (reversed) begin = std::exchange(end, length - begin), begin = length - begin;
        range.first = std::min(range.first, begin), range.second = std::max(range.second, end);
        return true;
      }
      if (!is_reverse(*e)) return false;
      const auto& dims = params_as<RevParams>(*e->params).dimensions;
      const bool along = std::find(dims.begin(), dims.end(), axis) != dims.end();
      return read(e->outputs[0], axis, returned, length, reversed != along, range);
    });
  }

  void add(const Eqn& e, const std::vector<char>& returned, Expansion expansion) {
    const int axis = params_as<Sort::Params>(*e.params).dimension;
    const std::int64_t n = d_.aval(e.inputs[0]).shape[axis];
    std::pair<std::int64_t, std::int64_t> range{n, 0};
    for (const Var v : e.outputs)
      if (!read(v, axis, returned, n, false, range)) return;
    const auto [low, high] = range;
    if (low >= high) return;
    const Part part = high <= n - low ? Part{n, high, true} : Part{n, n - low, false};
    const Aval key = d_.aval(e.inputs[0]);
    const std::optional<Jaxpr> largest = expansion(top_k_equation({axis, part.count}, e.inputs[0], e.loc), std::span(&key, 1));
    if (largest && has_sorts(*largest)) return;
    if (!largest) {
      if (n < kShortest || part.count > n / kShare) return;
      if (e.outputs.size() == 1 && n <= kLongestAlone && (n < kShortestAlone || part.count > n / kShareAlone)) return;
    }
    for (const Var v : e.outputs) mark(v, axis, part);
  }
  void mark(Var v, int axis, Part part) {
    parts_.emplace(v, part), axes_.emplace(v, static_cast<std::size_t>(axis));
    const auto found = readers_.find(v);
    if (found == readers_.end()) return;
    for (const Eqn* e : found->second) {
      if (!is_reverse(*e)) continue;
      const auto& dims = params_as<RevParams>(*e->params).dimensions;
      const bool along = std::find(dims.begin(), dims.end(), axis) != dims.end();
      mark(e->outputs[0], axis, {part.length, part.count, part.first != along});
    }
  }

  static std::vector<Array> chosen(const Sort::Params& p, const Part& part, std::span<const Array> in, SourceLoc loc) {
    // Among equal elements top_k takes the first; in the reversed array that is the last one of the original.
    const Array key = part.first ? codes_of_largest(in[0], loc) : reverse(in[0], {p.dimension}, loc);
    Array at = bind_all<TopKLargest>({p.dimension, part.count}, std::span(&key, 1), loc)[1];
    if (!part.first) {
      const Array last = make_literal(Number(static_cast<long long>(part.length - 1)), int32);
      at = bound("sub", {last, reverse(at, {p.dimension}, loc)}, loc);
    }
    std::vector<Array> out;
    for (const Array& x : in) out.push_back(take_along_axis(Arg(x, loc), Arg(at, loc), p.dimension, {.mode = "promise_in_bounds"}));
    return out;
  }

  const JaxprData& d_;
  std::unordered_map<Var, std::vector<const Eqn*>> readers_;
  std::unordered_map<Var, Part> parts_;
  std::unordered_map<Var, std::size_t> axes_;
};

}  // namespace

// The complement of integers that order as the sort does: the largest of these are the first of a sort.
Array codes_of_largest(const Array& x, SourceLoc loc) {
  const auto bind = [&](std::string_view name, std::initializer_list<Array> in) { return bound(name, in, loc); };
  if (x.dtype().is_integer()) return bind("not", {x});
  const int bits = 8 * x.dtype().itemsize();
  const DType as = bits == 16 ? int16 : bits == 32 ? int32 : int64;
  const auto number = [&](long long n) { return make_literal(Number(n), as); };
  const Array code = bitcast_elements(x, as, loc), zero = make_literal(Number(0), x.dtype());
  const Array sign = bind("shift_right_arithmetic", {code, number(bits - 1)});
  // Below 0 the magnitudes count backwards, which leaves -0 before 0.
  Array ordered = bind("xor", {code, bind("shift_right_logical", {sign, number(1)})});
  ordered = bind("select_n", {bind("eq", {x, zero}), ordered, number(0)});
  const long long most = bits == 64 ? std::numeric_limits<long long>::max() : (1LL << (bits - 1)) - 1;
  return bind("not", {bind("select_n", {bind("ne", {x, x}), ordered, number(most)})});
}

Jaxpr with_partial_sorts(const Jaxpr& j, Expansion expansion) {
  const JaxprData& d = j.data();
  if (!expansion || !has_sorts(j)) return j;
  const PartialSorts partial(d, expansion);
  if (partial.empty()) return j;
  const auto avals = d.input_avals();
  return trace_jaxpr({"jit", {avals.begin(), avals.end()}, {}}, [&](std::span<const Array> args) {
    return walk(j, args, [&](const Eqn& e, std::span<const Array> in) { return partial.apply(e, in); });
  });
}

}  // namespace weft::detail
