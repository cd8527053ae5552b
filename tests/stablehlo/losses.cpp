// Losses of small models that JAX exported (data/losses.py): read as C++ functions they are differentiable, with JAX's values and
// gradients.
#include <algorithm>
#include <functional>

#include "tests/messages.h"
#include "tests/stablehlo/run.h"
#include "weft/core/ir/primitive.h"

using namespace weft;

namespace {

std::string data_file(const std::string& name) {
  const char* const root = std::getenv("WEFT_TEST_DATA");
  return std::string(root ? root : "tests") + "/stablehlo/data/" + name;
}

/// How often the primitive stands in the program and those in it.
int count(const Jaxpr& j, std::string_view primitive) {
  int n = 0;
  for (const Eqn& e : j.eqns()) {
    n += e.op->name == primitive;
    for (const detail::ParamText& p : e.op->params_list(*e.params)) {
      if (p.jaxpr) n += count(*p.jaxpr, primitive);
      if (p.jaxprs)
        for (const Jaxpr& inner : *p.jaxprs) n += count(inner, primitive);
    }
  }
  return n;
}

struct Loss {
  explicit Loss(const std::string& name)
      : program(load_stablehlo(data_file(name + ".exported"))), arrays(load_npz(data_file(name + ".npz"))) {
    inputs = tools::numbered(arrays, "in");
    program.check();
  }
  /// Value and gradients by every floating input, each way of executing them, against JAX's.
  void check() const {
    std::vector<Array> floating;
    for (const Array& x : inputs)
      if (x.dtype().is_floating()) floating.push_back(x);
    const auto loss = [&](const std::vector<Array>& varied) {
      std::vector<Array> all;
      std::size_t next = 0;
      for (const Array& x : inputs) all.push_back(x.dtype().is_floating() ? varied[next++] : x);
      return detail::eval_jaxpr(program, all)[0];
    };
    const auto compare = [&](const Array& value, const std::vector<Array>& gradients) {
      CHECK(tools::difference(value, arrays.at("loss"), nullptr, {2e-5, 1e-6, false}) == "");
      REQUIRE(gradients.size() == floating.size());
      std::size_t next = 0;
      for (std::size_t i = 0; i < inputs.size(); ++i)
        if (inputs[i].dtype().is_floating()) {
          CAPTURE(i);
          CHECK(tools::difference(gradients[next++], arrays.at("grad" + std::to_string(i)), nullptr, {1e-4, 1e-5, false}) == "");
        }
    };
    const auto [value, gradients] = value_and_grad(loss)(floating);
    compare(value, gradients);
    const auto [compiled_value, compiled] = jit(value_and_grad(loss))(floating);
    compare(compiled_value, compiled);
    // What weft writes of the gradient is the gradient.
    const Jaxpr written = parse_stablehlo(to_stablehlo(value_and_grad(loss))(floating));
    const std::vector<Array> again = tools::run_on("interp", "gradient", written, floating);
    compare(again[0], {again.begin() + 1, again.end()});
  }

  Jaxpr program;
  std::map<std::string, Array> arrays;
  std::vector<Array> inputs;
};

}  // namespace

TEST_CASE("losses that JAX exported: a classifier of three layers") { Loss("loss_mlp").check(); }

TEST_CASE("losses that JAX exported: recurrent networks forwards and backwards, whose loops are scans over rows") {
  const Loss loss("loss_rnn");
  loss.check();
  CHECK(count(loss.program, "scan") == 2);
  CHECK(count(loss.program, "while") == 0);
  // Rows are the scans' own, not sliced by a counter.
  CHECK(count(loss.program, "dynamic_slice") == 0);
  CHECK(count(loss.program, "dynamic_update_slice") == 0);
  int backwards = 0;
  for (const Eqn& e : loss.program.eqns())
    for (const detail::ParamText& p : e.op->params_list(*e.params)) backwards += p.name == "reverse" && p.text == "True";
  CHECK(backwards == 1);
}

TEST_CASE("losses that JAX exported: a block of attention") { Loss("loss_attention").check(); }

TEST_CASE("losses that JAX exported: loops that read and write rows of one array") {
  const Loss loss("loss_recurrence");
  loss.check();
  CHECK(count(loss.program, "while") == 0);
  CHECK(count(loss.program, "scan") == 2);
}

TEST_CASE("losses that JAX exported: steps of Newton's method, counted") {
  const Loss loss("loss_newton");
  loss.check();
  CHECK(count(loss.program, "while") == 0);
}

TEST_CASE("losses that JAX exported: random numbers within a loop") { Loss("loss_dropout").check(); }

TEST_CASE("losses that JAX exported: functions written out as selections, of which a formula that is not taken overflows") {
  Loss("loss_tails").check();
}

