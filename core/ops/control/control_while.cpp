// Loops that a condition ends: while.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "weft/core/base/counted.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/ir/effects.h"
#include "weft/core/ir/liveness.h"
#include "weft/core/ir/sealed_program.h"
#include "weft/core/ops/control/checkpointed_loop.h"
#include "weft/core/ops/control/control.h"
#include "weft/core/ops/control/control_common.h"
#include "weft/core/ops/control/control_rules.h"
#include "weft/core/ops/control/loop_rewrites.h"
#include "weft/core/ops/control/remat.h"
#include "weft/core/ops/movement/operand_parts.h"
#include "weft/core/text/text_rules.h"

namespace weft::detail {

std::vector<Aval> While::abstract_eval(const OpContext& c) {
  const Params& p = c.get<Params>();
  check_parts(c, {p.cond_nconsts, p.body_nconsts}, c.in.size());
  const std::size_t consts = static_cast<std::size_t>(p.cond_nconsts + p.body_nconsts);
  const std::vector<Aval> pred = p.cond_jaxpr.data().output_avals();
  if (pred.size() != 1 || pred[0].dtype != bool_ || !pred[0].shape.empty())
    c.fail<DTypeError>(fmt::format("the condition returns {}, not bool[]", pred.empty() ? "nothing" : to_string(pred[0])),
                       "reduce it with any or all");
  const std::vector<Aval> out = p.body_jaxpr.data().output_avals();
  if (consts + out.size() != c.in.size())
    c.fail<PytreeError>(fmt::format("the body returns {} for a carry of {}", counted(out.size(), "value"), c.in.size() - consts));
  for (std::size_t i = 0; i < out.size(); ++i)
    if (!same_type(out[i], c.in[consts + i]))
      c.fail<ShapeError>(fmt::format("the carry starts as {}, but the body returns {}", to_string(c.in[consts + i]), to_string(out[i])),
                         "the body must return a carry of the same type");
  const auto check_inputs = [&](const char* of, const Jaxpr& j, std::span<const Aval> own) {
    const auto want = j.data().input_avals();
    std::vector<Aval> given(own.begin(), own.end());
    given.insert(given.end(), c.in.begin() + static_cast<std::ptrdiff_t>(consts), c.in.end());
    if (want.size() != given.size())
      c.fail<PytreeError>(fmt::format("the {} takes {}, given {}", of, counted(want.size(), "operand"), given.size()));
    for (std::size_t i = 0; i < want.size(); ++i)
      if (!same_type(want[i], given[i]))
        c.fail<ShapeError>(fmt::format("the {} takes {} as operand {}, given {}", of, to_string(want[i]), i, to_string(given[i])));
  };
  const auto cond_consts = static_cast<std::size_t>(p.cond_nconsts), body_consts = static_cast<std::size_t>(p.body_nconsts);
  check_inputs("condition", p.cond_jaxpr, c.in.first(cond_consts));
  check_inputs("body", p.body_jaxpr, c.in.subspan(cond_consts, body_consts));
  return out;
}

namespace {

struct Operands {
  std::span<const Array> cond_consts, body_consts, carry;
};
Operands split(const While::Params& p, std::span<const Array> in) {
  const std::size_t a = static_cast<std::size_t>(p.cond_nconsts), b = static_cast<std::size_t>(p.body_nconsts);
  return {in.first(a), in.subspan(a, b), in.subspan(a + b)};
}

// The condition, which ignores the tangents that are behind the carry.
Jaxpr ignoring_tail(const Jaxpr& cond, const std::vector<Aval>& tail) {
  const auto in = cond.data().input_avals();
  std::vector<Aval> inputs(in.begin(), in.end());
  inputs.insert(inputs.end(), tail.begin(), tail.end());
  return make_program("while", inputs, [&](std::span<const Array> args) { return eval_jaxpr(cond, args.first(in.size())); });
}

}  // namespace

JvpResult While::jvp_call(const JvpContext& c) {
  const Params& p = c.get<Params>();
  const Operands in = split(p, c.in);
  const std::size_t a = in.cond_consts.size(), b = in.body_consts.size(), n = in.carry.size();
  std::vector<bool> nonzero_in = nonzero_of(c.tangents.subspan(a));
  const JvpProgram jvp =
      rewritten_body(p.body_jaxpr, nonzero_in, b, n, [](const Jaxpr& j, const std::vector<bool>& given) { return jvp_program(j, given); });
  const std::vector<bool> carry(nonzero_in.begin() + static_cast<std::ptrdiff_t>(b), nonzero_in.end());
  const Jaxpr body = with_outputs_wanted(p.body_jaxpr, jvp, carry);
  // Its inputs are (consts, carry, dconsts, dcarry); a loop wants (consts, dconsts, carry, dcarry).
  const std::vector<Array> const_tangents = nonzero_tangents(c.tangents.subspan(a, b));
  std::vector<Array> carry_tangents;
  for (std::size_t i : where_true(carry)) carry_tangents.push_back(instantiate(c.tangents[a + b + i], in.carry[i].aval(), c.loc));
  const std::vector<Aval> inputs = avals_of(concat({in.body_consts, const_tangents, in.carry, carry_tangents}));
  Params q;
  q.max_steps = p.max_steps, q.checkpoints = p.checkpoints;
  q.body_nconsts = static_cast<int>(b + const_tangents.size());
  q.cond_nconsts = p.cond_nconsts;
  q.body_jaxpr = make_program("while", inputs, [&](std::span<const Array> args) {
    std::vector<Array> order(args.begin(), args.begin() + static_cast<std::ptrdiff_t>(b));
    append(order, args.subspan(b + const_tangents.size(), n));
    append(order, args.subspan(b, const_tangents.size()));
    append(order, args.subspan(b + const_tangents.size() + n));
    return eval_jaxpr(body, order);
  });
  q.cond_jaxpr = ignoring_tail(p.cond_jaxpr, avals_of(carry_tangents));
  std::vector<Array> all(in.cond_consts.begin(), in.cond_consts.end());
  append(all, in.body_consts), append(all, const_tangents), append(all, in.carry), append(all, carry_tangents);
  const std::vector<Array> r = bind_while(q, all, c.loc);
  JvpResult result{{r.begin(), r.begin() + static_cast<std::ptrdiff_t>(n)}, std::vector<Tangent>(n)};
  std::size_t next = n;
  for (std::size_t i : where_true(carry)) result.tangents[i] = r[next++];
  return result;
}

// The loop as a scan over scans of about the square root of its bound each, the inner ones recomputed in reverse: what is kept grows as
// that root. Steps after the condition has failed do nothing.
Jaxpr bounded_while(const While::Params& p, std::span<const Array> in, SourceLoc loc) {
  const Operands o = split(p, in);
  const std::size_t consts = o.cond_consts.size() + o.body_consts.size(), n = o.carry.size();
  const std::vector<Aval> avals = avals_of(in);
  const std::vector<Aval> carry_avals = avals_of(o.carry);
  const Jaxpr same = make_program("while_loop", avals_of(in.subspan(o.cond_consts.size())), [&](std::span<const Array> a) {
    return std::vector<Array>(a.end() - static_cast<std::ptrdiff_t>(n), a.end());
  });
  const Jaxpr step = make_program("while_loop", avals, [&](std::span<const Array> a) {
    std::vector<Array> for_cond(a.begin(), a.begin() + p.cond_nconsts);
    append(for_cond, a.subspan(consts));
    std::vector<Array> operands{convert(eval_jaxpr(p.cond_jaxpr, for_cond)[0], int32)};
    append(operands, a.subspan(o.cond_consts.size()));
    return bind_cond({{same, p.body_jaxpr}}, operands, loc);
  });
  const std::int64_t inner = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::sqrt(static_cast<double>(p.max_steps)))),
                     outer = (p.max_steps - 1) / inner + 1;
  auto scan = [&](const Jaxpr& body, std::int64_t length, std::span<const Array> operands) {
    return bind_scan({body, length, static_cast<int>(n), static_cast<int>(consts), false, 1}, operands, loc);
  };
  const Jaxpr several = make_program("while_loop", avals, [&](std::span<const Array> a) { return scan(step, inner, a); });
  const Jaxpr recomputed =
      make_program("while_loop", avals, [&](std::span<const Array> a) { return bind_remat(several, {}, true, a, loc); });
  return make_program("while_loop", avals, [&](std::span<const Array> a) { return scan(recomputed, outer, a); });
}

