// Branches: cond, and the choice of one of several programs by an index.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "weft/core/base/counted.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ir/effects.h"
#include "weft/core/ops/control/control.h"
#include "weft/core/ops/control/control_common.h"
#include "weft/core/ops/control/control_rules.h"
#include "weft/core/text/text_rules.h"

namespace weft::detail {

Jaxpr with_outputs_wanted(const Jaxpr& j, const JvpProgram& p, const std::vector<bool>& wanted) {
  if (p.nonzero_out == wanted) return p.jaxpr;
  const auto in = p.jaxpr.data().input_avals();
  const std::vector<Aval> out_avals = j.data().output_avals();
  return make_program("jvp", {in.begin(), in.end()}, [&](std::span<const Array> args) {
    std::vector<Array> r = eval_jaxpr(p.jaxpr, args), out(r.begin(), r.begin() + static_cast<std::ptrdiff_t>(out_avals.size()));
    std::size_t next = out_avals.size();
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const Tangent t = p.nonzero_out[i] ? Tangent(r[next++]) : Tangent();
      if (wanted[i]) out.push_back(instantiate(t, out_avals[i], {}));
    }
    return out;
  });
}

std::vector<Aval> Cond::abstract_eval(const OpContext& c) {
  const auto& branches = c.get<Params>().branches;
  if (branches.empty()) c.fail<Error>("has no branches", "give at least one");
  if (c.in.empty() || !c.in[0].shape.empty() || c.in[0].dtype != int32) c.fail<DTypeError>("the index must be i32[]");
  std::vector<Aval> out = branches[0].data().output_avals();
  for (std::size_t b = 0; b < branches.size(); ++b) {
    const auto in = branches[b].data().input_avals();
    const std::vector<Aval> results = branches[b].data().output_avals();
    if (in.size() + 1 != c.in.size())
      c.fail<Error>(fmt::format("branch {} takes {}, given {}", b, counted(in.size(), "operand"), c.in.size() - 1));
    for (std::size_t i = 0; i < in.size(); ++i)
      if (!same_type(in[i], c.in[i + 1]))
        c.fail<ShapeError>(fmt::format("branch {} takes {} as operand {}, given {}", b, to_string(in[i]), i, to_string(c.in[i + 1])));
    if (results.size() != out.size())
      c.fail<PytreeError>(fmt::format("branch 0 has {}, branch {} has {}", counted(out.size(), "result"), b, results.size()));
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (!same_type(results[i], out[i]))
        c.fail<ShapeError>(
            fmt::format("result {} is {} from branch 0 and {} from branch {}", i, to_string(out[i]), to_string(results[i]), b),
            "all branches must return the same types");
      out[i].weak = out[i].weak && results[i].weak;
    }
  }
  return out;
}

JvpResult Cond::jvp_call(const JvpContext& c) {
  const auto& branches = c.get<Params>().branches;
  const std::vector<bool> given = nonzero_of(c.tangents.subspan(1));
  std::vector<bool> wanted(branches[0].data().outputs.size());
  std::vector<JvpProgram> programs;
  for (const Jaxpr& b : branches) {
    programs.push_back(jvp_program(b, given));
    const std::vector<bool>& out = programs.back().nonzero_out;
    for (std::size_t i = 0; i < out.size(); ++i) wanted[i] = wanted[i] || out[i];
  }
  Params params;
  for (std::size_t b = 0; b < branches.size(); ++b) params.branches.push_back(with_outputs_wanted(branches[b], programs[b], wanted));
  std::vector<Array> in(c.in.begin(), c.in.end());
  append(in, nonzero_tangents(c.tangents));
  const std::vector<Array> r = bind_cond(params, in, c.loc);
  JvpResult result{{r.begin(), r.begin() + static_cast<std::ptrdiff_t>(wanted.size())}, std::vector<Tangent>(wanted.size())};
  std::size_t next = wanted.size();
  for (std::size_t i : where_true(wanted)) result.tangents[i] = r[next++];
  return result;
}

