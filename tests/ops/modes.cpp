// Every primitive in every way of executing a function, and transposed by any of its operands.
#include <doctest/doctest.h>

#include <complex>

#include "program_checks.h"
#include "samples.h"
#include "tools/modes.h"
#include "tools/programs.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/elementwise.h"

namespace weft::test {

using namespace detail;
using tools::Arrays;

namespace {

/// Each primitive's samples in a dtype that it is defined for, taken in turn, so that all dtypes have their part.
std::vector<Sample> sampled_dtypes() {
  std::vector<Sample> out;
  for (int id = 0; id < DType::count; ++id)
    for (Sample& s : samples_in(DType(id)))
      if (std::hash<std::string_view>()(s.title) % 4 == 0 || DType(id) == float32) out.push_back(std::move(s));
  return out;
}

double paired(const Arrays& a, const Arrays& b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    const auto x = convert(a[k], complex128).to_vector<std::complex<double>>(),
               y = convert(b[k], complex128).to_vector<std::complex<double>>();
    for (std::size_t i = 0; i < x.size(); ++i) sum += (x[i] * y[i]).real();
  }
  return sum;
}

/// Of a program whose transpose by the inputs where `linear` was made: that it is the transpose of what those inputs change.
void check_transposed(const Sample& s, const TransposedProgram& t, const std::vector<bool>& linear, const std::vector<bool>& inexact_out) {
  const auto avals = s.program.data().input_avals();
  const std::vector<Aval> out_avals = s.program.data().output_avals();
  Arrays at = s.arguments(1), further = at, known, steps;
  for (std::size_t i = 0; i < at.size(); ++i) {
    if (!linear[i]) {
      known.push_back(at[i]);
      continue;
    }
    steps.push_back(sample_array(avals[i], {-3, 3}, 0, 1, 50 + static_cast<int>(i)));
    further[i] = at[i] + steps.back();
  }
  Arrays cotangents, changes, known_and_cotangents = known;
  const Arrays before = run_on_interpreter(s.program, at), after = run_on_interpreter(s.program, further);
  for (std::size_t k = 0; k < out_avals.size(); ++k) {
    if (!inexact_out[k]) continue;
    cotangents.push_back(sample_array(out_avals[k], {-1, 1}, 0, 1, 7 + static_cast<int>(k)));
    changes.push_back(after[k] - before[k]);
  }
  known_and_cotangents.insert(known_and_cotangents.end(), cotangents.begin(), cotangents.end());
  Arrays moved;
  for (std::size_t i = 0; i < t.nonzero.size(); ++i)
    if (t.nonzero[i]) moved.push_back(steps[i]);
  const double lhs = paired(cotangents, changes), rhs = paired(run_on_interpreter(t.jaxpr, known_and_cotangents), moved);
  CHECK_MESSAGE(std::abs(lhs - rhs) <= 1e-9 * (1 + std::abs(lhs)), lhs << " is not " << rhs << "\n" << t.jaxpr.to_string());
}

}  // namespace

TEST_CASE("a primitive transposed by any of its operands is linear in them, or refused by name") {
  for (DType dtype : {float64, complex128})
    for (const Sample& s : samples_in(dtype)) {
      CAPTURE(s.title);
      CAPTURE(s.program);
      const std::vector<bool> inexact = inexact_inputs(s.program);
      std::vector<bool> inexact_out;
      for (const Aval& a : s.program.data().output_avals()) inexact_out.push_back(a.dtype.is_inexact());
      const std::size_t n = std::min<std::size_t>(inexact.size(), 5);
      for (unsigned mask = 1; mask < 1u << n; ++mask) {
        CAPTURE(mask);
        std::vector<bool> linear(inexact.size());
        for (std::size_t i = 0; i < n; ++i) linear[i] = mask >> i & 1;
        TransposedProgram t;
        try {
          t = transpose_program(s.program, linear, inexact_out);
        } catch (const TracerError& e) {
          const std::string message = e.message();
          CHECK_MESSAGE((find_primitive(message.substr(0, message.find(':'))) || s.text), message);
          continue;
        }
        if (std::none_of(inexact_out.begin(), inexact_out.end(), [](bool b) { return b; })) continue;
        if (s.op->name == "reduce_precision" || s.op->name == "convert_element_type") continue;  // linear but for their rounding
        check_transposed(s, t, linear, inexact_out);
      }
    }
}

TEST_CASE("every primitive does the same in every way of executing a function") {
  for (const Sample& s : sampled_dtypes()) {
    CAPTURE(s.title);
    CAPTURE(s.program);
    const std::vector<Arrays> lanes = {s.arguments(), s.arguments(1)};
    std::vector<Arrays> want;
    for (const Arrays& in : lanes) want.push_back(run_on_interpreter(s.program, in));
    for (const tools::Mode& mode : tools::modes()) {
      if (!tools::runs(mode, lanes[0]) || mode.name == "interp" || mode.name == "cpu") continue;
      if (mode.name == "text" && s.text && s.text->trace) continue;  // no text holds it
      CAPTURE(mode.name);
      std::vector<Arrays> got;
      REQUIRE_NOTHROW(got = mode.run(tools::function_of(s.program), lanes));
      for (std::size_t l = 0; l < lanes.size(); ++l)
        for (std::size_t k = 0; k < want[l].size(); ++k) CHECK(wrong_in(got[l][k], want[l][k], 32 * epsilon(want[l][k].dtype())) == "");
    }
  }
}

}  // namespace weft::test
