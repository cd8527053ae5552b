// OpenBLAS and its threads.
#pragma once

namespace weft::detail {

/// To be called before any function of the library: each call of it is one task of weft's own threads.
void use_one_blas_thread();

}  // namespace weft::detail
