// An all-reduce between processes: MPI's own, weft's engine, and psum of a pmapped function, side by side in one run.
//
//     mpirun -n 2 allreduce [BYTES...]
//
// Prints a JSON line for each size: microseconds, the median of 31 rounds.
#include <fmt/core.h>

#include <mpi.h>
#include <weft/weft.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <vector>

#include "weft/runtime/host/buffer.h"
#include "weft/runtime/host/collective_engine.h"
#include "weft/runtime/processes/processes.h"

using namespace weft;

namespace {

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Medians over rounds of `count` calls of each, in microseconds a call. The functions take turns, and all processes begin a round
/// together: what else the machine does hits all alike.
template <class... F>
std::array<double, sizeof...(F)> medians_of(int count, F... f) {
  std::array<std::vector<double>, sizeof...(F)> rounds;
  for (int r = 0; r < 31; ++r) {
    std::size_t which = 0;
    const auto one = [&](auto& call) {
      MPI_Barrier(MPI_COMM_WORLD);
      const double begin = seconds();
      for (int i = 0; i < count; ++i) call();
      rounds[which++].push_back((seconds() - begin) / count * 1e6);
    };
    (one(f), ...);
  }
  std::array<double, sizeof...(F)> medians;
  for (std::size_t i = 0; i < medians.size(); ++i) {
    std::nth_element(rounds[i].begin(), rounds[i].begin() + 15, rounds[i].end());
    medians[i] = rounds[i][15];
  }
  return medians;
}

}  // namespace

int main(int argc, char** argv) {
  distributed::initialize();
  const int n = process_count();
  std::vector<int> ids(static_cast<std::size_t>(device_count())), group = ids;
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = group[i] = static_cast<int>(i);
  std::vector<std::int64_t> sizes;
  for (int i = 1; i < argc; ++i) sizes.push_back(std::atol(argv[i]));
  if (sizes.empty()) sizes = {4, 4096, 262144, 16 << 20};
  for (const std::int64_t bytes : sizes) {
    const std::int64_t count = bytes / 4;
    const int repeats = bytes <= 4096 ? 1000 : bytes <= 262144 ? 100 : 4;
    std::vector<float> from(static_cast<std::size_t>(count), 1.f), to(from.size());
    detail::CollectivePlan plan;
    plan.operation = "psum", plan.axes = {"i"};
    plan.groups = detail::device_groups({group});
    plan.in = plan.out = detail::Aval{Shape{count}, float32, false};
    const auto join = detail::collective_engine(ids).prepare(plan, ids, std::array{static_cast<std::int64_t>(ids.size())});
    std::vector<detail::Ref<detail::Buffer>> in(ids.size()), out(ids.size());
    for (std::size_t k : detail::local_positions(ids)) {
      in[k] = detail::Ref<detail::Buffer>(new detail::HostBuffer(static_cast<std::size_t>(bytes), ids[k]));
      std::fill_n(static_cast<float*>(in[k]->data()), count, 1.f);
    }
    const auto step = pmap([](Array x) { return psum(x, "i"); }, {.axis_name = "i"});
    const Array x = pmap([](Array a) { return a + 0; })(ones({local_device_count(), count}));
    // `engine` is handed its last result to write again, as MPI is; `fresh` is not.
    const auto [bare, engine, fresh, psum_us] = medians_of(
        repeats, [&] { MPI_Allreduce(from.data(), to.data(), static_cast<int>(count), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); },
        [&] { join->run(in, out); },
        [&] {
          std::fill(out.begin(), out.end(), detail::Ref<detail::Buffer>());
          join->run(in, out);
        },
        [&] { step(x); });
    if (process_index() == 0)
      fmt::print(
          "{{\"bytes\": {}, \"processes\": {}, \"mpi_us\": {:.2f}, \"engine_us\": {:.2f}, \"ratio\": {:.2f}, \"fresh_ratio\": {:.2f}, "
          "\"psum_us\": {:.2f}}}\n",
          bytes, n, bare, engine, engine / bare, fresh / bare, psum_us);
  }
}
