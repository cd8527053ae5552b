// Random programs on random meshes: what jit, shard_map over all or some axes, and pmap make of them, against the same program on one
// device.
#include <fmt/ranges.h>

#include <functional>
#include <random>

#include "tests/runtime/devices.h"

using namespace weft;
using namespace weft::test;

namespace {

using Step = std::function<Array(const Array&)>;

class Programs {
 public:
  explicit Programs(unsigned seed) : random_(seed) {}

  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T>
  T one_of(const std::vector<T>& list) {
    return list[static_cast<std::size_t>(below(static_cast<int>(list.size())))];
  }

  Mesh mesh() {
    const Shape shape = one_of<Shape>({{8}, {2, 4}, {4, 2}, {2, 2, 2}, {2}, {3}, {1, 4}, {2, 3}, {1}});
    const std::vector<std::string> names{"x", "y", "z"};
    return make_mesh(shape, {names.begin(), names.begin() + shape.size()});
  }
  /// Which of the axes divide each dimension, where its size allows that.
  PartitionSpec spec(const std::vector<std::pair<std::string, std::int64_t>>& axes, const Shape& shape) {
    std::vector<std::vector<std::string>> dims(static_cast<std::size_t>(shape.size()));
    std::vector<std::int64_t> left(shape.begin(), shape.end());
    for (const auto& [name, size] : axes) {
      if (shape.empty() || chance(30)) continue;
      const auto d = static_cast<std::size_t>(below(shape.size()));
      if (left[d] % size != 0) continue;
      left[d] /= size;
      dims[d].push_back(name);
    }
    return PartitionSpec::of(std::move(dims));
  }
  Shape shape() { return one_of<Shape>({{24, 16}, {16, 24}, {8, 48}, {48}, {96}, {4, 8, 24}, {24, 6}, {48, 4}}); }

  /// An operation on an array of the shape, by its name; the result's rank may be another.
  std::pair<std::string, Step> operation(const Shape& s) {
    const int n = s.size(), d = below(n), e = below(n), size = static_cast<int>(s[d]);
    const int at = below(size), width = 1 + below(size), by = below(2 * size) - size;
    const std::vector<std::pair<std::string, Step>> all{
        {"sin", [](const Array& v) { return sin(v) + 0.25f; }},
        {"exp", [](const Array& v) { return exp(-abs(v)); }},
        {fmt::format("sum {}", d), [=](const Array& v) { return v - sum(v, d, {.keepdims = true}) / 16; }},
        {fmt::format("max {}", d), [=](const Array& v) { return v / (1 + max(abs(v), d, {.keepdims = true})); }},
        {fmt::format("sort {}", d), [=](const Array& v) { return sort(v, d); }},
        {fmt::format("cumsum {}", d), [=](const Array& v) { return cumsum(v, d) / 8; }},
        {fmt::format("flip {}", d), [=](const Array& v) { return flip(v, d); }},
        {fmt::format("roll {} {}", d, by), [=](const Array& v) { return roll(v, by, d) + v; }},
        {"transpose", [](const Array& v) { return transpose(v); }},
        {fmt::format("swapaxes {} {}", d, e), [=](const Array& v) { return swapaxes(v, d, e); }},
        {fmt::format("softmax {}", d), [=](const Array& v) { return nn::softmax(v, d); }},
        {"flatten", [](const Array& v) { return reshape(v, {v.shape().num_elements()}); }},
        {"two columns",
         [](const Array& v) { return v.shape().num_elements() % 2 == 0 ? reshape(v, {v.shape().num_elements() / 2, 2}) : -v; }},
        {fmt::format("take {}", d), [=](const Array& v) { return take(v, array({0, at, size - 1, at / 2}), d); }},
        {fmt::format("dynamic_slice {} {} {}", d, at, width),
         [=](const Array& v) {
           std::vector<Array> start(static_cast<std::size_t>(n), array(0));
           start[static_cast<std::size_t>(d)] = array(at);
           return dynamic_slice(v, start, v.shape().with(d, width));
         }},
        {fmt::format("dynamic_update_slice {} {} {}", d, at, width),
         [=](const Array& v) {
           std::vector<Array> start(static_cast<std::size_t>(n), array(0));
           start[static_cast<std::size_t>(d)] = array(at);
           return dynamic_update_slice(v, full(v.shape().with(d, width), 0.5f), start);
         }},
        {fmt::format("scatter {}", at), [=](const Array& v) { return v.at(array({at % static_cast<int>(s[0]), 0, 1})).add(0.5f); }},
        {fmt::format("concatenate {}", d), [=](const Array& v) { return concatenate({v, v * 2}, d); }},
        {"outer", [](const Array& v) { return matmul(reshape(v, {-1, 1}), reshape(v, {1, -1}))(slice(0, 24)) / 4; }},
        {fmt::format("products {}", d), [=](const Array& v) { return matmul(moveaxis(v, d, -1), ones({size, 8}) / size); }},
        {fmt::format("windows {}", d),
         [=](const Array& v) {
           Shape window, ones;
           for (int k = 0; k < n; ++k) window.push_back(k == d ? 3 : 1), ones.push_back(1);
           return reduce_window(v, 0.f, [](Array a, Array b) { return a + b; }, window, ones, "SAME") / 3;
         }},
        {"loop", [](const Array& v) { return fori_loop(0, 3, [](Array, Array u) { return u * 0.5f + sum(u) / 256; }, v); }},
        {"branch", [](const Array& v) { return cond(sum(v) > 0, [](Array u) { return u * 2; }, [](Array u) { return u - 1; }, v); }},
        {"jit", [](const Array& v) { return jit([](Array u) { return tanh(u) - mean(u); })(v); }},
    };
    return one_of(all);
  }

