// Loops of known length: scan.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "weft/core/array/host.h"
#include "weft/core/base/counted.h"
#include "weft/core/ops/control/checkpointed_loop.h"
#include "weft/core/ops/control/control.h"
#include "weft/core/ops/control/control_common.h"
#include "weft/core/ops/control/control_rules.h"
#include "weft/core/ops/control/loop_rewrites.h"
#include "weft/core/ops/movement/operand_parts.h"
#include "weft/core/text/text_rules.h"

namespace weft::detail {
namespace {

struct Counts {
  std::size_t consts, carry, xs, ys;
};
Counts count(const Scan::Params& p) {
  const std::size_t c = static_cast<std::size_t>(p.num_consts), k = static_cast<std::size_t>(p.num_carry);
  return {c, k, static_cast<std::size_t>(p.jaxpr.data().num_inputs) - c - k, p.jaxpr.data().outputs.size() - k};
}

Aval stacked(const Aval& a, std::int64_t length) { return a.with_shape(a.shape.inserted(0, length)); }
Aval slice_of(const Aval& a) { return a.with_shape(a.shape.erased(0)); }

std::vector<bool> part(const std::vector<bool>& v, std::size_t from, std::size_t n) {
  return {v.begin() + static_cast<std::ptrdiff_t>(from), v.begin() + static_cast<std::ptrdiff_t>(from + n)};
}
std::size_t count_true(const std::vector<bool>& v) { return static_cast<std::size_t>(std::count(v.begin(), v.end(), true)); }

}  // namespace

std::vector<Aval> Scan::abstract_eval(const OpContext& c) {
  const Params& p = c.get<Params>();
  check_parts(c, {p.num_consts, p.num_carry}, c.in.size());
  check_parts(c, {p.num_consts, p.num_carry}, p.jaxpr.data().input_avals().size(), "inputs of the body");
  check_parts(c, {p.num_carry}, p.jaxpr.data().outputs.size(), "results of the body");
  if (p.length < 0) c.fail<ShapeError>(fmt::format("the length is {}", p.length), "it must not be negative");
  const Counts n = count(p);
  const auto in = p.jaxpr.data().input_avals();
  if (in.size() != c.in.size()) c.fail<PytreeError>(fmt::format("the body takes {}, given {}", counted(in.size(), "operand"), c.in.size()));
  std::vector<Aval> out = p.jaxpr.data().output_avals();
  for (std::size_t i = 0; i < in.size(); ++i) {
    const bool is_x = i >= n.consts + n.carry;
    if (is_x && (c.in[i].shape.empty() || c.in[i].shape[0] != p.length))
      c.fail<ShapeError>(fmt::format("xs must have a leading axis of length {}, not {}", p.length, to_string(c.in[i])));
    const Aval given = is_x ? slice_of(c.in[i]) : c.in[i];
    if (!same_type(given, in[i])) c.fail<ShapeError>(fmt::format("the body takes {}, given {}", to_string(in[i]), to_string(given)));
  }
  for (std::size_t i = 0; i < n.carry; ++i)
    if (!same_type(out[i], in[n.consts + i]))
      c.fail<ShapeError>(fmt::format("the carry starts as {}, but the body returns {}", to_string(in[n.consts + i]), to_string(out[i])),
                         "the body must return a carry of the same type");
  for (std::size_t i = 0; i < n.ys; ++i) out[n.carry + i] = stacked(out[n.carry + i], p.length);
  return out;
}

JvpResult Scan::jvp_call(const JvpContext& c) {
  const Params& p = c.get<Params>();
  const Counts n = count(p);
  std::vector<bool> nonzero_in = nonzero_of(c.tangents);
  const JvpProgram jvp = rewritten_body(p.jaxpr, nonzero_in, n.consts, n.carry,
                                        [](const Jaxpr& j, const std::vector<bool>& in) { return jvp_program(j, in); });
  const std::vector<bool> consts = part(nonzero_in, 0, n.consts), carry = part(nonzero_in, n.consts, n.carry),
                          xs = part(nonzero_in, n.consts + n.carry, n.xs);
  std::vector<bool> wanted = jvp.nonzero_out;
  std::copy(carry.begin(), carry.end(), wanted.begin());
  const Jaxpr body = with_outputs_wanted(p.jaxpr, jvp, wanted);
  const std::size_t dc = count_true(consts), dk = count_true(carry), dx = count_true(xs);
  // The jvp's inputs are (consts, carry, xs, dconsts, dcarry, dxs), its outputs (carry, ys, dcarry, dys); a scan needs constants, carry and
  // xs grouped.
  std::vector<Array> tangents;
  for (std::size_t i : where_true(nonzero_in)) tangents.push_back(instantiate(c.tangents[i], c.in[i].aval(), c.loc));
  const std::span<const Array> t(tangents);
  const std::vector<Array> operands = concat({c.in.first(n.consts), t.first(dc), c.in.subspan(n.consts, n.carry), t.subspan(dc, dk),
                                              c.in.subspan(n.consts + n.carry), t.subspan(dc + dk)});
  std::vector<Aval> inputs = avals_of(operands);
  for (std::size_t i = n.consts + dc + n.carry + dk; i < inputs.size(); ++i) inputs[i] = slice_of(inputs[i]);
  Params q = p;
  q.num_consts = static_cast<int>(n.consts + dc), q.num_carry = static_cast<int>(n.carry + dk);
  q.jaxpr = make_program("scan", inputs, [&](std::span<const Array> a) {
    const std::size_t k = n.consts + dc, x = k + n.carry + dk;
    const std::vector<Array> r = eval_jaxpr(body, concat({a.first(n.consts), a.subspan(k, n.carry), a.subspan(x, n.xs),
                                                          a.subspan(n.consts, dc), a.subspan(k + n.carry, dk), a.subspan(x + n.xs, dx)}));
    const std::span<const Array> s(r);
    return concat({s.first(n.carry), s.subspan(n.carry + n.ys, dk), s.subspan(n.carry, n.ys), s.subspan(n.carry + n.ys + dk)});
  });
  const std::vector<Array> r = bind_scan(q, operands, c.loc);
  const std::span<const Array> s(r);
  JvpResult result{concat({s.first(n.carry), s.subspan(n.carry + dk, n.ys)}), std::vector<Tangent>(n.carry + n.ys)};
  std::size_t next_carry = n.carry, next_y = n.carry + dk + n.ys;
  for (std::size_t i : where_true(wanted)) result.tangents[i] = i < n.carry ? r[next_carry++] : r[next_y++];
  return result;
}

namespace {

/// Of each residual of a body, the array that it is or that it is a slice of: a residual that is one of the body's constants, or a slice
/// of xs, need not be stacked again. Empty for those that the steps compute.
struct Forwarded {
  Array whole;
  bool constant;  ///< the same in each step
};
using ForwardedResiduals = std::vector<std::optional<Forwarded>>;

ForwardedResiduals forwarded_residuals(const LinearizedProgram& lin, const Counts& n, std::span<const Array> in) {
  const JaxprData& d = lin.primal.data();
  ForwardedResiduals out(static_cast<std::size_t>(lin.num_residuals));
  for (std::size_t k = 0; k < out.size(); ++k) {
    const Atom a = d.outputs[n.carry + n.ys + k];
    if (a.is_literal() || a.var() >= d.first_result()) continue;
    if (a.var() < d.first_input()) {
      out[k] = Forwarded{d.consts[a.var()], true};
      continue;
    }
    const std::size_t i = a.var() - d.first_input();
    if (i < n.consts || i >= n.consts + n.carry) out[k] = Forwarded{in[i], i < n.consts};
  }
  return out;
}

/// The body with, beside its results, the residuals that its steps compute.
Jaxpr body_with_residuals(const Scan::Params& p, const LinearizedProgram& lin, const ForwardedResiduals& forwarded) {
  const auto in = p.jaxpr.data().input_avals();
  return make_program("scan", {in.begin(), in.end()}, [&](std::span<const Array> a) {
    const std::vector<Array> r = eval_jaxpr(lin.primal, a);
    const std::size_t num_out = r.size() - forwarded.size();
    std::vector<Array> out(r.begin(), r.begin() + static_cast<std::ptrdiff_t>(num_out));
    for (std::size_t k = 0; k < forwarded.size(); ++k)
      if (!forwarded[k]) out.push_back(r[num_out + k]);
    return out;
  });
}

/// The residuals as operands of the linear scan.
struct ResidualOperands {
  std::vector<Array> constant, stepwise;
  std::vector<std::pair<bool, std::size_t>> place;  ///< of each: whether it is constant, and its position among those
};
ResidualOperands residual_operands(const ForwardedResiduals& forwarded, std::span<const Array> stacked) {
  ResidualOperands out;
  std::size_t next = 0;
  for (const std::optional<Forwarded>& from : forwarded) {
    const bool is_constant = from && from->constant;
    std::vector<Array>& group = is_constant ? out.constant : out.stepwise;
    out.place.emplace_back(is_constant, group.size());
    group.push_back(from ? from->whole : stacked[next++]);
  }
  return out;
}

}  // namespace

JvpResult Scan::linearize_call(const JvpContext& c) {
  const Params& p = c.get<Params>();
  const Counts n = count(p);
  std::vector<bool> nonzero_in = nonzero_of(c.tangents);
  const LinearizedProgram lin = rewritten_body(p.jaxpr, nonzero_in, n.consts, n.carry,
                                               [](const Jaxpr& j, const std::vector<bool>& in) { return linearize_program(j, in); });
  const std::vector<bool> consts = part(nonzero_in, 0, n.consts), carry = part(nonzero_in, n.consts, n.carry),
                          xs = part(nonzero_in, n.consts + n.carry, n.xs);
  std::vector<bool> wanted = lin.nonzero_out;
  std::copy(carry.begin(), carry.end(), wanted.begin());
  if (p.checkpoints != 0 && p.length > 0 && count_true(wanted) > 0) return linearize_checkpointed(p, c, carry);
  const std::size_t num_out = n.carry + n.ys;
  const ForwardedResiduals forwarded = forwarded_residuals(lin, n, c.in);
  Params primal = p;
  primal.jaxpr = body_with_residuals(p, lin, forwarded);
  const std::vector<Array> r = bind_scan(primal, c.in, c.loc);
  JvpResult result{{r.begin(), r.begin() + static_cast<std::ptrdiff_t>(num_out)}, std::vector<Tangent>(num_out)};

  // The linear scan: (constant residuals, dconsts; dcarry; residuals of each step, dxs) -> (dcarry; dys).
  const auto [constant, stepwise, place] = residual_operands(forwarded, std::span(r).subspan(num_out));
  std::vector<Array> tangents;
  for (std::size_t i : where_true(nonzero_in)) tangents.push_back(instantiate(c.tangents[i], c.in[i].aval(), c.loc));
  const std::span<const Array> t(tangents);
  const std::size_t dc = count_true(consts), dk = count_true(carry), rc = constant.size(), rs = stepwise.size();
  const std::vector<Array> operands = concat({constant, t.first(dc), t.subspan(dc, dk), stepwise, t.subspan(dc + dk)});
  std::vector<Aval> inputs = avals_of(operands);
  for (std::size_t i = rc + dc + dk; i < inputs.size(); ++i) inputs[i] = slice_of(inputs[i]);
  const std::vector<Aval> out_avals = p.jaxpr.data().output_avals();
  Params q = p;
  q.num_consts = static_cast<int>(rc + dc), q.num_carry = static_cast<int>(dk);
  q.jaxpr = make_program("scan", inputs, [&](std::span<const Array> a) {
    std::vector<Array> in;
    for (const auto& [is_constant, at] : place) in.push_back(is_constant ? a[at] : a[rc + dc + dk + at]);
    append(in, a.subspan(rc, dc + dk)), append(in, a.subspan(rc + dc + dk + rs));
    const std::vector<Array> out = eval_jaxpr(lin.linear, in);
    std::vector<Array> wanted_out;
    std::size_t next = 0;
    for (std::size_t i = 0; i < num_out; ++i) {
      const Tangent tangent = lin.nonzero_out[i] ? Tangent(out[next++]) : Tangent();
      if (wanted[i]) wanted_out.push_back(instantiate(tangent, out_avals[i], c.loc));
    }
    return wanted_out;
  });
  const std::vector<Array> tangents_out = bind_scan(q, operands, c.loc);
  std::size_t next = 0;
  for (std::size_t i : where_true(wanted)) result.tangents[i] = tangents_out[next++];
  return result;
}

std::vector<Tangent> Scan::transpose(const TransposeContext& c) {
  const Params& p = c.get<Params>();
  const Counts n = count(p);
  // All carries depend on what is transposed (see separated), also those that start from a known value (zeros).
  std::vector<bool> linear;
  for (std::size_t i = 0; i < c.in.size(); ++i) linear.push_back(c.in[i].is_linear() || (i >= n.consts && i < n.consts + n.carry));
  const std::vector<bool> const_linear = part(linear, 0, n.consts), x_linear = part(linear, n.consts + n.carry, n.xs);
  std::vector<bool> has = nonzero_of(c.cotangents);
  std::fill(has.begin(), has.begin() + static_cast<std::ptrdiff_t>(n.carry), true);
  const TransposedProgram body = transpose_program(p.jaxpr, linear, has);

  std::vector<Array> known_consts, known_xs, const_cts, carry_cts, y_cts;
  std::vector<Aval> linear_avals;  // of the body's linear inputs
  const auto body_in = p.jaxpr.data().input_avals();
  for (std::size_t i = 0; i < c.in.size(); ++i) {
    if (linear[i])
      linear_avals.push_back(body_in[i]);
    else
      (i < n.consts ? known_consts : known_xs).push_back(c.in[i].known());
    if (i < n.consts && linear[i]) const_cts.push_back(zeros_of(c.in[i].aval, c.loc));
  }
  for (std::size_t i = 0; i < n.carry; ++i) carry_cts.push_back(instantiate(c.cotangents[i], c.out_avals[i], c.loc));
  for (std::size_t i = n.carry; i < c.cotangents.size(); ++i)
    if (c.cotangents[i]) y_cts.push_back(*c.cotangents[i]);
  const std::size_t kc = known_consts.size(), kx = known_xs.size(), lc = const_cts.size();

  // (known consts; cotangents of consts so far, of the carry; known xs, cotangents of ys) -> (the same cotangents; cotangents of xs)
  const std::vector<Array> operands = concat({known_consts, const_cts, carry_cts, known_xs, y_cts});
  std::vector<Aval> inputs = avals_of(operands);
  for (std::size_t i = kc + lc + n.carry; i < inputs.size(); ++i) inputs[i] = slice_of(inputs[i]);
  Params q = p;
  q.reverse = !p.reverse;
  q.num_consts = static_cast<int>(kc), q.num_carry = static_cast<int>(lc + n.carry);
  q.jaxpr = make_program("scan", inputs, [&](std::span<const Array> a) {
    const std::size_t x = kc + lc + n.carry;
    const std::vector<Array> r =
        eval_jaxpr(body.jaxpr, concat({a.first(kc), a.subspan(x, kx), a.subspan(kc + lc, n.carry), a.subspan(x + kx)}));
    std::vector<Array> out;
    std::size_t next = 0;
    for (std::size_t k = 0; k < linear_avals.size(); ++k) {
      const Tangent ct = body.nonzero[k] ? Tangent(r[next++]) : Tangent();
      // Every step adds its part to a constant's cotangent; the carry's cotangent is passed to the step before.
      if (k < lc)
        out.push_back(ct ? add_any(a[kc + k], *ct, c.loc) : a[kc + k]);
      else
        out.push_back(instantiate(ct, linear_avals[k], c.loc));
    }
    return out;
  });
  const std::vector<Array> r = bind_scan(q, operands, c.loc);
  std::vector<Tangent> result(c.in.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < c.in.size(); ++i)
    if (linear[i]) {
      if (c.in[i].is_linear()) result[i] = r[next];
      ++next;
    }
  return result;
}

BatchResult Scan::batch(const BatchContext& c) {
  const Params& p = c.get<Params>();
  const Counts n = count(p);
  // Inside the body the mapped axis is in front; in xs and ys it is behind the axis that is scanned over.
  std::vector<Array> in(c.in.begin(), c.in.end());
  std::vector<int> dims(c.dims.begin(), c.dims.end());
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (dims[i] == kNotMapped) continue;
    if (i >= n.consts + n.carry) in[i] = move_batch_dim(in[i], dims[i], 1, c.loc);
    if (i >= n.consts && i < n.consts + n.carry) in[i] = move_batch_dim(in[i], dims[i], 0, c.loc);
    if (i >= n.consts) dims[i] = 0;
  }
  dims = mapped_inputs(p.jaxpr, c.axis, std::move(dims), n.consts, n.carry);
  std::vector<int> out_dims = batch_program(p.jaxpr, c.axis, dims).out_dims;
  for (std::size_t i = 0; i < out_dims.size(); ++i) {
    if (i < n.carry) out_dims[i] = dims[n.consts + i];
    if (out_dims[i] != kNotMapped) out_dims[i] = 0;
  }
  for (std::size_t i = 0; i < n.carry; ++i)
    if (dims[n.consts + i] == 0 && c.dims[n.consts + i] == kNotMapped)
      in[n.consts + i] = broadcast_batch_dim(in[n.consts + i], c.axis.size, 0, c.loc);
  Params q = p;
  q.jaxpr = batch_program(p.jaxpr, c.axis, dims, out_dims).jaxpr;
  BatchResult r{bind_scan(q, in, c.loc), out_dims};
  for (std::size_t i = n.carry; i < r.dims.size(); ++i)
    if (r.dims[i] != kNotMapped) r.dims[i] = 1;
  return r;
}

