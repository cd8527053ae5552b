// A step of data-parallel training whose gradients are summed between processes, with and without the sums being under way while the rest
// is computed.
//
//     mpirun -n 2 overlap            # and WEFT_OVERLAP=0 beside it
//
// Prints a JSON line: microseconds of a step, the median and the least of rounds, and of the same step alone (nothing sent).
#include <fmt/core.h>
#include <weft/weft.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <vector>

using namespace weft;
using weft::sharding::P;

namespace {

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

int main(int argc, char** argv) {
  distributed::initialize();
  const int layers = argc > 1 ? std::atoi(argv[1]) : 8, width = argc > 2 ? std::atoi(argv[2]) : 512,
            rows = argc > 3 ? std::atoi(argv[3]) : 64;
  const int rounds = argc > 4 ? std::atoi(argv[4]) : 30;
  const auto loss = [](const std::vector<Array>& w, Array y) {
    for (const Array& layer : w) y = tanh(matmul(y, layer));
    return mean(square(y));
  };
  const auto step = [&](const std::vector<Array>& w, Array x) {
    return tree::map([](Array p, Array g) { return p - 0.01f * g; }, w, pmean(grad(loss)(w, x), "i"));
  };
  std::vector<Array> w;
  for (int k = 0; k < layers; ++k) w.push_back(random::normal(random::key(k), {width, width}) / 30);
  const int local = local_device_count();
  const Array x = random::normal(random::key(99), {local, rows, width});
  const auto together = pmap(step, {.in_axes = {none, 0}, .out_axes = none, .axis_name = "i"});
  const Mesh own(local_devices(), {local}, {"i"});
  const auto alone = shard_map([&](const std::vector<Array>& v, Array u) { return step(v, u[0]); },
                               {.mesh = own, .in_specs = {P(), P("i")}, .out_specs = P()});
  const auto time = [&](auto f) {
    std::vector<double> times;
    for (int r = 0; r < rounds + 3; ++r) {
      sync_global_devices("a round");
      const double begin = seconds();
      for (const Array& each : f(w, x)) each.block_until_ready();
      if (r >= 3) times.push_back(seconds() - begin);
    }
    std::sort(times.begin(), times.end());
    return std::pair{times[times.size() / 2], times[0]};
  };
  const auto [by_itself, by_itself_least] = time(alone);
  const auto [median, least] = time(together);
  if (process_index() == 0)
    fmt::print(
        "{{\"layers\": {}, \"width\": {}, \"alone_us\": {:.0f}, \"alone_least_us\": {:.0f}, \"step_us\": {:.0f}, \"step_least_us\": "
        "{:.0f}}}\n",
        layers, width, by_itself * 1e6, by_itself_least * 1e6, median * 1e6, least * 1e6);
}
