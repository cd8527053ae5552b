// Every operation written in StableHLO and read again: the sample programs, their gradients, and those of two lanes.
//
// With WEFT_WRITE_STABLEHLO=FOLDER the programs are kept there with inputs and results, NAME.mlir and NAME.npz, for another reader
// (scripts/test-written).
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>

#include "tests/ops/program_checks.h"
#include "tests/ops/samples.h"
#include "tools/written.h"
#include "weft/core/array/constructors.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/io/io.h"
#include "weft/core/ir/rules.h"
#include "weft/frontends/stablehlo/write.h"
#include "weft/transforms/control/callback.h"
#include "weft/transforms/jaxpr_api.h"

namespace weft::test {

using namespace detail;

namespace {

/// What has no spelling in StableHLO, and why.
const std::map<std::string_view, std::string_view>& unwritten() {
  static const std::map<std::string_view, std::string_view> all = {
      {"custom_lin", "a part of a derivative that is being taken; no program that runs has it"},
      {"debug_callback", "calls a C++ function"},
      {"debug_print", "prints"},
      {"global_to_host_local", "is about the processes that run the program"},
      {"host_local_to_global", "is about the processes that run the program"},
      {"io_callback", "calls a C++ function"},
      {"pure_callback", "calls a C++ function"},
      {"random_gamma", "draws as often as it must, for each element on its own"},
      {"random_gamma_grad", "is a series of its own for each range of its operands"},
  };
  return all;
}

bool has_unwritten(const Jaxpr& j) {
  for (const Eqn& e : j.eqns()) {
    if (unwritten().count(e.op->name)) return true;
    for (const ParamText& p : e.op->params_list(*e.params)) {
      if (p.jaxpr && has_unwritten(*p.jaxpr)) return true;
      if (p.jaxprs)
        for (const Jaxpr& inner : *p.jaxprs)
          if (has_unwritten(inner)) return true;
    }
  }
  return false;
}

void keep(const std::string& title, const Jaxpr& program, const std::vector<Array>& in, const std::vector<Array>& want) {
  static int count = 0;
  const char* const folder = std::getenv("WEFT_WRITE_STABLEHLO");
  if (!folder) return;
  const std::string path = fmt::format("{}/{:05}", folder, count++);
  std::ofstream(path + ".mlir") << "// " << title << "\n" << to_stablehlo(program, {.locations = true});
  std::map<std::string, Array> arrays;
  const std::vector<Array> inputs = tools::as_words(in), results = tools::as_words(want);
  for (std::size_t k = 0; k < inputs.size(); ++k) arrays.emplace(fmt::format("in{}", k), inputs[k]);
  for (std::size_t k = 0; k < results.size(); ++k) arrays.emplace(fmt::format("out{}", k), results[k]);
  save_npz(path + ".npz", arrays);
}

/// The values of the program that is read are near those of the one that was written.
void check_written(const std::string& title, const Jaxpr& program, const std::vector<Array>& in, double rounding) {
  CAPTURE(title);
  CAPTURE(program);
  if (has_unwritten(program)) return;
  std::string text;
  REQUIRE_NOTHROW(text = to_stablehlo(program));
  CAPTURE(text);
  const std::vector<Array> want = run_on_interpreter(program, in);
  keep(title, program, in, want);
  std::vector<Array> got;
  REQUIRE_NOTHROW(got = run_on_interpreter(tools::written_and_read(program), in));
  REQUIRE(got.size() == want.size());
  for (std::size_t k = 0; k < want.size(); ++k) {
    CAPTURE(k);
    CHECK(wrong_in(got[k], want[k], 8 * rounding * epsilon(want[k].dtype())) == "");
  }
}

}  // namespace

TEST_CASE("written: every operation has a spelling in StableHLO, is a call, or has a reason why it has none") {
  for (const Primitive* op : all_primitives()) {
    bool spelled = false;
    for (const RuleTable* table : rule_tables())
      if (table->name == "stablehlo") spelled = table->find(*op) != nullptr;
    const bool expanded = op->kind == Kind::call || (op->kind == Kind::random && !unwritten().count(op->name));
    CHECK_MESSAGE(spelled + expanded + static_cast<int>(unwritten().count(op->name)) >= 1, op->name);
    CHECK_MESSAGE(!(spelled && unwritten().count(op->name)), op->name);
  }
}

TEST_CASE("written: what is read of each operation has its values, in every dtype") {
  for (int id = 0; id < DType::count; ++id)
    for (const Sample& s : samples_in(DType(id))) check_written(s.title, s.program, s.arguments(), std::max(1., s.rounding));
}

TEST_CASE("written: gradients and batches of each operation") {
  for (const DType dtype : {float32, complex64})
    for (const Sample& s : samples_in(dtype)) {
      const std::vector<Array> in = s.arguments();
      std::vector<Array> lanes;
      for (const Array& x : in) lanes.push_back(stack({x, x}));
      if (!in.empty()) check_written("batch of " + s.title, batch_jaxpr(s.program, {.axis_size = 2}), lanes, std::max(1., s.rounding));
      const std::vector<bool> inexact = inexact_inputs(s.program);
      if (!s.smooth || std::find(inexact.begin(), inexact.end(), true) == inexact.end() || has_unwritten(s.program)) continue;
      const Jaxpr gradient = gradient_program(s.program, inexact);
      std::vector<Array> all = in;
      const auto inputs = gradient.data().input_avals();
      for (std::size_t k = in.size(); k < inputs.size(); ++k) all.push_back(sample_array(inputs[k], {-1, 1}, 0, 1, static_cast<int>(k)));
      check_written("gradient of " + s.title, gradient, all, 8 * std::max(1., s.rounding));
    }
}

TEST_CASE("written: what has no spelling is an error with the operation and the user's line") {
  std::string message;
  try {
    to_stablehlo([](Array x) { return pure_callback([](Array y) { return y; }, ShapeDtypeStruct{{1}, float32}, x); })(array({1.f}));
  } catch (const Error& e) {
    message = e.what();
  }
  CHECK_MESSAGE(message.find("pure_callback") != std::string::npos, message);
  CHECK_MESSAGE(message.find("operations.cpp") != std::string::npos, message);
}

}  // namespace weft::test
