// Lanes that are loaded from places of their own.
#include <llvm/IR/IntrinsicInst.h>

#include "weft/backends/codegen/emit/emit_kernel.h"
#include "weft/backends/codegen/emit/lane_order.h"

namespace weft::detail {

using llvm::Value;

namespace {

constexpr int kWordBytes = 4;
constexpr std::int64_t kMostBytes = 0x7fffffff;

/// Where a load lies among those of other copies, which read the same words: how many elements behind the first of its kind, by copies of
/// loops along which positions move evenly; `kind` is what the others have in common with it.
struct PlaceInWord {
  std::vector<std::int64_t> kind;
  std::int64_t offset = 0;
  bool shared = false;  ///< another copy reads a neighbour
};

}  // namespace

/// Elements of one or two bytes at computed places, which no instruction gathers: words are gathered that hold them, and, where several
/// copies of a loop read neighbours, such as the channels of a pixel, all of these. The last word of an array ends where the array ends.
/// Null where elements are better loaded one by one.
Value* KernelEmitter::load_from_words(const LaneLoad& l, const Copy& copy) {
  const int bytes = static_cast<int>(l.type->getElementType()->getPrimitiveSizeInBits()) / 8;
  const KernelArg& a = k_.args[static_cast<std::size_t>(l.arg)];
  if (!l.at.indices || bytes > 2 || wide_index_ || lanes_ < 8 || a.written || a.elements * bytes < kWordBytes ||
      a.elements > kMostBytes / bytes)
    return nullptr;
  const Affine& position = k_.dag.affine(k_.dag[l.id].operands[0]);
  PlaceInWord place{{-3, l.arg}, position.constant};
  std::uint64_t uneven = 0;
  for (const AffineTerm& t : position.terms) {
    place.kind.push_back(t.atom), place.kind.push_back(t.coef);
    if (t.atom < 0) uneven |= k_.dag[~t.atom].dims;
  }
  for (std::size_t i = 0; i < copy.size(); ++i) {
    const Frame& f = frames_[i];
    const bool even = f.dim >= 0 && (uneven >> f.dim & 1) == 0;
    std::int64_t apart = 0;
    for (const AffineTerm& t : position.terms)
      if (even && t.atom == f.dim) apart = t.coef * f.step;
    place.offset += apart * copy[i];
    place.kind.push_back(even ? 0 : copy[i]);
    place.shared |= f.unroll > 1 && apart != 0 && std::abs(apart) * bytes < kWordBytes;
  }
  if (!features_.fast_gathers && !(features_.masked_memory && place.shared)) return nullptr;

  llvm::Type* const words = llvm::FixedVectorType::get(ir_.getInt32Ty(), static_cast<unsigned>(lanes_));
  const auto all = [&](std::int64_t n) { return llvm::ConstantInt::get(words, static_cast<std::uint64_t>(n)); };
  std::vector<std::int64_t> word_key = place.kind, shift_key = place.kind;
  word_key.push_back(0), shift_key.push_back(1);
  Value *word = nullptr, *shift = nullptr;
  std::int64_t behind = 0;
  auto& shared = shared_loads(l.id);
  for (; !l.mask && behind * bytes < kWordBytes && !word; ++behind) {
    word_key.back() = 2 * (place.offset - behind), shift_key.back() = word_key.back() + 1;
    if (const auto found = shared.find(word_key); found != shared.end()) word = found->second, shift = shared.at(shift_key);
  }
  behind = word ? behind - 1 : 0;
  if (!word) {
    fetch_gathered(l.arg, k_.dag[l.id].operands[0], copy);
    Value* const at = ir_.CreateMul(full(l.at.indices), all(bytes));
    Value* const from = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, at, all(a.elements * bytes - kWordBytes));
    Value* const mask =
        l.mask ? l.mask : llvm::Constant::getAllOnesValue(llvm::FixedVectorType::get(ir_.getInt1Ty(), static_cast<unsigned>(lanes_)));
    word = ir_.CreateMaskedGather(words, ir_.CreateGEP(ir_.getInt8Ty(), args_[static_cast<std::size_t>(l.arg)], from), llvm::Align(1), mask,
                                  llvm::Constant::getNullValue(words));
    shift = ir_.CreateMul(ir_.CreateSub(at, from), all(8));
    word_key.back() = 2 * place.offset, shift_key.back() = word_key.back() + 1;
    if (!l.mask) shared[word_key] = word, shared[shift_key] = shift;
  }
  return ir_.CreateTrunc(ir_.CreateLShr(word, ir_.CreateAdd(shift, all(8 * bytes * behind))), l.type);
}

