// The discrete Fourier transform.
#pragma once
#include <complex>
#include <new>
#include <optional>
#include <vector>

#include "weft/core/ir/primitive.h"
#include "weft/core/ops/linalg/fourier_plan.h"

namespace weft::detail {

/// Written as the numbers 0 to 3, or by name.
enum class FftType { fft, ifft, rfft, irfft };
std::string print_param(FftType v);
void read_param(ParamReader& r, FftType& v);

struct FftParams {
  std::vector<std::int64_t> fft_lengths;  ///< of the last dimensions, as the real or complex signal has them
  FftType fft_type = FftType::fft;
  friend bool operator==(const FftParams&, const FftParams&) = default;
};

/// The transform over the last fft_lengths.size() dimensions; inverse ones are divided by the number of elements.
Array fft_of(const Array& x, FftType type, std::vector<std::int64_t> lengths, SourceLoc loc);

/// A complex transform along any dimensions, by increasing numbers: what a program's simplification makes of one between two transposes,
/// for routines that need no elements moved. No user's program has it.
struct FftAlongParams {
  std::vector<int> axes;
  std::vector<std::int64_t> fft_lengths;
  FftType fft_type = FftType::fft;  ///< or ifft
  friend bool operator==(const FftAlongParams&, const FftAlongParams&) = default;
};
const Primitive& fft_primitive();
const Primitive& fft_along_primitive();
/// The same by fft.
Array fft_between_transposes(const FftAlongParams& p, const Array& x, SourceLoc loc);

/// A plan for sequences of n complex numbers; throws std::bad_alloc.
class FourierTransform {
 public:
  explicit FourierTransform(std::int64_t n) : plan_(n) {
    if (!plan_.ready()) throw std::bad_alloc();
  }
  /// x[k] becomes the sum of x[j] exp(-2 pi i j k / n); the plan's memory is used, so one thread at a time.
  void run(std::complex<double>* x) { plan_.run(x); }

 private:
  FourierPlan plan_;
};

}  // namespace weft::detail
