// Pictures: what is drawn where, what is left out, what is refused.
#include <doctest/doctest.h>
#include <weft/plot.h>
#include <weft/weft.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <regex>
#include <sstream>

#include "tests/folder.h"
#include "tests/library/xml.h"
#include "tests/messages.h"

using namespace weft;
using namespace weft::test;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();

/// The points of the first curve, in pixels within the axes' box: `M` begins a piece.
std::vector<std::pair<char, std::pair<double, double>>> curve_points(const std::string& svg) {
  std::smatch m;
  std::vector<std::pair<char, std::pair<double, double>>> out;
  if (!std::regex_search(svg, m, std::regex("<path d=\"([^\"]*)\" fill=\"none\" stroke=\"#"))) return out;
  const std::string d = m[1];
  const std::regex step("([ML])(-?[0-9.]+) (-?[0-9.]+)");
  for (std::sregex_iterator it(d.begin(), d.end(), step), end; it != end; ++it)
    out.push_back({(*it)[1].str()[0], {std::stod((*it)[2]), std::stod((*it)[3])}});
  return out;
}
/// The size of the axes' box.
std::pair<double, double> box_of(const std::string& svg) {
  std::smatch m;
  REQUIRE(std::regex_search(svg, m, std::regex("<svg x=\"[0-9.]+\" y=\"[0-9.]+\" width=\"([0-9.]+)\" height=\"([0-9.]+)\"")));
  return {std::stod(m[1]), std::stod(m[2])};
}
/// The words of all texts.
std::vector<std::string> words_of(const std::string& svg) {
  std::vector<std::string> out;
  const std::regex text("<text [^>]*>([^<]*)</text>");
  for (std::sregex_iterator it(svg.begin(), svg.end(), text), end; it != end; ++it) out.push_back((*it)[1]);
  return out;
}
bool has_word(const std::string& svg, const std::string& word) {
  for (const std::string& w : words_of(svg))
    if (w == word) return true;
  MESSAGE(word, " is not among the words");
  return false;
}

}  // namespace

TEST_CASE("plot: title and labels may be set later") {
  Plot named({.title = "loss", .x_label = "step", .y_label = "nats"}), later;
  named.line({1., 2.});
  later.title("loss").xlabel("step").ylabel("nats").line({1., 2.});
  CHECK(named.svg() == later.svg());
}

TEST_CASE("plots: a curve goes through its points, and its axes have round numbers") {
  Plot p({.title = "a <title> & more", .x_label = "x", .y_label = "y", .x_range = PlotRange{0, 10}, .y_range = PlotRange{-1, 1}});
  p.line({0, 5, 10}, {-1, 1, 0}, {.label = "up & down"});
  const std::string svg = p.svg();
  CHECK(xml_problem(svg) == "");
  const auto [w, h] = box_of(svg);
  const auto points = curve_points(svg);
  REQUIRE(points.size() == 3);
  CHECK(points[0].second.first == doctest::Approx(0).epsilon(0.01));
  CHECK(points[0].second.second == doctest::Approx(h).epsilon(0.01));
  CHECK(points[1].second.first == doctest::Approx(w / 2).epsilon(0.01));
  CHECK(points[1].second.second == doctest::Approx(0));
  CHECK(points[2].second.first == doctest::Approx(w).epsilon(0.01));
  CHECK(points[2].second.second == doctest::Approx(h / 2).epsilon(0.01));
  for (const char* word : {"0", "10", "0.5",
                           "\xe2\x88\x92"
                           "0.5",
                           "x", "y", "up &amp; down", "a &lt;title&gt; &amp; more"})
    CHECK(has_word(svg, word));
}

TEST_CASE("plots: what can't be drawn leaves a gap, and nothing gives empty axes") {
  Plot p;
  p.line({0, 1, 2, 3, 4, 5, 6}, {1, 2, kNan, 3, kInf, 1, 2});
  const auto points = curve_points(p.svg());
  REQUIRE(points.size() == 4);  // 0 to 1, and 5 to 6; the point at 3 stands alone
  CHECK(points[0].first == 'M');
  CHECK(points[2].first == 'M');
  CHECK(count_of(p.svg(), "<path d=\"M") == 3 + 0);  // the curve, the lone point, the frame

  for (const Plot& empty :
       {Plot(), Plot().line(PlotValues{}, PlotValues{}), Plot().line({kNan}, {1}), Plot().scatter({kInf}, {kNan}),
        Plot().histogram({kNan, kInf}), Plot().bars({}, PlotValues{}), Plot({.y_log = true}).line({0, 1}, {-1, 0}),
        Plot().image(zeros({0, 3})), Plot().heat_map(zeros({2, 0})), Plot().band(PlotValues{}, PlotValues{}, PlotValues{})}) {
    const std::string svg = empty.svg();
    CHECK(xml_problem(svg) == "");
    CHECK(svg.find("nan") == std::string::npos);
    CHECK(svg.find("inf") == std::string::npos);
    CHECK(words_of(svg).size() >= 2);
  }
}

