#include "tools/fuzz/stack.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <sstream>

#include "tools/fuzz/compare.h"
#include "tools/fuzz/interpret.h"
#include "tools/fuzz/values.h"
#include "tools/reverse.h"
#include "weft/core/array/array_lists.h"
#include "weft/core/array/host.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ir/rewrite.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/control/call.h"
#include "weft/core/ops/control/remat.h"
#include "weft/core/trace/trace.h"

namespace weft::fuzz {

using namespace detail;

namespace {

/// Floating and complex inputs, some of them left out.
std::vector<bool> chosen(const Applied& a, Random& random) {
  std::vector<bool> out;
  bool any = false;
  const auto avals = a.program.data().input_avals();
  for (const Aval& x : avals) {
    out.push_back(x.dtype.is_inexact() && out.size() >= a.fixed && random.chance(0.8));
    any = any || out.back();
  }
  if (!any)
    for (std::size_t i = a.fixed; i < out.size(); ++i) out[i] = avals[i].dtype.is_inexact();
  return out;
}

Applied apply_jvp(const Applied& before, Random& random) {
  const Jaxpr& program = before.program;
  const std::vector<bool> wrt = chosen(before, random);
  Applied out{jvp_program(program, wrt).jaxpr, before.inputs};
  for (std::size_t i = 0; i < wrt.size(); ++i)
    if (wrt[i]) out.inputs.push_back(random_value(program.data().input_avals()[i], random, Values::tame));
  return out;
}

/// (inputs, tangents) -> (results, their tangents), by way of the linear program.
Applied apply_linearize(const Applied& before, Random& random) {
  const Jaxpr& program = before.program;
  const Arrays& inputs = before.inputs;
  const std::vector<bool> wrt = chosen(before, random);
  const LinearizedProgram lin = linearize_program(program, wrt);
  lin.primal.check();
  lin.linear.check();
  Applied out{{}, inputs};
  const auto avals = program.data().input_avals();
  TraceRequest request{"linearize", {avals.begin(), avals.end()}, {}};
  for (std::size_t i = 0; i < wrt.size(); ++i)
    if (wrt[i]) {
      request.inputs.push_back({avals[i].shape, avals[i].dtype});
      out.inputs.push_back(random_value(avals[i], random, Values::tame));
    }
  out.program = trace_jaxpr(request, [&](std::span<const Array> args) {
    Arrays primal = eval_jaxpr(lin.primal, args.first(inputs.size()));
    const auto cut = primal.end() - lin.num_residuals;
    const Arrays tangents = eval_jaxpr(lin.linear, concat(Arrays(cut, primal.end()), args.subspan(inputs.size())));
    return concat(Arrays(primal.begin(), cut), tangents);
  });
  return out;
}

/// (inputs, cotangents of the results that have a tangent) -> (results, cotangents of the chosen inputs). `grad`: the cotangents are the
/// cosines of the results, so that there are no more inputs.
Applied apply_vjp(const Applied& before, Random& random, bool grad) {
  const tools::Reverse reverse(before.program, chosen(before, random));
  Applied out{{}, before.inputs};
  const auto avals = before.program.data().input_avals();
  TraceRequest request{"vjp", {avals.begin(), avals.end()}, {}};
  if (!grad)
    for (const Aval& a : reverse.cotangent_types()) {
      request.inputs.push_back({a.shape, a.dtype});
      out.inputs.push_back(random_value(a, random, Values::tame));
    }
  out.program = trace_jaxpr(request, [&](std::span<const Array> args) {
    const auto [results, residuals] = reverse.push(args.first(avals.size()));
    Arrays cotangents(args.begin() + static_cast<std::ptrdiff_t>(avals.size()), args.end());
    for (std::size_t k = 0; grad && k < results.size(); ++k)
      if (reverse.active()[k])
        cotangents.push_back(convert(results[k].dtype().is_complex() ? conj(results[k]) : cos(results[k]), results[k].dtype()));
    return concat(results, reverse.pull(residuals, cotangents));
  });
  return out;
}

Array stacked(const Arrays& lanes, int dim);

struct Lanes {
  std::int64_t size;
  std::vector<int> dims;
};
Lanes lanes_of(const Applied& before, Random& random) {
  Lanes l{random.pick({1, 2, 2, 3, 5}), {}};
  bool any = false;
  for (const Aval& a : before.program.data().input_avals()) {
    const bool mapped = l.dims.size() >= before.fixed && random.chance(0.6) && a.size() < 2000;
    l.dims.push_back(mapped ? random.below(a.ndim() + 1) : kNotMapped);
    any = any || mapped;
  }
  if (!any && l.dims.size() > before.fixed) l.dims[before.fixed] = 0;
  return l;
}
Applied apply_vmap(const Applied& before, Random& random) {
  const Jaxpr& program = before.program;
  const Arrays& inputs = before.inputs;
  const Lanes l = lanes_of(before, random);
  Applied out;
  out.program = batch_program(program, {"", l.size, ""}, l.dims, std::vector<int>(program.data().outputs.size(), 0)).jaxpr;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (l.dims[i] == kNotMapped) {
      out.inputs.push_back(inputs[i]);
      continue;
    }
    Arrays lanes{inputs[i]};
    while (static_cast<std::int64_t>(lanes.size()) < l.size) lanes.push_back(random_value(inputs[i].aval(), random, Values::tame));
    out.inputs.push_back(stacked(lanes, l.dims[i]));
  }
  return out;
}

Applied wrapped(const Jaxpr& program, const Arrays& inputs, bool remat) {
  const auto avals = program.data().input_avals();
  const Jaxpr outer = trace_jaxpr({"wrapped", {avals.begin(), avals.end()}, {}}, [&](std::span<const Array> args) {
    if (!remat) return bind_jit("f", program, {}, args, {});
    return bind_remat(program, {}, true, args, {});
  });
  return {outer, inputs};
}

/// Calls f(offset in the array with the lanes, offset in a lane, bytes) for each run of bytes of one lane.
template <class F>
void for_each_run(const Aval& lane, int dim, std::int64_t lanes, std::int64_t which, F f) {
  std::int64_t outer = 1, run = lane.dtype.itemsize();
  for (int d = 0; d < lane.ndim(); ++d) (d < dim ? outer : run) *= lane.shape[d];
  for (std::int64_t i = 0; i < outer; ++i)
    f(static_cast<std::size_t>((i * lanes + which) * run), static_cast<std::size_t>(i * run), static_cast<std::size_t>(run));
}
Array stacked(const Arrays& lanes, int dim) {
  const Aval lane = lanes[0].aval(), all{lane.shape.inserted(dim, static_cast<std::int64_t>(lanes.size())), lane.dtype};
  std::vector<std::byte> bytes(static_cast<std::size_t>(all.bytes()));
  for (std::size_t l = 0; l < lanes.size(); ++l) {
    const std::vector<std::byte> part = bytes_of(lanes[l]);
    for_each_run(lane, dim, static_cast<std::int64_t>(lanes.size()), static_cast<std::int64_t>(l),
                 [&](std::size_t to, std::size_t from, std::size_t n) {
                   std::copy_n(part.begin() + static_cast<std::ptrdiff_t>(from), n, bytes.begin() + static_cast<std::ptrdiff_t>(to));
                 });
  }
  return make_concrete(all, bytes.data());
}
Array lane_of(const Array& x, int dim, std::int64_t lane) {
  if (dim == kNotMapped) return x;
  const Aval one{x.shape().erased(dim), x.dtype()};
  const std::vector<std::byte> all = bytes_of(x);
  std::vector<std::byte> bytes(static_cast<std::size_t>(one.bytes()));
  for_each_run(one, dim, x.shape()[dim], lane, [&](std::size_t from, std::size_t to, std::size_t n) {
    std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(from), n, bytes.begin() + static_cast<std::ptrdiff_t>(to));
  });
  return make_concrete(one, bytes.data());
}

}  // namespace

