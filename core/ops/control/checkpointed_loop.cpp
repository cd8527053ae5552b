#include "weft/core/ops/control/checkpointed_loop.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "weft/core/array/constructors.h"
#include "weft/core/array/indexing.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ir/effects.h"
#include "weft/core/ops/control/checkpoint_schedule.h"
#include "weft/core/ops/control/control_common.h"
#include "weft/core/ops/control/linear_call.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/movement/scatter.h"

namespace weft::detail {
namespace {

using Arrays = std::vector<Array>;
using Mask = std::vector<bool>;

std::size_t count_true(const Mask& m) { return static_cast<std::size_t>(std::count(m.begin(), m.end(), true)); }
Mask part(const Mask& m, std::size_t from, std::size_t n) {
  return {m.begin() + static_cast<std::ptrdiff_t>(from), m.begin() + static_cast<std::ptrdiff_t>(from + n)};
}
Array number(std::int64_t n) { return make_literal(n, int64); }
Aval stacked(const Aval& a, std::int64_t n) { return a.with_shape(a.shape.inserted(0, n)); }

/// Takes a list apart from its front.
class Reader {
 public:
  explicit Reader(std::span<const Array> all) : rest_(all) {}
  const Array& one() { return take(1)[0]; }
  std::span<const Array> take(std::size_t n) {
    const auto some = rest_.first(n);
    rest_ = rest_.subspan(n);
    return some;
  }

 private:
  std::span<const Array> rest_;
};

Array row(const Array& all, const Array& position, SourceLoc loc) {
  Arrays start(static_cast<std::size_t>(all.ndim()), number(0));
  start[0] = position;
  return reshape_to(dynamic_slice(all, start, all.shape().with(0, 1)), all.shape().erased(0), loc);
}
/// A scatter, as compiled loops make those in place.
Array with_row(const Array& all, const Array& one, const Array& position, SourceLoc loc) {
  Scatter::Params p;
  for (int d = 0; d < one.ndim(); ++d) p.dimension_numbers.update_window_dims.push_back(d);
  p.dimension_numbers.inserted_window_dims = p.dimension_numbers.scatter_dims_to_operand_dims = {0};
  p.indices_are_sorted = p.unique_indices = true;
  return bind_one<Scatter>(p, {all, reshape_to(position, {1}, loc), one}, loc);
}
Arrays rows(std::span<const Array> all, const Array& position, SourceLoc loc) {
  Arrays out;
  for (const Array& x : all) out.push_back(row(x, position, loc));
  return out;
}
void set_rows(std::span<Array> all, std::span<const Array> one, const Array& position, SourceLoc loc) {
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = with_row(all[i], one[i], position, loc);
}

/// What a while and a scan have in common.
struct Loop {
  Jaxpr body;                         ///< (consts, carry, slices of xs) -> (carry, slices of ys)
  std::size_t consts, carry, xs, ys;  ///< how many there are
  std::int64_t length;                ///< 0: not known before it has run
  bool reverse;                       ///< from the last slices to the first
  int checkpoints;
  std::int64_t at_most, bound;  ///< how many states are kept; a bound on the number of steps or 0
  Mask in;                      ///< which inputs of the body have tangents
  SourceLoc loc;
  const char* what;
  LinearizedProgram lin = {};

  Mask consts_in() const { return part(in, 0, consts); }
  Mask carry_in() const { return part(in, consts, carry); }
  Mask xs_in() const { return part(in, consts + carry, xs); }
  Mask ys_out() const { return part(lin.nonzero_out, carry, ys); }
  std::vector<Aval> carry_avals(bool with_tangents_only) const {
    std::vector<Aval> out;
    for (std::size_t i = 0; i < carry; ++i)
      if (!with_tangents_only || in[consts + i]) out.push_back(body.data().input_avals()[consts + i]);
    return out;
  }
  Array slice_of_step(const Array& step) const { return reverse ? number(length - 1) - step : step; }
};

/// The residuals of a loop: the states that were kept, and the values that its body reads.
struct Ran {
  Array steps;  ///< how many there were
  KeptStates kept;
  Arrays states;  ///< of each carry those kept, stacked
  Arrays consts, xs;

