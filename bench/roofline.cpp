// roofline [--seconds S]: what this machine can do at best, in the format of the benchmark: the bandwidth of simple loops over whole
// registers, with stores through the caches and past them, by one thread and by all; and oneDNN's own rate of products and convolutions
// with its own threads. Each line has the bytes or operations a second too. Then weft's own workloads as
// shares of that.
#include <fmt/format.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#if defined(__linux__)
#include <sched.h>
#include <sys/mman.h>
#endif

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dnnl.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "shares.h"

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

struct Times {
  double first = 0;
  std::vector<double> rest;
};

/// Returns the best rate.
double print(const std::string& name, Times t, const char* unit, double amount) {
  std::sort(t.rest.begin(), t.rest.end());
  const double median = t.rest[t.rest.size() / 2];
  fmt::print(
      "{{\"peer\": \"roofline\", \"workload\": \"{}\", \"first_call_s\": {:.6g}, \"median_s\": {:.6g}, \"min_s\": {:.6g}, \"checksum\": "
      "[], \"{}\": {:.4g}}}\n",
      name, t.first, median, t.rest[0], unit, amount / median);
  std::fflush(stdout);
  return amount / t.rest[0];
}

Times repeat(double seconds, const std::function<void()>& pass) {
  Times t;
  double start = now();
  pass();
  t.first = now() - start;
  for (const double begin = now(); t.rest.size() < 5 || now() - begin < seconds;) {
    start = now();
    pass();
    t.rest.push_back(now() - start);
  }
  return t;
}

/// Keeps the calling thread on one of the processors that it may run on: two threads that wait for each other often would be put on one.
/// Ends as it began.
class OnProcessor {
 public:
#if defined(__linux__)
  explicit OnProcessor(unsigned number) {
    sched_getaffinity(0, sizeof before_, &before_);
    const unsigned skipped = number % static_cast<unsigned>(std::max(1, CPU_COUNT(&before_)));
    unsigned seen = 0;
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &before_) && seen++ == skipped) CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
  }
  ~OnProcessor() { sched_setaffinity(0, sizeof before_, &before_); }

 private:
  cpu_set_t before_;
#else
  explicit OnProcessor(unsigned) {}
#endif
};

/// Threads that wait for passes of a loop over [0, n), each with its own part of it.
class Team {
 public:
  Team(std::size_t n, unsigned parts) : n_(n), parts_(parts), gate_(static_cast<std::ptrdiff_t>(parts_)) {
    for (unsigned i = 1; i < parts; ++i)
      threads_.emplace_back([this, i] {
        const OnProcessor here(i);
        for (;;) {
          gate_.arrive_and_wait();
          if (!pass_) return;
          part(i);
          gate_.arrive_and_wait();
        }
      });
    first_.emplace(0);  // threads begin where the one is that starts them
  }
  ~Team() {
    pass_ = nullptr;
    gate_.arrive_and_wait();
    for (std::thread& t : threads_) t.join();
  }
  void run(const std::function<void(std::size_t, std::size_t)>& pass) {
    pass_ = &pass;
    gate_.arrive_and_wait();
    part(0);
    gate_.arrive_and_wait();
  }

 private:
  void part(std::size_t i) { (*pass_)(n_* i / parts_ / 128 * 128, n_ * (i + 1) / parts_ / 128 * 128); }
  std::size_t n_, parts_;
  std::barrier<> gate_;
  const std::function<void(std::size_t, std::size_t)>* pass_ = nullptr;
  std::vector<std::thread> threads_;
  std::optional<OnProcessor> first_;
};

using Floats = std::unique_ptr<float[], decltype(&std::free)>;
Floats floats(std::size_t n) {
  Floats p(static_cast<float*>(std::aligned_alloc(2 << 20, n * sizeof(float))), &std::free);
#if defined(__linux__)
  madvise(p.get(), n * sizeof(float), MADV_HUGEPAGE);  // as weft's arrays have them
#endif
  std::fill_n(p.get(), n, 1.f);
  return p;
}