std::string print_stack(const std::vector<Transform>& stack) {
  std::string s;
  for (const Transform& t : stack) s += fmt::format("{}{}:{}", s.empty() ? "" : " ", t.kind, t.seed);
  return s;
}
std::vector<Transform> parse_stack(std::string_view text) {
  std::vector<Transform> out;
  std::istringstream words{std::string(text)};
  for (std::string w; words >> w;) {
    const std::size_t colon = w.find(':');
    if (colon == std::string::npos) throw Error("a transform is written as its name, a colon, and its seed, not `" + w + "`");
    out.push_back({w.substr(0, colon), std::stoull(w.substr(colon + 1))});
  }
  return out;
}

std::vector<Transform> random_stack(Random& random) {
  std::vector<Transform> out;
  for (int n = random.pick({0, 0, 1, 1, 1, 2, 2, 3}); n > 0; --n)
    out.push_back({random.pick({"jvp", "grad", "grad", "vjp", "vjp", "linearize", "vmap", "vmap", "vmap", "jit", "remat", "dce"}),
                   random.bits() % 100000});
  return out;
}

Applied apply(const Transform& t, const Applied& before) {
  Random random(t.seed);
  Applied after = [&]() -> Applied {
    if (t.kind == "jvp") return apply_jvp(before, random);
    if (t.kind == "linearize") return apply_linearize(before, random);
    if (t.kind == "grad" || t.kind == "vjp") return apply_vjp(before, random, t.kind == "grad");
    if (t.kind == "vmap") return apply_vmap(before, random);
    if (t.kind == "jit" || t.kind == "remat") return wrapped(before.program, before.inputs, t.kind == "remat");
    if (t.kind == "dce") return {dce_program(before.program), before.inputs};
    throw Error("there is no transform `" + t.kind + "`");
  }();
  after.fixed = before.fixed;
  return after;
}

