// The entry points of NVIDIA's driver that weft calls, looked up in libcuda.so.1 when they are first needed: neither its headers nor the
// library are needed to build or to run without a GPU. Declared after the public documentation of the CUDA driver API.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "weft/core/errors/source_loc.h"

namespace weft::detail::cuda {

using Result = int;  // CUresult
using DevicePointer = unsigned long long;
using Context = struct ContextHandle*;
using Stream = struct StreamHandle*;
using Event = struct EventHandle*;
using Module = struct ModuleHandle*;
using Function = struct FunctionHandle*;
using Graph = struct GraphHandle*;
using GraphExec = struct GraphExecHandle*;
using MemoryPool = struct MemoryPoolHandle*;
using LinkState = struct LinkStateHandle*;
using Node = struct NodeHandle*;
using Condition = std::uint64_t;  // CUgraphConditionalHandle

constexpr Result kSuccess = 0, kOutOfMemory = 2, kNotReady = 600;
constexpr int kAttributeMultiprocessors = 16, kAttributeMajor = 75, kAttributeMinor = 76;
constexpr int kPoolReleaseThreshold = 4;
constexpr unsigned kStreamNonBlocking = 1, kEventNoTiming = 2;
constexpr int kCaptureThreadLocal = 1;
constexpr Result kCaptureUnsupported = 900, kCaptureLast = 908;  // what can go wrong with captures
constexpr int kCaptureGoesOn = 1, kNodeConditional = 13, kConditionIf = 0, kConditionWhile = 1;
constexpr unsigned kSetDependencies = 1;
constexpr Result kNotSupported = 801;
constexpr int kJitErrorLog = 5, kJitErrorLogBytes = 6, kInputPtx = 1;

/// CUDA_MEMCPY2D.
struct Copy2D {
  std::size_t source_x = 0, source_y = 0;
  int source_type = 0;
  const void* source_host = nullptr;
  DevicePointer source = 0;
  void* source_array = nullptr;
  std::size_t source_pitch = 0;
  std::size_t target_x = 0, target_y = 0;
  int target_type = 0;
  void* target_host = nullptr;
  DevicePointer target = 0;
  void* target_array = nullptr;
  std::size_t target_pitch = 0;
  std::size_t width = 0, height = 0;
};
constexpr int kMemoryOfDevice = 2;
constexpr int kPlaceDevice = 1, kReadAndWrite = 3;

/// CUmemAccessDesc.
struct PoolAccess {
  int place_type = kPlaceDevice, device = 0, flags = kReadAndWrite;
};

/// CUgraphNodeParams of a conditional node: the rest is zero.
struct ConditionalNode {
  int type = kNodeConditional, reserved[3] = {};
  Condition condition = 0;
  int kind = kConditionIf;
  unsigned size = 1;
  Graph* bodies = nullptr;  // by the driver
  Context context = nullptr;
  long long rest[25] = {}, reserved_too = 0;
};

// Name, parameters. All return a Result.
#define WEFT_CUDA_DRIVER(F)                                                                                                   \
  F(cuInit, (unsigned))                                                                                                       \
  F(cuDriverGetVersion, (int*))                                                                                               \
  F(cuGetErrorName, (Result, const char**))                                                                                   \
  F(cuGetErrorString, (Result, const char**))                                                                                 \
  F(cuDeviceGetCount, (int*))                                                                                                 \
  F(cuDeviceGet, (int*, int))                                                                                                 \
  F(cuDeviceGetName, (char*, int, int))                                                                                       \
  F(cuDeviceTotalMem_v2, (std::size_t*, int))                                                                                 \
  F(cuDeviceGetAttribute, (int*, int, int))                                                                                   \
  F(cuDevicePrimaryCtxRetain, (Context*, int))                                                                                \
  F(cuDevicePrimaryCtxRelease_v2, (int))                                                                                      \
  F(cuCtxSetCurrent, (Context))                                                                                               \
  F(cuStreamCreate, (Stream*, unsigned))                                                                                      \
  F(cuStreamDestroy_v2, (Stream))                                                                                             \
  F(cuStreamSynchronize, (Stream))                                                                                            \
  F(cuStreamWaitEvent, (Stream, Event, unsigned))                                                                             \
  F(cuEventCreate, (Event*, unsigned))                                                                                        \
  F(cuEventDestroy_v2, (Event))                                                                                               \
  F(cuEventRecord, (Event, Stream))                                                                                           \
  F(cuEventElapsedTime, (float*, Event, Event))                                                                               \
  F(cuEventSynchronize, (Event))                                                                                              \
  F(cuDeviceGetDefaultMemPool, (MemoryPool*, int))                                                                            \
  F(cuMemPoolSetAttribute, (MemoryPool, int, void*))                                                                          \
  F(cuMemPoolSetAccess, (MemoryPool, const PoolAccess*, std::size_t))                                                         \
  F(cuDeviceCanAccessPeer, (int*, int, int))                                                                                  \
  F(cuMemPoolTrimTo, (MemoryPool, std::size_t))                                                                               \
  F(cuMemAllocAsync, (DevicePointer*, std::size_t, Stream))                                                                   \
  F(cuMemFreeAsync, (DevicePointer, Stream))                                                                                  \
  F(cuMemGetInfo_v2, (std::size_t*, std::size_t*))                                                                            \
  F(cuMemAllocHost_v2, (void**, std::size_t))                                                                                 \
  F(cuMemFreeHost, (void*))                                                                                                   \
  F(cuMemcpyHtoDAsync_v2, (DevicePointer, const void*, std::size_t, Stream))                                                  \
  F(cuMemcpyDtoHAsync_v2, (void*, DevicePointer, std::size_t, Stream))                                                        \
  F(cuMemcpyDtoDAsync_v2, (DevicePointer, DevicePointer, std::size_t, Stream))                                                \
  F(cuMemcpy2DAsync_v2, (const Copy2D*, Stream))                                                                              \
  F(cuMemsetD8Async, (DevicePointer, unsigned char, std::size_t, Stream))                                                     \
  F(cuEventQuery, (Event))                                                                                                    \
  F(cuMemcpyPeerAsync, (DevicePointer, Context, DevicePointer, Context, std::size_t, Stream))                                 \
  F(cuLinkCreate_v2, (unsigned, int*, void**, LinkState*))                                                                    \
  F(cuLinkAddData_v2, (LinkState, int, void*, std::size_t, const char*, unsigned, int*, void**))                              \
  F(cuLinkComplete, (LinkState, void**, std::size_t*))                                                                        \
  F(cuLinkDestroy, (LinkState))                                                                                               \
  F(cuModuleLoadDataEx, (Module*, const void*, unsigned, int*, void**))                                                       \
  F(cuModuleUnload, (Module))                                                                                                 \
  F(cuModuleGetFunction, (Function*, Module, const char*))                                                                    \
  F(cuLaunchKernel, (Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, void**, void**)) \
  F(cuStreamBeginCapture_v2, (Stream, int))                                                                                   \
  F(cuStreamEndCapture, (Stream, Graph*))                                                                                     \
  F(cuGraphInstantiateWithFlags, (GraphExec*, Graph, unsigned long long))                                                     \
  F(cuGraphLaunch, (GraphExec, Stream))                                                                                       \
  F(cuGraphExecDestroy, (GraphExec))                                                                                          \
  F(cuGraphDestroy, (Graph))

// What drivers have since CUDA 12.4: graphs with conditions that kernels set.
#define WEFT_CUDA_CONDITIONS(F)                                                                                  \
  F(cuStreamGetCaptureInfo_v3, (Stream, int*, std::uint64_t*, Graph*, const Node**, const void**, std::size_t*)) \
  F(cuStreamUpdateCaptureDependencies_v2, (Stream, Node*, const void*, std::size_t, unsigned))                   \
  F(cuStreamBeginCaptureToGraph, (Stream, Graph, const Node*, const void*, std::size_t, int))                    \
  F(cuGraphConditionalHandleCreate, (Condition*, Graph, Context, unsigned, unsigned))                            \
  F(cuGraphAddNode_v2, (Node*, Graph, const Node*, const void*, std::size_t, ConditionalNode*))

struct Driver {
#define WEFT_DECLARE(name, parameters) Result(*name) parameters = nullptr;
  WEFT_CUDA_DRIVER(WEFT_DECLARE)
  WEFT_CUDA_CONDITIONS(WEFT_DECLARE)
#undef WEFT_DECLARE
  int version = 0;
  bool has_conditions = false;
};

/// The driver, opened at the first call; WEFT_LIBCUDA names another file than libcuda.so.1. Throws DeviceError saying why there is none.
const Driver& driver();
/// Whether there is a driver with a device; else why not.
bool has_driver(std::string& why_not);

/// Throws DeviceError naming the call, the code and what it was for, if the call failed.
void check(Result r, const char* call, const std::string& what, SourceLoc loc = {});

}  // namespace weft::detail::cuda
