// weft-bench [--only a,b] [--seconds S] [--pmap N] [--device D]: runs the workloads that the peers run, and prints one JSON object a line.
// weft-bench --rates D [--shrink N]: a table of bandwidths and rates instead (rates.cpp).
// weft-bench --gpt2 124m|small [--device D] [--batch N] [--seconds S]: training of GPT-2 instead (gpt2.cpp). With 0 seconds there is one
// step.
// weft-bench --rows [--only a,b] [--seconds S]: the workloads of random/rows.cpp instead.
// weft-bench --random SEED N [--only a,b] [--seconds S]: N random workloads instead (random/random.h); random_programs.py times them beside
// JAX. Each with --text FORM: nothing is run; the code of each program after a line `// program NAME`, as Compiled::as_text has it:
// `jaxpr`, `kernels`, `ptx`.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <sstream>

#include "harness.h"
#include "random/random.h"

namespace bench {

weft::Array fill(weft::Shape shape, double scale, double shift, unsigned seed) {
  std::vector<float> x(static_cast<std::size_t>(shape.num_elements()));
  for (std::size_t i = 0; i < x.size(); ++i) {
    auto h = static_cast<std::uint32_t>(i * 2654435761ULL + seed * 40503ULL);
    h ^= h >> 16;
    h *= 2246822519U;
    h ^= h >> 13;
    const float unit = static_cast<float>(h >> 8) / 16777216.f - .5f;
    x[i] = unit * static_cast<float>(scale) + static_cast<float>(shift);
  }
  return weft::array(x, shape);
}

weft::Array class_labels(int n, int k) {
  std::vector<int> labels(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) labels[static_cast<std::size_t>(i)] = static_cast<int>(static_cast<long long>(i) * 7 % k);
  return weft::array(labels);
}

void print_line(const std::string& name, const Times& times, const std::vector<double>& checksum, const std::string& fields) {
  std::string sums;
  for (double s : checksum) {
    sums += sums.empty() ? "" : ", ";
    sums += std::isfinite(s) ? fmt::format("{:.17g}", s) : std::isnan(s) ? "NaN" : s > 0 ? "Infinity" : "-Infinity";
  }
  fmt::print(
      "{{\"peer\": \"weft\", \"workload\": \"{}\", {}\"first_call_s\": {:.9g}, \"median_s\": {:.9g}, \"min_s\": {:.9g}, \"processor_s\": "
      "{:.9g}, "
      "\"checksum\": [{}]}}\n",
      name, fields, times.first, times.median, times.least, times.least_processor, sums);
  std::fflush(stdout);
}

double processor_time() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double checksum_of(const weft::Array& x) {
  if (x.dtype().is_complex()) return checksum_of(weft::real(x)) + checksum_of(weft::imag(x));
  double sum = 0;
  for (double v : x.to_vector<double>()) sum += v;
  return sum;
}

}  // namespace bench

int main(int argc, char** argv) {
  // As the peers do: code is compiled anew, unless asked for otherwise.
  setenv("WEFT_CACHE", "off", 0);
  bench::Options o;
  for (int i = 1; i < argc; i += 2) {
    const bool last = i + 1 == argc;
    if (!last && !std::strcmp(argv[i], "--only")) {
      std::stringstream names(argv[i + 1]);
      for (std::string name; std::getline(names, name, ',');) o.only.push_back(name);
    } else if (!last && !std::strcmp(argv[i], "--seconds")) {
      o.seconds = std::atof(argv[i + 1]);
    } else if (!last && !std::strcmp(argv[i], "--pmap")) {
      o.pmap = std::atoi(argv[i + 1]);
    } else if (!last && !std::strcmp(argv[i], "--device")) {
      o.platform = argv[i + 1];
    } else if (!last && !std::strcmp(argv[i], "--rates")) {
      o.platform = argv[i + 1], o.rates = true;
    } else if (!last && !std::strcmp(argv[i], "--shrink")) {
      o.shrink = std::atoi(argv[i + 1]);
    } else if (!last && !std::strcmp(argv[i], "--gpt2")) {
      o.gpt2 = argv[i + 1];
    } else if (!last && !std::strcmp(argv[i], "--batch")) {
      o.batch = std::atoi(argv[i + 1]);
    } else if (!std::strcmp(argv[i], "--rows")) {
      o.rows = true;
      --i;
    } else if (i + 2 < argc && !std::strcmp(argv[i], "--random")) {
      o.random_seed = std::strtoull(argv[i + 1], nullptr, 10);
      o.random_count = std::atoi(argv[i + 2]);
      ++i;
    } else if (!last && !std::strcmp(argv[i], "--text")) {
      o.text = argv[i + 1];
    } else {
      fmt::print(stderr,
                 "usage: weft-bench [--only a,b] [--seconds S] [--pmap N] [--device cpu|cuda] [--rates cpu|cuda [--shrink N]] "
                 "[--gpt2 124m|small [--batch N]] [--rows] [--random SEED N] [--text FORM]\n");
      return 2;
    }
  }
  try {
    if (o.pmap) {
      weft::config.num_cpu_devices = o.pmap;
      bench::pmap_workloads(o);
      return 0;
    }
    o.device = weft::devices(o.platform)[0];
    const auto scope = weft::default_device(*o.device);
    // As the peers do: the first call of the process, which sets up the compiler, is not timed.
    weft::jit([](weft::Array x) { return x * 3; })(1.f).block_until_ready();
    if (o.rates || !o.gpt2.empty()) {
      o.rates ? bench::rates(o) : bench::gpt2(o);
      return 0;
    }
    if (o.random_count || o.rows) {
      if (o.rows) bench::written_rows(o);
      bench::random_workloads(o, o.random_seed, o.random_count);
      return 0;
    }
    bench::elementwise_workloads(o);
    bench::matmul_workloads(o);
    bench::dtype_workloads(o);
    bench::training_workloads(o);
    bench::science_workloads(o);
    bench::library_workloads(o);
    bench::indexing_workloads(o);
    bench::loop_workloads(o);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
