// A small transformer learns to write like Lewis Carroll, character by character.
//
//     transformer [PICTURE.SVG]
//
// What it shows: attention and normalisation from weft::nn, a network whose equal blocks are stacked and run by one scan (compiled once
// however many there are), a training step as one program that draws its own batch from the text, and writing by a scan that samples from
// the network's own answers.
// Returns 0 if it foretells text that it has not seen better than the best table of pairs of characters does, by a stated margin.
//
// A. Vaswani et al., Attention is all you need (2017); normalisation in front of each part as in Xiong et al., arXiv:2002.04745.
#include <weft/plot.h>
#include <weft/weft.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <string>
#include <vector>

#include "files.h"

using namespace weft;

static constexpr int kWidth = 64, kHeads = 4, kBlocks = 2, kContext = 32, kBatch = 32, kSteps = 400, kHeldOut = 12000;

struct Block {  // each array has a leading axis of blocks
  Array norm_scale, norm_bias, to_qkv, from_heads, second_scale, second_bias, widen, widen_bias, narrow, narrow_bias;
};
struct Model {
  Array characters, positions;
  Block blocks;
  Array last_scale, last_bias;
};

static Model start(Array key, int alphabet) {
  const auto [a, b, c, d, e, f] = random::split<6>(key);
  const auto normal = nn::initializers::normal(.1), lecun = nn::initializers::lecun_normal();
  auto layers = [](const nn::initializers::Initializer& make, Array k, Shape shape) {
    return vmap([=](Array one) { return make(one, shape); })(random::split(k, kBlocks));
  };
  const Array one = ones({kBlocks, kWidth}), zero = zeros({kBlocks, kWidth});
  return {normal(a, {alphabet, kWidth}),
          normal(b, {kContext, kWidth}),
          {one, zero, layers(lecun, c, {kWidth, 3 * kWidth}), layers(normal, d, {kWidth, kWidth}), one, zero,
           layers(lecun, e, {kWidth, 4 * kWidth}), zeros({kBlocks, 4 * kWidth}), layers(normal, f, {4 * kWidth, kWidth}), zero},
          ones(kWidth),
          zeros(kWidth)};
}

/// One block: (context, width) -> the same, for one text. Position t sees only positions up to t.
static Array block_of(const Block& block, const Array& x) {
  const Array heads =
      reshape(matmul(nn::layer_norm(x, block.norm_scale, block.norm_bias), block.to_qkv), {x.shape()[0], 3, kHeads, kWidth / kHeads});
  const Array seen = nn::dot_product_attention(heads(slice(), 0), heads(slice(), 1), heads(slice(), 2), {.is_causal = true});
  const Array y = x + matmul(reshape(seen, x.shape()), block.from_heads);
  const Array wide = nn::gelu(matmul(nn::layer_norm(y, block.second_scale, block.second_bias), block.widen) + block.widen_bias);
  return y + matmul(wide, block.narrow) + block.narrow_bias;
}

/// What may follow each character of a text: (context) -> (context, alphabet) logits.
static Array predict(const Model& m, const Array& text) {
  const Array x = m.characters(text) + m.positions(slice(text.shape()[0]));
  const Array last = scan([](Array h, const Block& block) { return std::pair{block_of(block, h), none}; }, x, m.blocks).first;
  return matmul(nn::layer_norm(last, m.last_scale, m.last_bias), transpose(m.characters));
}

/// Mean cross-entropy of the next characters, in nats; texts: (n, context + 1).
static Array loss(const Model& m, const Array& texts) {
  const Array logits = vmap(predict, {.in_axes = {none, 0}})(m, texts(slice(), slice(kContext)));
  return -mean(take_along_axis(nn::log_softmax(logits), expand_dims(texts(slice(), slice(1, none)), 2)));
}

struct State {
  Model model, mean, square;
  Array steps;
};

/// One step of Adam on texts drawn at random.
static std::pair<State, Array> train_step(const State& s, const Array& text, const Array& key) {
  const Array from = random::randint(key, {kBatch, 1}, 0, static_cast<int>(text.size()) - kContext);
  const auto [value, gradient] = value_and_grad(loss)(s.model, text(from + arange(kContext + 1)));
  const Array n = s.steps + 1, rate = 4e-3f * minimum(n / 20, .5f * (1 + cos(3.14159f * n / (kSteps + 20))));
  const Model mean = tree::map([](Array m, Array g) { return .9f * m + .1f * g; }, s.mean, gradient);
  const Model square = tree::map([](Array v, Array g) { return .99f * v + .01f * g * g; }, s.square, gradient);
  auto update = [&](Array p, Array m, Array v) { return p - rate * (m / (1 - pow(.9f, n))) / (sqrt(v / (1 - pow(.99f, n))) + 1e-8f); };
  return {{tree::map(update, s.model, mean, square), mean, square, n}, value};
}