Value* KernelEmitter::load_gathered(const LaneLoad& l, const Copy& copy) {
  if (Value* const v = load_from_words(l, copy)) return v;
  llvm::Type* const element = l.type->getElementType();
  Value* pointers = nullptr;
  if (l.at.indices) {
    fetch_gathered(l.arg, k_.dag[l.id].operands[0], copy);
    pointers = ir_.CreateGEP(element, args_[static_cast<std::size_t>(l.arg)], l.at.indices);
  } else {
    Value* const first = l.at.odd ? ir_.CreateGEP(element, l.at.pointer, i64(1)) : l.at.pointer;
    Value* const stride = llvm::ConstantInt::get(index_type(), static_cast<std::uint64_t>(l.at.stride));
    pointers = ir_.CreateGEP(element, first, ir_.CreateMul(lane_numbers(), builder_.splat(stride, lanes_)));
  }
  Value* const all = llvm::Constant::getAllOnesValue(llvm::FixedVectorType::get(ir_.getInt1Ty(), static_cast<unsigned>(lanes_)));
  return ir_.CreateMaskedGather(l.type, pointers, l.align, l.mask ? l.mask : all, llvm::Constant::getNullValue(l.type));
}

/// Takes a gather whose result is only stored apart: an element goes from memory to memory through a register of its own, which keeps fewer
/// of the processor's units busy than putting vectors together does.
bool KernelEmitter::store_gathered(const Store& s, Value* to, Value* v) {
  auto* const gather = llvm::dyn_cast<llvm::IntrinsicInst>(v);
  if (!gather || gather->getIntrinsicID() != llvm::Intrinsic::masked_gather || !gather->use_empty() ||
      gather->getParent() != ir_.GetInsertBlock() || (k_.dag[s.position].dims & ~k_.dag[s.value].dims) != 0)
    return false;
  const auto* mask = llvm::dyn_cast<llvm::Constant>(gather->getArgOperand(2));
  auto* const places = llvm::dyn_cast<llvm::GetElementPtrInst>(gather->getArgOperand(0));
  if (!mask || !mask->isAllOnesValue() || !places || places->getNumIndices() != 1) return false;
  llvm::Type* const element = places->getSourceElementType();
  Value* const indices = places->getOperand(1);
  if (element->getPrimitiveSizeInBits() < 32 || VectorBuilder::lanes_of(indices) != lanes_) return false;
  // Processors store more registers of integers than of other numbers at a time.
  llvm::Type* const integer = ir_.getIntNTy(static_cast<unsigned>(element->getPrimitiveSizeInBits()));
  const llvm::Align align = element_align(k_.args[static_cast<std::size_t>(s.arg)].dtype);
  for (int lane = 0; lane < lanes_; ++lane) {
    Value* const from = ir_.CreateGEP(element, places->getPointerOperand(), lane_of_indices(indices, lane));
    ir_.CreateAlignedStore(ir_.CreateAlignedLoad(integer, from, align), ir_.CreateGEP(element, to, i64(lane)), align);
  }
  // Another store may have taken the same one.
  if (llvm::Instruction* const taken = gather; !contains(taken_apart_, taken)) taken_apart_.push_back(taken);
  return true;
}

/// As i64. Two of 32 bits are taken out of a vector at once.
Value* KernelEmitter::lane_of_indices(Value* indices, int lane) {
  if (auto* const known = llvm::dyn_cast<llvm::Constant>(indices))
    return i64(llvm::cast<llvm::ConstantInt>(known->getAggregateElement(static_cast<unsigned>(lane)))->getSExtValue());
  if (wide_index_) return ir_.CreateExtractElement(indices, static_cast<std::uint64_t>(lane));
  auto* const pairs = llvm::FixedVectorType::get(ir_.getInt64Ty(), static_cast<unsigned>(lanes_ / 2));
  Value* const both = ir_.CreateExtractElement(ir_.CreateBitCast(indices, pairs), static_cast<std::uint64_t>(lane / 2));
  return lane % 2 == 1 ? ir_.CreateAShr(both, 32) : ir_.CreateSExt(ir_.CreateTrunc(both, ir_.getInt32Ty()), ir_.getInt64Ty());
}

void KernelEmitter::remove_unused_gathers() {
  for (llvm::Instruction* gather : taken_apart_) {
    if (!gather->use_empty()) continue;
    auto* const places = llvm::cast<llvm::Instruction>(gather->getOperand(0));
    gather->eraseFromParent();
    if (places->use_empty()) places->eraseFromParent();
  }
  taken_apart_.clear();
}

}  // namespace weft::detail
