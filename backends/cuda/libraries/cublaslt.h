// The functions of cuBLASLt that weft calls, after its public documentation. The library is looked up when it is needed.
#pragma once
#include <cstddef>
#include <cstdint>

#include "weft/backends/cuda/driver.h"

namespace weft::detail::cuda::lt {

using Handle = struct LtHandle*;
using Description = struct LtDescription*;
using Layout = struct LtLayout*;
using Preference = struct LtPreference*;
struct Algorithm {
  std::uint64_t data[8] = {};
};
struct Heuristic {
  Algorithm algorithm;
  std::size_t workspace = 0;
  int state = 0;
  float waves = 0;
  int reserved[4] = {};
};

constexpr int kFloat32 = 0, kFloat64 = 1, kFloat16 = 2, kBFloat16 = 14;
constexpr int kCompute32 = 68, kCompute64 = 70, kComputeTf32 = 77;
constexpr int kAsIs = 0, kTransposed = 1;
constexpr int kTransposeA = 3, kTransposeB = 4, kEpilogue = 7, kBiasPointer = 8;  // of a description
constexpr int kRelu = 2, kBias = 4, kGelu = 32;                                   // of an epilogue: sums of these; 1: none
constexpr int kBatchCount = 5, kBatchStride = 6;                                  // of a layout
constexpr int kMaxWorkspace = 1, kReductionSchemes = 3, kMinAlignmentA = 5;       // of a preference; then b, c, d
constexpr std::uint32_t kReducedAsComputed = 2;                                   // of the reduction schemes: in the type of the sums

}  // namespace weft::detail::cuda::lt

// Name, parameters. All return a status, 0 for success.
#define WEFT_CUBLASLT(F)                                                                                                                   \
  F(cublasLtCreate, (lt::Handle*))                                                                                                         \
  F(cublasLtMatmulDescCreate, (lt::Description*, int, int))                                                                                \
  F(cublasLtMatmulDescSetAttribute, (lt::Description, int, const void*, std::size_t))                                                      \
  F(cublasLtMatmulDescDestroy, (lt::Description))                                                                                          \
  F(cublasLtMatrixLayoutCreate, (lt::Layout*, int, std::uint64_t, std::uint64_t, std::int64_t))                                            \
  F(cublasLtMatrixLayoutSetAttribute, (lt::Layout, int, const void*, std::size_t))                                                         \
  F(cublasLtMatrixLayoutDestroy, (lt::Layout))                                                                                             \
  F(cublasLtMatmulPreferenceCreate, (lt::Preference*))                                                                                     \
  F(cublasLtMatmulPreferenceSetAttribute, (lt::Preference, int, const void*, std::size_t))                                                 \
  F(cublasLtMatmulPreferenceDestroy, (lt::Preference))                                                                                     \
  F(cublasLtMatmulAlgoGetHeuristic,                                                                                                        \
    (lt::Handle, lt::Description, lt::Layout, lt::Layout, lt::Layout, lt::Layout, lt::Preference, int, lt::Heuristic*, int*))              \
  F(cublasLtMatmul, (lt::Handle, lt::Description, const void*, const void*, lt::Layout, const void*, lt::Layout, const void*, const void*, \
                     lt::Layout, void*, lt::Layout, const lt::Algorithm*, void*, std::size_t, Stream))
