// Constants of long vector formulas on processors with 16 registers of 32 bytes.
#pragma once
#include <llvm/IR/Module.h>

namespace weft::detail {

/// Where a block of code has more constants than registers could keep, those of floating-point arithmetic are read from memory as whole
/// vectors, which is part of the instruction that uses them. The code generator would broadcast each from a single number, by an
/// instruction of its own.
void keep_constants_in_memory(llvm::Module& module);

}  // namespace weft::detail
