// Single operations on divided arrays: how their results are divided, eagerly, under jit, and by JAX (tests/data/eager_shardings).
#include <cstdlib>
#include <fstream>
#include <functional>
#include <limits>
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
  static const auto& table = *new std::map<std::string, Operation>{
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
      {"subtract", [](Array v) { return v - 3; }},
      {"multiply by itself", [](Array v) { return v * v; }},
      {"divide", [](Array v) { return v / 3; }},
      {"divide by itself", [](Array v) { return v / (v + 1); }},
      {"negate", [](Array v) { return -v; }},
      {"abs", [](Array v) { return abs(v); }},
      {"sign", [](Array v) { return sign(v); }},
      {"floor", [](Array v) { return floor(v / 3); }},
      {"ceil", [](Array v) { return ceil(v / 3); }},
      {"round", [](Array v) { return round(v / 3); }},
      {"sqrt", [](Array v) { return sqrt(v); }},
      {"rsqrt", [](Array v) { return rsqrt(v + 1); }},
      {"square", [](Array v) { return square(v); }},
      {"power", [](Array v) { return pow(v + 1, 0.5f); }},
      {"log1p", [](Array v) { return log1p(v); }},
      {"expm1", [](Array v) { return expm1(v / 1024); }},
      {"sin", [](Array v) { return sin(v); }},
      {"cos", [](Array v) { return cos(v); }},
      {"tan", [](Array v) { return tan(v / 1024); }},
      {"tanh", [](Array v) { return tanh(v); }},
      {"atan2", [](Array v) { return atan2(v, 3.f); }},
      {"erf", [](Array v) { return erf(v / 1024); }},
      {"lgamma", [](Array v) { return lgamma(v + 1); }},
      {"logistic", [](Array v) { return sigmoid(v / 1024); }},
      {"cbrt", [](Array v) { return cbrt(v); }},
      {"maximum", [](Array v) { return maximum(v, 3); }},
      {"minimum", [](Array v) { return minimum(v, 3); }},
      {"clip", [](Array v) { return clip(v, 3, 700); }},
      {"remainder", [](Array v) { return rem(v, 7.f); }},
      {"greater", [](Array v) { return v > 3; }},
      {"equal", [](Array v) { return v == 3; }},
      {"logical_not", [](Array v) { return logical_not(v > 3); }},
      {"logical_and", [](Array v) { return (v > 3) & (v < 700); }},
      {"isfinite", [](Array v) { return isfinite(v); }},
      {"convert to bfloat16", [](Array v) { return convert(v, bfloat16); }},
      {"convert to bool", [](Array v) { return convert(v, bool_); }},
      {"complex", [](Array v) { return complex(v, v); }},
      {"real", [](Array v) { return real(complex(v, v)); }},
      {"shift_left", [](Array v) { return convert(v, int32) << 1; }},
      {"stop_gradient", [](Array v) { return stop_gradient(v); }},
      {"max 0", [](Array v) { return max(v, 0); }},
      {"max 2", [](Array v) { return max(v, 2); }},
      {"max", [](Array v) { return max(v); }},
      {"min 1", [](Array v) { return min(v, 1); }},
      {"prod 2", [](Array v) { return prod(v / 512, 2); }},
      {"prod 0", [](Array v) { return prod(v / 512, 0); }},
      {"any 1", [](Array v) { return any(v > 3, 1); }},
      {"all 2", [](Array v) { return all(v > 3, 2); }},
      {"all 0", [](Array v) { return all(v > 3, 0); }},
      {"sum 0 1", [](Array v) { return sum(v, {0, 1}); }},
      {"sum 1 2", [](Array v) { return sum(v, {1, 2}); }},
      {"sum 0 2", [](Array v) { return sum(v, {0, 2}); }},
      {"argmax 0", [](Array v) { return argmax(v, 0); }},
      {"argmin 1", [](Array v) { return argmin(v, 1); }},
      {"sum 1 keepdims", [](Array v) { return sum(v, 1, {.keepdims = true}); }},
      {"max 0 keepdims", [](Array v) { return max(v, 0, {.keepdims = true}); }},
      {"mean 0", [](Array v) { return mean(v, 0); }},
      {"mean 2", [](Array v) { return mean(v, 2); }},
      {"mean", [](Array v) { return mean(v); }},
      {"variance 1", [](Array v) { return var(v, 1); }},
      {"softmax 2", [](Array v) { return nn::softmax(v / 1024, 2); }},
      {"softmax 0", [](Array v) { return nn::softmax(v / 1024, 0); }},
      {"logsumexp 1", [](Array v) { return logsumexp(v / 1024, 1); }},
      {"cumsum 0", [](Array v) { return cumsum(v, 0); }},
      {"cumsum 2", [](Array v) { return cumsum(v, 2); }},
      {"cumprod 1", [](Array v) { return cumprod(v / 512, 1); }},
      {"cummax 0", [](Array v) { return cummax(v, 0); }},
      {"transpose 1 0 2", [](Array v) { return transpose(v, {1, 0, 2}); }},
      {"transpose 2 0 1", [](Array v) { return transpose(v, {2, 0, 1}); }},
      {"moveaxis 0 2", [](Array v) { return moveaxis(v, 0, 2); }},
      {"expand_dims 1", [](Array v) { return expand_dims(v, 1); }},
      {"expand_dims 3", [](Array v) { return expand_dims(v, 3); }},
      {"reshape to [128,8]", [](Array v) { return reshape(v, {128, 8}); }},
      {"reshape to [1024]", [](Array v) { return reshape(v, {1024}); }},
      {"reshape to [4,2,16,8]", [](Array v) { return reshape(v, {4, 2, 16, 8}); }},
      {"reshape to [2,4,16,8]", [](Array v) { return reshape(v, {2, 4, 16, 8}); }},
      {"reshape to [8,4,4,8]", [](Array v) { return reshape(v, {8, 4, 4, 8}); }},
      {"reshape to [8,16,8,1]", [](Array v) { return reshape(v, {8, 16, 8, 1}); }},
      {"reshape to [32,32]", [](Array v) { return reshape(v, {32, 32}); }},
      {"broadcast to [8,16,8,3]", [](Array v) { return broadcast_to(expand_dims(v, 3), {8, 16, 8, 3}); }},
      {"tile", [](Array v) { return tile(v, {2, 1, 1}); }},
      {"pad 0", [](Array v) { return pad(v, {{8, 0}, {0, 0}, {0, 0}}); }},
      {"pad 2", [](Array v) { return pad(v, {{0, 0}, {0, 0}, {4, 4}}); }},
      {"flip 1", [](Array v) { return flip(v, 1); }},
      {"roll 0", [](Array v) { return roll(v, 3, 0); }},
      {"x[-1]", [](Array v) { return v[-1]; }},
      {"x[:, -1]", [](Array v) { return v(slice(), -1); }},
      {"x[:, :, -1]", [](Array v) { return v(slice(), slice(), -1); }},
      {"x[::2]", [](Array v) { return v(slice(none, none, 2)); }},
      {"x[:, :, ::4]", [](Array v) { return v(slice(), slice(), slice(none, none, 4)); }},
      {"x[:, ::-1]", [](Array v) { return v(slice(), slice(none, none, -1)); }},
      {"x[4:]", [](Array v) { return v(slice(4, none)); }},
      {"x[:, 8:]", [](Array v) { return v(slice(), slice(8, none)); }},
      {"x[2, 3]", [](Array v) { return v(2, 3); }},
      {"take along 0", [](Array v) { return take(v, indices, 0); }},
      {"take along 2", [](Array v) { return take(v, indices, 2); }},
      {"take_along_axis 1", [](Array v) { return take_along_axis(v, zeros({8, 2, 8}, int32), 1); }},
      {"dynamic_slice 1", [](Array v) { return dynamic_slice(v, {0, 3, 0}, {8, 4, 8}); }},
      {"dynamic_slice 0", [](Array v) { return dynamic_slice(v, {3, 0, 0}, {2, 16, 8}); }},
      {"dynamic_update_slice 1", [](Array v) { return dynamic_update_slice(v, ones({8, 4, 8}), {0, 3, 0}); }},
      {"dynamic_update_slice 0", [](Array v) { return dynamic_update_slice(v, ones({2, 16, 8}), {3, 0, 0}); }},
      {"x.at[0].set", [](Array v) { return v.at(0).set(5.f); }},
      {"x.at[indices].add", [](Array v) { return v.at(indices).add(5.f); }},
      {"x.at[:, indices].set", [](Array v) { return v.at(slice(), indices).set(5.f); }},
      {"sort 1", [](Array v) { return sort(-v, 1); }},
      {"argsort 2", [](Array v) { return argsort(-v, 2); }},
      {"argsort 0", [](Array v) { return argsort(-v, 0); }},
      {"top_k", [](Array v) { return top_k(v, 2).values; }},
      {"w @ x", [](Array v) { return matmul(ones({4, 16}), v); }},
      {"x @ x^T", [](Array v) { return matmul(v / 1024, swapaxes(v, 1, 2)); }},
      {"einsum ijk,j->ik", [](Array v) { return einsum("ijk,j->ik", v, ones(16)); }},
      {"einsum ijk,i->jk", [](Array v) { return einsum("ijk,i->jk", v, ones(8)); }},
      {"einsum ijk,ijl->kl", [](Array v) { return einsum("ijk,ijl->kl", v / 1024, v); }},
      {"tensordot", [](Array v) { return tensordot(v, ones({16, 8, 3}), 2); }},
      {"convolution", [](Array v) { return conv_general_dilated(v, ones({4, 16, 3}), {1}, "SAME"); }},
      {"windows of 2", [](Array v) { return reduce_window(v, 0.f, [](Array a, Array b) { return a + b; }, {1, 2, 1}, {1, 2, 1}, "VALID"); }},
      {"windows of 3",
       [](Array v) {
         const float least = -std::numeric_limits<float>::infinity();
         return reduce_window(v, least, [](Array a, Array b) { return maximum(a, b); }, {1, 3, 1}, {1, 1, 1}, "SAME");
       }},
      {"fft 2", [](Array v) { return fft::fft(v, none, 2); }},
      {"triu", [](Array v) { return triu(v); }},
      {"diagonal", [](Array v) { return diagonal(v, 0, 0, 2); }},
      {"scan over 0", [](Array v) { return scan([](Array c, Array u) { return std::pair{c + u, c * 2}; }, v[0], v).second; }},
      {"loop", [](Array v) { return fori_loop(0, 3, [](Array, Array u) { return u * 0.5f + 1; }, v); }},
      {"branch", [](Array v) { return cond(true, [](Array u) { return u * 2; }, [](Array u) { return u - 1; }, v); }},
      {"gradient", [](Array v) { return grad([](Array u) { return sum(tanh(u) * u); })(v); }},
      {"vmap of sums", [](Array v) { return vmap([](Array u) { return sum(u, 0); })(v); }},
  };
  return table;
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
  const std::map<std::string, int> gathers{
      {"concatenate along 2", 2}, {"concatenate along 0", 0}, {"pad 0", 0}, {"pad 1", 1}, {"pad 2", 2}};
  // And where weft moves the parts to another dimension that can be divided, or gathers what XLA divides otherwise.
  const std::map<std::pair<std::string, std::string>, std::string> others{
      {{"reshape to [4,2,16,8]", "x+y"}, "replicated"},
      {{"reshape to [32,32]", "- y+x"}, "replicated"},
      {{"top_k", "- - y"}, "y"},
      {{"top_k", "x - y"}, "x+y"},
      {{"top_k", "- x y"}, "y x"},
      {{"top_k", "- - x+y"}, "y+x"},
      {{"fft 2", "- - y"}, "y"},
      {{"fft 2", "x - y"}, "x+y"},
      {{"fft 2", "- x y"}, "y x"},
  };
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
    else if (name.substr(0, 4) != "roll")
      CHECK(text(eager) == text(compiled));
    if (name == "erf") in_jax = given;  // XLA gathers the operand of its erf, weft doesn't
    if (const auto other = others.find({name, given}); other != others.end()) in_jax = other->second;
    const auto gathered = gathers.find(name);
    CHECK(text(compiled) == (gathered == gathers.end() ? in_jax : without(in_jax, gathered->second)));
    ++rows;
  }
  // XLA has no partitioning for the transform along the dimension that both axes divide.
  CHECK(rows == 12 * static_cast<int>(operations().size()) - 1);
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