TEST_CASE("plots: one point, equal numbers, and very large, small and near ones have axes") {
  for (const auto& [values, word] : std::vector<std::pair<std::vector<double>, std::string>>{{{3}, "3.0"},
                                                                                             {{0, 0, 0}, "0.0"},
                                                                                             {{1e12, 3e12},
                                                                                              "\xc3\x97"
                                                                                              "10\xc2\xb9\xc2\xb2"},
                                                                                             {{1e-9, 4e-9},
                                                                                              "\xc3\x97"
                                                                                              "10\xe2\x81\xbb\xe2\x81\xb9"},
                                                                                             {{-1e308, 1e308, 2}, "2.0"},
                                                                                             {{5e-324, 1e-323}, ""},
                                                                                             {{1e6, 1e6 + 1e-3}, ""}}) {
    Plot p;
    p.line(values);
    const std::string svg = p.svg();
    CAPTURE(svg);
    CHECK(xml_problem(svg) == "");
    CHECK(svg.find("nan") == std::string::npos);
    CHECK(svg.find("inf") == std::string::npos);
    CHECK(svg.find("e+") == std::string::npos);
    if (!word.empty()) CHECK(has_word(svg, word));
  }
}

TEST_CASE("plots: logarithmic axes") {
  Plot p({.y_log = true, .y_range = PlotRange{1e-3, 1e3}});
  p.line({0, 1, 2, 3}, {1e-3, 1, 1e3, -5});
  const std::string svg = p.svg();
  const auto [w, h] = box_of(svg);
  const auto points = curve_points(svg);
  REQUIRE(points.size() == 3);
  CHECK(points[1].second.second == doctest::Approx(h / 2).epsilon(0.01));
  CHECK(has_word(svg, "0.001"));
  CHECK(has_word(Plot({.y_log = true}).line({1e-9, 1}).svg(), "10\xe2\x81\xbb\xe2\x81\xb6"));
  CHECK(has_word(svg, "100"));
  // Less than two powers of ten have numbers between them.
  CHECK(has_word(Plot({.x_log = true}).line({1, 8}, {0, 1}).svg(), "6"));
}

TEST_CASE("plots: a million points make a small picture that keeps the extremes") {
  std::vector<double> y(1000000);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = std::sin(static_cast<double>(i) * 0.001);
  y[123456] = 5;
  Plot p({.y_range = PlotRange{-2, 6}});
  p.line(y);
  const std::string svg = p.svg();
  CHECK(svg.size() < 200000);
  const double h = box_of(svg).second;
  double top = h;
  for (const auto& [kind, at] : curve_points(svg)) top = std::min(top, at.second);
  CHECK(top == doctest::Approx(h / 8).epsilon(0.01));
  const Array many = random::normal(random::key(0), {200000});
  CHECK(Plot().scatter(many, many).svg().size() < 400000);
}

TEST_CASE("plots: curves far outside of the axes keep their direction") {
  Plot p({.x_range = {0, 1}, .y_range = {0, 1.0}});
  p.line({-1e6, 1e6}, {-1e6, 1e6});  // the diagonal
  const std::string svg = p.svg();
  const auto [w, h] = box_of(svg);
  const auto points = curve_points(svg);
  REQUIRE(points.size() == 2);
  const auto [a, b] = std::pair(points[0].second, points[1].second);
  CHECK((b.second - a.second) / (b.first - a.first) == doctest::Approx(-h / w).epsilon(1e-3));
  CHECK(std::abs(a.first) < 3 * w);
}

TEST_CASE("plots: histograms count each value once") {
  const auto heights = [](const Plot& p) { return p.marks()[0].y; };
  Plot p;
  p.histogram({0, 0.5, 1, 1, 2, kNan, kInf}, {.bins = 2});
  CHECK(heights(p) == std::vector<double>{2, 3});
  Plot some;
  some.histogram({0, 0.5, 1, 1, 2}, {.bins = 2, .range = {0, 1}});
  CHECK(heights(some) == std::vector<double>{1, 3});
  Plot density;
  density.histogram(random::normal(random::key(1), {5000}), {.density = true});
  double area = 0;
  for (std::size_t i = 0; i < density.marks()[0].y.size(); ++i)
    area += density.marks()[0].y[i] * (density.marks()[0].x[i + 1] - density.marks()[0].x[i]);
  CHECK(area == doctest::Approx(1));
  CHECK(density.marks()[0].y.size() > 10);
  CHECK(heights(Plot().histogram({4, 4, 4})).size() > 0);
}

