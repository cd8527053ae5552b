// Lanes that are loaded from places of their own.
#include <llvm/Analysis/VectorUtils.h>
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

/// A sum or product of a vector and the same number in all lanes: the vector; null where it is something else. `number` becomes the other.
Value* scaled_or_shifted(Value* indices, Value*& number) {
  auto* const of_two = llvm::dyn_cast<llvm::BinaryOperator>(indices);
  if (!of_two || (of_two->getOpcode() != llvm::Instruction::Add && of_two->getOpcode() != llvm::Instruction::Mul)) return nullptr;
  for (unsigned i = 0; i < 2; ++i)
    if ((number = llvm::getSplatValue(of_two->getOperand(i)))) return of_two->getOperand(1 - i);
  return nullptr;
}

/// The vector of integers that is loaded from memory of which these indices are the elements, resized, scaled and shifted; null where they
/// are computed in another way.
llvm::LoadInst* loaded_indices(Value* indices) {
  Value* number = nullptr;
  if (auto* const resized = llvm::dyn_cast<llvm::CastInst>(indices); resized && resized->isIntegerCast())
    return loaded_indices(resized->getOperand(0));
  if (Value* const vector = scaled_or_shifted(indices, number)) return loaded_indices(vector);
  auto* const load = llvm::dyn_cast<llvm::LoadInst>(indices);
  return load && load->isSimple() && load->getType()->getScalarSizeInBits() >= 8 ? load : nullptr;
}

/// A lane of such indices. The element is loaded where the whole vector is: what follows may write to that memory.
Value* loaded_lane(llvm::IRBuilder<>& ir, Value* indices, unsigned lane) {
  if (auto* const load = llvm::dyn_cast<llvm::LoadInst>(indices)) {
    const llvm::IRBuilder<>::InsertPointGuard saved(ir);
    ir.SetInsertPoint(load);
    llvm::Type* const element = load->getType()->getScalarType();
    const llvm::Align align(element->getPrimitiveSizeInBits() / 8);
    return ir.CreateAlignedLoad(element, ir.CreateConstGEP1_64(element, load->getPointerOperand(), lane),
                                std::min(align, load->getAlign()));
  }
  if (auto* const resized = llvm::dyn_cast<llvm::CastInst>(indices))
    return ir.CreateCast(resized->getOpcode(), loaded_lane(ir, resized->getOperand(0), lane), resized->getType()->getScalarType());
  Value* number = nullptr;
  Value* const vector = scaled_or_shifted(indices, number);
  return ir.CreateBinOp(llvm::cast<llvm::BinaryOperator>(indices)->getOpcode(), loaded_lane(ir, vector, lane), number);
}

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
  const bool in_memory = loaded_indices(indices) != nullptr;
  if ((element->getPrimitiveSizeInBits() < 32 && !in_memory) || VectorBuilder::lanes_of(indices) != lanes_) return false;
  // Processors store more registers of integers than of other numbers at a time.
  llvm::Type* const integer = ir_.getIntNTy(static_cast<unsigned>(element->getPrimitiveSizeInBits()));
  const llvm::Align align = element_align(k_.args[static_cast<std::size_t>(s.arg)].dtype);
  // Loads and stores are what bounds this, so that computed indices do not go by way of memory.
  const std::vector<Value*> places_in_memory = in_memory ? lanes_of_indices(indices) : std::vector<Value*>();
  for (int lane = 0; lane < lanes_; ++lane) {
    Value* const index = in_memory ? places_in_memory[static_cast<std::size_t>(lane)]
                                   : ir_.CreateSExt(ir_.CreateExtractElement(indices, static_cast<std::uint64_t>(lane)), ir_.getInt64Ty());
    Value* const from = ir_.CreateGEP(element, places->getPointerOperand(), index);
    ir_.CreateAlignedStore(ir_.CreateAlignedLoad(integer, from, align), ir_.CreateGEP(element, to, i64(lane)), align);
  }
  // Another store may have taken the same one.
  if (llvm::Instruction* const taken = gather; !contains(taken_apart_, taken)) taken_apart_.push_back(taken);
  return true;
}

