// How every workload is timed: as ../peers/measure.py does it. Prints the JSON lines that compare.py reads.
#pragma once
#include <fmt/format.h>
#include <weft/weft.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace bench {

inline double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// A float32 array that any language can repeat exactly: a hash of each index, scaled to [-scale/2, scale/2) and shifted.
weft::Array fill(weft::Shape shape, double scale = 1, double shift = 0, unsigned seed = 0);
/// i * 7 mod k, int32.
weft::Array class_labels(int n, int k);

struct Options {
  std::vector<std::string> only;
  double seconds = 1;
  int pmap = 0;
  std::string platform = "cpu";
  std::optional<weft::Device> device;  ///< where inputs lie
  bool rates = false;                  ///< bandwidths and rates instead
  int shrink = 0;                      ///< their sizes are divided by 2 to this
  std::string gpt2 = {};               ///< the size of GPT-2 to train instead
  int batch = 0;                       ///< and the texts at once; 0: as many as the size has
  bool rows = false;                   ///< the workloads that are written for JAX too, instead
  std::uint64_t random_seed = 0;
  int random_count = 0;   ///< so many random workloads instead
  std::string text = {};  ///< nothing is run: the code in this form instead
  bool wants(const std::string& name) const { return only.empty() || std::find(only.begin(), only.end(), name) != only.end(); }
};

/// What was measured of a workload: seconds of its first call, the median and the least of later calls, the least processor time of one.
struct Times {
  double first = 0, median = 0, least = 0, least_processor = 0;
};
/// Prints one result line; `fields` are further ones, each followed by a comma.
void print_line(const std::string& name, const Times& times, const std::vector<double>& checksum, const std::string& fields = "");
/// Seconds of processor time that the process has taken, in all its threads.
double processor_time();
/// What tells a result apart: the sum of its elements; of complex numbers, of both parts.
double checksum_of(const weft::Array& x);

/// Prints the code of a jitted or mapped function after its name, if that is what was asked for.
template <class F, class... A>
bool prints_text(const Options& o, const std::string& name, const F& f, const A&... args) {
  if (o.text.empty()) return false;
  fmt::print("// program {}\n{}\n", name, f.lower(args...).as_text(o.text));
  return true;
}

/// Arrays and trees of arrays go to the device; numbers stay.
template <class T>
void move_to(T& x, weft::Device device) {
  if constexpr (std::is_same_v<std::remove_cvref_t<decltype(weft::device_put(x, device))>, T>) x = weft::device_put(x, device);
}

/// Makes the inputs, calls f once (its first call: trace, compile, run), then again and again.
template <class MakeInputs, class F>
void workload(const Options& o, const std::string& name, MakeInputs make_inputs, F f, const std::string& fields = "") {
  if (!o.wants(name)) return;
  auto inputs = make_inputs();
  if (std::apply([&](const auto&... x) { return prints_text(o, name, f, x...); }, inputs)) return;
  if (o.platform != "cpu") std::apply([&](auto&... x) { (move_to(x, *o.device), ...); }, inputs);
  auto call = [&] { return std::apply([&](const auto&... x) { return f(x...); }, inputs); };
  auto sync = [](const auto& result) {
    for (const weft::Array& leaf : weft::tree::leaves(result)) leaf.block_until_ready();
  };
  double start = now();
  auto result = call();
  sync(result);
  Times measured{.first = now() - start};
  sync(call());
  start = now();
  sync(call());
  const int inner = std::max(1, static_cast<int>(2e-4 / std::max(now() - start, 1e-7)));
  std::vector<double> times, processor;
  const double begin = now();
  for (double end = begin; times.size() < 5 || end - begin <= o.seconds;) {
    const double used = processor_time();
    start = now();
    for (int i = 0; i < inner; ++i) result = call();
    sync(result);
    end = now();
    times.push_back((end - start) / inner);
    processor.push_back((processor_time() - used) / inner);
  }
  std::sort(times.begin(), times.end());
  measured.median = times[times.size() / 2];
  measured.least = times[0];
  measured.least_processor = *std::min_element(processor.begin(), processor.end());
  std::vector<double> checksum;
  for (const weft::Array& leaf : weft::tree::leaves(result)) checksum.push_back(checksum_of(leaf));
  print_line(name, measured, checksum, fields);
}

// The workloads, by topic.
void elementwise_workloads(const Options& o);
void matmul_workloads(const Options& o);
void dtype_workloads(const Options& o);
void rates(const Options& o);
void gpt2(const Options& o);
void training_workloads(const Options& o);
void science_workloads(const Options& o);
void library_workloads(const Options& o);
void indexing_workloads(const Options& o);
void loop_workloads(const Options& o);
void pmap_workloads(const Options& o);

}  // namespace bench
