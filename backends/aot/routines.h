// The archive's routines: each runs one operation by its plan (plans.h) on the addresses of its operands, then of its results. They return
// 0 or a status of aot.h, run on the calling thread, and call nothing but the C library.
#pragma once
#include <cstdint>

extern "C" {
std::int32_t weft_aot_sort(const void* plan, void* const* arrays);
std::int32_t weft_aot_top_k(const void* plan, void* const* arrays);
std::int32_t weft_aot_fourier(const void* plan, void* const* arrays);
std::int32_t weft_aot_cholesky(const void* plan, void* const* arrays);
std::int32_t weft_aot_lu(const void* plan, void* const* arrays);
std::int32_t weft_aot_triangular_solve(const void* plan, void* const* arrays);
std::int32_t weft_aot_qr(const void* plan, void* const* arrays);
std::int32_t weft_aot_eigh(const void* plan, void* const* arrays);
std::int32_t weft_aot_svd(const void* plan, void* const* arrays);
std::int32_t weft_aot_scatter(const void* plan, void* const* arrays);
std::int32_t weft_aot_log_sum(const void* plan, void* const* arrays);
std::int32_t weft_aot_elements(const void* plan, void* const* arrays);
std::int32_t weft_aot_gamma(const void* plan, void* const* arrays);
}
