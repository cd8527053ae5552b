// Trains a classifier of handwritten digits over several processes: each has its own part of every batch, and pmean joins their gradients.
//
//     mpirun -n 4 distributed_digits          four processes with one device each
//     WEFT_NUM_CPU_DEVICES=4 distributed_digits    the same program in one process with four
//
// At the end process 0 runs the program once more, in one process with as many devices: the parameters are the same, bit for bit, which
// each process prints. Returns 0 if they are, and if at least 95 % of the images not trained on are recognised.
#include <fmt/core.h>

#include <unistd.h>
#include <weft/weft.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
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

static constexpr int kPixels = 64, kHidden = 64, kClasses = 10, kTest = 360, kBatch = 240, kEpochs = 100;

static Array scores(const Params& p, const Array& images) {
  return matmul(tanh(matmul(images, p.hidden.w) + p.hidden.b), p.out.w) + p.out.b;
}
static Array loss(const Params& p, const Batch& batch) {
  return -mean(sum(nn::one_hot(batch.labels, kClasses) * nn::log_softmax(scores(p, batch.images)), -1));
}
static std::pair<Params, Array> update(const Params& p, const Batch& batch) {
  const auto [value, gradient] = pmean(value_and_grad(loss)(p, batch), "devices");
  return {tree::map([](Array w, Array g) { return w - .3f * g; }, p, gradient), value};
}

static Batch read(const std::string& path) {
  const Array table = random::permutation(random::key(1), files::read_table(path, kPixels + 1));
  return {convert(table(slice(), slice(kPixels)), float32) / 16, convert(table(slice(), kPixels), int32)};
}

static Params start() {
  const auto layer = [](int seed, int in, int out) {
    return Layer{random::normal(random::key(seed), {in, out}) / std::sqrt(static_cast<float>(in)), zeros(out)};
  };
  return {layer(2, kPixels, kHidden), layer(3, kHidden, kClasses)};
}

/// A hash of all bits of the parameters.
static std::string fingerprint(const Params& p) {
  std::uint64_t h = 0xcbf29ce484222325u;
  for (const Array& leaf : tree::leaves(p))
    for (float v : leaf.to_vector<float>()) {
      std::uint32_t bits;
      std::memcpy(&bits, &v, sizeof bits);
      h = (h ^ bits) * 0x100000001b3u;
    }
  return fmt::format("{:016x}", h);
}

/// What the same program prints when it is run in one process with that many devices.
static std::string alone(int devices) {
  const std::string command = fmt::format("WEFT_SAMPLE_ALONE=1 WEFT_NUM_CPU_DEVICES={} /proc/{}/exe", devices, std::to_string(getpid()));
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return "it did not start";
  char text[4096] = "";
  std::string all;
  while (std::fgets(text, sizeof text, pipe)) all += text;
  pclose(pipe);
  const std::size_t at = all.find("parameters ");
  return at == std::string::npos ? all : all.substr(at + 11, 16);
}

static int run(const std::string& csv) {
  const bool is_alone = std::getenv("WEFT_SAMPLE_ALONE") != nullptr;
  if (!is_alone) distributed::initialize();
  const int devices = device_count(), mine = local_device_count(), first = local_devices()[0].id();
  if (kBatch % devices != 0) throw std::runtime_error("the number of devices must divide the batch");
  const int rows = kBatch / devices;  // of one device
  const Batch data = read(csv);
  const int train = static_cast<int>(data.labels.size()) - kTest;
  const auto step = pmap(update, {.in_axes = {none, 0}, .out_axes = none, .axis_name = "devices"});
  Params p = start();
  Array value;
  for (int epoch = 0; epoch < kEpochs; ++epoch)
    for (int at = 0; at + kBatch <= train; at += kBatch) {
      // This process's devices' rows of the batch, one block for each device.
      const auto part = [&](Array leaf) {
        const Array own = leaf(slice(at + first * rows, at + (first + mine) * rows));
        return reshape(own, leaf.ndim() == 2 ? Shape{mine, rows, kPixels} : Shape{mine, rows});
      };
      const auto [next, last] = step(p, Batch{part(data.images), part(data.labels)});
      p = next, value = last;
    }
  p = device_get(p);
  const Array found = argmax(scores(p, data.images(slice(train, none))), 1);
  const double right = mean(found == data.labels(slice(train, none))).item<double>();
  const std::string print = fingerprint(p);
  if (process_index() == 0)
    fmt::print("{} processes, {} devices: loss {:.6f}, {:.1f} % of {} test images right, parameters {}\n", process_count(), devices,
               value.item<float>(), 100 * right, kTest, print);
  if (std::getenv("WEFT_DRY_RUN")) return 0;
  if (is_alone || process_count() == 1) return right >= .95 ? 0 : 1;
  const std::string one = process_index() == 0 ? alone(devices) : std::string();
  const bool equal = broadcast_one_to_all(Array(one == print)).item<bool>() &&
                     process_allgather(Array(print == fingerprint(broadcast_one_to_all(p)))).to_vector<bool>() ==
                         std::vector<bool>(static_cast<std::size_t>(process_count()), true);
  fmt::print("process {}: {} the run in one process with {} devices\n", process_index(), equal ? "equals, bit for bit," : "DIFFERS from",
             devices);
  return equal && right >= .95 ? 0 : 1;
}

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? argv[1] : WEFT_SAMPLE_DATA "/digits.csv.gz");
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 1;
  }
}
