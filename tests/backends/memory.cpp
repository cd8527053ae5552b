// The memory of compiled programs: what is told before a call is what the call takes, and little more than what must be there at once.
#include <algorithm>

#include "tests/backends/agree.h"
#include "tests/ops/checks.h"
#include "weft/backends/codegen/planner/program.h"
#include "weft/backends/codegen/planner/simplify.h"
#include "weft/backends/cpu/cpu_backend.h"
#include "weft/runtime/host/allocator.h"

using namespace weft;
using namespace weft::test;

namespace {

struct Block {
  Array qkv, proj, fc, fc_b, out, gain, bias;
};
struct Model {
  std::vector<Block> blocks;
  Array embedding;
};

constexpr int kWidth = 64, kHeads = 4, kWords = 96, kLength = 32, kBatch = 4;

Array numbers(const Shape& shape) { return sin(reshape(arange(shape.num_elements(), float32), shape) * .7f) * .1f; }

Model model(int layers) {
  Model m{{}, numbers({kWords, kWidth})};
  for (int l = 0; l < layers; ++l)
    m.blocks.push_back({numbers({kWidth, 3 * kWidth}), numbers({kWidth, kWidth}), numbers({kWidth, 4 * kWidth}), numbers({4 * kWidth}),
                        numbers({4 * kWidth, kWidth}), ones(kWidth), zeros(kWidth)});
  return m;
}

Array normalised(const Array& x, const Block& b) {
  const Array centred = x - mean(x, -1, keepdims);
  return centred * rsqrt(mean(centred * centred, -1, keepdims) + 1e-5f) * b.gain + b.bias;
}

Array loss(const Model& m, const Array& words) {
  Array x = m.embedding(words);
  for (const Block& b : m.blocks) {
    const std::vector<Array> parts = split(matmul(normalised(x, b), b.qkv), 3, -1);
    const auto by_head = [](const Array& a) { return transpose(reshape(a, {kBatch, kLength, kHeads, kWidth / kHeads}), {0, 2, 1, 3}); };
    const Array weights = nn::softmax(matmul(by_head(parts[0]), transpose(by_head(parts[1]), {0, 1, 3, 2})), -1);
    x = x + matmul(reshape(transpose(matmul(weights, by_head(parts[2])), {0, 2, 1, 3}), {kBatch, kLength, kWidth}), b.proj);
    x = x + matmul(nn::gelu(matmul(normalised(x, b), b.fc) + b.fc_b), b.out);
  }
  const Array scores = nn::log_softmax(matmul(x, transpose(m.embedding)), -1);
  return -mean(scores(slice(), slice(), 3));
}

Jaxpr training_step(int layers) {
  return make_jaxpr([](const Model& m, const Array& words) {
    const Model gradient = grad(loss)(m, words);
    return tree::map([](const Array& p, const Array& s) { return p - .1f * s; }, m, gradient);
  })(model(layers), zeros({kBatch, kLength}, int32));
}

/// The most bytes of temporaries that are alive at once when the steps run in their order: what a step reads and writes, and what later
/// ones need.
std::int64_t most_alive(const detail::KernelProgram& p) {
  const int steps = static_cast<int>(p.steps.size());
  std::vector<int> first(p.buffers.size(), steps), last(p.buffers.size(), -1);
  for (int s = 0; s < steps; ++s)
    for (const detail::BufferId b : p.steps[static_cast<std::size_t>(s)].buffers)
      if (b >= 0) {
        const auto i = static_cast<std::size_t>(b);
        first[i] = std::min(first[i], s), last[i] = std::max(last[i], s);
      }
  std::int64_t most = 0;
  for (int s = 0; s < steps; ++s) {
    std::int64_t sum = 0;
    for (std::size_t b = 0; b < p.buffers.size(); ++b)
      if (p.buffers[b].role == detail::BufferInfo::Role::temporary && first[b] <= s && s <= last[b]) sum += p.buffers[b].aval.bytes();
    most = std::max(most, sum);
  }
  return most;
}

}  // namespace

