#include "shares.h"

#include <fmt/format.h>
#include <weft/weft.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

using namespace weft;

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

template <class F, class... A>
void share(const char* name, double seconds, double ceiling, bool products, F f, const A&... x) {
  const CostAnalysis cost = f.lower(x...).compile().cost_analysis();
  for (int i = 0; i < 3; ++i) f(x...).block_until_ready();
  double least = 1e9;
  for (const double begin = now(); now() - begin < seconds;) {
    const double start = now();
    f(x...).block_until_ready();
    least = std::min(least, now() - start);
  }
  const double amount = products ? cost.flops : cost.bytes_accessed;
  fmt::print("{{\"peer\": \"weft\", \"workload\": \"{}\", \"min_s\": {:.6g}, \"{}\": {:.4g}, \"share\": {:.3f}}}\n", name, least,
             products ? "flops_per_s" : "bytes_per_s", amount / least, amount / least / ceiling);
  std::fflush(stdout);
}

}  // namespace

void shares(double seconds, const std::map<std::string, double>& bytes_a_second, const std::map<int, double>& flops_a_second) {
  const auto memory = [&](const char* name, const char* like, auto f, const auto&... x) {
    share(name, seconds, bytes_a_second.at(like), false, jit(f), x...);
  };
  const int n = 1 << 24;
  const Array x = random::normal(random::key(0), {n}), y = random::normal(random::key(1), {n});
  memory("axpy_16M", "axpy", [](Array a, Array b) { return 2.5f * a + b; }, x, y);
  memory(
      "gelu_chain_16M", "copy",
      [](Array a) { return 0.5f * a * (1.f + tanh(0.7978845608f * (a + 0.044715f * a * a * a))) * exp(-0.1f * a * a); }, x);
  memory("sum_16M", "read", [](Array a) { return sum(a); }, x);
  const Array square_of_4096 = reshape(x, {4096, 4096}), rows = reshape(x, {16384, 1024});
  memory("softmax_16384x1024", "copy", [](Array a) { return nn::softmax(a, -1); }, rows);
  memory(
      "layernorm_16384x1024", "copy",
      [](Array a) {
        const Array m = mean(a, -1, keepdims), v = mean(square(a - m), -1, keepdims);
        return (a - m) * rsqrt(v + 1e-5f);
      },
      rows);
  memory("colsum_16384x1024", "read", [](Array a) { return sum(a, 0); }, rows);
  memory("transpose_4096x4096", "copy", [](Array a) { return transpose(a) + 1.f; }, square_of_4096);
  memory("cumsum_16M", "copy", [](Array a) { return cumsum(a); }, x);
  for (const auto& [size, rate] : flops_a_second) {
    const Array a = random::normal(random::key(2), {size, size});
    share(fmt::format("matmul_{}", size).c_str(), seconds, rate, true, jit([](Array p, Array q) { return matmul(p, q); }), a, a);
  }
}
