// How a test speaks to the fake libraries, which the library under test has opened as if they were libcuda, libcublasLt and libnccl.
#pragma once

extern "C" {
/// The n-th call from now of this entry point (1: the next) gives the code; then it works again. Null: nothing fails any more.
/// FAKE_CUDA_FAIL, FAKE_CUBLASLT_FAIL, FAKE_CUSOLVER_FAIL: an entry point whose first call in the process fails.
void fake_cuda_fail(const char* call, int n, int code);
void fake_cublaslt_fail(const char* call, int n, int code);
void fake_cusolver_fail(const char* call, int n, int code);
void fake_nccl_fail(const char* call, int n, int code);
/// How often an entry point was called since the last reset.
int fake_cuda_calls(const char* call);
int fake_cublaslt_calls(const char* call);
int fake_cusolver_calls(const char* call);
int fake_nccl_calls(const char* call);
void fake_cuda_reset_calls();
void fake_cublaslt_reset_calls();
void fake_cusolver_reset_calls();
void fake_nccl_reset_calls();
/// The k-th entry point, null after the last.
const char* fake_cuda_name(int k);
const char* fake_cublaslt_name(int k);
const char* fake_cusolver_name(int k);
const char* fake_nccl_name(int k);
/// What exists: "memory" (blocks), "pinned", "module", "event", "stream", "graph", "exec", "link", "context" (times retained).
int fake_cuda_live(const char* kind);
/// Descriptions, layouts and preferences; communicators.
int fake_cublaslt_live();
int fake_nccl_live();
/// Handles and parameters of cuSOLVER, handles of cuBLAS.
int fake_cusolver_live();
/// Whether a device may read and write the memory at an address.
bool fake_cuda_reaches(int device, const void* p);
/// The device of the calling thread's context; -1: it has none.
int fake_cuda_current_device();
/// For the other libraries: the calling thread's context; whether that is a stream's, which is not captured; whether so many bytes are a
/// device's.
void* fake_cuda_current();
bool fake_cuda_usable(void* stream);
bool fake_cuda_has_memory(const void* p, unsigned long bytes);
/// Makes the transfers that wait, for a collective that works on the devices' memory.
void fake_cuda_collective();
/// So many queries of events that were recorded after the last collective say that they are not yet reached.
void fake_cuda_busy(int queries);
/// Launches do nothing from now on, to time what is around them.
void fake_cuda_skip_kernels(bool skip);
/// So many milliseconds pass, as far as events can tell.
void fake_cuda_advance(double milliseconds);
/// How many algorithms are proposed for a product (1, or FAKE_CUBLASLT_CANDIDATES); which of them takes half the time of the others, and
/// which does not run.
void fake_cublaslt_candidates(int count, int fastest, int failing);
/// The number of the algorithm of the last product.
int fake_cublaslt_last_candidate();
/// The status that the next question for an asynchronous error gives.
void fake_nccl_async_error(int status);
/// How products were computed last: cuBLASLt's compute type and epilogue.
int fake_cublaslt_last_compute();
int fake_cublaslt_last_epilogue();
}
