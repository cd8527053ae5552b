#include "weft/transforms/control/control_flow.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/array/array_impl.h"
#include "weft/core/array/array_lists.h"
#include "weft/core/array/indexing.h"
#include "weft/core/base/sizes.h"
#include "weft/core/errors/called_name.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/collective/collective.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/control/checkpoint_schedule.h"
#include "weft/core/ops/control/control.h"
#include "weft/core/ops/movement/index_rules.h"
#include "weft/core/ops/promotion.h"
#include "weft/core/trace/key_reuse.h"
#include "weft/core/trace/varying.h"
#include "weft/runtime/host/progress_bars.h"
#include "weft/transforms/autodiff/differentiate.h"
#include "weft/transforms/numbers.h"

namespace weft {

int Checkpoints::checked(std::int64_t at_most, SourceLoc loc) {
  if (at_most < 2)
    throw Error(fmt::format("Checkpoints: {} states are too few; give 2 at least, the first one and one on the way", at_most), loc);
  return detail::checked_int(at_most, "Checkpoints", "at_most", loc);
}
static_assert(Checkpoints::logarithmic.parameter() == detail::kLogarithmicCheckpoints);

}  // namespace weft

namespace weft::detail {
namespace {

// In the body of a shard_map with check_vma: the axes over which a function's inputs and results vary. The first results are the carry,
// which is among the inputs too and must vary over the same axes before and after a step.
struct Marks {
  std::vector<Varying> in = {};
  std::size_t first_carry = 0, num_carry = 0;
  std::vector<Varying> out = {};
  bool noted = notes_varying();
  NumbersMet numbers = {};
  bool wide_numbers = false;

  void add(const NumbersMet& met) { numbers.widened |= met.widened, numbers.made |= met.made; }
  /// Whether the functions traced must be traced again, as they convert numbers to 64 bits. Those among the inputs given have 64 bits then.
  bool widen_numbers(std::span<Aval> inputs) {
    if (!numbers.widened || wide_numbers) return false;
    wide_numbers = true;
    return detail::widen_numbers(inputs) || numbers.made;
  }