/// `length` characters that follow `begin`, drawn from the network's answers.
static Array compose(const Model& m, const Array& begin, const Array& key, int length) {
  auto next = [&](Array text, Array k) {
    const Array character = random::categorical(k, predict(m, text)(-1) / .7f);
    return std::pair{concatenate({text(slice(1, none)), expand_dims(character, 0)}), character};
  };
  return scan(next, begin, random::split(key, length)).second;
}

static double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

static int run(const std::string& path) {
  const std::string book = files::read_text(WEFT_SAMPLE_DATA "/alice.txt.gz");
  std::string alphabet = book;
  std::sort(alphabet.begin(), alphabet.end());
  alphabet.erase(std::unique(alphabet.begin(), alphabet.end()), alphabet.end());
  auto encode = [&](const std::string& s) {
    std::vector<int> numbers;
    for (char c : s) numbers.push_back(static_cast<int>(alphabet.find(c)));
    return array(numbers);
  };
  const int size = static_cast<int>(alphabet.size());
  const Array text = encode(book), learned = text(slice(-kHeldOut)), unseen = text(slice(-kHeldOut, none));
  const Array tests = reshape(unseen(slice(kHeldOut / (kContext + 1) * (kContext + 1))), {-1, kContext + 1});

  // The yardstick: how well the best table of pairs foretells the unseen text, with one added to each count.
  const Array pairs = ones({size, size}).at(learned(slice(-1)), learned(slice(1, none))).add(1);
  const Array table = log(pairs / sum(pairs, 1, keepdims));
  const double yardstick = -mean(table(unseen(slice(-1)), unseen(slice(1, none)))).item<double>();

  State state{start(random::key(0), size), {}, {}, 0.f};
  state.mean = state.square = tree::map([](Array x) { return zeros_like(x); }, state.model);
  fmt::print("{} characters to learn from, {} to test with, {} different ones; {} weights\n", learned.size(), unseen.size(), size,
             tree::ravel(state.model).first.size());
  fmt::print("a table of pairs: loss {:.4f} on the unseen text\n", yardstick);
  const double t0 = seconds();
  const auto step = jit(train_step, {.name = "step"}).lower(state, learned, random::key(0)).compile();
  const double t1 = seconds();
  fmt::print("a step is compiled in {:.2f} s\n", t1 - t0);
  auto test_loss = jit(loss);
  std::vector<double> losses;
  for (int i = 0; i < kSteps; ++i) {
    const auto [next, value] = step(state, learned, random::fold_in(random::key(1), i));
    state = next;
    losses.push_back(value.item<double>());
    if ((i + 1) % 100 == 0)
      fmt::print("step {}: loss {:.4f}, {:.4f} on the unseen text\n", i + 1, losses.back(), test_loss(state.model, tests).item<double>());
  }
  const double time = seconds() - t1, reached = test_loss(state.model, tests).item<double>();
  fmt::print("{:.1f} ms a step, {:.0f} characters a second\n\n", 1e3 * time / kSteps, kSteps * kBatch * kContext / time);

  const std::string opening = "`Oh dear!' said Alice to herself";
  std::string written = opening;
  for (int c : jit(compose)(state.model, encode(opening), random::key(5), 400).to_vector<int>())
    written += alphabet[static_cast<std::size_t>(c)];
  fmt::print("{}\n\n", written);

  if (!path.empty()) {
    Plot p({.title = "loss of each batch", .x_label = "step", .y_label = "nats a character", .width = 640});
    p.line(losses, {.label = "transformer", .width = 1.2}).horizontal(yardstick, {.label = "a table of pairs of characters"});
    p.save(path);
    fmt::print("picture: {}\n", path);
  }
  fmt::print("loss {:.4f}, the table's {:.4f}\n", reached, yardstick);
  return reached < yardstick - .35 ? 0 : 1;
}

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? argv[1] : "");
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
