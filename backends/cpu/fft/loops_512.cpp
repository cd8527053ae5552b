// Vectors of 64 bytes.
#include "weft/backends/cpu/fft/loops.h"
#include "weft/backends/cpu/jit.h"

#ifdef __x86_64__

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")
#endif

#define WEFT_FFT_BYTES 64
#define WEFT_FFT_SPACE fft_512
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
  static const bool possible = native_vector_bytes() >= 64 && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
                               __builtin_cpu_supports("avx512vl");
  return possible ? &fft_512::kLoops<T> : nullptr;
}
}  // namespace
template <>
const FftLoops<float>* fft_loops_512<float>() {
  return loops_if_possible<float>();
}
template <>
const FftLoops<double>* fft_loops_512<double>() {
  return loops_if_possible<double>();
}
}  // namespace weft::detail

#else

namespace weft::detail {
template <>
const FftLoops<float>* fft_loops_512<float>() {
  return nullptr;
}
template <>
const FftLoops<double>* fft_loops_512<double>() {
  return nullptr;
}
}  // namespace weft::detail

#endif