  /// Whether a carry varies over more axes than assumed, so that the body must be traced again.
  bool widen() {
    bool changed = false;
    for (std::size_t k = 0; noted && k < num_carry; ++k) {
      changed = changed || (out[k] & ~in[first_carry + k]);
      in[first_carry + k] |= out[k];
    }
    return changed;
  }
  bool widen_all(Varying v) {
    bool changed = false;
    for (std::size_t k = 0; noted && k < num_carry; ++k) {
      changed = changed || (v & ~in[first_carry + k]);
      in[first_carry + k] |= v;
    }
    return changed;
  }
  Array start(const Array& x, std::size_t k, SourceLoc loc) const { return noted ? vary_over(x, in[first_carry + k], loc) : x; }
};

// A function traced without values: under a loop or a branch nothing can be computed on demand.
Jaxpr trace_function(const char* what, FlatFunction& f, std::vector<Aval> inputs, Marks& marks) {
  std::optional<InputsVary> varying;
  if (marks.noted) varying.emplace(marks.in);
  TraceRequest request = request_for(f, what, std::move(inputs));
  NumbersMet met;
  request.numbers = &met, request.wide_numbers = marks.wide_numbers;
  Jaxpr traced = trace_jaxpr(request, [&](std::span<const Array> leaves) {
    std::vector<Array> results = f.run(leaves);
    if (!marks.noted) return results;
    marks.out = varying_of(results);
    for (std::size_t k = 0; k < std::min(marks.num_carry, results.size()); ++k)
      results[k] = vary_over(results[k], marks.in[marks.first_carry + k], f.loc);
    return results;
  });
  marks.add(met);
  return traced;
}

// Converts x if its dtype or its weakness differs.
Array with_type(const Array& x, const Aval& want) {
  if (x.dtype() == want.dtype && x.aval().weak == want.weak) return x;
  return convert_element_type(x, want.dtype, want.weak, {});
}

void check_structure(const char* what, const Skeleton& a, const Skeleton& b, SourceLoc loc) {
  if (!structure_difference(a, b).empty()) throw_structure_mismatch(what, a, b, loc);
}
Skeleton renamed(Skeleton s, std::string label) {
  s.label = std::move(label);
  return s;
}

// A carry that starts as a C++ number takes the dtype that the body gives it (JAX: weakly typed carries are promoted).
// Returns whether an input type changed, so that the body must be traced again.
bool promote_carry(std::vector<Aval>& carry, std::span<const Aval> out) {
  bool changed = false;
  for (std::size_t i = 0; i < carry.size(); ++i) {
    if (!carry[i].weak || carry[i].shape != out[i].shape) continue;
    const WeakDType common = promote_types(carry[i].weak_dtype(), out[i].weak_dtype());
    if (common.dtype == carry[i].dtype && common.weak) continue;
    carry[i].dtype = common.dtype, carry[i].weak = common.weak;
    changed = true;
  }
  return changed;
}

struct CarryNames {
  const char* what;
  std::vector<std::string> paths;
};

[[noreturn]] void throw_carry(const CarryNames& names, std::size_t i, const Aval& before, const Aval& after, SourceLoc loc) {
  const std::string text = fmt::format(
      "{}: the carry {} starts as {}, but the body returns {}; the body must return a carry of the same type: convert or reshape it",
      names.what, names.paths[i], to_string(before), to_string(after));
  if (before.shape != after.shape) throw ShapeError(text, loc);
  throw DTypeError(text, loc);
}

// A C++ number that the body returns takes the carry's dtype; any other dtype must be the carry's.
void check_carry(const CarryNames& names, std::span<const Aval> carry, std::span<const Aval> out, SourceLoc loc) {
  for (std::size_t i = 0; i < carry.size(); ++i)
    if (out[i].shape != carry[i].shape ||
        (out[i].dtype != carry[i].dtype &&
         (!out[i].weak || promote_types(carry[i].weak_dtype(), out[i].weak_dtype()).dtype != carry[i].dtype)))
      throw_carry(names, i, carry[i], out[i], loc);
}

// The body with its first results converted to the carry's types.
Jaxpr converting(const Jaxpr& j, std::span<const Aval> carry) {
  const std::vector<Aval> out = j.data().output_avals();
  bool same = true;
  for (std::size_t i = 0; i < carry.size(); ++i) same = same && out[i].dtype == carry[i].dtype && out[i].weak == carry[i].weak;
  if (same) return j;
  const auto in = j.data().input_avals();
  return trace_jaxpr({"", {in.begin(), in.end()}, {}}, [&](std::span<const Array> args) {
    std::vector<Array> r = eval_jaxpr(j, args);
    for (std::size_t i = 0; i < carry.size(); ++i) r[i] = with_type(r[i], carry[i]);
    return r;
  });
}

bool is_known(const Array& x) { return !as_traced(x) && x.impl()->kind != ArrayImpl::Kind::abstract; }

}  // namespace

Array index_of_predicate(const Array& pred, SourceLoc loc) {
  if (!pred.shape().empty())
    throw ShapeError(fmt::format("cond: the predicate is {}, it must be one bool; reduce it with any or all, or select with where",
                                 to_string(pred.aval())),
                     loc);
  LocScope scope(loc);
  return convert(pred.dtype().is_bool() ? pred : pred != 0, int32);
}

Array index_of_switch(const Array& which, SourceLoc loc) {
  if (!which.shape().empty() || !which.dtype().is_integer())
    throw DTypeError(fmt::format("switch_: the index is {}, it must be one integer", to_string(which.aval())), loc);
  LocScope scope(loc);
  return saturated(which, int32, loc);
}

std::vector<Array> flat_cond(const char* what, const Array& index, const std::vector<FlatFunction*>& branches,
                             const std::vector<const char*>& names, SourceLoc loc) {
  if (branches.empty()) throw Error(fmt::format("{}: there are no branches; give at least one", what), loc);
  const auto branch = [&](std::size_t b) { return names.empty() ? fmt::format("branch {}", b) : std::string(names[b]); };
  std::vector<Hoisted> traced;
  std::vector<std::vector<Aval>> outs;
  std::vector<Marks> marks;
  std::vector<Aval> types = avals_of(branches[0]->args);
  Marks all_branches;
  for (bool again = true; again; again = all_branches.widen_numbers(types)) {
    traced.clear(), outs.clear(), marks.clear();
    for (FlatFunction* f : branches) {
      const std::vector<Array> args = as_widened(f->args, types);
      std::copy(args.begin(), args.end(), f->args.begin());
      marks.push_back({varying_of(f->args)});
      marks.back().wide_numbers = all_branches.wide_numbers;
      traced.push_back(hoist_consts(trace_function(what, *f, types, marks.back())));
      all_branches.add(marks.back().numbers);
      outs.push_back(traced.back().jaxpr.data().output_avals());
      check_structure(fmt::format("{}: the results of the branches", what).c_str(), renamed(branches[0]->result(), branch(0)),
                      renamed(f->result(), branch(outs.size() - 1)), loc);
    }
  }
  // A weakly typed result takes the dtype of the other branch's.
  std::vector<Aval> wanted = outs[0];
  for (std::size_t b = 1; b < outs.size(); ++b)
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const WeakDType common = promote_types(wanted[i].weak_dtype(), outs[b][i].weak_dtype());
      const auto takes = [&](const Aval& a) { return a.weak || a.dtype == common.dtype; };
      if (wanted[i].shape != outs[b][i].shape ||
          (wanted[i].dtype != outs[b][i].dtype && (!takes(wanted[i]) || !takes(outs[b][i]) || !(wanted[i].weak || outs[b][i].weak)))) {
        const std::string text =
            fmt::format("{}: {} is {} from {} and {} from {}; all branches must return the same types", what,
                        leaf_paths(branches[0]->result())[i], to_string(wanted[i]), branch(0), to_string(outs[b][i]), branch(b));
        if (wanted[i].shape != outs[b][i].shape) throw ShapeError(text, loc);
        throw DTypeError(text, loc);
      }
      wanted[i].dtype = common.dtype, wanted[i].weak = common.weak;
    }
  // A result varies if it does in any branch, or if which branch is taken does.
  std::vector<Varying> varying(wanted.size(), varying_of(index));
  for (const Marks& m : marks)
    for (std::size_t i = 0; i < m.out.size(); ++i) varying[i] |= m.out[i];
  // Every branch takes the captured values of all branches, then the operands.
  std::vector<Array> consts;
  std::vector<std::size_t> first;
  for (const Hoisted& h : traced) first.push_back(consts.size()), consts.insert(consts.end(), h.consts.begin(), h.consts.end());
  const std::vector<Array> operands = concat(consts, branches[0]->args);
  Cond::Params params;
  for (std::size_t b = 0; b < traced.size(); ++b)
    params.branches.push_back(trace_jaxpr({what, avals_of(operands), {}}, [&](std::span<const Array> args) {
      const std::vector<Array> own = concat(args.subspan(first[b], traced[b].consts.size()), args.subspan(consts.size()));
      std::vector<Array> r = eval_jaxpr(traced[b].jaxpr, own);
      for (std::size_t i = 0; i < r.size(); ++i) r[i] = with_type(r[i], wanted[i]);
      for (std::size_t i = 0; i < marks[b].out.size(); ++i)
        if (const Varying missing = varying[i] & ~marks[b].out[i]) r[i] = bind_pvary(r[i], names_of(missing), loc);
      return r;
    }));
  if (config.debug_key_reuse) note_key_uses(params.branches, operands, what, loc);
  return bind_all<Cond>(params, concat(std::array{index}, operands), loc);
}

