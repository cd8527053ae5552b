// The Fourier transform as a step of a program: one dimension after the other. Items of a batch that fit a cache go through all dimensions
// there.
#include <numeric>

#include "weft/backends/common/native_step.h"
#include "weft/backends/cpu/fft/axes.h"
#include "weft/backends/cpu/fft/ranges.h"
#include "weft/backends/cpu/scratch.h"

namespace weft::detail {
namespace {

template <class T>
class FftStep final : public NativeStep {
 public:
  FftStep(const FftParams& p, const Aval& in, const Aval& out)
      : type_(p.fft_type), numbers_in_(in.dtype.is_complex() ? 2 : 1), numbers_out_(out.dtype.is_complex() ? 2 : 1) {
    const auto rank = static_cast<int>(p.fft_lengths.size());
    const bool inverse = type_ == FftType::ifft || type_ == FftType::irfft;
    const std::int64_t size = std::accumulate(p.fft_lengths.begin(), p.fft_lengths.end(), std::int64_t{1}, std::multiplies<>());
    if (inverse) scale_ = static_cast<T>(1 / static_cast<double>(size));
    std::int64_t items = 1;
    for (int d = 0; d < in.ndim() - rank; ++d) items *= in.shape[d];
    item_in_ = in.shape.num_elements() / items * numbers_in_, item_out_ = out.shape.num_elements() / items * numbers_out_;
    constexpr std::int64_t kInCache = 1 << 19, kRowsInCache = 16;
    const std::int64_t rows = size / p.fft_lengths.back();
    if (rank > 1 && items > 1 && rows >= kRowsInCache && static_cast<std::int64_t>(sizeof(T)) * item_in_ <= kInCache)
      items_ = items, items = 1;
    last_ = std::make_unique<LastAxis<T>>(type_, p.fft_lengths.back(), rows * items);
    std::int64_t inner = type_ == FftType::rfft ? out.shape.back() : in.shape.back(), outer = rows * items;
    work_ = type_ == FftType::irfft && rank > 1 ? outer * inner * 2 : 0;
    for (int d = rank - 2; d >= 0; --d) {
      const std::int64_t n = p.fft_lengths[static_cast<std::size_t>(d)];
      outer /= n;
      if (n > 1) others_.push_back(std::make_unique<InnerAxis<T>>(n, inner, outer));
      inner *= n;
    }
    cycles_ = 4 * static_cast<double>(item_in_ + item_out_) * rank;
  }

  void run(std::span<void* const> addresses) const override {
    const T* in = static_cast<const T*>(addresses[0]);
    T* out = static_cast<T*>(addresses[1]);
    in_ranges_of(items_, cycles_, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) run_item(in + i * item_in_, out + i * item_out_);
    });
  }

 private:
  void run_item(const T* in, T* out) const {
    if (type_ != FftType::irfft) {
      last_->run(in, out, scale_);
      for (const auto& axis : others_) axis->run(out, out, type_ == FftType::ifft, T(1));
      return;
    }
    if (others_.empty()) return last_->run(in, out, scale_);
    const Scratch<T> work(work_);
    const T* from = in;
    for (const auto& axis : others_) axis->run(from, work.get(), true, T(1)), from = work.get();
    last_->run(from, out, scale_);
  }

  FftType type_;
  std::int64_t numbers_in_, numbers_out_, item_in_, item_out_, items_ = 1, work_;
  T scale_ = 1;
  double cycles_;
  std::unique_ptr<LastAxis<T>> last_;
  std::vector<std::unique_ptr<InnerAxis<T>>> others_;
};

/// Along any axes.
template <class T>
class FftAlongStep final : public NativeStep {
 public:
  FftAlongStep(const FftAlongParams& p, const Aval& x) : inverse_(p.fft_type == FftType::ifft) {
    double size = 1;
    for (std::int64_t n : p.fft_lengths) size *= static_cast<double>(n);
    if (inverse_) scale_ = static_cast<T>(1 / size);
    for (std::size_t i = p.axes.size(); i-- > 0;) {
      const int axis = p.axes[i];
      std::int64_t inner = 1;
      for (int d = axis + 1; d < x.ndim(); ++d) inner *= x.shape[d];
      const std::int64_t n = p.fft_lengths[i], outer = x.size() / n / inner;
      if (n == 1 && (i > 0 || last_ || !others_.empty())) continue;
      if (inner == 1)
        last_ = std::make_unique<LastAxis<T>>(p.fft_type, n, outer);
      else
        others_.push_back(std::make_unique<InnerAxis<T>>(n, inner, outer));
    }
  }
  void run(std::span<void* const> addresses) const override {
    const T* from = static_cast<const T*>(addresses[0]);
    T *to = static_cast<T*>(addresses[1]), scale = scale_;
    if (last_) last_->run(from, to, scale), from = to, scale = 1;
    for (const auto& axis : others_) axis->run(from, to, inverse_, scale), from = to, scale = 1;
  }

 private:
  bool inverse_;
  T scale_ = 1;
  std::unique_ptr<LastAxis<T>> last_;
  std::vector<std::unique_ptr<InnerAxis<T>>> others_;
};

const RuleOf<NativeStepRules> fft_along_step(fft_along_primitive(),
                                             [](const ParamsBase& params, std::span<const Aval> operands,
                                                std::span<const Aval>) -> std::unique_ptr<NativeStep> {
                                               const auto& p = params_as<FftAlongParams>(params);
                                               if (operands[0].dtype == complex128)
                                                 return std::make_unique<FftAlongStep<double>>(p, operands[0]);
                                               return std::make_unique<FftAlongStep<float>>(p, operands[0]);
                                             });
const RuleOf<NativeStepRules> fft_step(fft_primitive(),
                                       [](const ParamsBase& params, std::span<const Aval> operands,
                                          std::span<const Aval> results) -> std::unique_ptr<NativeStep> {
                                         const auto& p = params_as<FftParams>(params);
                                         if (operands[0].dtype.real_part() == float64)
                                           return std::make_unique<FftStep<double>>(p, operands[0], results[0]);
                                         return std::make_unique<FftStep<float>>(p, operands[0], results[0]);
                                       });

}  // namespace

}  // namespace weft::detail
