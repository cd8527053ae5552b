// The functions of the library that the code of loops calls. Exceptions must not pass through that code.
#include <algorithm>
#include <exception>

#include "weft/backends/codegen/schedule/schedule.h"
#include "weft/backends/cpu/jit.h"
#include "weft/backends/cpu/matmul.h"
#include "weft/core/base/cancellation.h"
#include "weft/core/base/thread_object.h"
#include "weft/runtime/host/thread_pool.h"

namespace weft::detail {
namespace {

struct Failure {
  std::exception_ptr error;
};
std::exception_ptr& failure() { return of_thread<Failure>().error; }

template <class F>
std::int32_t guarded(F&& f) {
  const CancellationHeld held;
  try {
    f();
    return 0;
  } catch (...) {
    failure() = std::current_exception();
    return 1;
  }
}

}  // namespace

void throw_failure() { std::rethrow_exception(std::exchange(failure(), nullptr)); }

}  // namespace weft::detail

using namespace weft::detail;

extern "C" void weft_run_blocks(void* kernel, void* const* args, std::int64_t blocks, std::int64_t grain) {
  const auto f = reinterpret_cast<KernelFunction>(kernel);
  if (num_threads() == 1 || in_parallel_region()) {
    f(args, 0, blocks);
    return;
  }
  grain = blocks_of_task(blocks, grain, num_threads());
  parallel_for((blocks + grain - 1) / grain, [&](std::int64_t i) { f(args, i * grain, std::min((i + 1) * grain, blocks)); });
}
/// Trapezoidal tiling: each thread takes its part of the blocks through all iterations of a tile, leaving out `radius` more blocks at each
/// iteration next to another thread's part; then the blocks left out between parts are computed as their neighbours allow.
extern "C" void weft_run_steps(void* kernel, void* const* args, std::int64_t num_args, std::int64_t blocks, std::int64_t radius,
                               std::int64_t tile, std::int64_t iterations) {
  const auto f = reinterpret_cast<KernelFunction>(kernel);
  const std::int64_t threads = in_parallel_region() ? 1 : num_threads();
  tile = std::clamp<std::int64_t>(blocks / (8 * radius * threads), 1, tile);
  const std::int64_t parts = std::clamp<std::int64_t>(blocks / (2 * radius * tile), 1, threads);
  for (std::int64_t begin = 0; begin < iterations; begin += tile) {
    const std::int64_t depth = std::min(tile, iterations - begin);
    const auto run = [&](std::int64_t t, std::int64_t low, std::int64_t high) {
      const std::int64_t i = begin + t;
      f(args + num_args * (i == 0 ? 0 : 2 - i % 2), low, high);
    };
    const auto border = [&](std::int64_t part) { return blocks * part / parts; };
    parallel_for(parts, [&](std::int64_t p) {
      const std::int64_t low = border(p), high = border(p + 1), left = p == 0 ? 0 : radius, right = p + 1 == parts ? 0 : radius;
      for (std::int64_t front = low; front < high + radius * depth; ++front)
        for (std::int64_t t = 0; t < depth; ++t)
          if (const std::int64_t b = front - radius * t; b >= low + left * t && b < high - right * t) run(t, b, b + 1);
    });
    parallel_for(parts - 1, [&](std::int64_t p) {
      for (std::int64_t t = 1; t < depth; ++t) run(t, border(p + 1) - radius * t, border(p + 1) + radius * t);
    });
  }
}
extern "C" std::int32_t weft_run_matmul(const void* matmul, const void* a, const void* b, void* out) {
  return guarded([&] { static_cast<const Matmul*>(matmul)->run(a, b, out); });
}
extern "C" std::int32_t weft_run_opaque(const void* call, void* const* buffers) {
  return guarded([&] { static_cast<const ReferenceCall*>(call)->run(buffers); });
}
