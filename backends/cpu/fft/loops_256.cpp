// The loops for vectors of 32 bytes.
#include "weft/backends/cpu/fft/loops.h"
#include "weft/backends/cpu/instruction_sets.h"

WEFT_BEGIN_INSTRUCTIONS(WEFT_AVX2)
#define WEFT_FFT_BYTES 32
#define WEFT_FFT_SPACE fft_256
#include "weft/backends/cpu/fft/loops_of_vectors.h"
WEFT_END_INSTRUCTIONS

namespace weft::detail {
template <class T>
const FftLoops<T>* fft_loops_256() {
  return uses_avx2() ? &fft_256::kLoops<T> : nullptr;
}
template const FftLoops<float>* fft_loops_256();
template const FftLoops<double>* fft_loops_256();
}  // namespace weft::detail
