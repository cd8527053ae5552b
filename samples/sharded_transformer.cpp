// Trains a small transformer over a 2 x 2 mesh: batches are sharded over one axis, attention heads and hidden units over the other. The
// task: to give back a sequence of letters in reverse.
//
//     mpirun -n 4 sharded_transformer             four processes with one device each
//     WEFT_NUM_CPU_DEVICES=4 sharded_transformer  the same program in one process with four
//
// At the end process 0 runs the program once more, in one process with four devices: the parameters are the same, bit for bit, which each
// process prints. Returns 0 if they are, and if the loss has fallen to a quarter.
#include <fmt/core.h>

#include <unistd.h>
#include <weft/weft.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

using namespace weft;
using weft::sharding::P;

/// Projections to queries, keys, values and back, and the two layers behind them.
struct Layer {
  Array query, key, value, out, up, down;
};
struct Params {
  Array embedding, position;
  Layer layer;
};

static constexpr int kLetters = 8, kLength = 6, kWidth = 32, kHeads = 4, kHidden = 64, kBatch = 64, kSteps = 150;
static constexpr float kRate = .2f;

static Params start(const Mesh& mesh) {
  const Array keys = random::split(random::key(0), 8);
  const auto normal = [&](int i, Shape shape, const PartitionSpec& spec) {
    const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(shape[0])));
    return device_put(random::normal(keys[i], shape) * scale, NamedSharding{mesh, spec});
  };
  const PartitionSpec whole = P(), columns = P(none, "model"), rows = P("model", none);
  return {normal(0, {kLetters, kWidth}, whole),
          normal(1, {kLength, kWidth}, whole),
          {normal(2, {kWidth, kWidth}, columns), normal(3, {kWidth, kWidth}, columns), normal(4, {kWidth, kWidth}, columns),
           normal(5, {kWidth, kWidth}, rows), normal(6, {kWidth, kHidden}, columns), normal(7, {kHidden, kWidth}, rows)}};
}

static Array norm(const Array& x) { return (x - mean(x, -1, {.keepdims = true})) / sqrt(var(x, -1, {.keepdims = true}) + 1e-5f); }

/// Mean cross-entropy, of one device's sequences and its heads.
static Array loss(const Params& p, const Array& letters, const Array& wanted) {
  const std::int64_t n = letters.shape()[0], heads = p.layer.query.shape()[1] * kHeads / kWidth, size = kWidth / kHeads;
  const auto split = [&](const Array& x) { return transpose(reshape(x, {n, kLength, heads, size}), {0, 2, 1, 3}); };
  Array x = matmul(nn::one_hot(letters, kLetters), p.embedding) + p.position;
  const Array y = norm(x), q = split(matmul(y, p.layer.query)), k = split(matmul(y, p.layer.key)), v = split(matmul(y, p.layer.value));
  const Array weights = nn::softmax(matmul(q, swapaxes(k, -1, -2)) / std::sqrt(static_cast<float>(size)));
  const Array seen = reshape(transpose(matmul(weights, v), {0, 2, 1, 3}), {n, kLength, heads * size});
  x = x + psum(matmul(seen, p.layer.out), "model");
  x = x + psum(matmul(nn::relu(matmul(norm(x), p.layer.up)), p.layer.down), "model");
  const Array scores = matmul(norm(x), transpose(p.embedding));
  return pmean(-mean(sum(nn::one_hot(wanted, kLetters) * nn::log_softmax(scores), -1)), "data");
}

static std::string fingerprint(const Params& p) {
  std::uint64_t h = 0xcbf29ce484222325u;
  for (const Array& leaf : tree::leaves(process_allgather(p)))
    for (float v : leaf.to_vector<float>()) {
      std::uint32_t bits;
      std::memcpy(&bits, &v, sizeof bits);
      h = (h ^ bits) * 0x100000001b3u;
    }
  return fmt::format("{:016x}", h);
}

/// What the same program prints when it is run in one process with four devices.
static std::string alone() {
  FILE* pipe = popen(fmt::format("WEFT_SAMPLE_ALONE=1 WEFT_NUM_CPU_DEVICES=4 /proc/{}/exe", getpid()).c_str(), "r");
  if (!pipe) return "it did not start";
  char text[4096] = "";
  std::string all;
  while (std::fgets(text, sizeof text, pipe)) all += text;
  pclose(pipe);
  const std::size_t at = all.find("parameters ");
  return at == std::string::npos ? all : all.substr(at + 11, 16);
}

static int run() {
  const bool is_alone = std::getenv("WEFT_SAMPLE_ALONE") != nullptr;
  if (!is_alone) distributed::initialize();
  const Mesh mesh = make_mesh({2, 2}, {"data", "model"});
  const Specs params{
      P(), P(), {P(none, "model"), P(none, "model"), P(none, "model"), P("model", none), P(none, "model"), P("model", none)}};
  const Specs rows = P("data");
  const auto step = jit(shard_map(
      [](const Params& p, const Array& letters, const Array& wanted) {
        const auto [value, gradient] = value_and_grad(loss)(p, letters, wanted);
        return std::pair{tree::map([](Array w, Array g) { return w - kRate * g; }, p, gradient), value};
      },
      {.mesh = mesh, .in_specs = {params, rows, rows}, .out_specs = {params, P()}}));
  Params p = start(mesh);
  double first = 0, last = 0;
  for (int i = 0; i < kSteps; ++i) {
    const Array letters = random::randint(random::fold_in(random::key(1), i), {kBatch, kLength}, 0, kLetters);
    const auto [next, value] = step(p, letters, flip(letters, 1));
    p = next, last = value.item<double>();
    if (i == 0) first = last;
  }
  const std::string print = fingerprint(p);
  if (process_index() == 0)
    fmt::print("{} processes: loss {:.4f} at first, {:.4f} at last, parameters {}\n", process_count(), first, last, print);
  const bool learned = last < first / 4;
  if (is_alone || process_count() == 1) return learned ? 0 : 1;
  const bool equal = broadcast_one_to_all(Array(process_index() == 0 && alone() == print)).item<bool>();
  fmt::print("process {}: {} the run in one process with 4 devices\n", process_index(), equal ? "equals, bit for bit," : "DIFFERS from");
  return equal && learned ? 0 : 1;
}

int main() {
  try {
    return run();
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 1;
  }
}
