// Tests of every primitive in every dtype on every backend, made from the samples: what abstract_eval, reference, lowering, text and each
// rule must agree on.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

#include "program_checks.h"
#include "samples.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/trace/trace.h"

namespace weft::test {

using namespace detail;

namespace {

template <class F>
void for_each_sample(DType dtype, F&& f) {
  for (const Sample& s : samples_in(dtype)) {
    CAPTURE(s.title);
    CAPTURE(s.program);
    REQUIRE_NOTHROW(f(s));
  }
}
template <class F>
void for_each_sample(F&& f) {
  for (int id = 0; id < DType::count; ++id) for_each_sample(DType(id), f);
}

}  // namespace

TEST_CASE("every primitive has a sample, or a reason why it has none") {
  std::set<std::string_view> sampled, reasoned;
  for (const SampleText& t : sample_texts()) sampled.insert(t.op);
  for (const ElementwiseInfo& info : elementwise_infos()) sampled.insert(info.op->name);
  for (const UnsampledPrimitive& u : unsampled_primitives()) {
    CHECK_MESSAGE(!u.reason.empty(), u.op);
    reasoned.insert(u.op);
  }
  std::set<std::string_view> names;
  for (const Primitive* op : all_primitives()) {
    CHECK_MESSAGE(names.insert(op->name).second, "two primitives are called " << op->name);
    CHECK_MESSAGE(sampled.count(op->name) + reasoned.count(op->name) == 1,
                  op->name << " needs either a sample in tests/ops/samples.cpp or a reason there");
  }
  for (const auto& list : {sampled, reasoned})
    for (std::string_view name : list) CHECK_MESSAGE(names.count(name) == 1, "there is no primitive " << name);
}

TEST_CASE("types and values: results are of the inferred type, the same on each backend, and near those in a wider dtype") {
  for_each_sample([](const Sample& s) {
    s.program.check();
    const std::vector<Array> in = s.arguments();
    const std::vector<Array> got = run_everywhere(s.program, in);
    if (!s.dtype.is_inexact() || s.dtype == s.dtype.real_part() ? s.dtype == float64 : s.dtype == complex128) return;
    static const std::set<std::string_view> tied_to_dtype = {"bitcast_convert_type", "convert_element_type", "nextafter",
                                                             "reduce_precision"};
    if (!s.dtype.is_inexact() || tied_to_dtype.count(s.op->name) || s.rounding == 0) return;
    const std::vector<Array> wide = run_in_wide(s, in);
    for (std::size_t k = 0; k < got.size(); ++k) {
      CAPTURE(k);
      CHECK(wrong_in(convert(got[k], wide[k].dtype()), wide[k], 8 * s.rounding * epsilon(s.dtype)) == "");
    }
  });
}

TEST_CASE("dtypes that a primitive is not defined for are refused with its name") {
  std::map<std::string_view, std::set<int>> taken;
  for (const SampleText& t : sample_texts())
    for (int id = 0; id < DType::count; ++id)
      if (is_among(DType(id), t.dtypes)) taken[t.op].insert(id);
  for (const SampleText& t : sample_texts())
    for (int id = 0; id < DType::count; ++id) {
      if (t.trace || taken[t.op].count(id)) continue;
      CAPTURE(t.text);
      CAPTURE(DType(id).name());
      std::string message = "nothing was thrown";
      try {
        make_sample(t, DType(id));
      } catch (const Error& e) {
        message = e.what();
      }
      // "parse: line 1, column 5: <primitive>: ..."; within a larger program it may be another one that refuses.
      const std::size_t begin = message.find(": ", message.find("column ")) + 2, end = message.find(':', begin);
      const bool named = end != std::string::npos && find_primitive(message.substr(begin, end - begin));
      CHECK_MESSAGE((named || message.find("not defined for") != std::string::npos), message);
    }
}

TEST_CASE("text: what is printed is read back as the same program") {
  for_each_sample([](const Sample& s) {
    if (s.text && s.text->trace) return;  // no text holds it
    const Jaxpr again = parse(s.program.to_string());
    CHECK(again == s.program);
    CHECK(structural_hash(again) == structural_hash(s.program));
  });
}

TEST_CASE("derivatives: forward against differences, reverse against forward, both to second order") {
  for (DType dtype : {float64, complex128})
    for_each_sample(dtype, [](const Sample& s) {
      const std::vector<Array> in = s.arguments(1);
      const std::vector<bool> inexact = inexact_inputs(s.program);
      if (s.smooth && std::find(inexact.begin(), inexact.end(), true) != inexact.end()) check_derivatives(s.program, in, inexact, 2);
    });
}

TEST_CASE("derivatives in every dtype are near those in a wider one, forward, reverse, and forward over reverse") {
  for (DType dtype : {float16, bfloat16, float32, complex64})
    for_each_sample(dtype, [](const Sample& s) {
      const std::vector<bool> inexact = inexact_inputs(s.program);
      if (!s.smooth || s.rounding == 0 || std::find(inexact.begin(), inexact.end(), true) == inexact.end()) return;
      const Sample wide = in_dtype(s, s.dtype.is_complex() ? complex128 : float64);
      auto near = [&](const Jaxpr& program, const Jaxpr& wider, int seed) {
        const auto avals = program.data().input_avals(), wide_avals = wider.data().input_avals();
        REQUIRE(avals.size() == wide_avals.size());
        std::vector<Array> in = s.arguments(1), wide_in;
        for (std::size_t i = in.size(); i < avals.size(); ++i)
          in.push_back(sample_array(avals[i], {-1, 1}, 0, 1, seed + static_cast<int>(i)));
        for (std::size_t i = 0; i < in.size(); ++i) wide_in.push_back(convert(in[i], wide_avals[i].dtype));
        const std::vector<Array> got = run_everywhere(program, in), want = run_on_interpreter(wider, wide_in);
        for (std::size_t k = 0; k < got.size(); ++k) {
          CAPTURE(k);
          CHECK(wrong_in(convert(got[k], want[k].dtype()), want[k], 32 * s.rounding * epsilon(s.dtype)) == "");
        }
      };
      near(jvp_program(s.program, inexact).jaxpr, jvp_program(wide.program, inexact).jaxpr, 20);
      const Jaxpr gradient = gradient_program(s.program, inexact), wide_gradient = gradient_program(wide.program, inexact);
      near(gradient, wide_gradient, 30);
      const std::vector<bool> all = inexact_inputs(gradient);
      near(jvp_program(gradient, all).jaxpr, jvp_program(wide_gradient, all).jaxpr, 40);
    });
}

TEST_CASE("derivatives that are not there are refused, or zero") {
  for_each_sample(float64, [](const Sample& s) {
    if (s.op->jvp || s.op->jvp_call || s.op->kind == Kind::iota || (s.text && s.text->trace)) return;
    const std::vector<bool> inexact = inexact_inputs(s.program);
    if (s.op->not_differentiable.empty()) {
      for (bool nonzero : jvp_program(s.program, inexact).nonzero_out) CHECK(!nonzero);
      return;
    }
    std::string message = "nothing was thrown";
    try {
      jvp_program(s.program, inexact);
    } catch (const Error& e) {
      message = e.what();
    }
    CHECK_MESSAGE(message.find(std::string(s.op->name)) != std::string::npos, message);
  });
}

TEST_CASE("vmap: any operands mapped along any of their axes, against a loop") {
  for_each_sample([](const Sample& s) { check_vmap(s.program, {s.arguments(2), s.arguments(3), s.arguments(4)}); });
}

TEST_CASE("vmap over no lanes: results of their types without elements") {
  for_each_sample([](const Sample& s) {
    const std::vector<Array> lane = s.arguments();
    if (lane.empty()) return;
    std::vector<Array> inputs;
    for (const Array& x : lane) inputs.push_back(stack({x})(slice(0, 0)));
    const BatchedProgram batched = batch_program(s.program, {"", 0}, std::vector<int>(lane.size(), 0));
    batched.jaxpr.check();
    const std::vector<Array> got = run_everywhere(batched.jaxpr, inputs);
    const std::vector<Aval> want = s.program.data().output_avals();
    REQUIRE(got.size() == want.size());
    for (std::size_t k = 0; k < got.size(); ++k) {
      const int dim = batched.out_dims[k];
      CHECK(got[k].dtype() == want[k].dtype);
      CHECK(got[k].shape() == (dim == kNotMapped ? want[k].shape : want[k].shape.inserted(dim, 0)));
    }
  });
}

TEST_CASE("vmap of gradients, against a loop") {
  for_each_sample(float64, [](const Sample& s) {
    const std::vector<bool> inexact = inexact_inputs(s.program);
    if (!s.smooth || std::find(inexact.begin(), inexact.end(), true) == inexact.end()) return;
    const Jaxpr gradient = gradient_program(s.program, inexact);
    std::vector<std::vector<Array>> lanes;
    for (int seed = 5; seed < 8; ++seed) {
      lanes.push_back(s.arguments(seed));
      const auto avals = gradient.data().input_avals();
      for (std::size_t i = lanes.back().size(); i < avals.size(); ++i)
        lanes.back().push_back(sample_array(avals[i], {-1, 1}, 0, 1, seed + static_cast<int>(i)));
    }
    check_vmap(gradient, lanes);
  });
}

}  // namespace weft::test
