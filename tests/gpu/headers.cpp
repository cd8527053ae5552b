// What weft declares of NVIDIA's libraries against their headers, where the CUDA toolkit is installed: numbers and kinds of parameters,
// layouts of structures, values of constants. Checked by the compiler alone: nothing of the libraries is linked.
#include <doctest/doctest.h>

#include <cstddef>
#include <tuple>
#include <type_traits>

#include "weft/backends/cuda/driver.h"
#include "weft/backends/cuda/libraries/cublaslt.h"
#include "weft/backends/cuda/libraries/cusolver.h"
#include "weft/backends/cuda/libraries/nccl.h"

#ifdef WEFT_HAS_CUDA_HEADERS
#include <cuda.h>
#endif
#ifdef WEFT_HAS_CUBLASLT_HEADER
#include <cublasLt.h>
#endif
#ifdef WEFT_HAS_CUSOLVER_HEADER
#include <cusolverDn.h>
#endif
#ifdef WEFT_HAS_NCCL_HEADER
#include <nccl.h>
#endif

namespace {

/// Whether an argument of one type is passed as one of the other is.
template <class A, class B>
constexpr bool passes_alike =
    sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B> && std::is_floating_point_v<A> == std::is_floating_point_v<B> &&
    std::is_class_v<A> == std::is_class_v<B> && std::is_trivially_copyable_v<A> && std::is_trivially_copyable_v<B>;

template <class Theirs, class Ours>
struct Alike : std::false_type {};
template <class R, class... A, class S, class... B>
struct Alike<R(A...), S(B...)> {
  static constexpr bool value = [] {
    if constexpr (sizeof...(A) == sizeof...(B))
      return sizeof(R) == sizeof(S) && (passes_alike<A, B> && ...);
    else
      return false;
  }();
};

}  // namespace

using namespace weft::detail::cuda;

