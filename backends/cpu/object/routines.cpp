// The routines of the archive for programs ahead of time (backends/aot) that stand in an object file in place of equations, and the
// equations that are expanded into others there.
#include <algorithm>
#include <cstring>
#include <limits>

#include "weft/backends/aot/plans.h"
#include "weft/backends/cpu/expand.h"
#include "weft/backends/cpu/object/routine.h"
#include "weft/core/array/constructors.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/contraction/conv.h"
#include "weft/core/ops/contraction/conv_expand.h"
#include "weft/core/ops/elementwise/special_functions.h"
#include "weft/core/ops/linalg/fft.h"
#include "weft/core/ops/linalg/linalg.h"
#include "weft/core/ops/movement/scatter.h"
#include "weft/core/ops/movement/sort.h"
#include "weft/core/ops/random/random.h"
#include "weft/core/ops/reduce/cumulative_expand.h"
#include "weft/core/ops/reduce/reduce.h"
#include "weft/core/trace/trace.h"

namespace weft::detail {
namespace {

using aot::Element;

Element element_of(DType t) { return static_cast<Element>(t.id()); }
template <class T>
void append(std::string& plan, const T& part) {
  plan.append(reinterpret_cast<const char*>(&part), sizeof part);
}
template <class Plan>
ObjectRoutine routine(const char* symbol, const Plan& plan) {
  ObjectRoutine r{symbol, {}};
  append(r.plan, plan);
  return r;
}

aot::Lines lines_of(const Shape& shape, int dimension) {
  aot::Lines l{shape[dimension], 1, 0};
  for (int d = dimension + 1; d < shape.size(); ++d) l.stride *= shape[d];
  l.count = l.length == 0 ? 0 : shape.num_elements() / l.length;
  return l;
}
bool fits(const aot::Lines& l) { return l.length < std::numeric_limits<std::int32_t>::max(); }

const Rule<ObjectRoutineRules, Sort> sort_routine([](const ParamsBase& params, std::span<const Aval> operands,
                                                     std::span<const Aval>) -> std::optional<ObjectRoutine> {
  const auto& p = params_as<Sort::Params>(params);
  const aot::SortPlan plan{lines_of(operands[0].shape, p.dimension), static_cast<std::int32_t>(operands.size()), p.num_keys};
  if (!fits(plan.lines)) return {};
  ObjectRoutine r = routine("weft_aot_sort", plan);
  for (const Aval& a : operands) append(r.plan, element_of(a.dtype));
  return r;
});
const Rule<ObjectRoutineRules, TopKLargest> top_k_routine([](const ParamsBase& params, std::span<const Aval> operands,
                                                             std::span<const Aval>) -> std::optional<ObjectRoutine> {
  const auto& p = params_as<TopKLargest::Params>(params);
  const aot::TopKPlan plan{lines_of(operands[0].shape, p.axis), p.k, element_of(operands[0].dtype), 0};
  if (!fits(plan.lines)) return {};
  return routine("weft_aot_top_k", plan);
});

aot::TransformPlan transform_plan(FftType type, const Aval& in, const Aval& out, std::span<const std::int64_t> lengths) {
  using Plan = aot::TransformPlan;
  const Plan::Kind kind = type == FftType::fft    ? Plan::forward
                          : type == FftType::ifft ? Plan::inverse
                          : type == FftType::rfft ? Plan::from_real
                                                  : Plan::to_real;
  Plan plan{kind, element_of(in.dtype.real_part()), static_cast<std::int64_t>(lengths.size()), in.size(), out.size(), 1};
  if (kind == Plan::inverse || kind == Plan::to_real)
    for (const std::int64_t n : lengths) plan.scale /= static_cast<double>(n);
  return plan;
}

const RuleOf<ObjectRoutineRules> fft_routine(
    fft_primitive(),
    [](const ParamsBase& params, std::span<const Aval> operands, std::span<const Aval> results) -> std::optional<ObjectRoutine> {
      const auto& p = params_as<FftParams>(params);
      ObjectRoutine r = routine("weft_aot_fourier", transform_plan(p.fft_type, operands[0], results[0], p.fft_lengths));
      // Along the other axes the spectrum is transformed.
      const Shape& spectrum = p.fft_type == FftType::irfft ? operands[0].shape : results[0].shape;
      std::int64_t inner = 1, outer = spectrum.back() == 0 ? 0 : spectrum.num_elements() / spectrum.back();
      for (std::size_t i = p.fft_lengths.size(); i-- > 0;) {
        const bool last = inner == 1 && i + 1 == p.fft_lengths.size();
        if (!last) outer /= std::max<std::int64_t>(p.fft_lengths[i], 1);
        append(r.plan, aot::Axis{p.fft_lengths[i], last ? 1 : inner, outer});
        inner *= last ? spectrum.back() : p.fft_lengths[i];
      }
      return r;
    });
const RuleOf<ObjectRoutineRules> fft_along_routine(
    fft_along_primitive(),
    [](const ParamsBase& params, std::span<const Aval> operands, std::span<const Aval> results) -> std::optional<ObjectRoutine> {
      const auto& p = params_as<FftAlongParams>(params);
      ObjectRoutine r = routine("weft_aot_fourier", transform_plan(p.fft_type, operands[0], results[0], p.fft_lengths));
      for (std::size_t i = p.axes.size(); i-- > 0;) {
        const aot::Lines l = lines_of(operands[0].shape, p.axes[i]);
        append(r.plan, aot::Axis{l.length, l.stride, l.count / std::max<std::int64_t>(l.stride, 1)});
      }
      return r;
    });

/// Nothing where a size is too large.
std::optional<aot::FactorPlan> factor_plan(const Aval& a, bool full, bool flag, bool last) {
  const std::int64_t rows = a.shape[a.ndim() - 2], columns = a.shape.back();
  if (std::max(rows, columns) > std::numeric_limits<std::int32_t>::max()) return {};
  std::int64_t count = 1;
  for (int d = 0; d + 2 < a.ndim(); ++d) count *= a.shape[d];
  return aot::FactorPlan{
      count,        element_of(a.dtype), static_cast<std::int32_t>(rows), static_cast<std::int32_t>(columns), full ? 1 : 0,
      flag ? 1 : 0, last ? 1 : 0};
}
std::optional<ObjectRoutine> factor_routine(const char* symbol, const Aval& a, bool full = false, bool flag = false, bool last = false) {
  const auto plan = factor_plan(a, full, flag, last);
  return plan ? std::optional(routine(symbol, *plan)) : std::nullopt;
}

const RuleOf<ObjectRoutineRules> cholesky_routine(cholesky_primitive(),
                                                  [](const ParamsBase&, std::span<const Aval> operands, std::span<const Aval>) {
                                                    return factor_routine("weft_aot_cholesky", operands[0]);
                                                  });
const RuleOf<ObjectRoutineRules> lu_routine(lu_primitive(), [](const ParamsBase&, std::span<const Aval> operands, std::span<const Aval>) {
  return factor_routine("weft_aot_lu", operands[0]);
});
const RuleOf<ObjectRoutineRules> qr_routine(qr_primitive(),
                                            [](const ParamsBase& params, std::span<const Aval> operands, std::span<const Aval>) {
                                              const auto& p = params_as<QrParams>(params);
                                              return factor_routine("weft_aot_qr", operands[0], p.full_matrices, false, p.only_r);
                                            });
const RuleOf<ObjectRoutineRules> eigh_routine(eigh_primitive(),
                                              [](const ParamsBase& params, std::span<const Aval> operands, std::span<const Aval>) {
                                                const auto& p = params_as<EighParams>(params);
                                                return factor_routine("weft_aot_eigh", operands[0], false, p.lower, p.only_values);
                                              });
const RuleOf<ObjectRoutineRules> svd_routine(svd_primitive(),
                                             [](const ParamsBase& params, std::span<const Aval> operands, std::span<const Aval>) {
                                               const auto& p = params_as<SvdParams>(params);
                                               return factor_routine("weft_aot_svd", operands[0], p.full_matrices, p.compute_uv);
                                             });
const RuleOf<ObjectRoutineRules> solve_routine(triangular_solve_primitive(),
                                               [](const ParamsBase& params, std::span<const Aval> operands,
                                                  std::span<const Aval>) -> std::optional<ObjectRoutine> {
                                                 const auto& p = params_as<TriangularSolveParams>(params);
                                                 const auto b = factor_plan(operands[1], false, false, false);
                                                 if (!b) return {};
                                                 return routine("weft_aot_triangular_solve",
                                                                aot::SolvePlan{b->count, b->element, b->rows, b->columns, p.left_side,
                                                                               p.lower, p.transpose_a, p.conjugate_a, p.unit_diagonal});
                                               });

std::optional<ObjectRoutine> elements_routine(aot::ElementsPlan::Function f, std::span<const Aval> operands, const Aval& result) {
  for (const Aval& a : operands)
    if (a.size() != 1 && a.shape != result.shape) return {};
  return routine("weft_aot_elements",
                 aot::ElementsPlan{f, element_of(result.dtype), result.size(), operands[0].size(), operands[1].size()});
}
const RuleOf<ObjectRoutineRules> polygamma_routine(polygamma_primitive(),
                                                   [](const ParamsBase&, std::span<const Aval> operands, std::span<const Aval> results) {
                                                     return elements_routine(aot::ElementsPlan::polygamma, operands, results[0]);
                                                   });
const RuleOf<ObjectRoutineRules> gamma_grad_routine(random_gamma_grad_primitive(),
                                                    [](const ParamsBase&, std::span<const Aval> operands, std::span<const Aval> results) {
                                                      return elements_routine(aot::ElementsPlan::random_gamma_grad, operands, results[0]);
                                                    });
const RuleOf<ObjectRoutineRules> gamma_routine(random_gamma_primitive(),
                                               [](const ParamsBase& params, std::span<const Aval> operands,
                                                  std::span<const Aval>) -> std::optional<ObjectRoutine> {
                                                 const std::int64_t keys = operands[0].size();
                                                 return routine("weft_aot_gamma",
                                                                aot::GammaPlan{keys, keys ? operands[1].size() / keys : 0,
                                                                               element_of(operands[1].dtype), is_log_gamma(params)});
                                               });

const RuleOf<ObjectRoutineRules> log_sum_routine(
    cumulative_logsumexp_primitive(),
    [](const ParamsBase& params, std::span<const Aval> operands, std::span<const Aval>) -> std::optional<ObjectRoutine> {
      const auto& p = params_as<CumulativeParams>(params);
      if (!operands[0].dtype.is_floating()) return {};
      return routine("weft_aot_log_sum", aot::LogSumPlan{lines_of(operands[0].shape, p.axis), element_of(operands[0].dtype), p.reverse});
    });

const Rule<ObjectRoutineRules, Scatter> scatter_routine([](const ParamsBase& params, std::span<const Aval> operands,
                                                           std::span<const Aval>) -> std::optional<ObjectRoutine> {
  const auto& p = params_as<Scatter::Params>(params);
  if (p.update_jaxpr.jaxpr) return {};
  const Aval &x = operands[0], &indices = operands[1], &updates = operands[2];
  const IndexedGeometry g = scatter_geometry(p.dimension_numbers, x.ndim(), updates.shape);
  const auto of_x = row_major_strides(x.shape), of_indices = row_major_strides(indices.shape),
             of_updates = row_major_strides(updates.shape);
  aot::ScatterPlan plan{x.size(),
                        1,
                        1,
                        x.ndim(),
                        static_cast<std::int32_t>(g.batch_dims.size()),
                        x.dtype.itemsize(),
                        element_of(indices.dtype),
                        p.mode == GatherScatterMode::clip,
                        0};
  for (std::size_t k = 0; k < g.batch_dims.size(); ++k) plan.windows *= indices.shape[static_cast<int>(k)];
  ObjectRoutine r = routine("weft_aot_scatter", plan);
  for (std::size_t d = 0; d < g.dims.size(); ++d) {
    const IndexedDim& dim = g.dims[d];
    append(r.plan,
           aot::Place{x.shape[static_cast<int>(d)], of_x[d], dim.window,
                      dim.window_dim >= 0 ? of_updates[static_cast<std::size_t>(dim.window_dim)] : 0, dim.component, dim.batch_dim});
  }
  for (std::size_t k = 0; k < g.batch_dims.size(); ++k)
    append(r.plan, aot::Count{indices.shape[static_cast<int>(k)], of_updates[static_cast<std::size_t>(g.batch_dims[k])], of_indices[k]});
  return r;
});

/// What an object file has in place of an equation.
struct ObjectExpansionRules {
  using Function = std::optional<Jaxpr>(const Eqn& e, std::span<const Aval> in);
};
template <class F>
Jaxpr expansion_of(const Eqn& e, std::span<const Aval> in, F&& body) {
  return trace_jaxpr({std::string(e.op->name), {in.begin(), in.end()}, {}}, body);
}

const Rule<ObjectExpansionRules, ScatterSub> scatter_sub_expansion([](const Eqn& e, std::span<const Aval> in) -> std::optional<Jaxpr> {
  if (in[0].dtype.is_bool()) return {};
  return expansion_of(e, in, [&](std::span<const Array> xs) -> std::vector<Array> {
    return {bind_one<ScatterAdd>(params_as<ScatterParams>(*e.params), {xs[0], xs[1], -xs[2]}, {})};
  });
});
const RuleOf<ObjectExpansionRules> convolution_expansion(
    convolution_primitive(), [](const Eqn& e, std::span<const Aval> in) -> std::optional<Jaxpr> {
      constexpr double kWindowBytes = 64e6;
      for (const double bytes : {kWindowBytes, std::numeric_limits<double>::infinity()})
        if (std::optional<Jaxpr> made = expand_convolution(e, in, bytes)) return made;
      // An operand or the result is empty.
      const std::vector<Aval> out = infer(*e.op, *e.params, in, e.loc);
      return expansion_of(e, in, [&](std::span<const Array>) -> std::vector<Array> { return {zeros(out[0].shape, out[0].dtype)}; });
    });

}  // namespace

std::optional<ObjectRoutine> object_routine(const Primitive& op, const ParamsBase& params, std::span<const Aval> operands,
                                            std::span<const Aval> results) {
  ObjectRoutineRules::Function* const rule = find_rule<ObjectRoutineRules>(op);
  return rule ? rule(params, operands, results) : std::nullopt;
}

std::optional<Jaxpr> expand_for_object(const Eqn& e, std::span<const Aval> in) {
  if (ObjectExpansionRules::Function* const rule = find_rule<ObjectExpansionRules>(*e.op)) return rule(e, in);
  return expand_for_cpu(e, in);
}

}  // namespace weft::detail
