#include "weft/backends/cuda/report.h"

#include <fmt/core.h>

#include "weft/backends/cuda/collectives.h"
#include "weft/backends/cuda/device.h"
#include "weft/backends/cuda/matmuls.h"
#include "weft/backends/cuda/ptx.h"
#include "weft/backends/cuda/solver.h"
#include "weft/core/errors/error.h"
#include "weft/runtime/host/accelerator.h"

namespace weft::detail {

std::string gpu_report() {
  const auto& all = cuda::devices();
  if (all.empty()) throw DeviceError("cuda: " + accelerators().why_none());
  std::string text;
  for (cuda::GpuDevice* d : all) {
    d->enter();
    std::size_t left = 0, total = 0;
    cuda::check(cuda::driver().cuMemGetInfo_v2(&left, &total), "cuMemGetInfo", d->label());
    text += fmt::format("{}: {}, code for sm_{}, {} multiprocessors, {} MB of memory, {} MB free\n", d->label(), d->name(),
                        d->target().architecture, d->multiprocessors(), total / 1'000'000, left / 1'000'000);
  }
  const int v = cuda::driver().version;
  const std::string libdevice = libdevice_path();
  text += fmt::format("driver: CUDA {}.{}\n", v / 1000, v % 1000 / 10);
  text += fmt::format("cuBLASLt: {}\n", cuda::matmuls_version());
  text += fmt::format("cuSOLVER: {}\n", cuda::solver_version());
  text += fmt::format("NCCL: {}\n", cuda::collectives_version());
  text += fmt::format("libdevice: {}\n", libdevice.empty() ? "none" : libdevice);
  return text;
}

}  // namespace weft::detail