  Arrays flat() const {
    Arrays out{steps, kept.count, kept.slots, kept.steps};
    append(out, states), append(out, consts), append(out, xs);
    return out;
  }
  static Ran read(Reader& from, const Loop& l) {
    Ran r;
    r.steps = from.one(), r.kept.count = from.one(), r.kept.slots = from.one(), r.kept.steps = from.one();
    const auto list = [&](std::size_t n) {
      const auto some = from.take(n);
      return Arrays(some.begin(), some.end());
    };
    r.states = list(l.carry), r.consts = list(l.consts), r.xs = list(l.xs);
    return r;
  }
};

/// The state and its tangents, after one more step.
struct Step {
  Arrays out, tangents;  ///< of the carry and of ys; tangents of the carries and ys that have one
};
Step step_with_tangents(const Loop& l, std::span<const Array> in, std::span<const Array> tangents) {
  Arrays r = eval_jaxpr(l.lin.primal, in);
  const auto num_out = l.carry + l.ys;
  Arrays operands(r.begin() + static_cast<std::ptrdiff_t>(num_out), r.end());
  append(operands, tangents);
  r.resize(num_out);
  const Arrays out = eval_jaxpr(l.lin.linear, operands);
  Step s{std::move(r), {}};
  std::size_t next = 0;
  for (std::size_t i = 0; i < num_out; ++i) {
    const Tangent t = l.lin.nonzero_out[i] ? Tangent(out[next++]) : Tangent();
    if (t || (i < l.carry && l.in[l.consts + i])) s.tangents.push_back(instantiate(t, s.out[i].aval(), l.loc));
  }
  return s;
}

/// The tangents of the carries that have one in the end, at the beginning.
Arrays all_carry_tangents(const Loop& l, const Mask& given, Reader& from) {
  Arrays out;
  for (std::size_t i = 0; i < l.carry; ++i)
    if (given[i])
      out.push_back(from.one());
    else if (l.in[l.consts + i])
      out.push_back(zeros_of(l.body.data().input_avals()[l.consts + i], l.loc));
  return out;
}

/// (known, tangents) -> tangents of the results: the loop again, from its first state, with tangents.
Arrays forward_tangents(const Loop& l, const Mask& given, std::span<const Array> args) {
  Reader from(args);
  const Ran ran = Ran::read(from, l);
  const auto const_tangents = from.take(count_true(l.consts_in()));
  const Arrays carry_tangents = all_carry_tangents(l, given, from);
  const auto x_tangents = from.take(count_true(l.xs_in()));
  const Arrays start = rows(ran.states, number(0), l.loc);
  const std::size_t dc = const_tangents.size(), dk = carry_tangents.size(), dx = x_tangents.size();
  if (l.length > 0) {
    const Arrays operands = concat({ran.consts, const_tangents, start, carry_tangents, ran.xs, x_tangents});
    std::vector<Aval> avals = avals_of(operands);
    for (std::size_t i = l.consts + dc + l.carry + dk; i < avals.size(); ++i) avals[i] = avals[i].with_shape(avals[i].shape.erased(0));
    Scan::Params q;
    q.length = l.length, q.reverse = l.reverse, q.checkpoints = l.checkpoints;
    q.num_consts = static_cast<int>(l.consts + dc), q.num_carry = static_cast<int>(l.carry + dk);
    q.jaxpr = dce_program(make_program(l.what, avals, [&](std::span<const Array> a) {
      Reader in(a);
      const auto k = in.take(l.consts), dconsts = in.take(dc), c = in.take(l.carry), dcarry = in.take(dk), x = in.take(l.xs),
                 dxs = in.take(dx);
      const Step s = step_with_tangents(l, concat({k, c, x}), concat({dconsts, dcarry, dxs}));
      const std::span<const Array> t(s.tangents);
      return concat({std::span(s.out).first(l.carry), t.first(dk), t.subspan(dk)});
    }));
    const Arrays r = bind_scan(q, operands, l.loc);
    return {r.begin() + static_cast<std::ptrdiff_t>(l.carry), r.end()};
  }
  const Array first = number(0);
  const Arrays carried = concat({{&first, 1}, start, carry_tangents});
  const Arrays operands = concat({{&ran.steps, 1}, ran.consts, const_tangents, carried});
  const std::vector<Aval> avals = avals_of(operands);
  While::Params q;
  q.cond_nconsts = 1, q.body_nconsts = static_cast<int>(l.consts + dc), q.max_steps = l.bound, q.checkpoints = l.checkpoints;
  std::vector<Aval> cond_avals = avals_of(carried);
  cond_avals.insert(cond_avals.begin(), ran.steps.aval());
  q.cond_jaxpr = make_program(l.what, cond_avals, [](std::span<const Array> a) { return Arrays{a[1] < a[0]}; });
  q.body_jaxpr = make_program(l.what, {avals.begin() + 1, avals.end()}, [&](std::span<const Array> a) {
    Reader in(a);
    const auto k = in.take(l.consts), dconsts = in.take(dc);
    const Array next = in.one() + number(1);
    const auto c = in.take(l.carry), dcarry = in.take(dk);
    const Step s = step_with_tangents(l, concat({k, c}), concat({dconsts, dcarry}));
    return concat({{&next, 1}, s.out, s.tangents});
  });
  const Arrays r = bind_while(q, operands, l.loc);
  return {r.begin() + static_cast<std::ptrdiff_t>(1 + l.carry), r.end()};
}

/// The state after `end` steps, from the one after `begin`.
Arrays advance(const Loop& l, const Ran& ran, std::span<const Array> state, const Array& begin, const Array& end) {
  const Arrays carried = concat({{&begin, 1}, state});
  const Arrays operands = concat({{&end, 1}, ran.consts, ran.xs, carried});
  const std::vector<Aval> avals = avals_of(operands);
  While::Params q;
  q.cond_nconsts = 1, q.body_nconsts = static_cast<int>(l.consts + l.xs), q.max_steps = l.bound, q.checkpoints = l.checkpoints;
  std::vector<Aval> cond_avals = avals_of(carried);
  cond_avals.insert(cond_avals.begin(), end.aval());
  q.cond_jaxpr = make_program(l.what, cond_avals, [](std::span<const Array> a) { return Arrays{a[1] < a[0]}; });
  q.body_jaxpr = dce_program(make_program(l.what, {avals.begin() + 1, avals.end()}, [&](std::span<const Array> a) {
    Reader in(a);
    const auto k = in.take(l.consts), xs = in.take(l.xs);
    const Array step = in.one();
    const Arrays r = eval_jaxpr(l.body, concat({k, in.take(l.carry), rows(xs, l.slice_of_step(step), l.loc)}));
    const Array next = step + number(1);
    return concat({{&next, 1}, std::span(r).first(l.carry)});
  }));
  const Arrays r = bind_while(q, operands, l.loc);
  return {r.begin() + 1, r.end()};
}

/// What one step backwards reads and gives.
struct Backwards {
  Arrays carry, consts, xs;  ///< cotangents: of the carry, those of constants so far, of the slices of xs
};

/// One step backwards from its state, as a program of (consts, xs, which slices, cotangents of ys, state, cotangents of the carry, of
/// constants), if it is to be made; else nothing changes.
Backwards step_back(const Loop& l, const Array& is_made, const Ran& ran, const Array& slice, std::span<const Array> y_cts,
                    std::span<const Array> state, const Backwards& so_far) {
  const Arrays operands = concat({ran.consts, ran.xs, {&slice, 1}, y_cts, state, so_far.carry, so_far.consts});
  const std::size_t residuals = static_cast<std::size_t>(l.lin.num_residuals), dk = so_far.carry.size(), dc = so_far.consts.size();
  Mask linear(residuals, false);
  linear.insert(linear.end(), count_true(l.in), true);
  const TransposedProgram t = transpose_program(l.lin.linear, linear, Mask(count_true(l.lin.nonzero_out), true));
  const Jaxpr made = dce_program(make_program(l.what, avals_of(operands), [&](std::span<const Array> a) {
    Reader in(a);
    const auto k = in.take(l.consts), xs = in.take(l.xs);
    const Array at = in.one();
    const auto ys = in.take(y_cts.size()), c = in.take(l.carry), carry_cts = in.take(dk), const_cts = in.take(dc);
    const Arrays r = eval_jaxpr(l.lin.primal, concat({k, c, rows(xs, at, l.loc)}));
    Arrays known(r.begin() + static_cast<std::ptrdiff_t>(l.carry + l.ys), r.end());
    std::size_t next = 0;
    for (std::size_t i = 0; i < l.carry; ++i)
      if (l.in[l.consts + i]) {
        if (l.lin.nonzero_out[i]) known.push_back(carry_cts[next]);
        ++next;
      }
    append(known, rows(ys, at, l.loc));
    const Arrays back = eval_jaxpr(t.jaxpr, known);
    Arrays out, of_consts;
    const auto avals = l.body.data().input_avals();
    std::size_t given = 0, place = 0;
    for (std::size_t i = 0; i < l.in.size(); ++i) {
      if (!l.in[i]) continue;
      const Tangent ct = t.nonzero[place++] ? Tangent(back[given++]) : Tangent();
      if (i < l.consts)
        of_consts.push_back(ct ? add_any(const_cts[of_consts.size()], *ct, l.loc) : const_cts[of_consts.size()]);
      else
        out.push_back(instantiate(ct, avals[i], l.loc));
    }
    out.insert(out.begin() + static_cast<std::ptrdiff_t>(dk), of_consts.begin(), of_consts.end());
    return out;
  }));
  const Jaxpr same = make_program(l.what, avals_of(operands), [&](std::span<const Array> a) {
    Arrays out(a.end() - static_cast<std::ptrdiff_t>(dk + dc), a.end());
    const auto avals = l.body.data().input_avals();
    for (std::size_t i = l.consts + l.carry; i < l.in.size(); ++i)
      if (l.in[i]) out.push_back(zeros_of(avals[i], l.loc));
    return out;
  });
  const Arrays r = bind_cond({{same, made}}, concat({std::array{convert(is_made, int32)}, operands}), l.loc);
  Reader in(r);
  const auto carry = in.take(dk), consts = in.take(dc), xs = in.take(count_true(l.xs_in()));
  return {{carry.begin(), carry.end()}, {consts.begin(), consts.end()}, {xs.begin(), xs.end()}};
}

// Each iteration advances from the newest state to the next one to be kept, or to the last remaining step, which it then reverses.
Arrays reverse_cotangents(const Loop& l, const Mask& given, std::span<const Array> args) {
  Reader from(args);
  const Ran ran = Ran::read(from, l);
  const std::size_t dk = count_true(l.carry_in()), dc = count_true(l.consts_in()), dx = count_true(l.xs_in());
  const auto carry_cts = from.take(dk), y_cts = from.take(count_true(l.ys_out()));
  Arrays const_cts, x_cts;
  for (std::size_t i = 0; i < l.in.size(); ++i) {
    if (!l.in[i] || (i >= l.consts && i < l.consts + l.carry)) continue;
    const Aval aval = l.body.data().input_avals()[i];
    (i < l.consts ? const_cts : x_cts).push_back(zeros_of(i < l.consts ? aval : stacked(aval, l.length), l.loc));
  }
  const Array may_be_kept = states_of(l.checkpoints, ran.steps, l.at_most);
  // The newest state is carried beside the buffers, so that a step only writes to the buffers, in place.
  const auto newest_of = [&](const Arrays& states, const Array& count, const Array& slots) {
    return rows(states, element_at(slots, maximum(count - number(1), number(0)), l.loc), l.loc);
  };
  const Arrays carried = concat({std::array{ran.steps, ran.kept.count, ran.kept.steps}, ran.states,
                                 newest_of(ran.states, ran.kept.count, ran.kept.slots), carry_cts, const_cts, x_cts});
  const Arrays fixed = concat({std::array{may_be_kept, ran.kept.slots}, ran.consts, ran.xs, y_cts});
  const Arrays operands = concat({fixed, carried});
  const std::vector<Aval> avals = avals_of(operands);
  While::Params q;
  q.body_nconsts = static_cast<int>(fixed.size()), q.checkpoints = l.checkpoints;
  q.max_steps = l.bound > 0 && l.bound < std::numeric_limits<std::int64_t>::max() / 8 ? 8 * l.bound : 0;
  q.cond_jaxpr = make_program(l.what, avals_of(carried), [](std::span<const Array> a) { return Arrays{a[0] > number(0)}; });
  q.body_jaxpr = make_program(l.what, avals, [&](std::span<const Array> a) {
    Reader in(a);
    const Array allowed = in.one(), slots = in.one(), one = number(1);
    Ran now;
    const auto list = [&](std::size_t n) {
      const auto some = in.take(n);
      return Arrays(some.begin(), some.end());
    };
    now.consts = list(l.consts), now.xs = list(l.xs);
    const Arrays ys = list(y_cts.size());
    const Array left = in.one(), count = in.one(), steps = in.one();
    Arrays states = list(l.carry);
    const Arrays start = list(l.carry), of_carry = list(dk), of_consts = list(dc);
    Arrays of_xs = list(dx);

    const Array newest = count - one, begin = element_at(steps, newest, l.loc), slot = element_at(slots, newest, l.loc);
    const Array ahead = left - begin, further = steps_to_next_state(ahead, allowed - newest, l.loc), end = begin + further;
    const Array is_last = further == ahead - one;
    const Arrays state = advance(l, now, start, begin, end);
    const Array slice = l.slice_of_step(left - one);
    const Backwards back = step_back(l, is_last, now, slice, ys, state, {of_carry, of_consts, {}});

    // Where there is nothing to keep, the newest state is written over itself.
    const Array to = where(is_last, slot, element_at(slots, minimum(count, number(l.at_most - 1)), l.loc));
    Arrays kept;
    for (std::size_t i = 0; i < l.carry; ++i) kept.push_back(where(is_last, start[i], state[i]));
    set_rows(states, kept, to, l.loc);
    // The slice that is not yet known is written again when it is.
    set_rows(of_xs, back.xs, slice, l.loc);
    const Array position = iota_array(int64, steps.shape(), 0, l.loc);
    const Array next_steps = where((position == count) & ~is_last, end, steps);
    const Array next_count = where(is_last, where(ahead == one, newest, count), count + one);
    const Array next_left = where(is_last, left - one, left);
    return concat(
        {std::array{next_left, next_count, next_steps}, states, newest_of(states, next_count, slots), back.carry, back.consts, of_xs});
  });
  const Arrays r = bind_while(q, operands, l.loc);
  Reader out(r);
  out.take(3 + 2 * l.carry);
  const auto of_carry = out.take(dk), of_consts = out.take(dc), of_xs = out.take(dx);
  Arrays result(of_consts.begin(), of_consts.end());
  for (std::size_t i = 0, next = 0; i < l.carry; ++i)
    if (l.in[l.consts + i]) {
      if (given[i]) result.push_back(of_carry[next]);
      ++next;
    }
  append(result, of_xs);
  return result;
}

/// The linear map as a call with both directions; its results are the tangents of the carries and ys that have one.
Arrays bind_tangents(const Loop& l, const Ran& ran, const Mask& given, std::span<const Tangent> consts, std::span<const Tangent> carry,
                     std::span<const Tangent> xs) {
  Arrays tangents = nonzero_tangents(consts);
  append(tangents, nonzero_tangents(carry)), append(tangents, nonzero_tangents(xs));
  const Arrays known = ran.flat();
  LinearCallParams p;
  p.num_known = static_cast<int>(known.size());
  const Arrays operands = concat(known, tangents);
  std::vector<Aval> back = avals_of(known);
  p.call_jaxpr = make_program(l.what, avals_of(operands), [&](std::span<const Array> a) { return forward_tangents(l, given, a); });
  const std::vector<Aval> out = p.call_jaxpr.data().output_avals();
  back.insert(back.end(), out.begin(), out.end());
  p.transpose_jaxpr = make_program(l.what, back, [&](std::span<const Array> a) { return reverse_cotangents(l, given, a); });
  return bind_linear_call(p, operands, l.loc);
}

void check_repeatable(const Jaxpr& j, const char* what, SourceLoc loc) {
  if (performs_io(j))
    throw TracerError(std::string(what) +
                          ": with checkpoints the derivative computes steps again, so that an io_callback in the loop would run more than "
                          "once for a step; leave out checkpoints, or the callback",
                      effective_loc(loc));
}

/// Buffers of so many states, all of them the first one.
Arrays buffers(std::span<const Array> start, std::int64_t states, SourceLoc loc) {
  Arrays out;
  for (const Array& x : start) out.push_back(broadcast_batch_dim(x, states, 0, loc));
  return out;
}

}  // namespace

JvpResult linearize_checkpointed(const While::Params& p, const JvpContext& c, const Mask& carry) {
  check_repeatable(p.body_jaxpr, "while_loop", c.loc), check_repeatable(p.cond_jaxpr, "while_loop", c.loc);
  const auto a = static_cast<std::size_t>(p.cond_nconsts), b = static_cast<std::size_t>(p.body_nconsts), n = carry.size();
  const auto cond_consts = c.in.first(a), body_consts = c.in.subspan(a, b), start = c.in.subspan(a + b);
  const auto const_tangents = c.tangents.subspan(a, b), carry_tangents = c.tangents.subspan(a + b);
  Loop l{.body = p.body_jaxpr,
         .consts = b,
         .carry = n,
         .xs = 0,
         .ys = 0,
         .length = 0,
         .reverse = false,
         .checkpoints = p.checkpoints,
         .at_most = states_at_most(p.checkpoints, p.max_steps),
         .bound = p.max_steps,
         .in = nonzero_of(const_tangents),
         .loc = c.loc,
         .what = "while_loop"};
  l.in.insert(l.in.end(), carry.begin(), carry.end());
  l.lin = linearize_program(p.body_jaxpr, l.in);

  // (the number of the step, the states kept, their buffers, the carry)
  const KeptStates none = no_states(l.at_most, c.loc);
  const Arrays kept{none.count, none.slots, none.steps, none.levels, none.raised};
  const Array first = number(0);
  const Arrays carried = concat({{&first, 1}, kept, buffers(start, l.at_most, c.loc), start});
  const std::size_t before = carried.size() - n;
  While::Params q = p;
  std::vector<Aval> cond_avals = avals_of(cond_consts), body_avals = avals_of(body_consts);
  for (std::vector<Aval>* avals : {&cond_avals, &body_avals})
    for (const Array& x : carried) avals->push_back(x.aval());
  q.cond_jaxpr = make_program("while_loop", cond_avals, [&](std::span<const Array> args) {
    return eval_jaxpr(p.cond_jaxpr, concat({args.first(a), args.subspan(a + before)}));
  });
  q.body_jaxpr = make_program("while_loop", body_avals, [&](std::span<const Array> args) {
    Reader in(args);
    const auto consts = in.take(b);
    const Array step = in.one();
    KeptStates k;
    k.count = in.one(), k.slots = in.one(), k.steps = in.one(), k.levels = in.one(), k.raised = in.one();
    const auto old = in.take(n);
    Arrays states(old.begin(), old.end());
    const auto state = in.take(n);
    const PlacedState placed = place_state(k, step, states_of(p.checkpoints, step, l.at_most), c.loc);
    set_rows(states, state, placed.slot, c.loc);
    const KeptStates& next = placed.kept;
    return concat({std::array{step + number(1), next.count, next.slots, next.steps, next.levels, next.raised}, states,
                   eval_jaxpr(p.body_jaxpr, concat({consts, state}))});
  });
  const Arrays r = bind_while(q, concat({cond_consts, body_consts, carried}), c.loc);
  Reader out(r);
  Ran ran;
  ran.steps = out.one();
  ran.kept.count = out.one(), ran.kept.slots = out.one(), ran.kept.steps = out.one();
  out.take(2);
  const auto states = out.take(n), end = out.take(n);
  ran.states.assign(states.begin(), states.end());
  ran.consts.assign(body_consts.begin(), body_consts.end());
  const Arrays tangents = bind_tangents(l, ran, nonzero_of(carry_tangents), const_tangents, carry_tangents, {});
  JvpResult result{{end.begin(), end.end()}, std::vector<Tangent>(n)};
  std::size_t next = 0;
  for (std::size_t i : where_true(carry)) result.tangents[i] = tangents[next++];
  return result;
}

JvpResult linearize_checkpointed(const Scan::Params& p, const JvpContext& c, const Mask& carry) {
  check_repeatable(p.jaxpr, "scan", c.loc);
  const auto k = static_cast<std::size_t>(p.num_consts), n = carry.size(), x = c.in.size() - k - n;
  const auto consts = c.in.first(k), start = c.in.subspan(k, n), xs = c.in.subspan(k + n);
  const auto const_tangents = c.tangents.first(k), carry_tangents = c.tangents.subspan(k, n), x_tangents = c.tangents.subspan(k + n);
  const std::int64_t at_most = states_at_most(p.checkpoints, p.length);
  Loop l{.body = p.jaxpr,
         .consts = k,
         .carry = n,
         .xs = x,
         .ys = p.jaxpr.data().outputs.size() - n,
         .length = p.length,
         .reverse = p.reverse,
         .checkpoints = p.checkpoints,
         .at_most = at_most,
         .bound = p.length,
         .in = nonzero_of(const_tangents),
         .loc = c.loc,
         .what = "scan"};
  l.in.insert(l.in.end(), carry.begin(), carry.end());
  const Mask of_xs = nonzero_of(x_tangents);
  l.in.insert(l.in.end(), of_xs.begin(), of_xs.end());
  l.lin = linearize_program(p.jaxpr, l.in);

  // The last slot is for states that are not kept, as each step writes its own somewhere. The one before the last step is left there.
  const std::vector<std::int64_t> places = binomial_states(p.length, at_most - 1);
  std::vector<std::int64_t> padded = places, all_steps, slots(static_cast<std::size_t>(at_most));
  padded.resize(slots.size(), -1);
  all_steps = padded;
  std::iota(slots.begin(), slots.end(), std::int64_t{0});
  std::size_t kept = places.size();
  if (places.back() != p.length - 1) {
    all_steps[kept] = p.length - 1;
    std::swap(slots[kept++], slots.back());
  }
  const Array steps = array(padded);
  const Array zero = number(0);
  const Arrays carried = concat({std::array{zero, zero}, buffers(start, at_most, c.loc), start});
  Scan::Params q = p;
  q.num_consts += 1, q.num_carry = static_cast<int>(carried.size());
  const Arrays operands = concat({{&steps, 1}, consts, carried, xs});
  std::vector<Aval> avals = avals_of(operands);
  for (std::size_t i = 1 + k + carried.size(); i < avals.size(); ++i) avals[i] = avals[i].with_shape(avals[i].shape.erased(0));
  q.jaxpr = make_program("scan", avals, [&](std::span<const Array> args) {
    Reader in(args);
    const Array& kept_steps = in.one();
    const auto own = in.take(k);
    const Array step = in.one(), count = in.one();
    const auto old = in.take(n);
    Arrays states(old.begin(), old.end());
    const auto state = in.take(n), slices = in.take(x);
    const Array is_kept = element_at(kept_steps, count, c.loc) == step;
    set_rows(states, state, where(is_kept, count, number(at_most - 1)), c.loc);
    const Array next = step + number(1), next_count = where(is_kept, count + number(1), count);
    return concat({std::array{next, next_count}, states, eval_jaxpr(p.jaxpr, concat({own, state, slices}))});
  });
  const Arrays r = bind_scan(q, operands, c.loc);
  Reader out(r);
  out.take(2);
  Ran ran;
  const auto states = out.take(n), end = out.take(n), ys = out.take(l.ys);
  ran.steps = number(p.length);
  ran.kept.count = number(static_cast<std::int64_t>(kept));
  ran.kept.slots = array(slots), ran.kept.steps = array(all_steps);
  ran.states.assign(states.begin(), states.end());
  ran.consts.assign(consts.begin(), consts.end()), ran.xs.assign(xs.begin(), xs.end());
  const Arrays tangents = bind_tangents(l, ran, nonzero_of(carry_tangents), const_tangents, carry_tangents, x_tangents);
  JvpResult result{concat({end, ys}), std::vector<Tangent>(n + l.ys)};
  std::size_t next = 0;
  for (std::size_t i = 0; i < n + l.ys; ++i)
    if (i < n ? carry[i] : l.lin.nonzero_out[i]) result.tangents[i] = tangents[next++];
  return result;
}

}  // namespace weft::detail