static void check_bound(const char* operation, const WhileOptions& options, SourceLoc loc) {
  if (options.max_steps && *options.max_steps < 0)
    throw Error(
        fmt::format("{}: max_steps is {}; it is the largest number of steps, 0 or more", operation, std::int64_t{*options.max_steps}), loc);
}

std::vector<Array> flat_while(FlatFunction& cond, FlatFunction& body, const WhileOptions& options, SourceLoc loc) {
  std::vector<Aval> carry = avals_of(body.args);
  Marks marks{varying_of(body.args), 0, carry.size()};
  Varying of_condition = 0;
  Jaxpr traced, traced_cond;
  for (bool again = true; again;) {
    const LoopSteps unknown(-1);
    traced = trace_function("while_loop", body, carry, marks);
    check_structure("while_loop: the carry and the body's result", renamed(body.arguments().children[0], "carry"), body.result(), loc);
    const bool promoted = promote_carry(carry, traced.data().output_avals());
    again = marks.widen() || promoted;
    if (again) continue;
    // If the number of steps varies between devices, all carried values do.
    Marks of_cond{marks.in};
    of_cond.wide_numbers = marks.wide_numbers;
    traced_cond = trace_function("while_loop", cond, carry, of_cond);
    of_condition = of_cond.out.size() == 1 ? of_cond.out[0] : 0;
    marks.add(of_cond.numbers);
    again = marks.widen_all(of_condition) || marks.widen_numbers(carry);
  }
  const CarryNames names{"while_loop", leaf_paths(renamed(body.arguments().children[0], "init"))};
  check_carry(names, carry, traced.data().output_avals(), loc);
  const Hoisted b = hoist_consts(converting(traced, carry)), c = hoist_consts(traced_cond);
  const std::vector<Aval> pred = c.jaxpr.data().output_avals();
  if (pred.size() != 1 || !pred[0].shape.empty() || !pred[0].dtype.is_bool())
    throw DTypeError(fmt::format("while_loop: the condition gives {}, it must be bool[]; reduce it with any or all",
                                 pred.size() == 1 ? to_string(pred[0]) : fmt::format("{} arrays", pred.size())),
                     loc);
  std::vector<Array> operands = concat(c.consts, b.consts);
  LocScope scope(loc);
  std::vector<Array> starts;
  for (std::size_t i = 0; i < carry.size(); ++i) starts.push_back(marks.start(with_type(body.args[i], carry[i]), i, loc));
  const int cond_consts = static_cast<int>(c.consts.size()), body_consts = static_cast<int>(b.consts.size());
  if (config.debug_key_reuse)
    note_loop_keys(b.jaxpr, {b.consts.size(), b.consts.size(), carry.size()}, concat(b.consts, starts), "while_loop", loc);
  check_bound("while_loop", options, loc);
  if (!options.max_steps) {
    operands.insert(operands.end(), starts.begin(), starts.end());
    return bind_all<While>({b.jaxpr, body_consts, c.jaxpr, cond_consts, 0, options.checkpoints.parameter()}, operands, loc);
  }
  // With a bound the steps are counted, so that forward and reverse mode stop at the same one.
  const std::int64_t bound = *options.max_steps;
  const Aval counter{{}, fits_int(bound) ? int32 : int64, false};
  auto inputs = [&](const Hoisted& h) {
    std::vector<Aval> in = avals_of(h.consts);
    in.push_back(counter);
    in.insert(in.end(), carry.begin(), carry.end());
    return in;
  };
  auto without_counter = [&](std::span<const Array> args, std::size_t consts) {
    return concat(args.first(consts), args.subspan(consts + 1));
  };
  const Jaxpr counted_cond = trace_jaxpr({"while_loop", inputs(c), {}}, [&](std::span<const Array> args) {
    return std::vector{(args[c.consts.size()] < bound) & eval_jaxpr(c.jaxpr, without_counter(args, c.consts.size()))[0]};
  });
  const Jaxpr counted_body = trace_jaxpr({"while_loop", inputs(b), {}}, [&](std::span<const Array> args) {
    return concat(std::array{args[b.consts.size()] + 1}, eval_jaxpr(b.jaxpr, without_counter(args, b.consts.size())));
  });
  operands.push_back(marks.noted ? vary_over(make_literal(0, counter.dtype), of_condition, loc) : make_literal(0, counter.dtype));
  operands.insert(operands.end(), starts.begin(), starts.end());
  std::vector<Array> results = bind_all<While>(
      {counted_body, body_consts, counted_cond, cond_consts, std::max<std::int64_t>(bound, 1), options.checkpoints.parameter()}, operands,
      loc);
  results.erase(results.begin());
  return results;
}