TEST_CASE("plots: bars of one name stand beside each other, below zero too") {
  Plot p;
  p.bars({"a", "b & c"}, {1, -2}, {.label = "one", .annotated = true}).bars({"a", "b & c"}, {2, 3}, {.label = "two"});
  const std::string svg = p.svg();
  CHECK(xml_problem(svg) == "");
  CHECK(has_word(svg, "b &amp; c"));
  CHECK(has_word(svg,
                 "\xe2\x88\x92"
                 "2"));
  CHECK(count_of(svg, "rx=\"1.5\"") == 4 + 2);  // and two in the legend
  CHECK(refuses<Error>([&] { p.bars({"a", "z"}, {1, 2}); }, {"other names", "plot.cpp:"}));
  CHECK(xml_problem(Plot().bars({"long name one", "long name two"}, {1e-3, 20}, {.horizontal = true, .annotated = true}).svg()) == "");
}

TEST_CASE("plots: images hold the pixels, the first row at the top, NaN transparent") {
  const Folder folder;
  Plot p;
  p.image(array({{0., 1.}, {kNan, 0.5}}, float32), {.color_bar = true});
  const std::string svg = p.svg();
  CHECK(xml_problem(svg) == "");
  CHECK(count_of(svg, "data:image/png;base64,") == 1);  // of the color bar; few pixels are rectangles
  CHECK(count_of(svg, "fill=\"#636363\"") == 1);
  CHECK(count_of(Plot().image(zeros({100, 100})).svg(), "data:image/png;base64,") == 1);
  const Array pixels = p.marks()[0].pixels;
  CHECK(pixels.to_vector<int>() == std::vector<int>{0, 0, 0, 255, 255, 255, 255, 255, 0, 0, 0, 0, 99, 99, 99, 255});
  Plot colors;
  colors.image(array({{{1., 0.5, 0.}}}, float32));
  CHECK(colors.marks()[0].pixels.to_vector<int>() == std::vector<int>{255, 128, 0, 255});
  Plot map;
  map.heat_map(array({{1, 2}, {3, 4}}), {.columns = {"left", "right"}, .rows = {"up", "down"}, .annotated = true, .label = "how much"});
  for (const char* word : {"left", "down", "3", "how much"}) CHECK(has_word(map.svg(), word));
}

TEST_CASE("plots: several in a figure") {
  Plot p({.title = "first"});
  p.line({0, 1}, {0, 1});
  Plot q = p;  // a value
  q.scatter({0.5}, {0.5}, {.label = "second's own"});
  CHECK(p.marks().size() == 1);
  const Figure f({p, q, p}, {.columns = 2, .title = "both"});
  const std::string svg = f.svg();
  CHECK(xml_problem(svg) == "");
  CHECK(svg.find("viewBox=\"0 0 1054 724\"") != std::string::npos);
  CHECK(has_word(svg, "both"));
  CHECK(count_of(svg, ">first<") == 3);
  CHECK(xml_problem(Figure({}).svg()) == "");
}

TEST_CASE("plots: files, themes and words of any bytes") {
  const Folder folder;
  Plot p({.title = "bytes \xff\x01\xc3 and \xc3\xa9", .theme = Theme::dark});
  p.line({0, 1}, {0, 1})
      .text(0.5, 0.5, "<here>")
      .horizontal(0.5, {.label = "half"})
      .vertical(0.2)
      .error_bars({0, 1}, {0, 1}, {0.1, 0.2})
      .band({0, 1}, {0, 1}, {1, 2});
  p.save(folder.path + "/p.svg");
  std::ifstream in(folder.path + "/p.svg");
  std::stringstream text;
  text << in.rdbuf();
  CHECK(text.str() == p.svg());
  CHECK(xml_problem(p.svg()) == "");
  CHECK(p.svg().find("\xef\xbf\xbd") != std::string::npos);
  CHECK(p.svg().find("prefers-color-scheme") == std::string::npos);
  CHECK(Plot().svg().find("prefers-color-scheme") != std::string::npos);
  CHECK_THROWS_AS(p.save("/nowhere/at/all.svg"), IoError);
}

