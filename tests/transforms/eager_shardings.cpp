// Single operations on divided arrays: how their results are divided, eagerly, under jit, and by JAX (tests/data/eager_shardings).
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include <fmt/ranges.h>

#include "tests/runtime/devices.h"

using namespace weft;
using weft::sharding::P;
using namespace weft::test;

namespace {

using Operation = std::function<Array(Array)>;

const std::map<std::string, Operation>& operations() {
  static const Array w = ones({8, 4}), indices = array({3, 0, 5});
  static const auto& all = *new std::map<std::string, Operation>{
      {"multiply by a number", [](Array v) { return v * 2; }},
      {"add to itself", [](Array v) { return v + v; }},
      {"exp", [](Array v) { return exp(v / 1024); }},
      {"convert", [](Array v) { return convert(v, int32); }},
      {"where", [](Array v) { return where(v > 0, v, 0); }},
      {"transpose", [](Array v) { return transpose(v); }},
      {"swapaxes 0 1", [](Array v) { return swapaxes(v, 0, 1); }},
      {"sum 0", [](Array v) { return sum(v, 0); }},
      {"sum 1", [](Array v) { return sum(v, 1); }},
      {"sum 2", [](Array v) { return sum(v, 2); }},
      {"sum", [](Array v) { return sum(v); }},
      {"max 1", [](Array v) { return max(v, 1); }},
      {"min 0", [](Array v) { return min(v, 0); }},
      {"argmax 2", [](Array v) { return argmax(v, 2); }},
      {"x[0]", [](Array v) { return v[0]; }},
      {"x[:, 0]", [](Array v) { return v(slice(), 0); }},
      {"x[:, :, 0]", [](Array v) { return v(slice(), slice(), 0); }},
      {"x[1:3]", [](Array v) { return v(slice(1, 3)); }},
      {"x[:, 2:6]", [](Array v) { return v(slice(), slice(2, 6)); }},
      {"x[:, :, 1:3]", [](Array v) { return v(slice(), slice(), slice(1, 3)); }},
      {"x[:, ::2]", [](Array v) { return v(slice(), slice(none, none, 2)); }},
      {"take along 1", [](Array v) { return take(v, indices, 1); }},
      {"x[indices]", [](Array v) { return v(indices); }},
      {"expand_dims 0", [](Array v) { return expand_dims(v, 0); }},
      {"reshape to [8,128]", [](Array v) { return reshape(v, {8, 128}); }},
      {"reshape to [8,16,2,4]", [](Array v) { return reshape(v, {8, 16, 2, 4}); }},
      {"broadcast to [3,8,16,8]", [](Array v) { return broadcast_to(v, {3, 8, 16, 8}); }},
      {"sort 2", [](Array v) { return sort(v, 2); }},
      {"sort 0", [](Array v) { return sort(v, 0); }},
      {"cumsum 1", [](Array v) { return cumsum(v, 1); }},
      {"matmul by w", [](Array v) { return matmul(v, w); }},
      {"einsum ijk,ijk->ij", [](Array v) { return einsum("ijk,ijk->ij", v, v); }},
      {"concatenate along 2", [](Array v) { return concatenate({v, v}, 2); }},
      {"concatenate along 0", [](Array v) { return concatenate({v, v}, 0); }},
      {"stack", [](Array v) { return stack({v, v}); }},
      {"pad 1", [](Array v) { return pad(v, {{0, 0}, {0, 4}, {0, 0}}); }},
      {"flip 0", [](Array v) { return flip(v, 0); }},
      {"flip 2", [](Array v) { return flip(v, 2); }},
      {"roll 1", [](Array v) { return roll(v, 1, 1); }},
  };
  return all;
}

/// For each dimension the axes that divide it; "-" for none.
std::string text(const Array& x) {
  if (x.sharding().is_single_device()) return "one device";
  std::string out;
  const PartitionSpec spec = x.sharding().named().spec().trimmed();
  for (int d = 0; d < static_cast<int>(spec.dims().size()); ++d)
    out += fmt::format("{}{}", d > 0 ? " " : "", spec.axes_of(d).empty() ? "-" : fmt::format("{}", fmt::join(spec.axes_of(d), "+")));
  return out.empty() ? "replicated" : out;
}
/// The same without what divides one dimension.
std::string without(const std::string& sharding, int dim) {
  if (sharding == "replicated") return sharding;
  std::istringstream words(sharding);
  std::vector<std::string> dims{std::istream_iterator<std::string>(words), {}};
  if (dim < static_cast<int>(dims.size())) dims[static_cast<std::size_t>(dim)] = "-";
  while (!dims.empty() && dims.back() == "-") dims.pop_back();
  return dims.empty() ? "replicated" : fmt::format("{}", fmt::join(dims, " "));
}
PartitionSpec spec_of(const std::string& sharding) {
  if (sharding == "replicated") return {};
  std::vector<std::vector<std::string>> dims;
  std::istringstream words(sharding);
  for (std::string word; words >> word;) {
    dims.emplace_back();
    std::istringstream names(word == "-" ? "" : word);
    for (std::string name; std::getline(names, name, '+');) dims.back().push_back(name);
  }
  return PartitionSpec::of(std::move(dims));
}

}  // namespace