/// The number of steps of a fori_loop whose bounds are known.
static std::int64_t steps_between(const Array& lower, const Array& upper, SourceLoc loc) {
  using Wide = __int128;
  const auto value = [](const Array& x) { return x.dtype() == uint64 ? Wide{x.item<std::uint64_t>()} : Wide{x.item<std::int64_t>()}; };
  const Wide n = std::max<Wide>(0, value(upper) - value(lower));
  if (n > std::numeric_limits<std::int64_t>::max())
    throw Error(fmt::format("fori_loop: from {} to {} are more than 2^63 - 1 steps", lower.item<double>(), upper.item<double>()), loc);
  return static_cast<std::int64_t>(n);
}

/// The smaller of a fori_loop's upper bound and lower + max_steps, which may be beyond its type.
static Array last_of_bounded(const Array& lower, const Array& upper, std::int64_t max_steps, SourceLoc loc) {
  const LocScope scope(loc);
  const DType dtype = upper.dtype(), wide = dtype == uint64 ? uint64 : int64;
  const Array from = convert(lower, wide), steps = make_literal(max_steps, wide);
  const Array most = wide == uint64 ? make_literal(std::numeric_limits<std::uint64_t>::max(), wide)
                                    : make_literal(std::numeric_limits<std::int64_t>::max(), wide);
  return convert(minimum(convert(upper, wide), where(from > most - steps, most, from + steps)), dtype);
}

