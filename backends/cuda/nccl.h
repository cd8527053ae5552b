// What weft calls of NCCL, after its public documentation: the library is looked up when the first collective needs it.
#pragma once
#include <cstddef>

#include "backends/cuda/driver.h"

namespace weft::detail::cuda::nccl {

using Comm = struct CommHandle*;
constexpr int kSuccess = 0, kInProgress = 7;
constexpr int kInt8 = 0, kUint8 = 1, kInt32 = 2, kUint32 = 3, kInt64 = 4, kUint64 = 5, kFloat16 = 6, kFloat32 = 7, kFloat64 = 8,
              kBFloat16 = 9;
constexpr int kSum = 0, kMax = 2, kMin = 3;
constexpr int kNoColor = -1;

}  // namespace weft::detail::cuda::nccl

// Name, parameters. All return a status.
#define WEFT_NCCL(F)                                                                    \
  F(ncclGetVersion, (int*))                                                             \
  F(ncclCommInitAll, (nccl::Comm*, int, const int*))                                    \
  F(ncclCommSplit, (nccl::Comm, int, int, nccl::Comm*, void*))                          \
  F(ncclCommAbort, (nccl::Comm))                                                        \
  F(ncclCommGetAsyncError, (nccl::Comm, int*))                                          \
  F(ncclGroupStart, ())                                                                 \
  F(ncclGroupEnd, ())                                                                   \
  F(ncclAllReduce, (const void*, void*, std::size_t, int, int, nccl::Comm, Stream))     \
  F(ncclAllGather, (const void*, void*, std::size_t, int, nccl::Comm, Stream))          \
  F(ncclReduceScatter, (const void*, void*, std::size_t, int, int, nccl::Comm, Stream)) \
  F(ncclBroadcast, (const void*, void*, std::size_t, int, int, nccl::Comm, Stream))     \
  F(ncclSend, (const void*, std::size_t, int, int, nccl::Comm, Stream))                 \
  F(ncclRecv, (void*, std::size_t, int, int, nccl::Comm, Stream))