TEST_CASE("eager operations divide their results as jit does, and as JAX does") {
  const char* const folder = std::getenv("WEFT_TEST_DATA");
  REQUIRE(folder);
  std::ifstream table(std::string(folder) + "/data/eager_shardings/jax.tsv");
  REQUIRE(table);
  const Mesh mesh = make_mesh({2, 4}, {"x", "y"});
  const Array whole = reshape(arange(1024, float32), {8, 16, 8});
  // Where the rules are others than XLA's: the dimension that the operation goes along is gathered, as every element may depend on all.
  const std::map<std::string, int> gathers{{"concatenate along 2", 2}, {"concatenate along 0", 0}, {"pad 1", 1}};
  int rows = 0;
  for (std::string line; std::getline(table, line);) {
    std::istringstream columns(line);
    std::string name, given, in_jax;
    std::getline(columns, name, '\t'), std::getline(columns, given, '\t'), std::getline(columns, in_jax, '\t');
    CAPTURE(name);
    CAPTURE(given);
    const Operation& f = operations().at(name);
    const Array x = device_put(whole, NamedSharding{mesh, spec_of(given)});
    REQUIRE(text(x) == given);
    const Array eager = f(x), compiled = jit(f)(x);
    CHECK(tree::all_close(device_get(eager), f(whole), 1e-5, 1e-5));
    CHECK(tree::all_close(device_get(compiled), f(whole), 1e-5, 1e-5));
    // A slice of one device's block stays there. A roll is two slices, joined: only jit sees all of it.
    if (text(eager) == "one device")
      CHECK(name.substr(0, 2) == "x[");
    else if (name != "roll 1")
      CHECK(text(eager) == text(compiled));
    const auto gathered = gathers.find(name);
    CHECK(text(compiled) == (gathered == gathers.end() ? in_jax : without(in_jax, gathered->second)));
    ++rows;
  }
  CHECK(rows == 12 * static_cast<int>(operations().size()));
}

TEST_CASE("eager operations of several operands") {
  const Mesh mesh = make_mesh({8}, {"x"});
  const auto put = [&](const Array& v, const PartitionSpec& spec) { return device_put(v, NamedSharding{mesh, spec}); };
  const Array whole = reshape(arange(64, float32), {8, 8});
  const auto same = [](auto f, const Array& a, const Array& b) {
    const Array eager = f(a, b), compiled = jit(f)(a, b);
    CHECK(text(eager) == text(compiled));
    CHECK(tree::all_close(device_get(eager), f(device_get(a), device_get(b)), 1e-5, 1e-5));
  };
  for (const PartitionSpec& p : {P(), P("x"), P(none, "x")})
    for (const PartitionSpec& q : {P(), P("x"), P(none, "x")}) {
      same([](Array a, Array b) { return a + b; }, put(whole, p), put(whole, q));
      same([](Array a, Array b) { return matmul(a, b); }, put(whole, p), put(whole, q));
      same([](Array a, Array b) { return concatenate({a, b}, 1); }, put(whole, p), put(whole, q));
      same([](Array a, Array b) { return where(a > 3, a, b); }, put(whole, p), put(whole, q));
    }
  same([](Array a, Array b) { return a + b; }, put(whole, P("x")), whole);
  same([](Array a, Array b) { return a + b; }, put(whole, P()), put(whole[0], P("x")));
  same([](Array a, Array b) { return dynamic_slice(a, {b, 0}, {8, 2}); }, put(whole, P("x")), array(0));
  // Over another mesh of the same devices.
  const Array over_grid = device_put(whole, NamedSharding{make_mesh({4, 2}, {"i", "j"}), P({"i", "j"})});
  CHECK(near(put(whole, P("x")) + over_grid, (2 * whole).to_vector<double>()));
  CHECK(near(matmul(put(whole, P("x")), over_grid), matmul(whole, whole).to_vector<double>()));
}