std::vector<Array> flat_fori(const Array& from, const Array& to, FlatFunction& body, const WhileOptions& options, SourceLoc loc) {
  for (const Array& bound : {from, to})
    if (!bound.shape().empty() || !bound.dtype().is_integer())
      throw DTypeError(fmt::format("fori_loop: a bound is {}, it must be one integer", to_string(bound.aval())), loc);
  check_bound("fori_loop", options, loc);
  const WeakDType type = promote_types(from.aval().weak_dtype(), to.aval().weak_dtype());
  const auto [lower, upper] = promote_operands("fori_loop", Arg(from, loc), Arg(to, loc));
  const Aval counter{{}, type.dtype, type.weak};
  std::vector<Aval> carry = avals_of(std::span(body.args).subspan(1));
  Marks marks{varying_of(body.args), 1, carry.size()};
  const Varying of_bounds = varying_of(lower) | varying_of(upper);
  marks.in[0] = of_bounds;
  marks.widen_all(of_bounds);
  Jaxpr traced;
  for (bool again = true; again;) {
    std::vector<Aval> inputs{counter};
    inputs.insert(inputs.end(), carry.begin(), carry.end());
    const LoopSteps steps(is_known(lower) && is_known(upper) ? steps_between(lower, upper, loc) : -1);
    traced = trace_function("fori_loop", body, inputs, marks);
    check_structure("fori_loop: the carry and the body's result", renamed(body.arguments().children[1], "carry"), body.result(), loc);
    const bool promoted = promote_carry(carry, traced.data().output_avals());
    again = marks.widen() || promoted || marks.widen_numbers(carry);
  }
  check_carry({"fori_loop", leaf_paths(renamed(body.arguments().children[1], "init"))}, carry, traced.data().output_avals(), loc);
  // Not around the body: its equations keep their own lines.
  auto typed = [&](const Array& x, const Aval& want) {
    LocScope scope(loc);
    return with_type(x, want);
  };
  const Hoisted b = hoist_consts(converting(traced, carry));
  const std::size_t consts = b.consts.size();
  std::vector<Array> operands = b.consts;
  std::vector<Array> starts;
  for (std::size_t i = 0; i < carry.size(); ++i) starts.push_back(marks.start(typed(body.args[i + 1], carry[i]), i, loc));
  const Array first = marks.noted ? vary_over(lower, of_bounds, loc) : lower;
  if (config.debug_key_reuse)
    note_loop_keys(b.jaxpr, {consts, consts + 1, carry.size()}, concat(b.consts, std::array{first}, starts), "fori_loop", loc);

  // (constants, i, carry) -> (i + 1, carry)
  std::vector<Aval> inputs = avals_of(b.consts);
  inputs.push_back(counter);
  inputs.insert(inputs.end(), carry.begin(), carry.end());
  const Jaxpr step = trace_jaxpr({"fori_loop", inputs, {}}, [&](std::span<const Array> args) {
    std::vector<Array> out{typed(
        [&] {
          LocScope scope(loc);
          return args[consts] + 1;
        }(),
        counter)};
    const std::vector<Array> r = eval_jaxpr(b.jaxpr, args);
    out.insert(out.end(), r.begin(), r.end());
    return out;
  });
  std::vector<Array> results;
  if (is_known(lower) && is_known(upper)) {
    const std::int64_t all = steps_between(lower, upper, loc),
                       n = options.max_steps ? std::min(all, std::int64_t{*options.max_steps}) : all;
    operands.push_back(typed(first, counter));
    operands.insert(operands.end(), starts.begin(), starts.end());
    results =
        bind_all<Scan>({step, n, static_cast<int>(carry.size()) + 1, static_cast<int>(consts), false, 1, options.checkpoints.parameter()},
                       operands, loc.of(CalledAs::fori_loop));
  } else {
    // The upper bound is a constant of the condition.
    std::vector<Aval> cond_inputs{counter, counter};
    cond_inputs.insert(cond_inputs.end(), carry.begin(), carry.end());
    const Jaxpr cond =
        trace_jaxpr({"fori_loop", cond_inputs, {}}, [](std::span<const Array> args) { return std::vector{args[1] < args[0]}; });
    // With a bound the loop stops there in forward mode, too.
    std::vector<Array> all{typed(upper, counter)};
    if (options.max_steps) all[0] = last_of_bounded(typed(lower, counter), all[0], *options.max_steps, loc);
    all.insert(all.end(), operands.begin(), operands.end());
    all.push_back(typed(first, counter));
    all.insert(all.end(), starts.begin(), starts.end());
    results = bind_all<While>({step, static_cast<int>(consts), cond, 1,
                               options.max_steps ? std::max<std::int64_t>(*options.max_steps, 1) : 0, options.checkpoints.parameter()},
                              all, loc.of(CalledAs::fori_loop));
  }
  results.erase(results.begin());
  return results;
}