namespace {

/// The real part of the sum of products: the pairing that transposition keeps; and the sum of their moduli.
std::pair<double, double> paired(const Arrays& a, const Arrays& b) {
  double sum = 0, size = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    const auto x = a[k].to_vector<std::complex<double>>(), y = b[k].to_vector<std::complex<double>>();
    for (std::size_t i = 0; i < x.size(); ++i) sum += (x[i] * y[i]).real(), size += std::abs(x[i] * y[i]);
  }
  return {sum, size};
}

/// The law of a vjp: paired with any tangents, its cotangents are what the forward derivative's are with the results' cotangents.
std::string broken_pairing(const Transform& t, const Applied& point, const Applied& after) {
  const Jaxpr& before = point.program;
  const Arrays& inputs = point.inputs;
  Random random(t.seed);
  const std::vector<bool> wrt = chosen(point, random);
  const std::vector<bool> active = linearize_program(before, wrt).nonzero_out;
  JvpProgram forward;
  try {
    forward = jvp_program(before, wrt);
  } catch (const Error&) {
    return {};  // a custom_vjp has none
  }
  Arrays tangents;
  for (std::size_t i = 0; i < wrt.size(); ++i)
    if (wrt[i]) tangents.push_back(random_value(before.data().input_avals()[i], random, Values::tame));
  const Arrays given(after.inputs.begin() + static_cast<std::ptrdiff_t>(inputs.size()), after.inputs.end());
  const std::size_t results = active.size();
  const auto sides = [&](const Arrays& pushed, const Arrays& pulled) {
    Arrays cotangents, of_outputs;
    for (std::size_t k = 0, next = results, ct = 0; k < results; ++k) {
      if (active[k] && forward.nonzero_out[k]) cotangents.push_back(given[ct]), of_outputs.push_back(pushed[next]);
      next += forward.nonzero_out[k], ct += active[k];
    }
    const Arrays back(pulled.begin() + static_cast<std::ptrdiff_t>(results), pulled.end());
    return std::pair(paired(cotangents, of_outputs), paired(back, tangents));
  };
  const Arrays forward_inputs = concat(inputs, tangents);
  const auto [lhs, rhs] =
      sides(tools::run_on("interp", "jvp", forward.jaxpr, forward_inputs), tools::run_on("interp", "vjp", after.program, after.inputs));
  if (!std::isfinite(lhs.second) || !std::isfinite(rhs.second)) return {};
  const double difference = std::abs(lhs.first - rhs.first);
  if (difference <= 1e-12 * (lhs.second + rhs.second)) return {};
  if (after.program.to_string().find("reduce_precision[") != std::string::npos) return {};  // it rounds as coarsely as it is told
  double limit = 1e-12 * (lhs.second + rhs.second) + 1e-300;
  for (std::uint64_t run = 0; run < 12; ++run) {
    const auto [l, r] =
        sides(disturbed(forward.jaxpr, forward_inputs, run, true, true), disturbed(after.program, after.inputs, run + 100, true, true));
    if (!std::isfinite(l.first) || !std::isfinite(r.first)) return {};  // beside the point it has no value
    limit = std::max({limit, 16 * std::abs(l.first - lhs.first), 16 * std::abs(r.first - rhs.first)});
    if (!(difference > limit)) return {};
  }
  return fmt::format("paired with tangents, the cotangents give {:.17g}, the forward derivative {:.17g}; within {:.3g}", rhs.first,
                     lhs.first, limit);
}

}  // namespace

std::string broken_law(const Transform& t, const Applied& point, const Applied& after) {
  const Jaxpr& before = point.program;
  const Arrays& inputs = point.inputs;
  const Arrays got = tools::run_on("interp", "after", after.program, after.inputs);
  if (t.kind != "vmap") {
    Arrays same(got.begin(), got.begin() + static_cast<std::ptrdiff_t>(before.data().outputs.size()));
    const std::string wrong = differing(before, inputs, same, tools::run_on("interp", "before", before, inputs));
    return !wrong.empty() || t.kind != "vjp" ? wrong : broken_pairing(t, point, after);
  }
  Random random(t.seed);
  const Lanes l = lanes_of(point, random);
  for (std::int64_t lane = 0; lane < l.size; ++lane) {
    Arrays in, out;
    for (std::size_t i = 0; i < inputs.size(); ++i) in.push_back(lane_of(after.inputs[i], l.dims[i], lane));
    for (const Array& x : got) out.push_back(lane_of(x, 0, lane));
    const std::string wrong = differing(before, in, out, tools::run_on("interp", "lane", before, in));
    if (!wrong.empty()) return fmt::format("lane {}: {}", lane, wrong);
  }
  return {};
}

Applied without_constants(const Jaxpr& program, const Arrays& inputs) {
  const Hoisted h = hoist_consts(program);
  return {h.jaxpr, concat(h.consts, inputs), h.consts.size()};
}

}  // namespace weft::fuzz
