// Functions of structs of arrays, for nests of transforms.
#include <weft/weft.h>

#include <map>
#include <optional>

#include "functions.h"

namespace weft::test {

namespace {

struct Layer {
  Array w, b;
};
struct Model {
  std::vector<Layer> layers;
  std::optional<Array> scale;
  int power = 2;
};

Model model_of(const Array& x) { return {{{x, 2. * x}, {sin(x), x * x}}, x(0), 2}; }
Array apply(const Model& m, Array v) {
  for (const Layer& l : m.layers) v = tanh(l.w * v + l.b);
  return pow(v, m.power) * *m.scale;
}

Array through_map(const Array& x) {
  using Dict = std::map<std::string, std::pair<Array, Array>>;
  const Dict d{{"first", {x, x * x}}, {"second", {cos(x), x}}};
  const Dict e = jit([](Dict v) { return tree::map([](Array a) { return a * 1.5; }, v); })(d);
  return e.at("first").second * e.at("second").first;
}

Array gradient_of_model(const Array& x) {
  const Model g = grad([](const Model& m, Array v) { return sum(apply(m, v)); })(model_of(x), x);
  return g.layers[0].w + g.layers[1].b * *g.scale;
}

Array vmapped_model(const Array& x) {
  const Model m = model_of(x);
  return vmap([](const Model& each, Array v) { return apply(each, v); }, {.in_axes = {none, 0}})(m, stack({x, 2. * x}));
}

}  // namespace

std::vector<NestedFunction> tree_functions() {
  return {
      {"tree: a model of structs, vectors and an optional", {2}, [](Array x) { return apply(model_of(x), x + 0.5); }},
      {"tree: a jitted function of a map of pairs", {2}, through_map},
      {"tree: the gradient by a model", {2}, gradient_of_model},
      {"tree: vmap with a model that is not mapped", {2}, vmapped_model},
  };
}

}  // namespace weft::test