TEST_CASE("gpu headers: the driver's functions, structures and constants") {
#ifdef WEFT_HAS_CUDA_HEADERS
#define CHECK_FUNCTION(name, parameters) static_assert(Alike<std::remove_reference_t<decltype(::name)>, int parameters>::value, #name);
  WEFT_CUDA_DRIVER(CHECK_FUNCTION)
#if CUDA_VERSION >= 13000
  WEFT_CUDA_CONDITIONS(CHECK_FUNCTION)
  static_assert(sizeof(ConditionalNode) == sizeof(CUgraphNodeParams) &&
                offsetof(ConditionalNode, type) == offsetof(CUgraphNodeParams, type) &&
                offsetof(ConditionalNode, condition) == offsetof(CUgraphNodeParams, conditional.handle) &&
                offsetof(ConditionalNode, kind) == offsetof(CUgraphNodeParams, conditional.type) &&
                offsetof(ConditionalNode, size) == offsetof(CUgraphNodeParams, conditional.size) &&
                offsetof(ConditionalNode, bodies) == offsetof(CUgraphNodeParams, conditional.phGraph_out) &&
                offsetof(ConditionalNode, context) == offsetof(CUgraphNodeParams, conditional.ctx) &&
                offsetof(ConditionalNode, reserved_too) == offsetof(CUgraphNodeParams, reserved2));
  static_assert(sizeof(Condition) == sizeof(CUgraphConditionalHandle) && kNodeConditional == CU_GRAPH_NODE_TYPE_CONDITIONAL &&
                kConditionIf == CU_GRAPH_COND_TYPE_IF && kConditionWhile == CU_GRAPH_COND_TYPE_WHILE &&
                kCaptureGoesOn == CU_STREAM_CAPTURE_STATUS_ACTIVE && kSetDependencies == CU_STREAM_SET_CAPTURE_DEPENDENCIES &&
                kNotSupported == CUDA_ERROR_NOT_SUPPORTED);
#endif
#undef CHECK_FUNCTION
  static_assert(sizeof(Copy2D) == sizeof(CUDA_MEMCPY2D) && offsetof(Copy2D, source) == offsetof(CUDA_MEMCPY2D, srcDevice) &&
                offsetof(Copy2D, source_pitch) == offsetof(CUDA_MEMCPY2D, srcPitch) &&
                offsetof(Copy2D, target) == offsetof(CUDA_MEMCPY2D, dstDevice) &&
                offsetof(Copy2D, target_pitch) == offsetof(CUDA_MEMCPY2D, dstPitch) &&
                offsetof(Copy2D, height) == offsetof(CUDA_MEMCPY2D, Height) &&
                offsetof(Copy2D, width) == offsetof(CUDA_MEMCPY2D, WidthInBytes) &&
                offsetof(Copy2D, source_type) == offsetof(CUDA_MEMCPY2D, srcMemoryType) &&
                offsetof(Copy2D, target_type) == offsetof(CUDA_MEMCPY2D, dstMemoryType));
  static_assert(kSuccess == CUDA_SUCCESS && kOutOfMemory == CUDA_ERROR_OUT_OF_MEMORY && kNotReady == CUDA_ERROR_NOT_READY);
  static_assert(kAttributeMultiprocessors == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT &&
                kAttributeMajor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR &&
                kAttributeMinor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  static_assert(kPoolReleaseThreshold == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD && kStreamNonBlocking == CU_STREAM_NON_BLOCKING &&
                kEventNoTiming == CU_EVENT_DISABLE_TIMING && kCaptureUnsupported == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
                kCaptureLast == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD && kCaptureThreadLocal == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  static_assert(kJitErrorLog == CU_JIT_ERROR_LOG_BUFFER && kJitErrorLogBytes == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES &&
                kInputPtx == CU_JIT_INPUT_PTX);
  static_assert(sizeof(PoolAccess) == sizeof(CUmemAccessDesc) && offsetof(PoolAccess, flags) == offsetof(CUmemAccessDesc, flags) &&
                kPlaceDevice == CU_MEM_LOCATION_TYPE_DEVICE && kReadAndWrite == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  static_assert(kMemoryOfDevice == CU_MEMORYTYPE_DEVICE);
#else
  MESSAGE("cuda.h is not installed: not checked");
#endif
}

TEST_CASE("gpu headers: cuBLASLt") {
#ifdef WEFT_HAS_CUBLASLT_HEADER
#define CHECK_FUNCTION(name, parameters) static_assert(Alike<std::remove_reference_t<decltype(::name)>, int parameters>::value, #name);
  WEFT_CUBLASLT(CHECK_FUNCTION)
#undef CHECK_FUNCTION
  static_assert(sizeof(lt::Algorithm) == sizeof(cublasLtMatmulAlgo_t) && sizeof(lt::Heuristic) == sizeof(cublasLtMatmulHeuristicResult_t) &&
                offsetof(lt::Heuristic, workspace) == offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize) &&
                offsetof(lt::Heuristic, state) == offsetof(cublasLtMatmulHeuristicResult_t, state));
  static_assert(lt::kFloat32 == CUDA_R_32F && lt::kFloat64 == CUDA_R_64F && lt::kFloat16 == CUDA_R_16F && lt::kBFloat16 == CUDA_R_16BF);
  static_assert(lt::kCompute32 == CUBLAS_COMPUTE_32F && lt::kCompute64 == CUBLAS_COMPUTE_64F &&
                lt::kComputeTf32 == CUBLAS_COMPUTE_32F_FAST_TF32);
  static_assert(lt::kAsIs == CUBLAS_OP_N && lt::kTransposed == CUBLAS_OP_T);
  static_assert(lt::kTransposeA == CUBLASLT_MATMUL_DESC_TRANSA && lt::kTransposeB == CUBLASLT_MATMUL_DESC_TRANSB &&
                lt::kEpilogue == CUBLASLT_MATMUL_DESC_EPILOGUE && lt::kBiasPointer == CUBLASLT_MATMUL_DESC_BIAS_POINTER);
  static_assert(lt::kRelu == CUBLASLT_EPILOGUE_RELU && lt::kBias == CUBLASLT_EPILOGUE_BIAS && lt::kGelu == CUBLASLT_EPILOGUE_GELU &&
                (lt::kRelu | lt::kBias) == CUBLASLT_EPILOGUE_RELU_BIAS && (lt::kGelu | lt::kBias) == CUBLASLT_EPILOGUE_GELU_BIAS);
  static_assert(lt::kBatchCount == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT && lt::kBatchStride == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
  static_assert(lt::kMaxWorkspace == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES &&
                lt::kMinAlignmentA == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES &&
                lt::kMinAlignmentA + 3 == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES &&
                lt::kReductionSchemes == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK &&
                lt::kReducedAsComputed == CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
#else
  MESSAGE("cublasLt.h is not installed: not checked");
#endif
}

TEST_CASE("gpu headers: cuSOLVER and cuBLAS") {
#ifdef WEFT_HAS_CUSOLVER_HEADER
#define CHECK_FUNCTION(name, parameters) static_assert(Alike<std::remove_reference_t<decltype(::name)>, int parameters>::value, #name);
  WEFT_CUSOLVER(CHECK_FUNCTION)
  WEFT_CUBLAS(CHECK_FUNCTION)
#if CUDA_VERSION >= 12060
  WEFT_CUSOLVER_LATER(CHECK_FUNCTION)
#endif
#undef CHECK_FUNCTION
  static_assert(solver::kFloat32 == CUDA_R_32F && solver::kFloat64 == CUDA_R_64F && solver::kComplex64 == CUDA_C_32F &&
                solver::kComplex128 == CUDA_C_64F);
  static_assert(solver::kLower == CUBLAS_FILL_MODE_LOWER && solver::kUpper == CUBLAS_FILL_MODE_UPPER && solver::kLeft == CUBLAS_SIDE_LEFT &&
                solver::kRight == CUBLAS_SIDE_RIGHT && solver::kAsIs == CUBLAS_OP_N && solver::kTransposed == CUBLAS_OP_T &&
                solver::kAdjoint == CUBLAS_OP_C && solver::kNonUnit == CUBLAS_DIAG_NON_UNIT && solver::kUnit == CUBLAS_DIAG_UNIT);
  static_assert(solver::kValues == CUSOLVER_EIG_MODE_NOVECTOR && solver::kVectors == CUSOLVER_EIG_MODE_VECTOR);
#else
  MESSAGE("cusolverDn.h is not installed: not checked");
#endif
}

TEST_CASE("gpu headers: NCCL") {
#ifdef WEFT_HAS_NCCL_HEADER
#define CHECK_FUNCTION(name, parameters) static_assert(Alike<std::remove_reference_t<decltype(::name)>, int parameters>::value, #name);
  WEFT_NCCL(CHECK_FUNCTION)
#undef CHECK_FUNCTION
  static_assert(nccl::kSuccess == ncclSuccess && nccl::kInProgress == ncclInProgress && nccl::kNoColor == NCCL_SPLIT_NOCOLOR);
  static_assert(nccl::kInt8 == ncclInt8 && nccl::kUint8 == ncclUint8 && nccl::kInt32 == ncclInt32 && nccl::kUint32 == ncclUint32 &&
                nccl::kInt64 == ncclInt64 && nccl::kUint64 == ncclUint64 && nccl::kFloat16 == ncclFloat16 &&
                nccl::kFloat32 == ncclFloat32 && nccl::kFloat64 == ncclFloat64 && nccl::kBFloat16 == ncclBfloat16);
  static_assert(nccl::kSum == ncclSum && nccl::kMax == ncclMax && nccl::kMin == ncclMin);
#else
  MESSAGE("nccl.h is not installed: not checked");
#endif
}
