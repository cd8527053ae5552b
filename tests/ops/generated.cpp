// Tests of every primitive in every dtype on every backend, made from the samples: what abstract_eval, reference, lowering, text and each
// rule must agree on.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "core/elementwise.h"
#include "core/error.h"
#include "core/trace.h"
#include "program_checks.h"
#include "samples.h"

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
    if (!s.dtype.is_inexact() || tied_to_dtype.count(s.op->name)) return;
    const std::vector<Array> wide = run_in_wide(s, in);
    for (std::size_t k = 0; k < got.size(); ++k) {
      CAPTURE(k);
      CHECK(wrong_in(convert(got[k], wide[k].dtype()), wide[k], 8 * epsilon(s.dtype)) == "");
    }
  });
}

TEST_CASE("dtypes that a primitive is not defined for are refused with its name") {
  for (const SampleText& t : sample_texts())
    for (int id = 0; id < DType::count; ++id) {
      if (t.dtypes & kind_of(DType(id))) continue;
      CAPTURE(t.text);
      CAPTURE(DType(id).name());
      std::string message = "nothing was thrown";
      try {
        make_sample(t, DType(id));
      } catch (const Error& e) {
        message = e.what();
      }
      // Within a sub-program it is the operation there that refuses.
      CHECK_MESSAGE((message.find(std::string(t.op) + ":") != std::string::npos || message.find("is not defined for") != std::string::npos),
                    message);
    }
}

TEST_CASE("text: what is printed is read back as the same program") {
  for_each_sample([](const Sample& s) {
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

TEST_CASE("derivatives that are not there are refused, or zero") {
  for_each_sample(float64, [](const Sample& s) {
    if (s.op->jvp || s.op->jvp_call || s.op->kind == Kind::iota) return;
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
  for (DType dtype : {float32, int32, bool_, complex64})
    for_each_sample(dtype, [](const Sample& s) { check_vmap(s.program, {s.arguments(2), s.arguments(3), s.arguments(4)}); });
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