std::vector<Array> flat_scan(CalledAs function, FlatFunction& body, const ScanOptions& options, SourceLoc loc) {
  const char* const what = called_name(function, "scan");
  const std::size_t num_carry = body.offsets[1];
  const std::span<const Array> all(body.args), init = all.first(num_carry), xs = all.subspan(num_carry);
  const std::vector<std::string> paths = leaf_paths(renamed(body.arguments().children[1], "xs"));
  std::optional<std::int64_t> length;
  if (options.length) length = *options.length;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    if (xs[i].ndim() == 0)
      throw ShapeError(fmt::format("{}: {} is {}, which has no leading axis to iterate over", what, paths[i], to_string(xs[i].aval())),
                       loc);
    if (length && xs[i].shape()[0] != *length)
      throw ShapeError(
          fmt::format("{}: {} is {}, whose leading axis has size {}, where {} has {}", what, paths[i], to_string(xs[i].aval()),
                      xs[i].shape()[0], options.length ? "length" : fmt::format("{}, {},", paths[0], to_string(xs[0].aval())), *length),
          loc);
    length = xs[i].shape()[0];
  }
  if (!length) throw ShapeError(fmt::format("{}: there are no xs; give the number of steps with {{.length = n}}", what), loc);
  if (*length < 0 || options.unroll < 1)
    throw Error(fmt::format("{}: length is {} and unroll {}; they are at least 0 and 1", what, *length, std::int64_t{options.unroll}), loc);

  std::vector<Aval> carry = avals_of(init), slices;
  for (const Array& x : xs) slices.push_back(x.aval().with_shape(x.shape().erased(0)));
  Marks marks{varying_of(all), 0, num_carry};
  Jaxpr traced;
  for (bool again = true; again;) {
    std::vector<Aval> inputs = carry;
    inputs.insert(inputs.end(), slices.begin(), slices.end());
    const LoopSteps steps(*length);
    traced = trace_function(what, body, inputs, marks);
    check_structure(fmt::format("{}: the carry and the function's new one", what).c_str(), renamed(body.arguments().children[0], "init"),
                    renamed(body.result().children[0], "result[0]"), loc);
    const bool promoted = promote_carry(carry, traced.data().output_avals());
    again = marks.widen() || promoted || marks.widen_numbers(carry);
  }
  check_carry({what, leaf_paths(renamed(body.arguments().children[0], "init"))}, carry, traced.data().output_avals(), loc);
  const Hoisted b = hoist_consts(converting(traced, carry));
  std::vector<Array> operands = b.consts;
  LocScope scope(loc.of(function));
  for (std::size_t i = 0; i < carry.size(); ++i) operands.push_back(marks.start(with_type(init[i], carry[i]), i, loc));
  operands.insert(operands.end(), xs.begin(), xs.end());
  if (config.debug_key_reuse) note_loop_keys(b.jaxpr, {b.consts.size(), b.consts.size(), num_carry}, operands, what, loc);
  return bind_all<Scan>({b.jaxpr, *length, static_cast<int>(num_carry), static_cast<int>(b.consts.size()), options.reverse,
                         checked_int(options.unroll, what, "unroll", loc), options.checkpoints.parameter()},
                        operands, loc);
}