/// As many floats as a register holds.
#if defined(__AVX512F__)
constexpr std::size_t kLanes = 16;
#elif defined(__AVX__)
constexpr std::size_t kLanes = 8;
#else
constexpr std::size_t kLanes = 4;
#endif
using Wide [[gnu::vector_size(kLanes * sizeof(float)), gnu::may_alias]] = float;

Wide load(const float* from) { return *reinterpret_cast<const Wide*>(from); }

/// Through the caches, or past them where the machine can.
template <bool past>
void store(float* to, Wide v) {
#if defined(__AVX512F__)
  if constexpr (past) return _mm512_stream_ps(to, v);
#elif defined(__AVX__)
  if constexpr (past) return _mm256_stream_ps(to, v);
#elif defined(__SSE2__)
  if constexpr (past) return _mm_stream_ps(to, v);
#endif
  *reinterpret_cast<Wide*>(to) = v;
}

/// z[i] = f(i) for whole registers.
template <bool past, class F>
void write(float* z, std::size_t begin, std::size_t end, F f) {
  for (std::size_t i = begin; i < end; i += 4 * kLanes)
    for (std::size_t k = 0; k < 4; ++k) store<past>(z + i + k * kLanes, f(i + k * kLanes));
#if defined(__SSE2__)
  if constexpr (past) _mm_sfence();
#endif
}

/// Keeps the best rate of each kind of loop.
void bandwidth(double seconds, unsigned threads, std::map<std::string, double>& bytes_a_second) {
  const std::size_t n = 1 << 24;
  const Floats x = floats(n), y = floats(n), z = floats(n);
  Team team(n, threads);
  const double bytes = 4. * static_cast<double>(n);
  const auto measure = [&](const char* name, double passes, const std::function<void(std::size_t, std::size_t)>& part) {
    const double rate =
        print(fmt::format("stream_{}_16M_{}", name, threads), repeat(seconds, [&] { team.run(part); }), "bytes_per_s", passes * bytes);
    double& best = bytes_a_second[std::string(name).substr(0, 4)];
    best = std::max(best, rate);
  };
  float sink = 0;
  measure("read", 1, [&](std::size_t begin, std::size_t end) {
    Wide sums[8] = {};
    for (std::size_t i = begin; i < end; i += 8 * kLanes)
      for (std::size_t k = 0; k < 8; ++k) sums[k] += load(&x[i + k * kLanes]);
    Wide all = sums[0];
    for (std::size_t k = 1; k < 8; ++k) all += sums[k];
    if (all[0] < 0) sink = all[0];
  });
  const auto copy = [&](std::size_t i) { return load(&x[i]); };
  const auto axpy = [&](std::size_t i) { return 2.5f * load(&x[i]) + load(&y[i]); };
  measure("copy", 2, [&](std::size_t begin, std::size_t end) { write<true>(z.get(), begin, end, copy); });
  measure("copy_cached", 2, [&](std::size_t begin, std::size_t end) { write<false>(z.get(), begin, end, copy); });
  measure("axpy", 3, [&](std::size_t begin, std::size_t end) { write<true>(z.get(), begin, end, axpy); });
  measure("axpy_cached", 3, [&](std::size_t begin, std::size_t end) { write<false>(z.get(), begin, end, axpy); });
  if (sink < 0) fmt::print(stderr, "{}\n", sink);
}

using dnnl::memory;
class Primitive {
 public:
  Primitive(dnnl::primitive p, std::vector<std::pair<int, memory::desc>> operands, const dnnl::engine& e) : p_(std::move(p)), stream_(e) {
    for (auto& [number, description] : operands) {
      memory m(description, e);
      float* data = static_cast<float*>(m.get_data_handle());
      std::fill_n(data, description.get_size() / sizeof(float), .01f);
      arguments_.emplace(number, m);
    }
  }
  void run() {
    p_.execute(stream_, arguments_);
    stream_.wait();
  }

