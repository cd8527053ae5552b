// Maps, jit and grad around each other in all orders, beside what JAX gives. The programs are words, whose letters
// tests/golden/nestings/generate.py explains; it also made the values.
#include <cstdlib>
#include <functional>
#include <map>

#include "tests/runtime/devices.h"
#include "weft/core/io/io.h"

using namespace weft;
using weft::sharding::P;
using namespace weft::test;

namespace {

using Function = std::function<Array(Array)>;
using MappedAxes = std::vector<std::pair<std::string, int>>;

const std::map<char, std::pair<std::string, int>>& maps() {
  static const auto& all = *new std::map<char, std::pair<std::string, int>>{
      {'v', {"v", 4}}, {'p', {"p", 2}}, {'s', {"s", 2}}, {'m', {"s", 2}}, {'t', {"t", 4}}, {'w', {"", 4}}, {'S', {"s", 2}}};
  return all;
}

Array body(const Array& x, const MappedAxes& axes) {
  Array y = sin(x) * 1.5;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const auto& [axis, size] = axes[k];
    y = y + psum(y * cos(x), axis) / (2 + static_cast<int>(k));
    y = y * (1 + axis_index(axis) / 8.f);
    if (k % 2 == 0) {
      std::vector<std::pair<int, int>> ring;
      for (int i = 0; i < size; ++i) ring.emplace_back(i, (i + 1) % size);
      y = y + ppermute(y * x, axis, ring) / 4;
    } else {
      y = y + sum(all_gather(tanh(y), axis), 0) / 8;
    }
  }
  return y;
}

Function wrapped(const std::string& word, const Mesh& mesh, MappedAxes axes) {
  if (word.empty() || word == "!") return [=](const Array& x) { return body(x, axes); };
  const char letter = word[0];
  const auto axis = maps().find(letter);
  if (axis != maps().end() && !axis->second.first.empty()) axes.push_back(axis->second);
  const Function inside = wrapped(word.substr(1), mesh, axes);
  const Function of_block = [=](const Array& x) { return expand_dims(inside(x[0]), 0); };
  switch (letter) {
    case 'v': return vmap(inside, {.axis_name = "v"});
    case 'w': return vmap(inside, {.spmd_axis_name = "t"});
    case 'p': return pmap(inside, {.axis_name = "p"});
    case 'S': return shard_map(of_block, {.mesh = mesh, .in_specs = P("s"), .out_specs = P("s"), .check_vma = word.back() != '!'});
    case 's':
    case 't': {
      const std::string name(1, letter);
      return shard_map(of_block,
                       {.mesh = mesh, .in_specs = P(name), .out_specs = P(name), .axis_names = {name}, .check_vma = word.back() != '!'});
    }
    case 'm': return smap(of_block, {.axis_name = "s"});
    case 'j':
    case 'J': return jit(inside);
    default: return grad([=](const Array& x) { return sum(sin(inside(x))); });
  }
}

Array argument(const std::string& word) {
  Shape shape;
  for (const char c : word)
    if (const auto axis = maps().find(c); axis != maps().end()) shape.push_back(axis->second.second);
  shape.push_back(3);
  return reshape(convert(arange(static_cast<int>(shape.num_elements())) * 37 % 101, float32) / 50 - 1, shape);
}

}  // namespace

TEST_CASE("nestings of maps in all orders give what JAX gives") {
  const char* tests = std::getenv("WEFT_TEST_DATA");
  const std::map<std::string, Array> wanted = load_npz(std::string(tests ? tests : "tests") + "/golden/nestings/arrays.npz");
  CHECK(wanted.size() > 40);
  const Mesh mesh = make_mesh({2, 4}, {"s", "t"});
  for (const auto& [word, want] : wanted) {
    CAPTURE(word);
    const auto scope = use_mesh(mesh);
    Array x = argument(word);
    if (word[0] == 'J') x = device_put(x, NamedSharding{mesh, P("s")});
    const Function f = wrapped(word, mesh, {});
    Array got;
    try {
      got = f(x);
    } catch (const Error& e) {
      FAIL_CHECK(std::string(e.what()));
      continue;
    }
    CHECK(got.shape() == want.shape());
    CHECK(tree::all_close(device_get(got), want, 2e-5, 2e-5));
    CHECK(tree::all_close(device_get(jit(f)(x)), want, 2e-5, 2e-5));
    if (word.find('p') != std::string::npos || word[0] == 'J') continue;
    // One more lane of a vmap around it.
    const Array lanes = vmap(f)(stack({x, x}));
    CHECK(tree::all_close(device_get(lanes), stack({want, want}), 2e-5, 2e-5));
  }
}

TEST_CASE("second derivatives through maps of values that are the same on all devices are those of one device") {
  const Mesh mesh = make_mesh({2, 4}, {"s", "t"});
  const Array x = argument("st"), w = cos(arange(3, float32));
  // Of w and psums, which vary over no axis or one, residuals are passed on as such.
  const auto one = [](Array v, Array u) { return sum(tanh(v * u) * sum(sin(u * u)), {0, 1}) * exp(sum(v, {0, 1}) * u / 8); };
  const auto block = [](Array v, Array u) {
    const Array along = psum(sum(v, 0), "t");
    return psum(psum(sum(tanh(v * u), {0, 1}), "t"), "s") * sum(sin(u * u)) * exp(psum(sum(along, 0), "s") * u / 8);
  };
  for (const bool check_vma : {true, false}) {
    CAPTURE(check_vma);
    const auto mapped = shard_map(block, {.mesh = mesh, .in_specs = {P("s", "t"), P()}, .out_specs = P(), .check_vma = check_vma});
    const auto slopes = [&](auto f) {
      const auto loss = [=](Array v, Array u) { return sum(f(v, u) * cos(arange(3, float32))); };
      const auto first = [=](Array u) { return grad([=](Array v) { return loss(v, u); })(x); };
      return std::vector<Array>{
          f(x, w),
          grad([=](Array u) { return loss(x, u); })(w),
          first(w),
          hessian([=](Array u) { return loss(x, u); })(w),
          grad([=](Array u) { return sum(sin(first(u))); })(w),
          jvp([=](Array u) { return grad([=](Array q) { return loss(x, q); })(u); }, std::tuple{w}, std::tuple{w * 2}).second};
    };
    const std::vector<Array> want = slopes(one), got = slopes(mapped);
    for (std::size_t i = 0; i < want.size(); ++i) {
      CAPTURE(i);
      CHECK(tree::all_close(device_get(got[i]), want[i], 1e-4, 1e-4));
    }
    const auto in_lanes = vmap(grad([&](Array u) { return sum(sin(mapped(x, u))); }))(stack({w, w * 2}));
    for (int i : {0, 1})
      CHECK(tree::all_close(device_get(in_lanes[i]), grad([&](Array u) { return sum(sin(one(x, u))); })(w * (1 + i)), 1e-4, 1e-4));
  }
}