JvpResult Cond::linearize_call(const JvpContext& c) {
  const auto& branches = c.get<Params>().branches;
  const std::vector<bool> given = nonzero_of(c.tangents.subspan(1));
  std::vector<LinearizedProgram> parts;
  std::vector<Aval> residual_avals;  // of all branches, one after another
  std::vector<std::size_t> first;
  const std::size_t num_out = branches[0].data().outputs.size();
  std::vector<bool> wanted(num_out);
  for (const Jaxpr& b : branches) {
    parts.push_back(linearize_program(b, given));
    first.push_back(residual_avals.size());
    const std::vector<Aval> out = parts.back().primal.data().output_avals();
    residual_avals.insert(residual_avals.end(), out.begin() + static_cast<std::ptrdiff_t>(num_out), out.end());
    for (std::size_t i = 0; i < num_out; ++i) wanted[i] = wanted[i] || parts.back().nonzero_out[i];
  }
  // Each branch gives its own residuals and zeros for those of the others.
  Params primal, linear;
  const std::vector<Aval> out_avals = branches[0].data().output_avals();
  std::vector<Aval> tangent_avals;
  for (const Tangent& t : c.tangents)
    if (t) tangent_avals.push_back(t->aval());
  for (std::size_t b = 0; b < branches.size(); ++b) {
    const LinearizedProgram& p = parts[b];
    const auto in = branches[b].data().input_avals();
    const std::size_t count = static_cast<std::size_t>(p.num_residuals);
    primal.branches.push_back(make_program("cond", {in.begin(), in.end()}, [&](std::span<const Array> args) {
      const std::vector<Array> r = eval_jaxpr(p.primal, args);
      std::vector<Array> out(r.begin(), r.begin() + static_cast<std::ptrdiff_t>(num_out));
      for (std::size_t k = 0; k < residual_avals.size(); ++k)
        out.push_back(k >= first[b] && k < first[b] + count ? r[num_out + k - first[b]] : zeros_of(residual_avals[k], c.loc));
      return out;
    }));
    std::vector<Aval> inputs = residual_avals;
    inputs.insert(inputs.end(), tangent_avals.begin(), tangent_avals.end());
    linear.branches.push_back(make_program("cond", inputs, [&](std::span<const Array> args) {
      std::vector<Array> own(args.begin() + static_cast<std::ptrdiff_t>(first[b]),
                             args.begin() + static_cast<std::ptrdiff_t>(first[b] + count));
      append(own, args.subspan(residual_avals.size()));
      const std::vector<Array> r = eval_jaxpr(p.linear, own);
      std::vector<Array> out;
      std::size_t next = 0;
      for (std::size_t i = 0; i < num_out; ++i) {
        const Tangent t = p.nonzero_out[i] ? Tangent(r[next++]) : Tangent();
        if (wanted[i]) out.push_back(instantiate(t, out_avals[i], c.loc));
      }
      return out;
    }));
  }
  const std::vector<Array> r = bind_cond(primal, c.in, c.loc);
  JvpResult result{{r.begin(), r.begin() + static_cast<std::ptrdiff_t>(num_out)}, std::vector<Tangent>(num_out)};
  std::vector<Array> in{c.in[0]};
  append(in, std::span(r).subspan(num_out));
  append(in, nonzero_tangents(c.tangents));
  const std::vector<Array> tangents = bind_cond(linear, in, c.loc);
  std::size_t next = 0;
  for (std::size_t i : where_true(wanted)) result.tangents[i] = tangents[next++];
  return result;
}

std::vector<Tangent> Cond::transpose(const TransposeContext& c) {
  std::vector<bool> linear;
  std::vector<Array> in;
  std::vector<Aval> linear_avals;
  for (std::size_t i = 0; i < c.in.size(); ++i) {
    if (i > 0) linear.push_back(c.in[i].is_linear());
    if (c.in[i].is_linear())
      linear_avals.push_back(c.in[i].aval);
    else
      in.push_back(c.in[i].known());
  }
  append(in, nonzero_tangents(c.cotangents));
  Params params;
  for (const Jaxpr& b : c.get<Params>().branches) {
    const TransposedProgram p = transpose_program(b, linear, nonzero_of(c.cotangents));
    const auto inputs = p.jaxpr.data().input_avals();
    params.branches.push_back(make_program("cond", {inputs.begin(), inputs.end()}, [&](std::span<const Array> args) {
      const std::vector<Array> r = eval_jaxpr(p.jaxpr, args);
      std::vector<Array> out;
      std::size_t next = 0;
      for (std::size_t k = 0; k < linear_avals.size(); ++k)
        out.push_back(instantiate(p.nonzero[k] ? Tangent(r[next++]) : Tangent(), linear_avals[k], c.loc));
      return out;
    }));
  }
  const std::vector<Array> r = bind_cond(params, in, c.loc);
  std::vector<Tangent> result(c.in.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < c.in.size(); ++i)
    if (c.in[i].is_linear()) result[i] = r[next++];
  return result;
}

