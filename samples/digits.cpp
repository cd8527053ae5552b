// Trains a classifier of handwritten digits twice from the same start: on one device by jit, and data-parallel over four host devices by
// pmap, gradients averaged with pmean. Shows every stage on the way: the loss and its gradient as programs, the times of tracing, compiling
// and stepping, the agreement of both runs, the accuracy on images not trained on, and each test image's own gradient norm.
//
//     digits [CSV.GZ [PICTURE.SVG]]
//
// Returns 0 if both runs agree and at least 97 % of the test images are recognised.
#include <unistd.h>
#include <weft/plot.h>
#include <weft/weft.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "files.h"

using namespace weft;

struct Layer {
  Array w, b;
};
struct Params {
  Layer hidden, out;
};
struct Batch {
  Array images, labels;
};
struct State {
  Params params, momentum;
};

static constexpr int kDevices = 4, kPixels = 64, kHidden = 128, kClasses = 10, kTest = 360, kBatch = 256, kEpochs = 60;
static constexpr float kRate = .1f, kMomentum = .9f;

/// The network: one hidden layer of tanh units, then a score for each class.
static Array scores(const Params& p, const Array& images) {
  return matmul(tanh(matmul(images, p.hidden.w) + p.hidden.b), p.out.w) + p.out.b;
}
/// Mean cross-entropy.
static Array loss(const Params& p, const Batch& batch) {
  return -mean(sum(nn::one_hot(batch.labels, kClasses) * nn::log_softmax(scores(p, batch.images)), -1));
}
/// One step of gradient descent with momentum.
static State descend(const State& s, const Params& gradient) {
  const Params momentum = tree::map([](Array m, Array g) { return kMomentum * m + g; }, s.momentum, gradient);
  return {tree::map([](Array p, Array m) { return p - kRate * m; }, s.params, momentum), momentum};
}

/// Images scaled to [0, 1], in an order shuffled with a fixed seed.
static Batch read(const std::string& path) {
  const Array table = random::permutation(random::key(0), files::read_table(path, kPixels + 1));
  return {convert(table(slice(), slice(kPixels)), float32) / 16, convert(table(slice(), kPixels), int32)};
}

static State start() {
  const auto layer = [](int seed, int in, int out) {
    return Layer{random::normal(random::key(seed), {in, out}) / std::sqrt(static_cast<float>(in)), zeros(out)};
  };
  const Params p{layer(2, kPixels, kHidden), layer(3, kHidden, kClasses)};
  return {p, tree::map([](Array x) { return zeros_like(x); }, p)};
}

static double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// A progress bar on a terminal; elsewhere the last line only.
static void progress(const char* name, int done, int of, double value) {
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  if (!terminal && done < of) return;
  const int width = 30, full = done * width / of;
  fmt::print("{}{:22} [{}{}] {:3}/{} loss {:.4f}{}", terminal ? "\r" : "", name, std::string(static_cast<std::size_t>(full), '#'),
             std::string(static_cast<std::size_t>(width - full), '.'), done, of, value, done == of ? "\n" : "");
  std::fflush(stdout);
}

static void draw(const std::string& path, const std::vector<double>& one, const std::vector<double>& many, const Batch& test,
                 const std::vector<int>& predicted, double accuracy) {
  Plot loss({.title = "training loss", .x_label = "step", .y_label = "cross entropy", .width = 460, .height = 400});
  loss.line(one, {.label = "jit, one device"});
  loss.line(many, {.label = fmt::format("pmap, {} devices", kDevices), .style = LineStyle::dashed});
  const Array pixels = reshape(test.images(slice(48)), {6, 8, 8, 8});
  const std::vector<int> labels = test.labels.to_vector<int>();
  Plot images({.title = fmt::format("test images and predictions, {:.1f} % right", 100 * accuracy),
               .width = 460,
               .height = 400,
               .axes = false,
               .equal_scales = true});
  // One picture of all, with a row of pixels and room for a number between them.
  const Array spaced = pad(1 - pixels, {{0, 0}, {0, 0}, {0, 4}, {0, 2}}, 1);
  images.image(reshape(transpose(spaced, {0, 2, 1, 3}), {6 * 12, 8 * 10}), {.range = PlotRange{0, 1}});
  for (int i = 0; i < 48; ++i) {
    const auto k = static_cast<std::size_t>(i);
    images.text(10 * (i % 8) + 4, 12 * (i / 8) + 11, std::to_string(predicted[k]),
                {.color = predicted[k] == labels[k] ? "#2a8a2a" : "#d22", .size = 13, .centered = true});
  }
  Figure({loss, images}).save(path);
  fmt::print("picture: {}\n", path);
}