TEST_CASE("loops: what a counter's steps say decides what becomes a scan") {
  struct Case {
    const char *start, *end, *compare, *step;
    int scans;
    std::int64_t length;
  };
  // The loop adds the counter to a sum; what it gives is compared with the loop as it is written.
  for (const Case& c : {Case{"0", "5", "LT", "1", 1, 5}, Case{"0", "5", "LE", "2", 1, 3}, Case{"9", "2", "GT", "-3", 1, 3},
                        Case{"-3", "3", "LT", "4", 1, 2}, Case{"5", "5", "LT", "1", 0, 0}, Case{"0", "5", "LT", "0", 0, 0},
                        Case{"0", "-5", "GE", "-1", 1, 6}, Case{"0", "3", "NE", "1", 0, 0}}) {
    if (std::string_view(c.step) == "0") continue;  // it never ends
    const std::string text = std::string(R"(func.func @main(%x: tensor<i32>) -> (tensor<i32>, tensor<i32>) {
  %start = stablehlo.constant dense<)") +
                             c.start + R"(> : tensor<i32>
  %end = stablehlo.constant dense<)" +
                             c.end + R"(> : tensor<i32>
  %step = stablehlo.constant dense<)" +
                             c.step +
                             R"(> : tensor<i32>
  %0:2 = stablehlo.while(%i = %start, %s = %x) : tensor<i32>, tensor<i32>
  cond {
    %p = stablehlo.compare )" +
                             c.compare +
                             R"(, %i, %end, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %t = stablehlo.multiply %s, %i : tensor<i32>
    %u = stablehlo.add %t, %i : tensor<i32>
    %n = stablehlo.add %i, %step : tensor<i32>
    stablehlo.return %n, %u : tensor<i32>, tensor<i32>
  }
  return %0#0, %0#1 : tensor<i32>, tensor<i32>
})";
    CAPTURE(text);
    const Jaxpr program = parse_stablehlo(text);
    program.check();
    CHECK(count(program, "scan") == c.scans);
    CHECK(count(program, "while") == 1 - c.scans);
    const int start = std::stoi(c.start), end = std::stoi(c.end), step = std::stoi(c.step);
    const std::string_view how = c.compare;
    int i = start, s = 7;
    std::int64_t steps = 0;
    while (how == "LT" ? i < end : how == "LE" ? i <= end : how == "GT" ? i > end : how == "GE" ? i >= end : i != end)
      s = s * i + i, i += step, ++steps;
    if (c.scans) CHECK(steps == c.length);
    for (const char* backend : {"interp", "cpu"}) {
      const std::vector<Array> out = tools::run_on(backend, "main", program, {array(7)});
      CHECK(out[0].item<int>() == i);
      CHECK(out[1].item<int>() == s);
    }
  }
}

TEST_CASE("loops: a counter that would wrap around, rows outside of their array, and rows read twice stay as they are written") {
  // Position 1 - i is below 0 from the third step on, where a slice is moved inside.
  const Jaxpr moved = parse_stablehlo(R"(func.func @main(%x: tensor<3x2xf32>) -> tensor<2xf32> {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<3> : tensor<i32>
  %f = stablehlo.constant dense<0.0> : tensor<2xf32>
  %0:2 = stablehlo.while(%i = %z, %s = %f) : tensor<i32>, tensor<2xf32>
  cond {
    %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %at = stablehlo.subtract %one, %i : tensor<i32>
    %r = stablehlo.dynamic_slice %x, %at, %z, sizes = [1, 2] : (tensor<3x2xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
    %q = stablehlo.reshape %r : (tensor<1x2xf32>) -> tensor<2xf32>
    %d = stablehlo.add %s, %s : tensor<2xf32>
    %t = stablehlo.add %d, %q : tensor<2xf32>
    %k = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %k, %t : tensor<i32>, tensor<2xf32>
  }
  return %0#1 : tensor<2xf32>
})");
  CHECK(count(moved, "scan") == 1);
  CHECK(count(moved, "dynamic_slice") == 1);
  const Array x = reshape(arange(6.f), {3, 2});
  CHECK(tools::run_on("interp", "main", moved, {x})[0].to_vector<float>() == std::vector<float>{8, 15});

  // An 8-bit counter that starts again below 0 goes on for ever; one that ends before stays exact.
  const std::string wraps = R"(func.func @main(%x: tensor<f32>) -> tensor<i8> {
  %z = stablehlo.constant dense<100> : tensor<i8>
  %by = stablehlo.constant dense<20> : tensor<i8>
  %n = stablehlo.constant dense<127> : tensor<i8>
  %0 = stablehlo.while(%i = %z) : tensor<i8>
  cond {
    %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i8>, tensor<i8>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %k = stablehlo.add %i, %by : tensor<i8>
    stablehlo.return %k : tensor<i8>
  }
  return %0 : tensor<i8>
})";
  CHECK(count(parse_stablehlo(wraps), "while") == 1);
}
