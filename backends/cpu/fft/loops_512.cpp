// The loops for vectors of 64 bytes.
#include "weft/backends/cpu/fft/loops.h"
#include "weft/backends/cpu/instruction_sets.h"

WEFT_BEGIN_INSTRUCTIONS(WEFT_AVX512)
#define WEFT_FFT_BYTES 64
#define WEFT_FFT_SPACE fft_512
#include "weft/backends/cpu/fft/loops_of_vectors.h"
WEFT_END_INSTRUCTIONS

namespace weft::detail {
template <class T>
const FftLoops<T>* fft_loops_512() {
  return uses_avx512() ? &fft_512::kLoops<T> : nullptr;
}
template const FftLoops<float>* fft_loops_512();
template const FftLoops<double>* fft_loops_512();
}  // namespace weft::detail
