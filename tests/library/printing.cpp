// What prints, by fmt and by streams.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <weft/weft.h>

#include <sstream>

using namespace weft;

namespace {

struct Layer {
  Array w, b;
};
struct Model {
  std::vector<Layer> layers;
  std::map<std::string, Array> state;
  std::optional<Array> bias;
  std::string activation;
  int depth = 2;
};
class Hidden {
 public:
  explicit Hidden(Array weight) : weight_(std::move(weight)) {}

 private:
  Array weight_;
  int steps_ = 3;

 public:
  WEFT_PYTREE(Hidden, weight_, steps_)
};
struct Own {
  Array x;
  friend std::ostream& operator<<(std::ostream& os, const Own&) { return os << "my own"; }
};

template <class T>
std::string streamed(const T& t) {
  std::ostringstream os;
  os << t;
  return os.str();
}
/// By fmt and by a stream, which say the same.
template <class T>
std::string both(const T& t) {
  const std::string text = fmt::format("{}", t);
  CHECK(streamed(t) == text);
  return text;
}

}  // namespace

template <>
struct fmt::formatter<Own> : fmt::formatter<fmt::string_view> {
  fmt::format_context::iterator format(const Own&, fmt::format_context& ctx) const {
    return fmt::formatter<fmt::string_view>::format("my own", ctx);
  }
};

TEST_CASE("shapes, dtypes, devices, meshes and shardings print") {
  const Array x = ones({2, 3});
  CHECK(both(x.shape()) == "(2, 3)");
  CHECK(both(Shape{4}) == "(4,)");
  CHECK(both(Shape{}) == "()");
  CHECK(both(x.dtype()) == "float32");
  CHECK(both(bfloat16) == "bfloat16");
  CHECK(fmt::format("{:>9}|{:<8}|", Shape{2, 3}, int8) == "   (2, 3)|int8    |");
  CHECK(both(devices("cpu")[0]) == "cpu:0");
  const Mesh mesh(std::vector<Device>{devices("cpu")[0]}, {1, 1}, {"x", "y"});
  CHECK(both(mesh) == "Mesh('x': 1, 'y': 1)");
  CHECK(both(PartitionSpec("x", none)) == "P('x', None)");
  CHECK(both(PartitionSpec{{"x", "y"}}) == "P(('x', 'y'),)");
  CHECK(both(NamedSharding{mesh, PartitionSpec("x")}) == "P('x',) of Mesh('x': 1, 'y': 1)");
  CHECK(both(device_put(x, NamedSharding{mesh, PartitionSpec("x")}).sharding()) == "P('x',) of Mesh('x': 1, 'y': 1)");
  CHECK(both(device_put(x, devices("cpu")[0]).sharding()) == "cpu:0");
}

TEST_CASE("programs and keys print") {
  CHECK(both(make_jaxpr(nn::relu)(ones(2))).substr(0, 10) == "{ lambda ;");
  CHECK(both(random::key(1)).find("[0 1]") != std::string::npos);
}

TEST_CASE("structs of arrays print with the names of their fields") {
  CHECK(both(Layer{ones({2}), 3.f}) == "{w: [1. 1.], b: 3.0}");
  const Model m{{{ones({2, 2}), zeros(2)}}, {{"mean", zeros(1)}}, {}, "tanh"};
  CHECK(both(m) ==
        "{layers: [{w: [[1. 1.]\n"
        "               [1. 1.]],\n"
        "           b: [0. 0.]}],\n"
        " state: {\"mean\": [0.]},\n"
        " bias: nullopt,\n"
        " activation: \"tanh\",\n"
        " depth: 2}");
  CHECK(both(Hidden(2.f)) == "{weight_: 2.0, steps_: 3}");
  CHECK(both(linalg::qr(eye(1))).substr(0, 4) == "{q: ");
  CHECK(fmt::format("{}", tree::structure(m)) ==
        "{layers: [{w: *, b: *}], state: {\"mean\": *}, bias: nullopt, activation: \"tanh\", depth: 2}");
  CHECK(fmt::format("{}", grad([](const Layer& l) { return sum(l.w) * l.b; })(Layer{ones(2), 3.f})) == "{w: [3. 3.], b: 2.0}");
}

TEST_CASE("other trees print by tree::to_string") {
  CHECK(tree::to_string(std::vector<Layer>{{1.f, 2.f}, {3.f, 4.f}}) == "[{w: 1.0, b: 2.0}, {w: 3.0, b: 4.0}]");
  CHECK(tree::to_string(std::tuple{Array(1.f), std::pair{Array(2), 3.f}}) == "[1.0, [2, 3.0]]");
  CHECK(tree::to_string(std::map<std::string, Array>{{"a", 1.f}}) == "{\"a\": 1.0}");
  CHECK(tree::to_string(ones(2)) == "[1. 1.]");
  CHECK(tree::to_string(std::vector<Array>()) == "[]");
}

TEST_CASE("a traced tree prints as what it is") {
  std::string text;
  jit([&](const Layer& l) {
    text = fmt::format("{}", l);
    return l.w;
  })(Layer{ones(2), 1.f});
  CHECK(text == "{w: Traced<f32[2]>, b: Traced<f32[]>}");
}

TEST_CASE("a type's own way of printing is kept") { CHECK(both(Own{1.f}) == "my own"); }