static int run(const std::string& csv, const std::string& svg) {
  config.num_cpu_devices = kDevices;
  const Batch data = read(csv);
  const int train = static_cast<int>(data.labels.size()) - kTest;
  auto rows = [&](int from, int to) { return tree::map([=](Array leaf) { return leaf(slice(from, to)); }, data); };
  const Batch test = rows(train, train + kTest);
  fmt::print("{} images to train on, {} to test with; {} devices\n\n", train, kTest, device_count());

  const State begin = start();
  const Batch few = rows(0, 2);
  fmt::print("the loss of two images, as a program:\n{}\n\nits gradient:\n{}\n\n", make_jaxpr(loss)(begin.params, few),
             make_jaxpr(grad(loss))(begin.params, few));

  auto update = [](const State& s, const Batch& batch) {
    const auto [value, gradient] = value_and_grad(loss)(s.params, batch);
    return std::pair{descend(s, gradient), value};
  };
  auto parallel_update = [](const State& s, const Batch& batch) {
    const auto [value, gradient] = pmean(value_and_grad(loss)(s.params, batch), "devices");
    return std::pair{descend(s, gradient), value};
  };
  auto step = jit(update, {.name = "step"});
  auto parallel_step = pmap(parallel_update, {.in_axes = {none, 0}, .out_axes = none, .axis_name = "devices"});

  const double t0 = seconds();
  const auto traced = step.trace(begin, rows(0, kBatch));
  const double t1 = seconds();
  const auto compiled = traced.lower().compile();
  const double t2 = seconds();
  fmt::print("one step: {} equations, traced in {:.1f} ms, compiled in {:.1f} ms, {:.1f} Mflop\n\n", traced.jaxpr().eqns().size(),
             1e3 * (t1 - t0), 1e3 * (t2 - t1), compiled.cost_analysis().flops / 1e6);

  const int batches = train / kBatch, steps = kEpochs * batches;
  State one = begin, many = begin;
  std::vector<double> losses, parallel_losses;
  double time = 0, parallel_time = 0;
  for (int i = 0; i < steps; ++i) {
    const Batch batch = rows(i % batches * kBatch, (i % batches + 1) * kBatch);
    const double from = seconds();
    auto [next, value] = step(one, batch);
    losses.push_back(value.item<double>());
    if (i > 0) time += seconds() - from;
    one = next;
    progress("jit, one device", i + 1, steps, losses.back());
  }
  for (int i = 0; i < steps; ++i) {
    const Batch batch = rows(i % batches * kBatch, (i % batches + 1) * kBatch);
    const Batch shards{reshape(batch.images, {kDevices, kBatch / kDevices, kPixels}), reshape(batch.labels, {kDevices, kBatch / kDevices})};
    const double from = seconds();
    auto [next, value] = parallel_step(many, shards);
    parallel_losses.push_back(value.item<double>());
    if (i > 0) parallel_time += seconds() - from;
    many = next;
    progress(fmt::format("pmap, {} devices", kDevices).c_str(), i + 1, steps, parallel_losses.back());
  }
  fmt::print("a step takes {:.0f} us by jit, {:.0f} us by pmap\n\n", 1e6 * time / (steps - 1), 1e6 * parallel_time / (steps - 1));

  const double difference = max(abs(tree::ravel(one.params).first - tree::ravel(device_get(many.params)).first)).item<double>();
  const Array predicted = argmax(scores(one.params, test.images), -1);
  const double accuracy = mean(predicted == test.labels).item<double>();
  auto norm = [](const Params& p, const Batch& image) {
    const Array g = tree::ravel(grad(loss)(p, image)).first;
    return sqrt(sum(g * g));
  };
  const Array norms = jit(vmap(norm, {.in_axes = {none, 0}}))(one.params, test);
  const int hardest = argmax(norms).item<int>();
  fmt::print("largest parameter difference between both runs: {:.2e}\n", difference);
  fmt::print("test accuracy: {:.2f} %\n", 100 * accuracy);
  fmt::print(
      "gradient norm of a single test image: median {:.2e}, largest {:.2f} (image {}: a {}, taken for a {})\n",
      [&] {
        std::vector<float> v = norms.to_vector<float>();
        std::nth_element(v.begin(), v.begin() + kTest / 2, v.end());
        return v[kTest / 2];
      }(),
      norms(hardest).item<float>(), hardest, test.labels(hardest).item<int>(), predicted(hardest).item<int>());
  if (!svg.empty()) draw(svg, losses, parallel_losses, test, predicted.to_vector<int>(), accuracy);
  return difference < 1e-3 && accuracy >= .97 ? 0 : 1;
}

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? argv[1] : WEFT_SAMPLE_DATA "/digits.csv.gz", argc > 2 ? argv[2] : "");
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
