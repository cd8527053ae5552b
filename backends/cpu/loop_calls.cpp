// The library as the code of loops calls it: exceptions don't pass through that code.
#include <algorithm>
#include <exception>

#include "backends/cpu/jit.h"
#include "backends/cpu/product.h"
#include "runtime/thread_pool.h"

namespace weft::detail {
namespace {

std::exception_ptr& failure() {
  thread_local std::exception_ptr e;
  return e;
}

template <class F>
std::int32_t guarded(F&& f) {
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
  if (num_threads() == 1) {
    f(args, 0, blocks);
    return;
  }
  parallel_for((blocks + grain - 1) / grain, [&](std::int64_t i) { f(args, i * grain, std::min((i + 1) * grain, blocks)); });
}
extern "C" std::int32_t weft_run_product(const void* product, const float* a, const float* b, float* out) {
  return guarded([&] { static_cast<const Product*>(product)->run(a, b, out); });
}
extern "C" std::int32_t weft_run_opaque(const void* call, void* const* buffers) {
  return guarded([&] { static_cast<const ReferenceCall*>(call)->run(buffers); });
}