BatchResult Cond::batch(const BatchContext& c) {
  const auto& branches = c.get<Params>().branches;
  const std::vector<int> dims(c.dims.begin() + 1, c.dims.end());
  std::vector<int> out_dims(branches[0].data().outputs.size(), kNotMapped);
  const bool lanes_differ = c.dims[0] != kNotMapped;
  for (const Jaxpr& b : branches) {
    const std::vector<int> mapped = batch_program(b, c.axis, dims).out_dims;
    for (std::size_t i = 0; i < mapped.size(); ++i)
      if (mapped[i] != kNotMapped || lanes_differ) out_dims[i] = 0;
  }
  Params params;
  for (const Jaxpr& b : branches) params.branches.push_back(batch_program(b, c.axis, dims, out_dims).jaxpr);
  if (!lanes_differ) return {bind_cond(params, c.in, c.loc), out_dims};
  // The index differs from lane to lane: every branch runs, and each lane selects its own.
  for (const Jaxpr& b : branches)
    if (performs_io(b))
      throw TracerError(
          "cond: under vmap with a predicate that differs from lane to lane all branches run, so that an io_callback in one would "
          "run for lanes that don't take it; loop over the lanes with scan or map",
          effective_loc(c.loc));
  std::vector<std::vector<Array>> results;
  for (const Jaxpr& b : params.branches) results.push_back(eval_jaxpr(b, c.in.subspan(1)));
  const Array index = move_batch_dim(c.in[0], c.dims[0], 0, c.loc);
  BatchResult r{{}, out_dims};
  for (std::size_t i = 0; i < out_dims.size(); ++i) {
    Array value = results[0][i];
    for (std::size_t b = 1; b < results.size(); ++b) {
      // The last branch takes every index beyond it, the first every one below: the index is clamped.
      const Array here = index >= static_cast<int>(b);
      value = where(batch_dim_in_front(here, 0, value.ndim() - 1, c.loc), results[b][i], value);
    }
    r.out.push_back(value);
  }
  return r;
}

namespace {

std::vector<Array> run_cond(const ParamsBase& params, std::span<const Array> in, const ProgramRunner& run) {
  const auto& p = params_as<Cond::Params>(params);
  std::vector<std::byte> storage;
  std::int32_t index;
  std::memcpy(&index, bytes_of(in[0], storage), sizeof index);
  index = std::clamp(index, 0, static_cast<std::int32_t>(p.branches.size()) - 1);
  return run(p.branches[static_cast<std::size_t>(index)], in.subspan(1));
}

std::optional<VaryingList> varying_cond(const VaryingContext& c) {
  std::optional<VaryingList> out;
  for (const Jaxpr& j : c.get<Cond::Params>().branches) {
    std::optional<VaryingList> one = varying_of_program(j, part_of(c.in, 1, c.in.size() - 1));
    if (!one || (out && *out != *one)) return {};
    out = std::move(one);
  }
  if (out)
    for (Varying& v : *out)
      if (c.in[0] & ~v) return {};
  return out;
}

EqnVarying mark_cond(const VaryingContext& c) {
  EqnVarying r{c.in, {}, {}};
  Cond::Params q = c.get<Cond::Params>();
  const VaryingList operands = part_of(c.in, 1, c.in.size() - 1);
  VaryingList common;
  for (const Jaxpr& j : q.branches) {
    mark_program(j, operands, r.out);
    if (common.empty()) common.assign(r.out.size(), c.in[0]);
    widen(common, r.out);
  }
  for (Jaxpr& j : q.branches) j = mark_program(j, operands, r.out, common);
  r.out = common;
  r.params = make_params(std::move(q));
  return r;
}

std::optional<ShardedValues> partition_cond(const PartitionContext& c) {
  Cond::Params q = c.get<Cond::Params>();
  const ShardedValues& in = c.in;
  std::vector<DimAxes> branch_in, out_axes;
  for (std::size_t i = 1; i < in.size(); ++i) branch_in.push_back(in[i].axes);
  for (Jaxpr& j : q.branches) {
    const PartitionedProgram s = partition_program(c, j, branch_in, out_axes);
    if (out_axes.empty()) out_axes = s.out;
    j = s.jaxpr;
  }
  std::vector<Array> operands{c.partition.gathered(in[0], c.eqn.loc).block};
  for (std::size_t i = 1; i < in.size(); ++i) operands.push_back(in[i].block);
  const std::vector<Array> out = bind_all<Cond>(q, operands, c.eqn.loc);
  ShardedValues results;
  for (std::size_t k = 0; k < out.size(); ++k) results.push_back(c.partition.of_block(out[k], out_axes[k]));
  return results;
}

constexpr ParamValue kIgnored[] = {{"branches_platforms", ""}};
const TextRule<Cond> cond_text([] { return TextTraits{.ignored = kIgnored}; });
const RunRule<Cond> cond_run(run_cond);
const VaryingRule<Cond> cond_varying(varying_cond);
const MarkVaryingRule<Cond> cond_marks(mark_cond);
const PartitionRule<Cond> cond_partition(partition_cond);
const KeyUseRule<Cond> cond_keys([](const ParamsBase& p, KeyUses& uses) {
  for (const Jaxpr& b : params_as<Cond::Params>(p).branches) uses.by_program(b, 1);
});

}  // namespace

}  // namespace weft::detail
