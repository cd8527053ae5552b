// The page of a program: what is on it, and that it belongs together.
#include <doctest/doctest.h>
#include <weft/plot.h>
#include <weft/view.h>
#include <weft/weft.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "tests/folder.h"
#include "tests/messages.h"
#include "tools/json.h"

using namespace weft;
using namespace weft::test;
using tools::Json;

namespace {

/// The data that a page is drawn from.
Json data_of(const std::string& page) {
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  const std::size_t from = page.find(begin), to = page.find("</script>", from);
  REQUIRE(from != std::string::npos);
  REQUIRE(to != std::string::npos);
  return tools::parse_json(page.substr(from + begin.size(), to - from - begin.size()));
}
std::vector<std::string> names_of(const Json& list, const char* member) {
  std::vector<std::string> out;
  for (const Json& x : list.list) out.push_back(x.at(member).string);
  return out;
}
const Json& program(const Json& data, std::size_t stage) {
  return data.at("programs").list[static_cast<std::size_t>(data.at("stages").list[stage].at("after").number)];
}
std::vector<std::string> operations(const Json& program) { return names_of(program.at("eqns"), "p"); }
bool contains(const std::vector<std::string>& all, const std::string& one) { return std::find(all.begin(), all.end(), one) != all.end(); }

}  // namespace

TEST_CASE("a page has the program before and after each pass, with the lines that it comes from") {
  const auto loss = [](Array w, Array x) { return sum(tanh(matmul(x, w))); };
  const int line = __LINE__ - 1;
  const std::string page =
      to_html(vmap(grad(loss), {.in_axes = {none, 0}}), {.title = "a </script><b>", .source_folder = std::getenv("WEFT_TEST_DATA")})(
          ones({4, 3}), ones({5, 2, 4}));
  const Json data = data_of(page);
  CHECK(data.at("title").string == "a </script><b>");
  CHECK(page.find("<title>a &lt;/script&gt;&lt;b&gt;</title>") != std::string::npos);
  const std::vector<std::string> stages = names_of(data.at("stages"), "name");
  CHECK(stages.size() >= 5);
  const auto at = [&](const std::string& name) { return std::find(stages.begin(), stages.end(), name) - stages.begin(); };
  CHECK(at("linearize, tangents") < at("transpose"));
  CHECK(at("transpose") < at("vmap"));
  CHECK(at("vmap") < at("traced"));
  CHECK(at("traced") + 1 < static_cast<std::ptrdiff_t>(stages.size()));
  CHECK(stages.back() == "simplify");
  CHECK(contains(operations(program(data, static_cast<std::size_t>(at("traced")))), "dot_general"));
  // The page needs nothing else.
  const std::string bare = to_html(loss, {.sources = false})(ones({4, 3}), ones({2, 4}));
  for (const char* outside : {"src=", "@import", "url(", "<link", "fetch("}) CHECK(bare.find(outside) == std::string::npos);
  CHECK(bare.find("tanh(matmul") == std::string::npos);
  // Lines.
  bool found = false;
  for (const Json& e : program(data, static_cast<std::size_t>(at("traced"))).at("eqns").list) {
    if (e.at("p").string != "tanh") continue;
    const Json& loc = e.at("l");
    found = true;
    CHECK(static_cast<int>(loc.list[1].number) == line);
    const Json& file = data.at("files").list[static_cast<std::size_t>(loc.list[0].number)];
    CHECK(file.at("path").string.ends_with("view.cpp"));
    CHECK(file.at("lines").at(std::to_string(line)).string.find("tanh(matmul") != std::string::npos);
  }
  CHECK(found);
}