JvpResult While::linearize_call(const JvpContext& c) {
  const Params& p = c.get<Params>();
  const auto cond_consts = static_cast<std::size_t>(p.cond_nconsts), body_consts = static_cast<std::size_t>(p.body_nconsts),
             before = cond_consts + body_consts;
  std::vector<bool> nonzero = nonzero_of(c.tangents.subspan(cond_consts));
  rewritten_body(p.body_jaxpr, nonzero, body_consts, c.in.size() - before,
                 [](const Jaxpr& j, const std::vector<bool>& in) { return linearize_program(j, in); });
  const std::vector<bool> carry(nonzero.begin() + static_cast<std::ptrdiff_t>(body_consts), nonzero.end());
  // Where no carry has a tangent, as with counts and draws by rejection, nothing of the steps need be kept.
  if (std::find(carry.begin(), carry.end(), true) == carry.end())
    return {bind_primitive(c.op, c.params, c.in, c.loc), std::vector<Tangent>(carry.size())};
  if (p.checkpoints != 0) return linearize_checkpointed(p, c, carry);
  if (p.max_steps <= 0) {
    // The steps' values can't be kept: the linear part runs the loop again, with tangents. It can't be transposed.
    if (performs_io(p.body_jaxpr) || performs_io(p.cond_jaxpr))
      throw TracerError(
          "while_loop: linearize runs a loop without a bound a second time, with tangents, so that an io_callback in it would be repeated; "
          "give the bound with {.max_steps = n}, or differentiate with jvp",
          effective_loc(c.loc));
    return {bind_primitive(c.op, c.params, c.in, c.loc), jvp_call(c).tangents};
  }
  // The carries' tangents are given, so that the scans inside of one another need not find them again.
  std::vector<Tangent> tangents(c.tangents.begin(), c.tangents.end());
  for (std::size_t k : where_true(carry)) tangents[before + k] = instantiate(tangents[before + k], c.in[before + k].aval(), c.loc);
  const LinearizedProgram lin = linearize_program(bounded_while(p, c.in, c.loc), nonzero_of(tangents));
  std::vector<Array> r = eval_jaxpr(lin.primal, c.in);
  const std::size_t num_out = lin.nonzero_out.size();
  std::vector<Array> in(r.begin() + static_cast<std::ptrdiff_t>(num_out), r.end());
  append(in, nonzero_tangents(tangents));
  const std::vector<Array> tangents_out = eval_jaxpr(lin.linear, in);
  r.resize(num_out);
  JvpResult result{std::move(r), std::vector<Tangent>(num_out)};
  std::size_t next = 0;
  for (std::size_t i : where_true(lin.nonzero_out)) result.tangents[i] = tangents_out[next++];
  return result;
}