  /// A few operations, one after the other.
  std::pair<std::string, Step> program(const Shape& of) {
    std::string text;
    std::vector<Step> steps;
    Array v = zeros(of);
    for (int k = 1 + below(5); k > 0; --k) {
      auto [name, step] = operation(v.shape());
      const Array next = step(v);
      if (next.shape().num_elements() > 4096 || next.shape().empty()) continue;
      v = next;
      text += (text.empty() ? "" : "; ") + name;
      steps.push_back(std::move(step));
    }
    return {text, [=](const Array& x) {
              Array y = x;
              for (const Step& s : steps) y = s(y);
              return y;
            }};
  }

 private:
  std::mt19937 random_;
};

}  // namespace

TEST_CASE("random programs on random meshes give what they give on one device") {
  const char* const asked = std::getenv("WEFT_TEST_RANDOM_MAPS");
  const unsigned first = asked ? static_cast<unsigned>(std::atoi(asked)) : 1, count = asked ? 400 : 40;
  for (unsigned seed = first; seed < first + count; ++seed) {
    Programs p(seed);
    const Mesh mesh = p.mesh();
    std::vector<std::pair<std::string, std::int64_t>> axes;
    for (std::size_t k = 0; k < mesh.axis_names().size(); ++k) axes.emplace_back(mesh.axis_names()[k], mesh.shape()[static_cast<int>(k)]);
    const Shape shape = p.shape();
    const Array whole = sin(reshape(arange(static_cast<int>(shape.num_elements()), float32) * 1.3f, shape));
    const PartitionSpec spec = p.spec(axes, shape);
    const auto [text, f] = p.program(shape);
    const std::string what = fmt::format("seed {}: {} on mesh {}: {}", seed, fmt::join(shape, "x"), fmt::join(mesh.shape(), "x"), text);
    CAPTURE(what);
    const Array x = device_put(whole, NamedSharding{mesh, spec});
    const Array wanted = f(whole);
    const auto close = [&](const Array& got, const Array& want) { return tree::all_close(device_get(got), want, 2e-3, 2e-4); };
    CHECK(close(jit(f)(x), wanted));
    // Its derivative; of sums that nearly cancel and of values that change places only its size is asked.
    const auto loss = [&](Array v) { return sum(sin(f(v))); };
    CHECK(close(jit(grad(loss))(x), grad(loss)(whole)));
    // A map over some of the axes, whose blocks the program gets, along a dimension of lanes.
    std::vector<std::string> own;
    std::int64_t lanes = 1;
    for (const auto& [name, size] : axes)
      if (p.chance(60)) own.push_back(name), lanes *= size;
    if (own.empty()) continue;
    const auto scaled = [&](Array v) { return f(v[0]) * (1 + psum(1.f, own) / 100) + pmean(sum(v), own) / 64; };
    const auto mapped =
        shard_map([&](Array v) { return expand_dims(scaled(v), 0); },
                  {.mesh = mesh, .in_specs = PartitionSpec::of({own}), .out_specs = PartitionSpec::of({own}), .axis_names = own});
    std::vector<Array> stacked, results;
    Array mean_of_sums = zeros({});
    for (std::int64_t k = 0; k < lanes; ++k) {
      stacked.push_back(whole * (1 + static_cast<float>(k) / 4));
      mean_of_sums = mean_of_sums + sum(stacked.back()) / static_cast<float>(lanes);
    }
    for (const Array& v : stacked) results.push_back(f(v) * (1 + static_cast<float>(lanes) / 100) + mean_of_sums / 64);
    const Array all = stack(stacked);
    std::vector<std::vector<std::string>> dims{own};
    for (int d = 0; d < shape.size(); ++d) {
      dims.push_back(spec.axes_of(d));
      std::erase_if(dims.back(), [&](const std::string& axis) { return std::find(own.begin(), own.end(), axis) != own.end(); });
    }
    for (const PartitionSpec& placed : {PartitionSpec::of(dims), PartitionSpec::of({own}), PartitionSpec()}) {
      const Array y = device_put(all, NamedSharding{mesh, placed});
      CHECK(close(jit(mapped)(y), stack(results)));
      CHECK(close(mapped(y), stack(results)));
    }
    // pmap over as many lanes as devices, in rounds where there are more.
    const auto rows = pmap([&](Array v) { return f(v) + pmean(sum(v), "i") / 64; }, {.axis_name = "i", .chunk = true});
    const auto in_lanes = vmap([&](Array v) { return f(v) + pmean(sum(v), "i") / 64; }, {.axis_name = "i"});
    const Array many = p.chance(50) ? all : concatenate({all, all, all});
    CHECK(close(rows(many), in_lanes(many)));
  }
}