TEST_CASE("each equation of the compiled program is computed by a step, and each kernel has its code") {
  const auto f = [](Array x, Array y) {
    const Array big = matmul(x, y);
    return std::pair{sum(exp(big), 1), fori_loop(0, 5, [](Array, Array v) { return sin(v.T()) + 1; }, big)};
  };
  const Json data = data_of(to_html(f)(ones({300, 300}), ones({300, 300})));
  const Json& last = program(data, data.at("stages").list.size() - 1);
  const std::vector<Json>& steps = data.at("steps").list;
  std::set<int> computed;
  std::set<std::string> kinds;
  for (std::size_t k = 0; k < steps.size(); ++k) {
    kinds.insert(steps[k].at("kind").string);
    CHECK(steps[k].at("time").number > 0);
    CHECK(steps[k].at("bytes").number > 0);
    for (const Json& e : steps[k].at("eqns").list) {
      computed.insert(static_cast<int>(e.number));
      bool linked = false;
      for (const Json& step : last.at("eqns").list[static_cast<std::size_t>(e.number)].at("k").list)
        linked |= step.number == static_cast<double>(k);
      CHECK(linked);
    }
    if (steps[k].at("kind").string == "kernel")
      for (const char* form : {"loops", "llvm", "asm"})
        CHECK(data.at("kernels").at(form).at(steps[k].at("name").string).string.size() > 40);
  }
  CHECK(computed.size() == last.at("eqns").list.size());
  CHECK(kinds == std::set<std::string>{"kernel", "routine", "loop"});
  for (const Json& s : steps)
    if (s.at("kind").string == "loop") {
      CHECK(s.at("name").string == "scan of 5");
      CHECK(s.at("steps").list.size() >= 1);
    }
  CHECK(data.at("cost").at("flops").number >= 2 * 300. * 300 * 300);
  CHECK(data.at("cost").at("arguments").number == 2 * 4 * 300 * 300);
  CHECK(data.at("peaks").at("flops").number > 1e8);
}

TEST_CASE("a page of types is not measured, nor is one of a program with callbacks") {
  const auto unmeasured = [](const std::string& page) {
    const Json data = data_of(page);
    CHECK(data.at("steps").list.size() >= 1);
    for (const Json& s : data.at("steps").list) CHECK(s.at("time").kind == Json::Kind::null);
  };
  unmeasured(to_html([](Array x) { return sin(x) * 2; })(ShapeDtypeStruct{{3}, float32}));
  unmeasured(to_html([](Array x) { return sin(x) * 3; }, {.measured = false})(ones(3)));
  int calls = 0;
  unmeasured(to_html([&](Array x) {
    debug::callback([&](Array) { ++calls; }, x);
    return x * 4;
  })(ones(3)));
  CHECK(calls == 0);
}

TEST_CASE("named scopes are on the page, in derivatives too") {
  const auto f = [](Array x) {
    const auto outer = named_scope("encoder");
    const Array y = [&] {
      const auto inner = named_scope("attention");
      return tanh(x);
    }();
    return sum(y * 2);
  };
  const Json data = data_of(to_html(grad(f))(ones(7)));
  std::set<std::string> scopes;
  for (const Json& p : data.at("programs").list)
    for (const Json& e : p.at("eqns").list)
      if (e.find("s")) scopes.insert(e.at("s").string);
  CHECK(scopes == std::set<std::string>{"encoder", "encoder/attention"});
}

TEST_CASE("sharded arguments have pictures") {
  if (device_count("cpu") < 4) return;
  const Mesh mesh = make_mesh({4}, {"x"});
  const Array x = device_put(ones({8, 4}), NamedSharding(mesh, PartitionSpec("x")));
  const Json data = data_of(to_html([](Array v) { return sum(v * 2, 0); })(x));
  CHECK(data.at("arrays").list[0].at("svg").string.find("cpu:3") != std::string::npos);
  CHECK(contains(names_of(data.at("stages"), "name"), "partition"));
}

TEST_CASE("a program over several devices is shown whole, with each of its parts and all of their kernels") {
  if (device_count("cpu") < 4) return;
  const auto share = pmap([](Array x) { return sin(x) / psum(sum(x), "i"); }, {.axis_name = "i"});
  const Json data = data_of(to_html(share)(ones({4, 16})));
  const std::vector<std::string> stages = names_of(data.at("stages"), "name");
  CHECK(stages == std::vector<std::string>{"traced", "simplify, part 1 of 2", "simplify, part 2 of 2"});
  CHECK(data.at("shown").number == 0);
  CHECK(contains(operations(program(data, 1)), "reduce_sum"));
  CHECK(contains(operations(program(data, 2)), "div"));
  for (const char* const form : {"loops", "llvm", "asm"}) {
    std::vector<std::string> names;
    for (const auto& [name, text] : data.at("kernels").at(form).object) names.push_back(name);
    CHECK(names == std::vector<std::string>{"kernel0", "kernel0, part 2"});
  }
}

TEST_CASE("pages are written whole, or refused") {
  const Folder folder;
  save_html(folder.path + "/page.html", "<p>");
  CHECK_THROWS_AS(save_html("/nowhere/at/all.html", "<p>"), IoError);
  CHECK(refuses<ShapeError>([] { to_html([](Array a, Array b) { return a + b; })(ones(2), ones(3)); }, {"view.cpp:"}));
}
