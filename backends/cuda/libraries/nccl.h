// The functions of NCCL that weft calls, after its public documentation. The library is looked up when the first collective needs it.
#pragma once
#include <cstddef>
#include <string>

#include "weft/backends/cuda/driver.h"

namespace weft::detail::cuda::nccl {

using Comm = struct CommHandle*;
constexpr int kSuccess = 0, kInProgress = 7;
constexpr int kInt8 = 0, kUint8 = 1, kInt32 = 2, kUint32 = 3, kInt64 = 4, kUint64 = 5, kFloat16 = 6, kFloat32 = 7, kFloat64 = 8,
              kBFloat16 = 9;
constexpr int kSum = 0, kMax = 2, kMin = 3;
constexpr int kNoColor = -1;
/// What one process makes and all others of a communicator are given.
struct UniqueId {
  char bytes[128];
};

}  // namespace weft::detail::cuda::nccl

// Name, parameters. All return a status.
#define WEFT_NCCL(F)                                                                    \
  F(ncclGetVersion, (int*))                                                             \
  F(ncclCommInitAll, (nccl::Comm*, int, const int*))                                    \
  F(ncclGetUniqueId, (nccl::UniqueId*))                                                 \
  F(ncclCommInitRank, (nccl::Comm*, int, nccl::UniqueId, int))                          \
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

namespace weft::detail::cuda::nccl {

struct Library {
#define WEFT_DECLARE(name, parameters) int(*name) parameters = nullptr;
  WEFT_NCCL(WEFT_DECLARE)
#undef WEFT_DECLARE
  const char* (*ncclGetErrorString)(int) = nullptr;
  std::string problem;  ///< empty: it is there
};
/// Opened at the first call.
const Library& library();
/// The same. Throws DistributedError if it is not there.
const Library& library_for(const std::string& what, SourceLoc loc = {});
std::string status_text(int status);
/// Throws DistributedError for what is neither success nor under way.
void check(int status, const char* call, const std::string& what, SourceLoc loc = {});

}  // namespace weft::detail::cuda::nccl
