// jax.lax.custom_linear_solve: the implicit function theorem for A x = b. dx solves A dx = db - dA x, and a cotangent of x solves the
// transposed system.
#include "weft/core/ops/linalg/linear_solve.h"

#include <algorithm>
#include <array>

#include "weft/core/array/array_lists.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/control/call.h"
#include "weft/core/ops/control/control_common.h"
#include "weft/core/ops/control/custom_derivatives.h"
#include "weft/core/ops/movement/operand_parts.h"
#include "weft/core/ops/registry.h"
#include "weft/core/text/text.h"
#include "weft/core/text/text_rules.h"
#include "weft/core/trace/trace.h"

namespace weft::detail {

std::string print_param(const LinearSolveCounts& v) { return print_fields("_LinearSolveTuple", v); }
void read_param(ParamReader& r, LinearSolveCounts& v) { read_fields(r, "_LinearSolveTuple", v); }

namespace {

enum Part { kMatvec, kVecmat, kSolve, kTransposeSolve };

std::array<std::size_t, 4> sizes_of(const LinearSolveCounts& n) {
  return {static_cast<std::size_t>(n.matvec), static_cast<std::size_t>(n.vecmat), static_cast<std::size_t>(n.solve),
          static_cast<std::size_t>(n.transpose_solve)};
}
LinearSolveCounts counts_of(const std::array<std::size_t, 4>& n) {
  return {static_cast<int>(n[0]), static_cast<int>(n[1]), static_cast<int>(n[2]), static_cast<int>(n[3])};
}

/// The operands of an equation, or what belongs to each: the programs' constants, then the right-hand side.
template <class T>
struct Split {
  Split(const LinearSolveParams& p, std::span<const T> all) {
    const auto sizes = sizes_of(p.const_lengths);
    std::size_t at = 0;
    for (std::size_t k = 0; k < 4; ++k) consts[k] = all.subspan(at, sizes[k]), at += sizes[k];
    b = all.subspan(at);
  }
  std::array<std::span<const T>, 4> consts;
  std::span<const T> b;
};

struct CustomLinearSolve {
  static constexpr std::string_view name = "custom_linear_solve", doc = "The solution of a linear system, computed by a program.";
  static constexpr Kind kind = Kind::call;
  using Params = LinearSolveParams;

  static bool has_transpose(const Params& p) { return !p.jaxprs[kTransposeSolve].data().outputs.empty(); }

  static std::vector<Aval> abstract_eval(const OpContext& c) {
    const Params& p = c.get<Params>();
    const LinearSolveCounts& n = p.const_lengths;
    check_parts(c, {n.matvec, n.vecmat, n.solve, n.transpose_solve}, c.in.size());
    if (p.jaxprs.size() != 4) c.fail<Error>("its programs don't fit its operands");
    const Split<Aval> in(p, c.in);
    for (std::size_t k = 0; k < 4; ++k) {
      const JaxprData& d = p.jaxprs[k].data();
      if (d.outputs.empty() && (k == kVecmat || k == kTransposeSolve) && !has_transpose(p)) continue;
      const std::vector<Aval> want = concat(in.consts[k], in.b), out = d.output_avals();
      const auto has = d.input_avals();
      auto same = [](const Aval& a, const Aval& b) { return a.shape == b.shape && a.dtype == b.dtype; };
      if (d.num_consts != 0 || !std::equal(want.begin(), want.end(), has.begin(), has.end(), same) ||
          !std::equal(out.begin(), out.end(), in.b.begin(), in.b.end(), same))
        c.fail<ShapeError>("a program's types differ from those of the right-hand side", "each gives what it takes");
    }
    return {in.b.begin(), in.b.end()};
  }

  static Jaxpr call_body(const ParamsBase& params, std::span<const Aval> avals) {
    const Params& p = params_as<Params>(params);
    return trace_jaxpr({"custom_linear_solve", {avals.begin(), avals.end()}, {}}, [&](std::span<const Array> args) {
      const Split<Array> in(p, args);
      return bind_closed_call({}, p.jaxprs[kSolve], concat(in.consts[kSolve], in.b), {});
    });
  }

  static std::vector<Tangent> jvp(const JvpContext& c) {
    const Params& p = c.get<Params>();
    const Split<Array> in(p, c.in);
    const Split<Tangent> dot(p, c.tangents);
    std::vector<Tangent> rhs(dot.b.begin(), dot.b.end());
    if (std::any_of(dot.consts[kMatvec].begin(), dot.consts[kMatvec].end(), [](const Tangent& t) { return t.has_value(); })) {
      std::vector<bool> nonzero = nonzero_of(dot.consts[kMatvec]);
      nonzero.resize(nonzero.size() + in.b.size(), false);
      const JvpProgram program = jvp_program(p.jaxprs[kMatvec], nonzero);
      std::vector<Array> args = concat(in.consts[kMatvec], c.out);
      for (const Tangent& t : dot.consts[kMatvec])
        if (t) args.push_back(*t);
      const std::vector<Array> r = eval_jaxpr(program.jaxpr, args);
      std::size_t next = in.b.size();
      for (std::size_t i = 0; i < rhs.size(); ++i)
        if (program.nonzero_out[i]) rhs[i] = add_tangents(rhs[i], -r[next++], c.loc);
    }
    if (std::none_of(rhs.begin(), rhs.end(), [](const Tangent& t) { return t.has_value(); })) return rhs;
    std::vector<Array> operands(c.in.begin(), c.in.end() - static_cast<std::ptrdiff_t>(in.b.size()));
    for (std::size_t i = 0; i < rhs.size(); ++i) operands.push_back(instantiate(rhs[i], in.b[i].aval(), c.loc));
    const std::vector<Array> x = bind_primitive(c.op, c.params, operands, c.loc);
    return {x.begin(), x.end()};
  }

