// Trains a convolutional network on handwritten digits.
//
//     convolution [PICTURE.SVG]
//
// What it shows: conv_general_dilated and pooling with their gradients, initial weights, a whole epoch as one compiled program (a scan over
// shuffled batches), images moved at random inside it (vmap of dynamic_slice), and what the network looks at: the gradient by the image.
// Returns 0 if at least 98 % of the images that it has not seen are recognised.
#include <weft/plot.h>
#include <weft/weft.h>

#include <chrono>
#include <cmath>
#include <string>
#include <vector>

#include "files.h"

using namespace weft;

static constexpr float kRate = .01f;
static constexpr int kSide = 8, kClasses = 10, kTest = 360, kTrain = 1408, kBatch = 64, kEpochs = 10;

struct Layer {
  Array w, b;
};
struct Network {
  Layer first, second, out;
};
struct Batch {
  Array images, labels;  // (n, 8, 8, 1) and (n)
};

static Network start(Array key) {
  const auto [a, b, c] = random::split<3>(key);
  const auto he = nn::initializers::he_normal();
  return {{he(a, {3, 3, 1, 16}), zeros(16)}, {he(b, {3, 3, 16, 32}), zeros(32)}, {he(c, {512, kClasses}) * .5f, zeros(kClasses)}};
}

static Array convolve(const Layer& layer, const Array& x) {
  return conv_general_dilated(x, layer.w, {1, 1}, "SAME", {.dimension_numbers = {"NHWC", "HWIO", "NHWC"}}) + layer.b;
}
static Array scores(const Network& net, const Array& images) {
  Array x = nn::relu(convolve(net.first, images));
  x = nn::relu(convolve(net.second, x));
  x = max_pool(x, {2, 2}, {.strides = {2, 2}});
  return matmul(reshape(x, {x.shape()[0], -1}), net.out.w) + net.out.b;
}
static Array loss(const Network& net, const Batch& batch) {
  return -mean(take_along_axis(nn::log_softmax(scores(net, batch.images)), expand_dims(batch.labels, 1)));
}

/// Each image moved by up to one pixel, or not, along both sides.
static Array moved(Array key, const Array& images) {
  const Array wide = pad(images, {{0, 0}, {1, 1}, {1, 1}, {0, 0}});
  const Array by = random::choice(key, array({0, 1, 1, 1, 1, 2}), {images.shape()[0], 2});
  return vmap([](Array image, Array at) { return dynamic_slice(image, {at[0], at[1], 0}, {kSide, kSide, 1}); })(wide, by);
}

struct State {
  Network net, mean, square, average;  // the average of the weights of the last steps, which answers better than the last ones
  Array steps;
};

/// Adam's step (D. Kingma and J. Ba, arXiv:1412.6980).
static State adam(const State& s, const Network& gradient, const Array& rate) {
  const Array n = s.steps + 1;
  const Network mean = tree::map([](Array m, Array g) { return .9f * m + .1f * g; }, s.mean, gradient);
  const Network square = tree::map([](Array v, Array g) { return .999f * v + .001f * g * g; }, s.square, gradient);
  auto update = [&](Array p, Array m, Array v) { return p - rate * (m / (1 - pow(.9f, n))) / (sqrt(v / (1 - pow(.999f, n))) + 1e-7f); };
  const Network net = tree::map(update, s.net, mean, square);
  return {net, mean, square, tree::map([](Array a, Array p) { return .95f * a + .05f * p; }, s.average, net), n};
}

/// All training images once, in random order: the new state, and the loss of each batch.
static std::pair<State, Array> epoch(const State& state, const Batch& data, const Array& key, const Array& rate) {
  const auto [for_order, for_moves] = random::split<2>(key);
  const Array order = random::permutation(for_order, kTrain);
  const Batch batches = tree::map(
      [&](Array leaf) {
        const Array shuffled = leaf(order);
        Shape shape = {kTrain / kBatch, kBatch};
        for (int d = 1; d < leaf.ndim(); ++d) shape.push_back(leaf.shape()[d]);
        return reshape(shuffled, shape);
      },
      data);
  auto step = [&](const State& s, std::pair<Batch, Array> x) {
    const auto& [batch, k] = x;
    const auto [value, gradient] = value_and_grad(loss)(s.net, Batch{moved(k, batch.images), batch.labels});
    return std::pair{adam(s, gradient, rate), value};
  };
  return scan(step, state, std::pair{batches, random::split(for_moves, kTrain / kBatch)});
}