TEST_CASE("memory: the arena of a training step is at most 1.2 times what is alive at once") {
  for (const int layers : {1, 2, 4}) {
    CAPTURE(layers);
    const Jaxpr j = detail::simplify(training_step(layers));
    for (const bool donated : {false, true}) {
      const std::vector<bool> inputs(static_cast<std::size_t>(j.data().num_inputs), donated);
      const detail::KernelProgram p = detail::form_program(j, {64, true}, inputs);
      CHECK(static_cast<double>(p.arena_bytes) <= 1.2 * static_cast<double>(most_alive(p)));
      CHECK(p.arena_bytes > 0);
      // New parameters take the old ones' places.
      std::int64_t in_place = 0, all = 0;
      for (const detail::BufferInfo& b : p.buffers) {
        if (b.role != detail::BufferInfo::Role::output) continue;
        all += b.aval.bytes();
        if (b.reuses_input >= 0) in_place += b.aval.bytes();
      }
      CHECK(in_place >= (donated ? all * 3 / 4 : 0));
      CHECK((donated || in_place == 0));
    }
  }
}

TEST_CASE("memory: a call takes what memory_analysis said") {
  const Jaxpr j = training_step(4);
  const auto exe = detail::CpuBackend().compile(j, {"step"});
  const MemoryAnalysis said = exe->memory_analysis();
  std::vector<Array> inputs = tree::leaves(model(4));
  inputs.push_back(zeros({kBatch, kLength}, int32));
  REQUIRE(inputs.size() == static_cast<std::size_t>(j.data().num_inputs));
  for (const Array& a : inputs) a.block_until_ready();
  std::int64_t arguments = 0;
  for (const Array& a : inputs) arguments += a.aval().bytes();
  CHECK(said.argument_size_in_bytes == arguments);
  CHECK(said.temp_size_in_bytes > (1 << 20));
  // What other tests held at once is not to be seen in the peak.
  const detail::AllocatorStats start = detail::host_allocator_stats(0);
  const auto ballast = static_cast<std::size_t>(start.peak_bytes_in_use - start.bytes_in_use);
  void* held = detail::allocate_host(ballast, 0);
  const std::int64_t before = detail::host_allocator_stats(0).bytes_in_use, room = said.temp_size_in_bytes + said.output_size_in_bytes;
  const std::vector<Array> results = exe->call(inputs, 0);
  const detail::AllocatorStats after = detail::host_allocator_stats(0);
  // Blocks come in sizes a quarter apart.
  const auto within = [](std::int64_t got, std::int64_t told) {
    return got >= told && static_cast<double>(got) <= 1.25 * static_cast<double>(told) + 4096;
  };
  CAPTURE(room);
  CAPTURE(after.peak_bytes_in_use - before);
  CHECK(within(after.peak_bytes_in_use - before, room));
  CHECK(within(after.bytes_in_use - before, said.output_size_in_bytes));
  detail::release_host(held, ballast, 0);
}

TEST_CASE("memory: of a large value and a cheap function of it, one is stored") {
  const auto gate = [](Xs v) {
    const Array t = tanh(v[0]), half = 0.5f * (1.f + t);
    return matmul(v[0] * half, v[1]) * half * (1.f - t);
  };
  const std::string kernels = same(gate, {values({512, 512}, 1), values({512, 512}, 2) * 0.01f}, 1e-4);
  const std::string first = kernels.substr(kernels.find("kernel0:"), kernels.find("kernel1:") - kernels.find("kernel0:"));
  int stored = 0;
  for (std::size_t at = first.find(" written"); at != std::string::npos; at = first.find(" written", at + 1)) ++stored;
  INFO(kernels);
  CHECK(stored == 2);  // the hyperbolic tangent, and what is multiplied
}