std::vector<Tangent> While::transpose(const TransposeContext& c) {
  const Params& p = c.get<Params>();
  // A loop that goes on as long as its linear operands say is not linear.
  const LiveSet read = live_set_of(p.cond_jaxpr);
  const auto consts = static_cast<std::size_t>(p.cond_nconsts), skipped = static_cast<std::size_t>(p.body_nconsts);
  for (std::size_t i = 0; i < p.cond_jaxpr.data().input_avals().size(); ++i)
    if (read.input(p.cond_jaxpr, i)) (void)c.in[i < consts ? i : i + skipped].known();
  throw TracerError(
      "while_loop: reverse-mode differentiation needs the number of steps to be bounded, as every step's values are kept; give the bound "
      "with {.max_steps = n}, or have few states kept, of any number of steps, with {.checkpoints = Checkpoints::logarithmic}; or use scan "
      "or fori_loop with constant bounds, or differentiate forward with jvp, linearize or jacfwd",
      effective_loc(c.loc));
}

While::Params while_lanes(const While::Params& p, const std::vector<Aval>& cond_consts, const std::vector<Aval>& body_consts,
                          const std::vector<Aval>& carry) {
  const std::size_t a = cond_consts.size(), b = body_consts.size();
  std::vector<Aval> cond_inputs = cond_consts, body_inputs = cond_consts;
  body_inputs.insert(body_inputs.end(), body_consts.begin(), body_consts.end());
  for (std::vector<Aval>* inputs : {&cond_inputs, &body_inputs}) inputs->insert(inputs->end(), carry.begin(), carry.end());
  While::Params q = p;
  q.cond_jaxpr =
      make_program("while", cond_inputs, [&](std::span<const Array> args) { return std::vector{any(eval_jaxpr(p.cond_jaxpr, args)[0])}; });
  q.body_jaxpr = make_program("while", body_inputs, [&](std::span<const Array> args) {
    std::vector<Array> for_cond(args.begin(), args.begin() + static_cast<std::ptrdiff_t>(a));
    const auto old = args.subspan(a + b);
    append(for_cond, old);
    const Array go_on = eval_jaxpr(p.cond_jaxpr, for_cond)[0];
    std::vector<Array> next = eval_jaxpr(p.body_jaxpr, args.subspan(a));
    for (std::size_t i = 0; i < next.size(); ++i) {
      Shape lanes = go_on.shape();
      while (lanes.size() < next[i].ndim()) lanes.push_back(1);
      next[i] = where(reshape(go_on, lanes), next[i], old[i]);
    }
    return next;
  });
  q.body_nconsts = static_cast<int>(a + b);
  return q;
}