  static std::vector<Tangent> transpose(const TransposeContext& c) {
    const Params& p = c.get<Params>();
    if (!has_transpose(p))
      throw TracerError("custom_linear_solve: reverse mode needs transpose_solve, or symmetric = true", effective_loc(c.loc));
    std::size_t captured = 0;
    for (std::size_t n : sizes_of(p.const_lengths)) captured += n;
    std::vector<Array> known;
    for (std::size_t i = 0; i < captured; ++i) known.push_back(c.in[i].known());
    const auto n = p.const_lengths;
    const Split<Array> parts(p, known);
    Params q{{n.vecmat, n.matvec, n.transpose_solve, n.solve}, {p.jaxprs[1], p.jaxprs[0], p.jaxprs[3], p.jaxprs[2]}};
    std::vector<Array> operands;
    for (int k : {kVecmat, kMatvec, kTransposeSolve, kSolve}) operands = concat(operands, parts.consts[static_cast<std::size_t>(k)]);
    for (std::size_t i = 0; i < c.cotangents.size(); ++i) operands.push_back(instantiate(c.cotangents[i], c.out_avals[i], c.loc));
    const std::vector<Array> cotangents = bind_all<CustomLinearSolve>(std::move(q), operands, c.loc);
    std::vector<Tangent> out(captured);
    for (std::size_t i = captured; i < c.in.size(); ++i) out.push_back(c.in[i].is_linear() ? Tangent(cotangents[i - captured]) : Tangent());
    return out;
  }

  /// Every part of the solution has the mapped axis as soon as a program gives it to that part.
  static BatchResult batch(const BatchContext& c) {
    const Params& p = c.get<Params>();
    const Split<Array> in(p, c.in);
    const Split<int> dims(p, c.dims);
    std::vector<Array> b(in.b.begin(), in.b.end());
    std::vector<int> b_dims(dims.b.begin(), dims.b.end());
    for (std::size_t i = 0; i < b.size(); ++i)
      if (b_dims[i] != kNotMapped) b[i] = move_batch_dim(b[i], b_dims[i], 0, c.loc), b_dims[i] = 0;
    auto batched = [&](std::size_t k, const std::optional<std::vector<int>>& out) {
      return batch_program(p.jaxprs[k], c.axis, concat(dims.consts[k], b_dims), out);
    };
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t k = 0; k < 4; ++k) {
        if (p.jaxprs[k].data().outputs.empty()) continue;
        const std::vector<int> out = batched(k, {}).out_dims;
        for (std::size_t i = 0; i < b.size(); ++i)
          if (out[i] != kNotMapped && b_dims[i] == kNotMapped) b_dims[i] = 0, changed = true;
      }
    }
    std::array<std::vector<Array>, 4> consts;
    std::array<std::size_t, 4> sizes{};
    Params q;
    for (std::size_t k = 0; k < 4; ++k) {
      Jaxpr j = p.jaxprs[k];
      if (!j.data().outputs.empty()) {
        Hoisted h = hoist_consts(batched(k, b_dims).jaxpr);
        j = h.jaxpr, consts[k] = std::move(h.consts);
      }
      consts[k] = concat(consts[k], in.consts[k]);
      sizes[k] = consts[k].size();
      q.jaxprs.push_back(std::move(j));
    }
    q.const_lengths = counts_of(sizes);
    std::vector<Array> operands;
    for (const auto& part : consts) operands = concat(operands, part);
    for (std::size_t i = 0; i < b.size(); ++i)
      operands.push_back(b_dims[i] != kNotMapped && dims.b[i] == kNotMapped ? broadcast_batch_dim(b[i], c.axis.size, 0, c.loc) : b[i]);
    return {bind_all<CustomLinearSolve>(std::move(q), operands, c.loc), b_dims};
  }
};

constexpr std::string_view kFields[] = {"matvec", "vecmat", "solve", "transpose_solve"};
const TextRule<CustomLinearSolve> linear_solve_text([] { return TextTraits{.tuple = "_LinearSolveTuple", .fields = kFields}; });

const Rule<LinkedBodyTransform, CustomLinearSolve> solve_body([] {});

}  // namespace

std::vector<Array> linear_solve(const LinearMap& matvec, const LinearMap& solve, const LinearMap* vecmat, const LinearMap* transpose_solve,
                                std::span<const Array> b, SourceLoc loc) {
  LinearSolveParams p;
  std::vector<Array> operands;
  std::array<std::size_t, 4> sizes{};
  const LinearMap* const maps[] = {&matvec, vecmat, &solve, transpose_solve};
  for (std::size_t k = 0; k < 4; ++k) {
    p.jaxprs.emplace_back();
    if (!maps[k]) continue;
    Hoisted h = hoist_consts(maps[k]->jaxpr);
    p.jaxprs.back() = std::move(h.jaxpr);
    operands.insert(operands.end(), h.consts.begin(), h.consts.end());
    operands.insert(operands.end(), maps[k]->consts.begin(), maps[k]->consts.end());
    sizes[k] = h.consts.size() + maps[k]->consts.size();
  }
  p.const_lengths = counts_of(sizes);
  return bind_all<CustomLinearSolve>(std::move(p), concat(operands, b), loc);
}

PrimitiveList linear_solve_primitives() {
  static constexpr const Primitive* list[] = {&primitive_of<CustomLinearSolve>};
  return list;
}

}  // namespace weft::detail
