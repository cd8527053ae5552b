// What <weft/plot.h> draws: each kind of plot once, several of them in a figure; and a gradient as a graph.
#include <fmt/format.h>
#include <weft/plot.h>
#include <weft/weft.h>

#include <cmath>
#include <string>
#include <vector>

using namespace weft;

static Plot curves() {
  const Array t = linspace(0, 10, 300, float64);
  Plot p({.title = "curves and a band", .x_label = "time, s", .y_label = "deflection, mm"});
  p.line(t, exp(-0.3 * t) * cos(3 * t), {.label = "light"}).line(t, exp(-t) * cos(3 * t), {.label = "heavy", .style = LineStyle::dashed});
  p.line(t, exp(-3 * t), {.label = "overdamped", .style = LineStyle::dotted});
  p.band(t, -exp(-0.3 * t), exp(-0.3 * t), {.label = "envelope", .color = "gray"});
  return p;
}
static Plot logarithmic() {
  const Array n = arange(1, 1000, 4, float64);
  Plot p({.title = "a logarithmic axis", .x_label = "step", .y_label = "loss", .y_log = true});
  p.line(n, 3 / n + 0.001, {.label = "Adam"}).line(n, 3 / sqrt(n), {.label = "SGD"}).horizontal(0.01, {.label = "goal"});
  return p;
}
static Plot points(const Array& draws) {
  Plot p({.title = "points colored by a number", .x_label = "x", .y_label = "y", .equal_scales = true});
  p.scatter(draws[0], 0.5 * draws[0] + draws[1], {.values = PlotValues(sqrt(sum(draws * draws, 0)))});
  return p;
}
static Plot counts(const Array& draws) {
  Plot p({.title = "histograms", .x_label = "value", .y_label = "density"});
  p.histogram(draws[0], {.label = "normal", .density = true}).histogram(0.5 * draws[1] + 1, {.label = "shifted", .density = true});
  const Array z = linspace(-3, 3, 120, float64);
  return p.line(z, exp(-z * z / 2) / std::sqrt(2 * constants::pi), {.label = "exact"});
}
static Plot bars() {
  const std::vector<std::string> names{"matmul", "softmax", "attention", "layer norm"};
  Plot p({.title = "bars", .y_label = "ms"});
  return p.bars(names, {3.2, 1.1, 4.6, 0.7}, {.label = "weft", .annotated = true})
      .bars(names, {3.3, 2.4, 7.9, 1.6}, {.label = "another", .annotated = true});
}
static Plot ranked() {
  Plot p({.title = "bars on a logarithmic axis", .x_log = true});
  return p.bars({"one thing", "another", "a third"}, {0.8, 12, 340}, {.horizontal = true, .annotated = true});
}
static Plot matrix(const Array& draws) {
  const Array all = concatenate({draws, expand_dims(draws[0] - 0.5 * draws[1], 0)});
  const std::vector<std::string> names{"mass", "length", "age"};
  const Array covariance = matmul(all, transpose(all)), deviation = sqrt(diag(covariance));
  Plot p({.title = "a heat map"});
  return p.heat_map(
      round(covariance / (expand_dims(deviation, 0) * expand_dims(deviation, 1)) * 100) / 100,
      {.map = ColorMap::diverging, .range = PlotRange{-1, 1}, .columns = names, .rows = names, .annotated = true, .label = "correlation"});
}
static Plot field() {
  const Array x = linspace(-2, 2, 90, float64);
  Plot p({.title = "an image", .x_label = "x", .y_label = "y"});
  return p.image(sin(3 * x(newaxis, slice())) * exp(-x(slice(), newaxis) * x(slice(), newaxis)),
                 {.map = ColorMap::sequential, .x = PlotRange{-2, 2}, .y = PlotRange{-2, 2}, .color_bar = true});
}
static Plot errors() {
  Plot p({.title = "error bars", .x_label = "dose", .x_log = true});
  return p.error_bars({0.01, 0.1, 1, 10}, {1, 2.1, 2.9, 4.2}, {0.3, 0.2, 0.4, 0.3}, {.label = "measured"})
      .line({0.01, 10}, {1, 4}, {.label = "model"});
}

int main(int argc, char** argv) {
  const Array draws = random::normal(random::key(3), {2, 600}, float64);
  const Figure figure({curves(), logarithmic(), points(draws), counts(draws), bars(), ranked(), matrix(draws), field(), errors()},
                      {.columns = 3});
  const auto loss = [](Array w, Array x) { return sum(tanh(matmul(x, w))); };
  const Jaxpr gradient = make_jaxpr(grad(loss))(ones({4, 3}), ones({5, 4}));
  if (argc > 1) figure.save(argv[1]);
  if (argc > 2) save_graph(argv[2], gradient);
  const std::size_t bytes = figure.svg().size();
  fmt::print("nine plots in {} kB, a graph of {} equations in {} kB\n", bytes / 1000, gradient.eqns().size(),
             graph_svg(gradient).size() / 1000);
  return bytes < 200000 ? 0 : 1;
}
