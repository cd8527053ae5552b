// roofline [--seconds S]: what this machine can do at best, in the format of the benchmark: the streaming bandwidth of simple loops that
// write past the cache, and oneDNN's own rate of products and convolutions with its own threads. Each line has the bytes or operations a
// second too.
#include <fmt/format.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dnnl.hpp>
#include <functional>
#include <memory>
#include <thread>
#include <unordered_map>
#include <vector>

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

struct Times {
  double first = 0;
  std::vector<double> rest;
};

void print(const std::string& name, Times t, const char* unit, double amount) {
  std::sort(t.rest.begin(), t.rest.end());
  const double median = t.rest[t.rest.size() / 2];
  fmt::print(
      "{{\"peer\": \"roofline\", \"workload\": \"{}\", \"first_call_s\": {:.6g}, \"median_s\": {:.6g}, \"min_s\": {:.6g}, \"checksum\": "
      "[], \"{}\": {:.4g}}}\n",
      name, t.first, median, t.rest[0], unit, amount / median);
  std::fflush(stdout);
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

/// Threads that wait for passes of a loop over [0, n), each with its own part of it.
class Team {
 public:
  explicit Team(std::size_t n)
      : n_(n), parts_(std::max(1u, std::thread::hardware_concurrency())), gate_(static_cast<std::ptrdiff_t>(parts_)) {
    for (std::size_t i = 1; i < parts_; ++i)
      threads_.emplace_back([this, i] {
        for (;;) {
          gate_.arrive_and_wait();
          if (!pass_) return;
          part(i);
          gate_.arrive_and_wait();
        }
      });
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
  void part(std::size_t i) { (*pass_)(n_ * i / parts_ / 64 * 64, n_ * (i + 1) / parts_ / 64 * 64); }
  std::size_t n_, parts_;
  std::barrier<> gate_;
  const std::function<void(std::size_t, std::size_t)>* pass_ = nullptr;
  std::vector<std::thread> threads_;
};

using Floats = std::unique_ptr<float[], decltype(&std::free)>;
Floats floats(std::size_t n) {
  Floats p(static_cast<float*>(std::aligned_alloc(4096, n * sizeof(float))), &std::free);
  std::fill_n(p.get(), n, 1.f);
  return p;
}

/// Stores past the cache where the machine can.
void store4(float* to, float a, float b, float c, float d) {
#if defined(__SSE2__)
  _mm_stream_ps(to, _mm_setr_ps(a, b, c, d));
#else
  to[0] = a, to[1] = b, to[2] = c, to[3] = d;
#endif
}

void bandwidth(double seconds) {
  const std::size_t n = 1 << 24;
  const Floats x = floats(n), y = floats(n), z = floats(n);
  Team team(n);
  const double bytes = 4. * static_cast<double>(n);
  float sink = 0;
  print("stream_read_16M",
        repeat(seconds,
               [&] {
                 team.run([&](std::size_t begin, std::size_t end) {
                   float sum[16] = {};
                   for (std::size_t i = begin; i < end; i += 16)
                     for (std::size_t k = 0; k < 16; ++k) sum[k] += x[i + k];
                   if (sum[3] < 0) sink = sum[3];
                 });
               }),
        "bytes_per_s", bytes);
  print("stream_copy_16M",
        repeat(seconds,
               [&] {
                 team.run([&](std::size_t begin, std::size_t end) {
                   for (std::size_t i = begin; i < end; i += 4) store4(&z[i], x[i], x[i + 1], x[i + 2], x[i + 3]);
                 });
               }),
        "bytes_per_s", 2 * bytes);
  print("stream_axpy_16M",
        repeat(seconds,
               [&] {
                 team.run([&](std::size_t begin, std::size_t end) {
                   for (std::size_t i = begin; i < end; i += 4)
                     store4(&z[i], 2.5f * x[i] + y[i], 2.5f * x[i + 1] + y[i + 1], 2.5f * x[i + 2] + y[i + 2], 2.5f * x[i + 3] + y[i + 3]);
                 });
               }),
        "bytes_per_s", 3 * bytes);
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

void products(double seconds, const dnnl::engine& e) {
  for (const memory::dim n : {256, 1024}) {
    const memory::desc m(memory::dims{n, n}, memory::data_type::f32, memory::dims{n, 1});
    const dnnl::matmul::primitive_desc d(dnnl::matmul::desc(m, m, m), e);
    Primitive p(dnnl::matmul(d), {{DNNL_ARG_SRC, m}, {DNNL_ARG_WEIGHTS, m}, {DNNL_ARG_DST, m}}, e);
    print(fmt::format("onednn_matmul_{}", n), repeat(seconds, [&] { p.run(); }), "flops_per_s", 2. * static_cast<double>(n * n * n));
  }
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
  for (int i = 1; i + 1 < argc; i += 2)
    if (!std::strcmp(argv[i], "--seconds")) seconds = std::atof(argv[i + 1]);
  bandwidth(seconds);
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  products(seconds, engine);
  convolutions(seconds, engine);
}
