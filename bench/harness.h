// How every workload is timed: as ../peers/measure.py does it. Prints the JSON lines that compare.py reads.
#pragma once
#include <fmt/format.h>
#include <weft/weft.h>

#include <algorithm>
#include <chrono>
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
  std::string text = {};               ///< nothing is run: the code in this form instead
  bool wants(const std::string& name) const { return only.empty() || std::find(only.begin(), only.end(), name) != only.end(); }
};

/// Prints one result line.
void print_line(const std::string& name, double first, double median, double least, const std::vector<double>& checksum);

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
void workload(const Options& o, const std::string& name, MakeInputs make_inputs, F f) {
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
  const double first = now() - start;
  sync(call());
  start = now();
  sync(call());
  const int inner = std::max(1, static_cast<int>(2e-4 / std::max(now() - start, 1e-7)));
  std::vector<double> times;
  const double begin = now();
  for (double end = begin; times.size() < 5 || end - begin <= o.seconds;) {
    start = now();
    for (int i = 0; i < inner; ++i) result = call();
    sync(result);
    end = now();
    times.push_back((end - start) / inner);
  }
  std::sort(times.begin(), times.end());
  std::vector<double> checksum;
  for (const weft::Array& leaf : weft::tree::leaves(result)) {
    double sum = 0;
    for (double v : leaf.to_vector<double>()) sum += v;
    checksum.push_back(sum);
  }
  print_line(name, first, times[times.size() / 2], times[0], checksum);
}

// The workloads, by topic.
void elementwise_workloads(const Options& o);
void product_workloads(const Options& o);
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