static double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// The images that were taken for another digit, or else the least certain ones; and which pixels speak for the answer.
static void draw(const std::string& path, const Network& net, const Batch& test, const Array& predicted) {
  const Array all = scores(net, test.images), certainty = max(nn::softmax(all), -1);
  const Array doubt = where(predicted == test.labels, 1 - certainty, 2);
  const Array worst = top_k(doubt, 12).indices;
  const Array images = test.images(worst);
  auto score = [&](Array image, Array which) { return scores(net, expand_dims(image, 0))(0, which); };
  const Array influence = vmap(grad(score))(images, predicted(worst)) * images;
  const Array speaking = clip(influence / max(influence, {1, 2, 3}, keepdims), 0, 1);
  const auto answers = predicted(worst).to_vector<int>(), labels = test.labels(worst).to_vector<int>();
  std::vector<Plot> plots;
  for (const Array& row : {images, speaking})
    for (int i = 0; i < 12; ++i) {
      const auto k = static_cast<std::size_t>(i);
      const std::string title = plots.size() < 12 ? fmt::format("{} for {}", answers[k], labels[k]) : "";
      Plot p({.title = title, .width = 72, .height = title.empty() ? 72 : 96, .axes = false});
      p.image(reshape(1 - row(i), {kSide, kSide}), {.range = PlotRange{0, 1}});
      plots.push_back(p);
    }
  Figure(
      plots,
      {.columns = 12, .title = "the images that are hardest to tell, and which pixels speak for the answer (gradient x image)", .gap = 4})
      .save(path);
  fmt::print("picture: {}\n", path);
}

static int run(const std::string& path) {
  const Array table = random::permutation(random::key(1), files::read_table(WEFT_SAMPLE_DATA "/digits.csv.gz", 65));
  const Batch all{reshape(convert(table(slice(), slice(64)), float32) / 16, {-1, kSide, kSide, 1}), convert(table(slice(), 64), int32)};
  auto rows = [&](int from, int to) { return tree::map([=](Array leaf) { return leaf(slice(from, to)); }, all); };
  const Batch test = rows(0, kTest), train = rows(kTest, kTest + kTrain);

  State state{start(random::key(0)), {}, {}, {}, 0.f};
  state.average = state.net;
  state.mean = state.square = tree::map([](Array x) { return zeros_like(x); }, state.net);
  fmt::print("{} weights; {} images to train on, {} to test with\n", tree::ravel(state.net).first.size(), kTrain, kTest);
  auto run_epoch = jit(epoch);
  auto answer = jit([](const Network& net, Array images) { return argmax(scores(net, images), -1); });
  const double t0 = seconds();
  const auto compiled = run_epoch.lower(state, train, random::key(0), kRate).compile();
  const double t1 = seconds();
  fmt::print("an epoch is compiled in {:.2f} s\n", t1 - t0);
  for (int e = 0; e < kEpochs; ++e) {
    const Array rate = kRate * .5f * (1 + std::cos(3.14159f * static_cast<float>(e) / kEpochs));
    const auto [next, losses] = compiled(state, train, random::fold_in(random::key(2), e), rate);
    state = next;
    fmt::print("epoch {:2}: loss {:.4f}, {:.2f} % of the test images right\n", e + 1, mean(losses).item<double>(),
               100 * mean(answer(state.average, test.images) == test.labels).item<double>());
  }
  const double time = (seconds() - t1) / kEpochs;
  const Array predicted = answer(state.average, test.images);
  const double accuracy = mean(predicted == test.labels).item<double>();
  fmt::print("{:.2f} s an epoch; test accuracy {:.2f} %\n", time, 100 * accuracy);
  if (!path.empty()) draw(path, state.average, test, predicted);
  return accuracy >= .98 ? 0 : 1;
}

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? argv[1] : "");
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