BatchResult While::batch(const BatchContext& c) {
  const Params& p = c.get<Params>();
  const Operands in = split(p, c.in);
  const std::size_t a = in.cond_consts.size(), b = in.body_consts.size(), n = in.carry.size();
  const std::vector<int> cond_dims(c.dims.begin(), c.dims.begin() + static_cast<std::ptrdiff_t>(a));
  const std::vector<int> body_dims(c.dims.begin() + static_cast<std::ptrdiff_t>(a), c.dims.begin() + static_cast<std::ptrdiff_t>(a + b));
  std::vector<int> carry(n);
  for (std::size_t i = 0; i < n; ++i) carry[i] = c.dims[a + b + i] == kNotMapped ? kNotMapped : 0;
  auto joined = [](std::vector<int> first, const std::vector<int>& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
  };
  const std::vector<int> in_dims = mapped_inputs(p.body_jaxpr, c.axis, joined(body_dims, carry), b, n);
  carry.assign(in_dims.begin() + static_cast<std::ptrdiff_t>(b), in_dims.end());
  const bool lanes_differ = batch_program(p.cond_jaxpr, c.axis, joined(cond_dims, carry)).out_dims[0] != kNotMapped;
  if (lanes_differ) std::fill(carry.begin(), carry.end(), 0);
  Params q;
  q.max_steps = p.max_steps, q.checkpoints = p.checkpoints;
  q.body_jaxpr = batch_program(p.body_jaxpr, c.axis, joined(body_dims, carry), carry).jaxpr;
  q.cond_jaxpr = batch_program(p.cond_jaxpr, c.axis, joined(cond_dims, carry), std::vector<int>{lanes_differ ? 0 : kNotMapped}).jaxpr;
  q.cond_nconsts = p.cond_nconsts, q.body_nconsts = p.body_nconsts;
  std::vector<Array> starts;
  for (std::size_t i = 0; i < n; ++i)
    starts.push_back(carry[i] == kNotMapped ? in.carry[i] : materialize_batch_dim(in.carry[i], c.dims[a + b + i], c.axis.size, 0, c.loc));
  std::vector<Array> all(in.cond_consts.begin(), in.cond_consts.end());
  if (!lanes_differ) {
    append(all, in.body_consts), append(all, starts);
    return {bind_while(q, all, c.loc), carry};
  }
  if (performs_io(p.body_jaxpr) || performs_io(p.cond_jaxpr))
    throw TracerError(
        "while_loop: under vmap with a condition that differs from lane to lane all lanes go on until the last is done, so that an "
        "io_callback would run for lanes that have ended; loop over the lanes with scan or map",
        effective_loc(c.loc));
  const Params lanes = while_lanes(q, avals_of(in.cond_consts), avals_of(in.body_consts), avals_of(starts));
  append(all, in.cond_consts), append(all, in.body_consts), append(all, starts);
  return {bind_while(lanes, all, c.loc), carry};
}

