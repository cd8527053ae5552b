// Vectors of 32 bytes.
#include "weft/backends/cpu/fft/loops.h"
#include "weft/backends/cpu/jit.h"

#ifdef __x86_64__

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif

#define WEFT_FFT_BYTES 32
#define WEFT_FFT_SPACE fft_256
#include "weft/backends/cpu/fft/loops_of_vectors.h"

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

namespace weft::detail {
namespace {
template <class T>
const FftLoops<T>* loops_if_possible() {
  static const bool possible = native_vector_bytes() >= 32 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return possible ? &fft_256::kLoops<T> : nullptr;
}
}  // namespace
template <>
const FftLoops<float>* fft_loops_256<float>() {
  return loops_if_possible<float>();
}
template <>
const FftLoops<double>* fft_loops_256<double>() {
  return loops_if_possible<double>();
}
}  // namespace weft::detail

#else

namespace weft::detail {
template <>
const FftLoops<float>* fft_loops_256<float>() {
  return nullptr;
}
template <>
const FftLoops<double>* fft_loops_256<double>() {
  return nullptr;
}
}  // namespace weft::detail

#endif