namespace {

std::vector<Array> run_scan(const ParamsBase& params, std::span<const Array> in, const ProgramRunner& run) {
  const auto& p = params_as<Scan::Params>(params);
  const std::size_t consts = static_cast<std::size_t>(p.num_consts), carry = static_cast<std::size_t>(p.num_carry), fixed = consts + carry;
  const auto body_in = p.jaxpr.data().input_avals();
  const std::vector<Aval> body_out = p.jaxpr.data().output_avals();
  std::vector<std::vector<std::byte>> storage(in.size());
  std::vector<const std::byte*> xs;
  for (std::size_t i = fixed; i < in.size(); ++i) xs.push_back(bytes_of(in[i], storage[i]));
  std::vector<Ref<Buffer>> ys;
  std::vector<Array> out;
  for (std::size_t i = carry; i < body_out.size(); ++i) {
    const Aval all = body_out[i].with_shape(body_out[i].shape.inserted(0, p.length));
    ys.push_back(host().allocate(static_cast<std::size_t>(all.bytes())));
    out.push_back(Array(Ref<ArrayImpl>(new ConcreteArray(all, ys.back()))));
  }
  std::vector<Array> args(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(fixed));
  std::vector<std::byte> gathered;
  for (std::int64_t step = 0; step < p.length; ++step) {
    const std::int64_t i = p.reverse ? p.length - 1 - step : step;
    args.resize(fixed);
    for (std::size_t k = 0; k < xs.size(); ++k) args.push_back(make_concrete(body_in[fixed + k], xs[k] + i * body_in[fixed + k].bytes()));
    std::vector<Array> results = run(p.jaxpr, args);
    for (std::size_t k = 0; k < carry; ++k) args[consts + k] = std::move(results[k]);
    for (std::size_t k = 0; k < ys.size(); ++k) {
      const std::size_t bytes = static_cast<std::size_t>(body_out[carry + k].bytes());
      if (bytes > 0)
        std::memcpy(static_cast<std::byte*>(ys[k]->data()) + i * static_cast<std::int64_t>(bytes), bytes_of(results[carry + k], gathered),
                    bytes);
    }
  }
  out.insert(out.begin(), std::make_move_iterator(args.begin() + static_cast<std::ptrdiff_t>(consts)),
             std::make_move_iterator(args.begin() + static_cast<std::ptrdiff_t>(fixed)));
  return out;
}

std::optional<VaryingList> varying_scan(const VaryingContext& c) {
  const auto& p = c.get<Scan::Params>();
  const auto consts = static_cast<std::size_t>(p.num_consts), carry = static_cast<std::size_t>(p.num_carry);
  std::optional<VaryingList> out = varying_of_program(p.jaxpr, c.in);
  if (out && part_of(*out, 0, carry) != part_of(c.in, consts, carry)) return {};
  return out;
}

EqnVarying mark_scan(const VaryingContext& c) {
  EqnVarying r{c.in, {}, {}};
  Scan::Params q = c.get<Scan::Params>();
  const auto consts = static_cast<std::size_t>(q.num_consts), num_carry = static_cast<std::size_t>(q.num_carry);
  VaryingList carry = part_of(c.in, consts, num_carry);
  Jaxpr body;
  do {
    std::copy(carry.begin(), carry.end(), r.need.begin() + q.num_consts);
    body = mark_program(q.jaxpr, r.need, r.out, carry);
  } while (widen(carry, r.out));
  std::copy(carry.begin(), carry.end(), r.out.begin());
  q.jaxpr = body;
  r.params = make_params(std::move(q));
  return r;
}

DimAxes without_first(DimAxes axes) {
  axes.erase(axes.begin());
  return axes;
}
DimAxes with_first(DimAxes axes) {
  axes.insert(axes.begin(), std::vector<std::string>());
  return axes;
}

std::optional<ShardedValues> partition_scan(const PartitionContext& c) {
  Scan::Params q = c.get<Scan::Params>();
  const ShardedValues& in = c.in;
  const auto consts = static_cast<std::size_t>(q.num_consts), num_carry = static_cast<std::size_t>(q.num_carry), fixed = consts + num_carry;
  std::vector<DimAxes> body_in, carry;
  for (std::size_t i = 0; i < in.size(); ++i) body_in.push_back(i < fixed ? in[i].axes : without_first(in[i].axes));
  carry.assign(body_in.begin() + static_cast<std::ptrdiff_t>(consts), body_in.begin() + static_cast<std::ptrdiff_t>(fixed));
  PartitionedProgram body;
  for (bool again = true; again;) {
    std::copy(carry.begin(), carry.end(), body_in.begin() + static_cast<std::ptrdiff_t>(consts));
    body = partition_program(c, q.jaxpr, body_in, carry);
    again = adopt(carry, body.out);
  }
  std::vector<Array> operands;
  for (std::size_t i = 0; i < in.size(); ++i) operands.push_back(c.reshard(in[i], i < fixed ? body_in[i] : with_first(body_in[i])).block);
  q.jaxpr = body.jaxpr;
  const std::vector<Array> out = bind_all<Scan>(q, operands, c.eqn.loc);
  ShardedValues results;
  for (std::size_t k = 0; k < out.size(); ++k)
    results.push_back(c.partition.of_block(out[k], k < num_carry ? carry[k] : with_first(body.out[k])));
  return results;
}

constexpr ParamValue kLeftOut[] = {{"checkpoints", "0"}};
const TextRule<Scan> scan_text([] { return TextTraits{.left_out = kLeftOut}; });
const RunRule<Scan> scan_run(run_scan);
const VaryingRule<Scan> scan_varying(varying_scan);
const MarkVaryingRule<Scan> scan_marks(mark_scan);
const PartitionRule<Scan> scan_partition(partition_scan);
const KeyUseRule<Scan> scan_keys([](const ParamsBase& p, KeyUses& uses) { uses.by_program(params_as<Scan::Params>(p).jaxpr, 0); });

}  // namespace

PrimitiveList control_primitives() {
  static constexpr std::array list{&primitive_of<Cond>, &primitive_of<Scan>, &primitive_of<While>};
  return list;
}

}  // namespace weft::detail