 private:
  dnnl::primitive p_;
  dnnl::stream stream_;
  std::unordered_map<int, memory> arguments_;
};

/// Returns the rate of each size.
std::map<int, double> products(double seconds, const dnnl::engine& e) {
  std::map<int, double> rates;
  for (const memory::dim n : {256, 1024}) {
    const memory::desc m(memory::dims{n, n}, memory::data_type::f32, memory::dims{n, 1});
    const dnnl::matmul::primitive_desc d(dnnl::matmul::desc(m, m, m), e);
    Primitive p(dnnl::matmul(d), {{DNNL_ARG_SRC, m}, {DNNL_ARG_WEIGHTS, m}, {DNNL_ARG_DST, m}}, e);
    rates[static_cast<int>(n)] =
        print(fmt::format("onednn_matmul_{}", n), repeat(seconds, [&] { p.run(); }), "flops_per_s", 2. * static_cast<double>(n * n * n));
  }
  return rates;
}

void convolutions(double seconds, const dnnl::engine& e) {
  // The second layer of cnn_step_b64_28x28, in the layout that oneDNN likes best.
  const memory::dims x{64, 16, 14, 14}, k{32, 16, 3, 3}, y{64, 32, 14, 14}, one{1, 1}, none{0, 0};
  const auto any = [](const memory::dims& d) { return memory::desc(d, memory::data_type::f32, memory::format_tag::any); };
  const double flops = 2. * 64 * 16 * 32 * 9 * 14 * 14;
  const auto direct = dnnl::algorithm::convolution_direct;
  const dnnl::convolution_forward::primitive_desc f(
      {dnnl::prop_kind::forward_training, direct, any(x), any(k), any(y), one, none, one, one}, e);
  Primitive forward(dnnl::convolution_forward(f),
                    {{DNNL_ARG_SRC, f.src_desc()}, {DNNL_ARG_WEIGHTS, f.weights_desc()}, {DNNL_ARG_DST, f.dst_desc()}}, e);
  print("onednn_conv_14x14", repeat(seconds, [&] { forward.run(); }), "flops_per_s", flops);
  const dnnl::convolution_backward_data::primitive_desc d({direct, any(x), any(k), any(y), one, none, one, one}, e, f);
  Primitive data(dnnl::convolution_backward_data(d),
                 {{DNNL_ARG_DIFF_SRC, d.diff_src_desc()}, {DNNL_ARG_WEIGHTS, d.weights_desc()}, {DNNL_ARG_DIFF_DST, d.diff_dst_desc()}}, e);
  print("onednn_conv_14x14_data", repeat(seconds, [&] { data.run(); }), "flops_per_s", flops);
  const dnnl::convolution_backward_weights::primitive_desc w({direct, any(x), any(k), any(y), one, none, one, one}, e, f);
  Primitive weights(dnnl::convolution_backward_weights(w),
                    {{DNNL_ARG_SRC, w.src_desc()}, {DNNL_ARG_DIFF_WEIGHTS, w.diff_weights_desc()}, {DNNL_ARG_DIFF_DST, w.diff_dst_desc()}},
                    e);
  print("onednn_conv_14x14_weights", repeat(seconds, [&] { weights.run(); }), "flops_per_s", flops);
}

}  // namespace

int main(int argc, char** argv) {
  double seconds = 1;
  if (argc == 3 && !std::strcmp(argv[1], "--seconds"))
    seconds = std::atof(argv[2]);
  else if (argc > 1)
    return fmt::print(stderr, "usage: roofline [--seconds S]\n"), 2;
  const unsigned all = std::max(1u, std::thread::hardware_concurrency());
  std::map<std::string, double> bytes_a_second;
  bandwidth(seconds, 1, bytes_a_second);
  if (all > 1) bandwidth(seconds, all, bytes_a_second);
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const std::map<int, double> flops_a_second = products(seconds, engine);
  convolutions(seconds, engine);
  shares(seconds, bytes_a_second, flops_a_second);
}
