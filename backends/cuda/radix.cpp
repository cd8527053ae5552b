#include "weft/backends/cuda/radix.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "weft/backends/codegen/gpu/gpu_radix.h"
#include "weft/core/base/environment.h"
#include "weft/core/errors/error.h"

namespace weft::detail {

std::vector<Aval> RadixOrder::abstract_eval(const OpContext& c) {
  const Params& p = c.get<Params>();
  if (c.in.empty() || c.in.size() > 2 || c.in[0].ndim() != 2 || (c.in[0].dtype != uint32 && c.in[0].dtype != uint64))
    c.fail<ShapeError>("takes lines of codes, and positions of the same shape");
  if (c.in.size() == 2 && (c.in[1].shape != c.in[0].shape || c.in[1].dtype != int32))
    c.fail<ShapeError>("the positions are not the codes'");
  return {p.positions ? Aval{c.in[0].shape, int32} : c.in[0]};
}

BatchResult RadixOrder::batch(const BatchContext&) { throw Error("internal error: radix_order is not mapped over"); }

void RadixOrder::reference(const ReferenceContext& c) {
  const std::int64_t lines = c.in[0].aval.shape[0], n = c.in[0].aval.shape[1];
  const bool wide = c.in[0].aval.dtype == uint64;
  const auto code = [&](std::int64_t i) { return wide ? c.in[0].as<std::uint64_t>()[i] : c.in[0].as<std::uint32_t>()[i]; };
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  for (std::int64_t line = 0; line < lines; ++line) {
    std::iota(order.begin(), order.end(), line * n);
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return code(a) < code(b); });
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t from = order[static_cast<std::size_t>(i)], to = line * n + i;
      if (c.get<Params>().positions)
        c.out[0].as<std::int32_t>()[to] = c.in.size() > 1 ? c.in[1].as<std::int32_t>()[from] : static_cast<std::int32_t>(from - line * n);
      else if (wide)
        c.out[0].as<std::uint64_t>()[to] = code(from);
      else
        c.out[0].as<std::uint32_t>()[to] = static_cast<std::uint32_t>(code(from));
    }
  }
}

namespace cuda {
namespace {

std::int64_t tiles_of(const Aval& codes) {
  const std::int64_t tile = RadixKernels::tile(8 * codes.dtype.itemsize());
  return (codes.shape[1] + tile - 1) / tile;
}

class RadixStep final : public DeviceStep {
 public:
  RadixStep(GpuDevice& device, const NamedKernels& kernels, const RadixOrder::Params& p, std::span<const Aval> in, const std::string& name)
      : device_(device),
        p_(p),
        has_positions_(in.size() > 1),
        lines_(in[0].shape[0]),
        n_(in[0].shape[1]),
        code_bytes_(in[0].dtype.itemsize()),
        tiles_(tiles_of(in[0])),
        passes_((p.bits + RadixKernels::kDigitBits - 1) / RadixKernels::kDigitBits),
        what_(fmt::format("{}: sorting {} lines of {} in {}", device.label(), lines_, n_, name)) {
    const int bits = 8 * code_bytes_;
    count_ = kernels.at(RadixKernels::count_name(bits)), sum_ = kernels.at(RadixKernels::sum_name());
    move_ = kernels.at(RadixKernels::move_name(bits));
    const auto take = [&](std::int64_t bytes) {
      const std::int64_t place = bytes_;
      bytes_ += (bytes + 255) / 256 * 256;
      return place;
    };
    // Between passes the elements are by turns in two places.
    for (int k = 0; k < std::min(2, passes_ - 1); ++k) {
      codes_[k] = take(lines_ * n_ * code_bytes_);
      if (p_.positions) positions_[k] = take(lines_ * n_ * 4);
    }
    if (tiles_ > 1) {
      counts_ = take(lines_ * RadixKernels::kDigits * tiles_ * 4);
      totals_ = take(lines_ * RadixKernels::kDigits * 4);
    }
  }

  std::int64_t workspace_bytes() const override { return bytes_; }

  void run(std::span<const DevicePointer> at, DevicePointer workspace, FunctionRef<SourceLoc()> line) override {
    const auto in_workspace = [&](std::int64_t offset) { return workspace + static_cast<DevicePointer>(offset); };
    const DevicePointer counts = in_workspace(counts_), totals = in_workspace(totals_);
    DevicePointer codes = at[0], positions = has_positions_ ? at[1] : 0;
    for (int pass = 0; pass < passes_; ++pass) {
      const bool last = pass + 1 == passes_;
      const auto bit = static_cast<DevicePointer>(pass * RadixKernels::kDigitBits), n = static_cast<DevicePointer>(n_),
                 tiles = static_cast<DevicePointer>(tiles_);
      const int turn = pass % 2;
      const DevicePointer codes_out = last ? at.back() : in_workspace(codes_[turn]);
      const DevicePointer positions_out = last ? at.back() : in_workspace(positions_[turn]);
      std::int64_t flags = 0;
      if (has_positions_ || pass > 0) flags |= RadixKernels::kReadsPositions;
      if (!last || !p_.positions) flags |= RadixKernels::kWritesCodes;
      if (p_.positions) flags |= RadixKernels::kWritesPositions;
      if (tiles_ > 1) {
        launch(count_, "count", lines_ * tiles_, {codes, counts, n, bit, tiles}, line);
        launch(sum_, "sum", lines_ * RadixKernels::kDigits, {counts, totals, tiles}, line);
      }
      launch(move_, "move", lines_ * tiles_,
             {codes, positions, codes_out, positions_out, counts, totals, n, bit, tiles, static_cast<DevicePointer>(flags)}, line);
      codes = codes_out, positions = positions_out;
    }
  }

 private:
  void launch(Function f, const char* kernel, std::int64_t blocks, std::vector<DevicePointer> values, FunctionRef<SourceLoc()> line) {
    std::vector<void*> parameters;
    for (DevicePointer& v : values) parameters.push_back(&v);
    parameters.push_back(nullptr);  // as a mark, as for all kernels
    const auto what = [&] { return fmt::format("{}: {}", what_, kernel); };
    const Result r = driver().cuLaunchKernel(f, static_cast<unsigned>(blocks), 1, 1, RadixKernels::kThreads, 1, 1, 0, device_.stream(),
                                             parameters.data(), nullptr);
    if (r != kSuccess) check(r, "cuLaunchKernel", what(), line());
    if (is_switched_on("WEFT_CUDA_SYNC")) check(driver().cuStreamSynchronize(device_.stream()), "cuStreamSynchronize", what(), line());
  }

  GpuDevice& device_;
  const RadixOrder::Params p_;
  const bool has_positions_;
  const std::int64_t lines_, n_;
  const int code_bytes_;
  const std::int64_t tiles_;
  const int passes_;
  const std::string what_;
  Function count_ = nullptr, sum_ = nullptr, move_ = nullptr;
  std::int64_t bytes_ = 0, counts_ = 0, totals_ = 0, codes_[2] = {}, positions_[2] = {};
};

}  // namespace

int radix_launches(const RadixOrder::Params& p, const Aval& codes) {
  return (p.bits + RadixKernels::kDigitBits - 1) / RadixKernels::kDigitBits * (tiles_of(codes) > 1 ? 3 : 1);
}

std::unique_ptr<DeviceStep> make_radix_step(GpuDevice& device, const NamedKernels& kernels, const RadixOrder::Params& p,
                                            std::span<const Aval> in, const std::string& name) {
  return std::make_unique<RadixStep>(device, kernels, p, in, name);
}

}  // namespace cuda
}  // namespace weft::detail
