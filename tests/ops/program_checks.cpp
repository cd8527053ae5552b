#include "program_checks.h"

#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <set>

#include "samples.h"
#include "tools/programs.h"
#include "tools/reverse.h"
#include "weft/core/array/constructors.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/trace/trace.h"
#include "weft/runtime/host/executable.h"

namespace weft::test {

using namespace detail;

double epsilon(DType t) {
  const DType part = t.real_part();
  return part == float16 ? 0x1p-10 : part == bfloat16 ? 0x1p-7 : part == float32 ? 0x1p-23 : part == float64 ? 0x1p-52 : 0;
}

std::string wrong_in(const Array& got, const Array& want, double tolerance) {
  return tools::difference(got, want, nullptr, {tolerance, tolerance, false});
}

std::vector<Array> run_everywhere(const Jaxpr& program, const std::vector<Array>& inputs) {
  const std::vector<Array> want = tools::run_on("interp", "sample", program, inputs), got = tools::run_on("cpu", "sample", program, inputs);
  const std::vector<Aval> avals = program.data().output_avals();
  REQUIRE(want.size() == avals.size());
  REQUIRE(got.size() == avals.size());
  for (std::size_t k = 0; k < avals.size(); ++k) {
    CHECK(want[k].shape() == avals[k].shape);
    CHECK(want[k].dtype() == avals[k].dtype);
    const std::string wrong = wrong_in(got[k], want[k], 64 * epsilon(avals[k].dtype));
    CHECK_MESSAGE(wrong.empty(), "on the CPU, result " << k << ": " << wrong << "\n" << program.to_string());
  }
  return want;
}

std::vector<Array> run_on_interpreter(const Jaxpr& program, const std::vector<Array>& inputs) {
  return tools::run_on("interp", "sample", program, inputs);
}
std::vector<Array> run_in_wide(const Sample& s, const std::vector<Array>& inputs) {
  const Sample wide = in_dtype(s, s.dtype.is_complex() ? complex128 : float64);
  const auto avals = wide.program.data().input_avals();
  std::vector<Array> in;
  for (std::size_t i = 0; i < inputs.size(); ++i) in.push_back(convert(inputs[i], avals[i].dtype));
  return tools::run_on("interp", "sample", wide.program, in);
}

std::vector<bool> inexact_inputs(const Jaxpr& program) {
  std::vector<bool> out;
  for (const Aval& a : program.data().input_avals()) out.push_back(a.dtype.is_inexact());
  return out;
}

namespace {

using Complex = std::complex<double>;

std::vector<Array> joined(std::vector<Array> a, const std::vector<Array>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
std::vector<bool> padded(std::vector<bool> mask, int size) {
  mask.resize(static_cast<std::size_t>(size), false);
  return mask;
}

/// Directions for the inputs where `wrt`.
std::vector<Array> directions(std::span<const Aval> avals, const std::vector<bool>& wrt, int seed) {
  std::vector<Array> out;
  for (std::size_t i = 0; i < avals.size(); ++i)
    if (wrt[i]) out.push_back(sample_array(avals[i], {-1, 1}, 0, 1, seed + static_cast<int>(i)));
  return out;
}
std::vector<Array> moved(const std::vector<Array>& inputs, const std::vector<bool>& wrt, const std::vector<Array>& by, double step) {
  std::vector<Array> out = inputs;
  std::size_t next = 0;
  for (std::size_t i = 0; i < out.size(); ++i)
    if (wrt[i]) {
      const Array& d = by[next++];
      out[i] = inputs[i] + d * convert(Array(step), d.dtype());
    }
  return out;
}

/// The real part of the sum of products: the pairing that transposition keeps.
double paired(const std::vector<Array>& a, const std::vector<Array>& b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    const auto x = convert(a[k], complex128).to_vector<Complex>(), y = convert(b[k], complex128).to_vector<Complex>();
    for (std::size_t i = 0; i < x.size(); ++i) sum += (x[i] * y[i]).real();
  }
  return sum;
}

std::vector<Array> run(const Jaxpr& program, const std::vector<Array>& inputs) { return run_on_interpreter(program, inputs); }

}  // namespace

Jaxpr gradient_program(const Jaxpr& program, const std::vector<bool>& wrt) {
  const tools::Reverse reverse(program, wrt);
  const auto inputs = program.data().input_avals();
  TraceRequest request{"gradient", {inputs.begin(), inputs.end()}, {}};
  request.inputs.insert(request.inputs.end(), reverse.cotangent_types().begin(), reverse.cotangent_types().end());
  const Jaxpr gradient = trace_jaxpr(request, [&](std::span<const Array> args) {
    return reverse.pull(reverse.push(args.first(inputs.size())).residuals, args.subspan(inputs.size()));
  });
  gradient.check();
  return gradient;
}

namespace {

/// Directions of the inputs, the forward derivatives along them of the outputs that have one, and cotangents for those.
struct Directions {
  std::vector<Array> tangents, out_tangents, cotangents;
};
/// Gives the gradient's program.
Jaxpr check_reverse(const Jaxpr& program, const std::vector<Array>& inputs, const std::vector<bool>& wrt, const Directions& d) {
  const Jaxpr gradient = gradient_program(program, wrt);
  const std::vector<Array> back = run_everywhere(gradient, joined(inputs, d.cotangents));
  REQUIRE(back.size() == d.tangents.size());
  for (std::size_t i = 0; i < back.size(); ++i) {
    CHECK(back[i].shape() == d.tangents[i].shape());
    CHECK(back[i].dtype() == d.tangents[i].dtype());
  }
  const double lhs = paired(d.cotangents, d.out_tangents), rhs = paired(back, d.tangents);
  CHECK_MESSAGE(std::abs(lhs - rhs) <= 1e-9 * (1 + std::abs(lhs)), "reverse: " << lhs << " is not " << rhs << "\n" << gradient.to_string());
  return gradient;
}

}  // namespace

void check_transposes(const Jaxpr& program, const std::vector<Array>& inputs, const std::vector<bool>& wrt) {
  Directions d;
  d.tangents = directions(program.data().input_avals(), wrt, 40);
  const JvpProgram forward = jvp_program(program, wrt);
  forward.jaxpr.check();
  const std::vector<Array> both = run_everywhere(forward.jaxpr, joined(inputs, d.tangents));
  const std::vector<Aval> avals = program.data().output_avals();
  std::size_t next = avals.size();
  for (std::size_t k = 0; k < avals.size(); ++k)
    if (forward.nonzero_out[k]) {
      d.out_tangents.push_back(both[next++]);
      d.cotangents.push_back(sample_array(avals[k], {-1, 1}, 0, 1, 7 + static_cast<int>(k)));
    }
  if (!d.out_tangents.empty()) check_reverse(program, inputs, wrt, d);
}

void check_derivatives(const Jaxpr& program, const std::vector<Array>& inputs, const std::vector<bool>& wrt, int order) {
  const auto avals = program.data().input_avals();
  const std::vector<Aval> out_avals = program.data().output_avals();
  const std::vector<Array> tangents = directions(avals, wrt, 100 * order);

  const JvpProgram forward = jvp_program(program, wrt);
  forward.jaxpr.check();
  const std::vector<Array> values = run(program, inputs), both = run_everywhere(forward.jaxpr, joined(inputs, tangents));
  REQUIRE(both.size() >= values.size());
  for (std::size_t k = 0; k < values.size(); ++k) CHECK(wrong_in(both[k], values[k], 1e-14) == "");

  const double step = 1e-6;
  const std::vector<Array> above = run(program, moved(inputs, wrt, tangents, step)),
                           below = run(program, moved(inputs, wrt, tangents, -step));
  std::vector<Array> out_tangents, cotangents;
  std::size_t next = values.size();
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (!out_avals[k].dtype.is_inexact()) continue;
    const Array difference = (above[k] - below[k]) / convert(Array(2 * step), out_avals[k].dtype);
    const Array out_tangent = forward.nonzero_out[k] ? both[next++] : zeros_of(out_avals[k], {});
    const std::string wrong = wrong_in(out_tangent, difference, 1e-6);
    CHECK_MESSAGE(wrong.empty(), "order " << order << ", forward, result " << k << ": " << wrong << "\n" << forward.jaxpr.to_string());
    if (!forward.nonzero_out[k]) continue;
    out_tangents.push_back(out_tangent);
    cotangents.push_back(sample_array(out_avals[k], {-1, 1}, 0, 1, 7 + static_cast<int>(k)));
  }
  if (out_tangents.empty()) return;
  const Jaxpr gradient = check_reverse(program, inputs, wrt, {tangents, out_tangents, cotangents});
  if (order < 2) return;
  check_derivatives(forward.jaxpr, joined(inputs, tangents), padded(wrt, forward.jaxpr.data().num_inputs), order - 1);
  check_derivatives(gradient, joined(inputs, cotangents), padded(wrt, gradient.data().num_inputs), order - 1);
}

