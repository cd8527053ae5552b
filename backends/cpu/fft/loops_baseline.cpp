// Vectors of 16 bytes, which every 64-bit processor has.
#define WEFT_FFT_BYTES 16
#define WEFT_FFT_SPACE fft_baseline
#include "weft/backends/cpu/fft/loops_of_vectors.h"

namespace weft::detail {
template <>
const FftLoops<float>& fft_loops_baseline<float>() {
  return fft_baseline::kLoops<float>;
}
template <>
const FftLoops<double>& fft_loops_baseline<double>() {
  return fft_baseline::kLoops<double>;
}
}  // namespace weft::detail