namespace {

std::vector<Array> run_while(const ParamsBase& params, std::span<const Array> in, const ProgramRunner& run) {
  const auto& p = params_as<While::Params>(params);
  const std::size_t a = static_cast<std::size_t>(p.cond_nconsts), b = static_cast<std::size_t>(p.body_nconsts);
  std::vector<Array> for_cond(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(a));
  std::vector<Array> for_body(in.begin() + static_cast<std::ptrdiff_t>(a), in.begin() + static_cast<std::ptrdiff_t>(a + b));
  std::vector<Array> carry(in.begin() + static_cast<std::ptrdiff_t>(a + b), in.end());
  std::vector<std::byte> storage;
  for (;;) {
    for_cond.resize(a);
    for_cond.insert(for_cond.end(), carry.begin(), carry.end());
    const Array go_on = run(p.cond_jaxpr, for_cond)[0];
    if (*bytes_of(go_on, storage) == std::byte{0}) return carry;
    for_cond.resize(a);
    for_body.resize(b);
    for_body.insert(for_body.end(), std::make_move_iterator(carry.begin()), std::make_move_iterator(carry.end()));
    carry = run(p.body_jaxpr, for_body);
  }
}

std::optional<VaryingList> varying_while(const VaryingContext& c) {
  const auto& p = c.get<While::Params>();
  const auto a = static_cast<std::size_t>(p.cond_nconsts), b = static_cast<std::size_t>(p.body_nconsts);
  const VaryingList carry = part_of(c.in, a + b, c.in.size() - a - b);
  const std::optional<VaryingList> stop = varying_of_program(p.cond_jaxpr, followed_by(part_of(c.in, 0, a), carry));
  const std::optional<VaryingList> out = varying_of_program(p.body_jaxpr, followed_by(part_of(c.in, a, b), carry));
  if (!stop || !out || *out != carry) return {};
  for (Varying v : carry)
    if ((*stop)[0] & ~v) return {};
  return out;
}

EqnVarying mark_while(const VaryingContext& c) {
  EqnVarying r{c.in, {}, {}};
  While::Params q = c.get<While::Params>();
  const auto a = static_cast<std::size_t>(q.cond_nconsts), b = static_cast<std::size_t>(q.body_nconsts);
  VaryingList carry = part_of(c.in, a + b, c.in.size() - a - b), stop;
  Jaxpr body, cond;
  do {
    body = mark_program(q.body_jaxpr, followed_by(part_of(c.in, a, b), carry), r.out, carry);
    cond = mark_program(q.cond_jaxpr, followed_by(part_of(c.in, 0, a), carry), stop);
  } while (widen(carry, r.out, stop[0]));
  r.need = followed_by(part_of(c.in, 0, a + b), carry), r.out = carry;
  q.body_jaxpr = body, q.cond_jaxpr = cond;
  r.params = make_params(std::move(q));
  return r;
}

std::optional<ShardedValues> partition_while(const PartitionContext& c) {
  While::Params q = c.get<While::Params>();
  const ShardedValues& in = c.in;
  const auto a = static_cast<std::size_t>(q.cond_nconsts), b = static_cast<std::size_t>(q.body_nconsts);
  std::vector<DimAxes> axes;
  for (const ShardedValue& x : in) axes.push_back(x.axes);
  const auto at = [&](std::size_t i) { return axes.begin() + static_cast<std::ptrdiff_t>(i); };
  std::vector<DimAxes> carry(at(a + b), axes.end());
  PartitionedProgram body;
  for (bool again = true; again;) {
    std::vector<DimAxes> body_in(at(a), at(a + b));
    body_in.insert(body_in.end(), carry.begin(), carry.end());
    body = partition_program(c, q.body_jaxpr, body_in, carry);
    again = adopt(carry, body.out);
  }
  std::vector<DimAxes> cond_in(axes.begin(), at(a));
  cond_in.insert(cond_in.end(), carry.begin(), carry.end());
  const PartitionedProgram stop = partition_program(c, q.cond_jaxpr, cond_in, {DimAxes()});
  std::vector<Array> operands;
  for (std::size_t i = 0; i < in.size(); ++i) operands.push_back(c.reshard(in[i], i < a + b ? axes[i] : carry[i - a - b]).block);
  q.body_jaxpr = body.jaxpr, q.cond_jaxpr = stop.jaxpr;
  const std::vector<Array> out = bind_all<While>(q, operands, c.eqn.loc);
  ShardedValues results;
  for (std::size_t k = 0; k < out.size(); ++k) results.push_back(c.partition.of_block(out[k], carry[k]));
  return results;
}

/// A loop over lanes, as vmap in JAX writes it, becomes one with a scalar condition.
void read_lanes(TextEquation& e) {
  const auto& p = params_as<While::Params>(*e.params);
  const std::vector<Aval> condition = p.cond_jaxpr.data().output_avals();
  const int consts = p.cond_nconsts + p.body_nconsts;
  if (condition.size() != 1 || condition[0].dtype != bool_ || condition[0].shape.empty()) return;
  const int carry = static_cast<int>(e.inputs.size()) - consts;
  if (p.cond_nconsts < 0 || p.body_nconsts < 0 || carry < 0 || p.cond_jaxpr.data().num_inputs != p.cond_nconsts + carry ||
      p.body_jaxpr.data().num_inputs != p.body_nconsts + carry)
    return;
  const auto first = e.avals.begin(), second = first + p.cond_nconsts, third = first + consts;
  const std::vector<Atom> cond_consts(e.inputs.begin(), e.inputs.begin() + p.cond_nconsts);
  const std::vector<Aval> cond_avals(first, second);
  e.params = make_params(while_lanes(p, cond_avals, {second, third}, {third, e.avals.end()}));
  e.inputs.insert(e.inputs.begin(), cond_consts.begin(), cond_consts.end());
  e.avals.insert(e.avals.begin(), cond_avals.begin(), cond_avals.end());
}

constexpr ParamValue kLeftOut[] = {{"max_steps", "0"}, {"checkpoints", "0"}};
const TextRule<While> while_text([] { return TextTraits{.left_out = kLeftOut}; });
const ReadRule<While> while_read(read_lanes);
const RunRule<While> while_run(run_while);
const Rule<UnboundedTransform, While> while_unbounded([] {});
const VaryingRule<While> while_varying(varying_while);
const MarkVaryingRule<While> while_marks(mark_while);
const PartitionRule<While> while_partition(partition_while);
const KeyUseRule<While> while_keys([](const ParamsBase& p, KeyUses& uses) {
  const auto& q = params_as<While::Params>(p);
  uses.by_program(q.body_jaxpr, static_cast<std::size_t>(q.cond_nconsts));
});

}  // namespace

}  // namespace weft::detail
