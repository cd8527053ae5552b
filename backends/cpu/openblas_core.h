// Which of OpenBLAS's codes for the processor runs.
#pragma once

namespace weft::detail {

/// Whether other libraries of this process are linked to OpenBLAS, so that their threads may be inside it.
bool others_use_openblas();
/// OpenBLAS takes processors that are newer than it is for the oldest of 64 bits, whose code has vectors of two float64 and takes twice to
/// three times as long. Those with AVX2 get the code for that, unless the environment variable OPENBLAS_CORETYPE chooses. Not to be called
/// while a thread is inside OpenBLAS.
void use_avx2_if_unknown();

}  // namespace weft::detail
