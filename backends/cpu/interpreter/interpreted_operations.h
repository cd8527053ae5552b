// The operations of interpreted code. Values are in one frame of memory: the elements of a vector side by side, a truth value in a byte.
#pragma once
#include <llvm/ADT/StringRef.h>
#include <llvm/IR/InstrTypes.h>

#include <cstdint>

namespace weft::detail::interpreted {

struct Op;
using Run = void (*)(const Op& o, char* frame);

struct Op {
  Run run = nullptr;
  int out = 0, a = 0, b = 0, c = 0;  ///< places in the frame
  int lanes = 1;
  std::int64_t number = 0;
  const int* table = nullptr;
};

/// One truth value, or those of two or four lanes as a number; the latter are only compared and widened.
bool is_bool_or_mask(const llvm::Type* t);

// What does the operation; nullptr if it isn't known. Types are those of elements.
Run binary(llvm::Instruction::BinaryOps op, llvm::Type* t);
Run negate(llvm::Type* t);
Run compare(llvm::CmpInst::Predicate p, llvm::Type* t);
Run cast(llvm::Instruction::CastOps op, llvm::Type* from, llvm::Type* to);
Run select(int bytes);  ///< of each element
Run intrinsic(const llvm::CallInst& call, llvm::Type* t);
/// A function of this library's that kernels call; `table`: the places of its arguments.
Run library(llvm::StringRef name);
Run shuffle(int bytes);  ///< `table`: the places of the elements
/// A pointer and an index, each one or a vector; `number`: the bytes of an element.
Run address(int index_bits, bool pointers, bool indices);
/// At a: one pointer or a vector of them; b: the mask; c: the values elsewhere.
Run masked_load(bool one_pointer, int bytes);
/// The values at a, the pointers at b, the mask at c.
Run masked_store(bool one_pointer, int bytes);

void copy(const Op& o, char* m);          ///< `number` bytes
void select_whole(const Op& o, char* m);  ///< `number` bytes, by one condition
void load(const Op& o, char* m);          ///< `number` bytes
void store(const Op& o, char* m);
void address_of(const Op& o, char* m);  ///< the frame's memory at `number`
void offset(const Op& o, char* m);      ///< a pointer and `number`
void extract(const Op& o, char* m);     ///< `number` bytes, from c on
void insert(const Op& o, char* m);      ///< the same; `lanes`: the bytes of the vector
void pack_bits(const Op& o, char* m);   ///< `lanes` truth values as a number of `number` bytes

}  // namespace weft::detail::interpreted