TEST_CASE("plots: what makes no picture is refused") {
  CHECK(refuses<ShapeError>([] { Plot().line({1, 2, 3}, {1, 2}); }, {"y has 2 numbers, x has 3", "plot.cpp:"}));
  CHECK(refuses<ShapeError>([] { Plot().line(zeros({2, 2})); }, {"y has the shape (2, 2)", "one dimension", "plot.cpp:"}));
  CHECK(refuses<ShapeError>([] { Plot().image(zeros(3)); }, {"f32[3] is not a picture"}));
  CHECK(refuses<ShapeError>([] { Plot().heat_map(zeros({2, 2}), {.columns = {"a"}}); }, {"1 name of columns"}));
  CHECK(refuses<ShapeError>([] { Plot().bars({"a"}, {1, 2}); }, {"1 name and 2 heights"}));
  CHECK(refuses<DTypeError>([] { Plot().line(zeros(3, complex64)); }, {"c64[3] can't be drawn"}));
  CHECK(refuses<Error>([] { Plot().line({0, 1}, {0, 1}, {.color = "\"/><script>"}); }, {"is not a color"}));
  CHECK(refuses<Error>([] { Plot({.x_range = PlotRange{1, 1}}); }, {"x_range is (1, 1)"}));
  CHECK(refuses<Error>([] { Plot({.y_log = true, .y_range = PlotRange{0, 1}}); }, {"both ends must be positive"}));
  CHECK(refuses<Error>([] { Plot({.width = 3}); }, {"3 by 340 pixels"}));
  CHECK(refuses<Error>([] { Plot().line({0, 1}, {0, 1}, {.width = -1}); }, {"width is -1"}));
  CHECK(refuses<ConcretizationError>([] { jit([](Array x) { return Plot().line(x), x; })(ones(3)); }, {"has no value"}));
}

TEST_CASE("graphs: each equation is a node, those of loops too") {
  const auto f = [](Array x) {
    const auto [y, ys] = scan([](Array c, Array v) { return std::pair{sin(c) * v, c}; }, x, ones({4}));
    return y + sum(ys) * 2.f;
  };
  const Jaxpr program = make_jaxpr(f)(1.f);
  const std::string svg = graph_svg(program, {.title = "a loop"});
  CHECK(xml_problem(svg) == "");
  for (const char* word : {"scan", "sin", "mul", "reduce_sum", "in 0", "out 0", "a loop", "scan, jaxpr", "elementwise", "control"})
    CHECK(has_word(svg, word));
  CHECK(words_of(graph_svg(program, {.programs = false})).size() < words_of(svg).size());
  CHECK(refuses<Error>([&] { graph_svg(program, {.max_equations = 2}); }, {"more than 2 equations", "plot.cpp:"}));
  CHECK(xml_problem(graph_svg(Jaxpr())) == "");
  const Folder folder;
  save_graph(folder.path + "/g.svg", program);
  CHECK_THROWS_AS(save_graph("/nowhere/at/all.svg", program), IoError);
}

TEST_CASE("graphs: layers go down, and nodes of a layer don't overlap") {
  const Jaxpr program = make_jaxpr(grad([](Array x) { return sum(tanh(matmul(x, x)) * x + sin(x)); }))(ones({3, 3}));
  const std::string svg = graph_svg(program);
  std::vector<std::array<double, 4>> boxes;
  const std::regex rect("<rect x=\"([0-9.]+)\" y=\"([0-9.]+)\" width=\"([0-9.]+)\" height=\"([0-9.]+)\" rx=\"(5|12)\"");
  for (std::sregex_iterator it(svg.begin(), svg.end(), rect), end; it != end; ++it)
    boxes.push_back({std::stod((*it)[1]), std::stod((*it)[2]), std::stod((*it)[3]), std::stod((*it)[4])});
  CHECK(boxes.size() == program.eqns().size() + 2);
  for (std::size_t i = 0; i < boxes.size(); ++i)
    for (std::size_t k = 0; k < i; ++k) {
      const auto &a = boxes[i], &b = boxes[k];
      const bool apart = a[0] + a[2] <= b[0] || b[0] + b[2] <= a[0] || a[1] + a[3] <= b[1] || b[1] + b[3] <= a[1];
      CHECK(apart);
    }
}

TEST_CASE("sharding pictures: blocks and their devices") {
  CHECK(xml_problem(sharding_svg(ones({4, 6}))) == "");
  if (device_count("cpu") < 4) return;
  const Mesh mesh = make_mesh({2, 2}, {"x", "y"});
  const std::string svg = sharding_svg({8, 6}, NamedSharding(mesh, PartitionSpec("x", "y")));
  CHECK(xml_problem(svg) == "");
  for (const char* word : {"cpu:0", "cpu:3", "8 over x", "6 over y"}) CHECK(has_word(svg, word));
  const std::string rows = sharding_svg({8, 6}, NamedSharding(mesh, PartitionSpec("x", none)));
  CHECK(has_word(rows, "cpu:0, cpu:1"));
  CHECK(refuses<ShardingError>([&] { sharding_svg({7, 6}, NamedSharding(mesh, PartitionSpec("x", none))); }, {"sharding_svg"}));
}
