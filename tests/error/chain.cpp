// What an error tells beside its message: the transforms that are being traced, where the operands come from, the user's functions.
#include <doctest/doctest.h>

#include <cstdlib>
#include <string_view>
#include <thread>

#include "layers/layers.h"
#include "tests/messages.h"

using namespace weft;
using test::has;
using test::message_of;

namespace {

std::string line(int n) { return "chain.cpp:" + std::to_string(n); }

Model misfit() { return {{{ones({2, 4}), ones(4)}, {ones({3, 4}), ones(4)}}}; }

int calls_of(const std::string& text, const std::string& part) {
  int n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

}  // namespace

TEST_CASE("an error names the transforms that are being traced, innermost first, with their lines") {
  const int at = __LINE__ + 2;
  const std::string text = message_of<ShapeError>(
      [] { jit([](Array x) { return vmap([](Array y) { return y + ones(5); })(x); }, {.name = "outer"})(ones({2, 3})); });
  CHECK(text.starts_with("add: f32[3] and f32[5]"));
  const std::size_t inner = text.find("\n  while tracing vmap of <lambda>, called at "),
                    outer = text.find("\n  inside jit of outer, called at ");
  CHECK(inner != std::string::npos);
  CHECK(outer != std::string::npos);
  CHECK(inner < outer);
  CHECK(calls_of(text, line(at)) >= 3);
}

TEST_CASE("an error outside of transforms names none") {
  const std::string text = message_of<ShapeError>([] { (void)(ones(3) + ones(4)); });
  CHECK(text.find("tracing") == std::string::npos);
  try {
    (void)(ones(3) + ones(4));
  } catch (const Error& e) {
    CHECK(e.message() == std::string(e.what()).substr(0, std::string(e.what()).find('\n')));
    CHECK(e.where().line() == __LINE__ - 3);
  }
}

TEST_CASE("operands are named by their paths in the arguments of the function that is traced") {
  const std::string text = message_of<ShapeError>([] { jit(grad(with_lines::forward), {.name = "step"})(misfit(), ones({2, 2})); });
  CHECK(has(text, {"matmul: f32[2,4] and f32[3,4]", "layers.cc:8", "operand 2, f32[3,4], is args[0].layers[1].w of grad of ",
                   "while tracing grad of ", "inside jit of step"}));
  CHECK(has(text, "operand 1, f32[2,4], was made by tanh at "));
}

TEST_CASE("an argument that was only rearranged, or captured from a function around, is still known by its path") {
  CHECK(has(message_of<ShapeError>([] { jit([](Array x) { return transpose(x) + ones(7); })(ones({2, 3})); }),
            {"operand 1, f32[3,2], was made by transpose at ", ", from args[0] of jit of <lambda>"}));
  CHECK(has(message_of<ShapeError>([] {
              jit([](Array a, Array b) { return vmap([&](Array y) { return matmul(y, b); })(a); })(ones({4, 2, 3}), ones({5, 6}));
            }),
            {"operand 1, f32[2,3], is args[0] of vmap of ", "operand 2, f32[5,6], is args[1] of jit of "}));
  CHECK(has(message_of<ShapeError>([] { scan([](Array c, Array x) { return std::pair{c + x, c}; }, ones(3), ones({5, 4})); }),
            {"add: f32[3] and f32[4]", "while tracing scan of "}));
}

TEST_CASE("the user's functions that were running are listed with their lines") {
  const std::string text = message_of<ShapeError>([] { (void)with_lines::forward(misfit(), ones({2, 2})); });
  const char* wanted = std::getenv("WEFT_TRACEBACK");
  const std::string_view detail = wanted ? wanted : "";
  if (detail == "0") {
    CHECK(text.find("called from") == std::string::npos);
    return;
  }
  CHECK(has(text, "called from "));
  const std::size_t inner = text.find("with_lines::apply ("), outer = text.find("with_lines::forward (");
  CHECK(inner != std::string::npos);
  CHECK(outer != std::string::npos);
  CHECK(inner < outer);
  CHECK(text.find("layers.cc:8)", inner) < outer);
  CHECK(text.find("layers.cc:12)", outer) != std::string::npos);
  // Neither weft's own functions nor the standard library's, but when they are asked for.
  CHECK((text.find("weft::matmul") != std::string::npos) == (detail == "full"));
}

TEST_CASE("the user's functions are named where there is no debug information") {
  const std::string text = message_of<ShapeError>([] { (void)without_lines::forward(misfit(), ones({2, 2})); });
  const char* wanted = std::getenv("WEFT_TRACEBACK");
  if (wanted && std::string_view(wanted) == "0") return;
  CHECK(has(text, {"without_lines::apply in ", "without_lines::forward in ", "layers.cc:8"}));
}

TEST_CASE("the function that the user called is named, and not only what it is made of") {
  auto scattered = [] { vmap([](Array x) { return psum_scatter(x, "i"); }, {.axis_name = "i"})(ones({2, 3})); };
  CHECK(message_of<ShapeError>(scattered).starts_with("psum_scatter: "));
  const int at = __LINE__ + 2;
  auto loop = [](Array x, Array n) { return fori_loop(0, n, [](Array, Array v) { return v * 2.f; }, x); };
  const std::string text = message_of<Error>([&] { (void)jit(grad([&](Array x, Array n) { return loop(x, n); }))(Array(1.f), Array(3)); });
  CHECK(text.starts_with("fori_loop (while_loop): "));
  CHECK(has(text, {line(at), "inside grad of <lambda>, called at ", "inside jit of <lambda>, called at "}));
  CHECK(message_of<DTypeError>([] { (void)mean(random::key(0)); }).starts_with("mean (convert_element_type): "));
}

TEST_CASE("an empty Array is reported with the function that was given it, and the line") {
  CHECK(has(message_of<Error>([] { (void)sin(Array()); }), {"sin: an Array that was default-constructed", line(__LINE__)}));
  CHECK(has(message_of<Error>([] { (void)sum(Array()); }), {"sum: an Array that was default-constructed", line(__LINE__)}));
  CHECK(has(message_of<Error>([] { (void)(ones(3) + Array()); }), {"an Array that was default-constructed", line(__LINE__)}));
}

TEST_CASE("errors are read by several threads at once, and in any order") {
  std::vector<std::string> texts(8);
  std::vector<std::thread> threads;
  try {
    (void)with_lines::forward(misfit(), ones({2, 2}));
  } catch (const Error& shared) {
    const Error copy = shared;
    for (std::size_t i = 0; i < texts.size(); ++i)
      threads.emplace_back([&, i] {
        texts[i] = i % 2 ? copy.what() : shared.what();
        for (int k = 0; k < 20; ++k) (void)message_of<ShapeError>([&] { (void)(ones(3) + ones(static_cast<std::int64_t>(4 + i))); });
      });
    for (std::thread& t : threads) t.join();
  }
  for (const std::string& text : texts) CHECK(text == texts[0]);
  CHECK(has(texts[0], "matmul"));
}