/// The lanes of indices, each as i64. Those that come from memory are loaded one by one. Others go by way of memory: a lane that is taken
/// out of a vector keeps the unit busy that puts vectors together. Vectors that fit a general register don't take that way: LLVM reads
/// their first lane from the register that was stored, and where bits of the lanes are known, as of `x & 3 | 4`, an address that it
/// computes from that has the second lane's bits in it too.
std::vector<Value*> KernelEmitter::lanes_of_indices(Value* indices) {
  auto* const type = llvm::cast<llvm::FixedVectorType>(indices->getType());
  std::vector<Value*> lanes;
  if (loaded_indices(indices)) {
    for (unsigned lane = 0; lane < type->getNumElements(); ++lane)
      lanes.push_back(ir_.CreateSExt(loaded_lane(ir_, indices, lane), ir_.getInt64Ty()));
    return lanes;
  }
  if (type->getPrimitiveSizeInBits() <= 64) {
    for (unsigned lane = 0; lane < type->getNumElements(); ++lane)
      lanes.push_back(ir_.CreateSExt(ir_.CreateExtractElement(indices, std::uint64_t{lane}), ir_.getInt64Ty()));
    return lanes;
  }
  llvm::AllocaInst* memory = nullptr;
  if (!llvm::isa<llvm::Constant>(indices)) {
    llvm::BasicBlock& entry = function_->getEntryBlock();
    memory = llvm::IRBuilder<>(&entry, entry.begin()).CreateAlloca(type);
    memory->setAlignment(llvm::Align(64));
    ir_.CreateAlignedStore(indices, memory, llvm::Align(64));
  }
  const llvm::Align align(type->getScalarSizeInBits() / 8);
  for (unsigned lane = 0; lane < type->getNumElements(); ++lane) {
    if (!memory) {
      lanes.push_back(i64(llvm::cast<llvm::ConstantInt>(llvm::cast<llvm::Constant>(indices)->getAggregateElement(lane))->getSExtValue()));
      continue;
    }
    Value* const at = ir_.CreateConstGEP1_64(type->getElementType(), memory, lane);
    lanes.push_back(ir_.CreateSExt(ir_.CreateAlignedLoad(type->getElementType(), at, align), ir_.getInt64Ty()));
  }
  return lanes;
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

/// Gathers of few lanes, or of 64 bits, become single loads. Processors that keep what is speculated from leaking take 30 cycles for an
/// instruction that gathers, and others no less than for the loads.
void KernelEmitter::take_gathers_apart(std::span<llvm::BasicBlock* const> blocks) {
  std::vector<llvm::IntrinsicInst*> gathers;
  for (llvm::BasicBlock* const block : blocks)
    for (llvm::Instruction& i : *block)
      if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i); call && call->getIntrinsicID() == llvm::Intrinsic::masked_gather)
        gathers.push_back(call);
  const llvm::IRBuilder<>::InsertPointGuard saved(ir_);
  for (llvm::IntrinsicInst* gather : gathers) {
    auto* const type = llvm::cast<llvm::FixedVectorType>(gather->getType());
    const bool is_word = type->getScalarSizeInBits() == 8 * kWordBytes;
    auto* const places = llvm::dyn_cast<llvm::GetElementPtrInst>(gather->getArgOperand(0));
    if ((is_word && type->getNumElements() >= features_.gathered_lanes) || !places || places->getNumIndices() != 1) continue;
    ir_.SetInsertPoint(gather);
    if (Value* const v = loaded_one_by_one(*gather, *places)) {
      gather->replaceAllUsesWith(v);
      gather->eraseFromParent();
      if (places->use_empty()) places->eraseFromParent();
    }
  }
}

/// Null where lanes that are masked have no address that can be read.
Value* KernelEmitter::loaded_one_by_one(llvm::Instruction& gather, llvm::GetElementPtrInst& places) {
  auto* const type = llvm::cast<llvm::FixedVectorType>(gather.getType());
  Value *const mask = gather.getOperand(2), *indices = places.getOperand(1);
  const auto* const known = llvm::dyn_cast<llvm::Constant>(mask);
  if (!known) {
    const auto arg = std::find(args_.begin(), args_.end(), places.getPointerOperand());
    if (arg == args_.end() || k_.args[static_cast<std::size_t>(arg - args_.begin())].elements == 0) return nullptr;
    indices = ir_.CreateSelect(mask, indices, llvm::Constant::getNullValue(indices->getType()));
  }
  const llvm::Align align = llvm::cast<llvm::ConstantInt>(gather.getOperand(1))->getAlignValue();
  Value* all = known && !known->isAllOnesValue() ? gather.getOperand(3) : llvm::PoisonValue::get(type);
  const Values lanes = lanes_of_indices(indices);
  for (unsigned lane = 0; lane < type->getNumElements(); ++lane) {
    if (known && known->getAggregateElement(lane)->isNullValue()) continue;
    Value* const from = ir_.CreateGEP(places.getSourceElementType(), places.getPointerOperand(), lanes[lane]);
    all = ir_.CreateInsertElement(all, ir_.CreateAlignedLoad(type->getElementType(), from, align), std::uint64_t{lane});
  }
  return known ? all : ir_.CreateSelect(mask, all, gather.getOperand(3));
}

}  // namespace weft::detail
