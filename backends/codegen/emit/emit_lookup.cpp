// Lanes that read elements of a short row by computed indices, such as the colours of a palette or the parameters of a kind of particle:
// the row is loaded into up to four registers, outside of the loops that it doesn't depend on, and an instruction picks each lane's
// element.
#include <llvm/IR/IntrinsicsX86.h>

#include "weft/backends/codegen/emit/emit_kernel.h"
#include "weft/backends/codegen/schedule/kernel_accesses.h"

namespace weft::detail {

using llvm::Value;

namespace {

constexpr int kRegisterBytes = 64, kMostRegisters = 4;

/// The instruction that picks elements of so many bytes from one or from two registers of 64 bytes.
llvm::Intrinsic::ID picking(int bytes, bool from_two) {
  switch (bytes) {
    case 1: return from_two ? llvm::Intrinsic::x86_avx512_vpermi2var_qi_512 : llvm::Intrinsic::x86_avx512_permvar_qi_512;
    case 2: return from_two ? llvm::Intrinsic::x86_avx512_vpermi2var_hi_512 : llvm::Intrinsic::x86_avx512_permvar_hi_512;
    case 4: return from_two ? llvm::Intrinsic::x86_avx512_vpermi2var_d_512 : llvm::Intrinsic::x86_avx512_permvar_si_512;
    default: return from_two ? llvm::Intrinsic::x86_avx512_vpermi2var_q_512 : llvm::Intrinsic::x86_avx512_permvar_di_512;
  }
}

/// Lanes first, first + 1, ... of a vector, as many as a register has; those that don't exist are arbitrary.
std::vector<int> lanes_from(int first, int width, int all) {
  std::vector<int> lanes;
  for (int l = first; l < first + width; ++l) lanes.push_back(l < all ? l : -1);
  return lanes;
}

}  // namespace

Value* KernelEmitter::look_up(NodeId id, const Copy& copy) {
  const Node& n = k_.dag[id];
  const int arg = static_cast<int>(n.integer), bytes = n.dtype.itemsize();
  if (lanes_ < 2 || features_.vector_bytes != kRegisterBytes || !features_.wide_shuffles(bytes)) return nullptr;
  const std::optional<GatheredRow> row = whole_row(k_, id, vector_dim_);
  const int width = kRegisterBytes / bytes;
  if (!row || row->elements > kMostRegisters * width) return nullptr;
  const int elements = static_cast<int>(row->elements), parts = (elements + width - 1) / width;

  std::uint64_t dims = 0;
  bool pinned = false;
  std::vector<std::int64_t> row_key{-3, arg, 0, row->first, row->elements};
  for (const AffineTerm& t : k_.dag.affine(n.operands[0]).terms) {
    if (t.atom < 0 && varies(k_.dag[~t.atom].dims)) continue;
    dims |= t.atom >= 0 ? std::uint64_t{1} << t.atom : k_.dag[~t.atom].dims;
    pinned |= t.atom < 0 && pinned_[static_cast<std::size_t>(~t.atom)] != 0;
    row_key.push_back(t.atom), row_key.push_back(t.coef);
  }
  row_key.push_back(k_.dag.affine(n.operands[0]).constant);
  for (std::size_t i = 0; i < frames_.size(); ++i)
    row_key.push_back(frames_[i].dim >= 0 && (dims >> frames_[i].dim & 1) && i < copy.size() ? copy[i] : 0);
  const int level = level_of(dims, pinned);
  llvm::Type* element = builder_.memory_type(n.dtype);
  llvm::FixedVectorType* numbers =
      llvm::FixedVectorType::get(ir_.getIntNTy(static_cast<unsigned>(8 * bytes)), static_cast<unsigned>(width));
  Values table;
  for (int part = 0; part < parts; ++part) {
    row_key[2] = part;
    Value*& held = frames_[static_cast<std::size_t>(level)].addresses[row_key];
    if (!held)
      held = at_level(level, [&]() -> Value* {
        Value* first = ir_.CreateAdd(shared_part(n.operands[0], copy), i64(row->first + part * width));
        Value* from = ir_.CreateGEP(element, args_[static_cast<std::size_t>(arg)], first);
        const int kept = std::min(width, elements - part * width);
        if (kept == width) return ir_.CreateAlignedLoad(numbers, from, element_align(n.dtype));
        std::vector<llvm::Constant*> lanes;
        for (int l = 0; l < width; ++l) lanes.push_back(ir_.getInt1(l < kept));
        return ir_.CreateMaskedLoad(numbers, from, element_align(n.dtype), llvm::ConstantVector::get(lanes),
                                    llvm::Constant::getNullValue(numbers));
      });
    table.push_back(held);
  }

  Value* which = builder_.splat(llvm::ConstantInt::get(index_type(), static_cast<std::uint64_t>(-row->first)), lanes_);
  which = ir_.CreateAdd(which, lane_part(n.operands[0], copy));
  which = ir_.CreateZExtOrTrunc(which, llvm::FixedVectorType::get(numbers->getElementType(), static_cast<unsigned>(lanes_)));
  Value* all = nullptr;
  for (int first = 0; first < lanes_; first += width) {
    Value* lanes = lanes_ == width ? which : ir_.CreateShuffleVector(which, lanes_from(first, width, lanes_));
    // The instruction looks at as many bits of a lane's number as it has elements to choose from.
    const auto pick = [&](std::size_t from) {
      return from + 1 < table.size() ? ir_.CreateIntrinsic(picking(bytes, true), {}, {table[from], lanes, table[from + 1]})
                                     : ir_.CreateIntrinsic(picking(bytes, false), {}, {table[from], lanes});
    };
    Value* picked = pick(0);
    if (parts > 2) {
      Value* below = ir_.CreateICmpULT(lanes, llvm::ConstantInt::get(lanes->getType(), static_cast<std::uint64_t>(2 * width)));
      picked = ir_.CreateSelect(below, picked, pick(2));
    }
    if (lanes_ < width) picked = ir_.CreateShuffleVector(picked, lanes_from(0, lanes_, width));
    if (!all) {
      all = picked;
      continue;
    }
    std::vector<int> joined;  // the lanes so far, then these
    picked = ir_.CreateShuffleVector(picked, lanes_from(0, first, width));
    for (int l = 0; l < first; ++l) joined.push_back(l);
    for (int l = 0; l < width; ++l) joined.push_back(first + l);
    all = ir_.CreateShuffleVector(all, picked, joined);
  }
  return builder_.from_memory(ir_.CreateBitCast(all, llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes_))), n.dtype);
}

}  // namespace weft::detail