void check_vmap(const Jaxpr& program, const std::vector<std::vector<Array>>& lanes) {
  const auto avals = program.data().input_avals();
  const std::size_t n = avals.size(), size = lanes.size();
  std::set<unsigned> masks;
  for (unsigned mask = 1; mask < (1u << n); ++mask)
    if (n <= 3 || __builtin_popcount(mask) == 1 || mask == (1u << n) - 1) masks.insert(mask);
  for (const unsigned mask : masks)
    for (const bool last : {false, true}) {
      CAPTURE(mask);
      CAPTURE(last);
      std::vector<Array> inputs;
      std::vector<int> dims;
      for (std::size_t i = 0; i < n; ++i) {
        const int axis = last ? avals[i].ndim() : 0;
        dims.push_back(mask >> i & 1 ? axis : kNotMapped);
        std::vector<Array> all;
        for (const auto& lane : lanes) all.push_back(lane[i]);
        inputs.push_back(mask >> i & 1 ? stack(all, axis) : lanes[0][i]);
      }
      const BatchedProgram batched = batch_program(program, {"", static_cast<std::int64_t>(size)}, dims);
      batched.jaxpr.check();
      const std::vector<Array> got = run_everywhere(batched.jaxpr, inputs);
      std::vector<std::vector<Array>> want(got.size());
      for (const auto& lane : lanes) {
        std::vector<Array> one;
        for (std::size_t i = 0; i < n; ++i) one.push_back(mask >> i & 1 ? lane[i] : lanes[0][i]);
        const std::vector<Array> results = run(program, one);
        for (std::size_t k = 0; k < results.size(); ++k) want[k].push_back(results[k]);
      }
      for (std::size_t k = 0; k < got.size(); ++k) {
        if (batched.out_dims[k] == kNotMapped) {
          for (const Array& w : want[k]) CHECK(wrong_in(got[k], w, 4 * epsilon(w.dtype())) == "");
          continue;
        }
        const Array w = stack(want[k], batched.out_dims[k]);
        const std::string wrong = wrong_in(got[k], w, 16 * epsilon(w.dtype()));
        CHECK_MESSAGE(wrong.empty(), "result " << k << ": " << wrong << "\n" << batched.jaxpr.to_string());
      }
    }
}

}  // namespace weft::test