Array strided_part(const Array& x, int axis, std::int64_t start, std::int64_t stop, std::int64_t step) {
  const Array front = moveaxis(x, axis, 0);
  return moveaxis(front(slice(start, stop, step)), 0, axis);
}

Array interleave(const Array& even, const Array& odd, int axis) {
  const std::int64_t a = even.shape()[axis], b = odd.shape()[axis];
  // Pairs side by side, then flattened; an even array that is one longer brings its last element along.
  const Array first = strided_part(even, axis, 0, b, 1);
  Shape merged = first.shape();
  merged[axis] = 2 * b;
  const Array pairs = reshape(stack({first, odd}, axis + 1), merged);
  return a == b ? pairs : concatenate({pairs, strided_part(even, axis, b, a, 1)}, axis);
}

std::vector<std::string> types_of(const std::vector<Array>& xs) {
  std::vector<std::string> out;
  for (const Array& x : xs) out.push_back(to_string(x.aval()));
  return out;
}

void check_combined(const std::vector<Array>& result, const std::vector<Array>& operands) {
  for (std::size_t i = 0; i < result.size() && i < operands.size(); ++i)
    if (result[i].shape() != operands[i].shape())
      throw ShapeError(fmt::format("associative_scan: the function returns {} for two slices {}; it must return one like each of them",
                                   to_string(result[i].aval()), to_string(operands[i].aval())),
                       effective_loc({}));
}
std::int64_t checked_batch(std::int64_t size, SourceLoc loc) {
  if (size < 1) throw ShapeError(fmt::format("map: batch_size is {}; it must be at least 1", size), effective_loc(loc));
  return size;
}
int associative_axis(const std::vector<Array>& leaves, int axis, SourceLoc loc) {
  if (leaves.empty()) throw PytreeError("associative_scan: there are no arrays to scan; give at least one", loc);
  const auto in = [&](const Array& x) { return normalize_axis(axis, x.ndim(), "associative_scan", x.aval(), loc); };
  const int first = in(leaves[0]);
  for (const Array& x : leaves)
    if (x.shape()[in(x)] != leaves[0].shape()[first])
      throw ShapeError(fmt::format("associative_scan: axis {} has different sizes in the arrays {}; they must be equal", axis,
                                   fmt::join(types_of(leaves), ", ")),
                       loc);
  return first;
}

}  // namespace weft::detail
