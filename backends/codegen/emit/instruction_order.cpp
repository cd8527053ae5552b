#include "weft/backends/codegen/emit/instruction_order.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <vector>

namespace weft::detail {
namespace {

constexpr int kCycle = 3, kIssue = 2;   // units of time: three instructions in two cycles
constexpr std::size_t kLookAhead = 40;  // instructions, which bounds the additional register pressure
constexpr std::size_t kMinInstructions = 12;

/// In cycles, as of recent processors.
int latency(const llvm::Instruction& i) {
  if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i)) switch (call->getIntrinsicID()) {
      case llvm::Intrinsic::fabs:
      case llvm::Intrinsic::copysign:
      case llvm::Intrinsic::smax:
      case llvm::Intrinsic::smin:
      case llvm::Intrinsic::umax:
      case llvm::Intrinsic::umin: return 1;
      case llvm::Intrinsic::sqrt: return 15;
      case llvm::Intrinsic::masked_load: return 8;
      case llvm::Intrinsic::masked_gather: return 20;
      case llvm::Intrinsic::x86_avx512_mask_scalef_ps_512: return 6;
      default: return 4;
    }
  switch (i.getOpcode()) {
    case llvm::Instruction::BitCast:
    case llvm::Instruction::GetElementPtr: return 0;
    case llvm::Instruction::Load: return 7;
    case llvm::Instruction::FAdd:
    case llvm::Instruction::FSub:
    case llvm::Instruction::FMul: return 3;
    case llvm::Instruction::FDiv: return 13;
    case llvm::Instruction::FRem: return 40;
    case llvm::Instruction::FCmp:
    case llvm::Instruction::ICmp:
    case llvm::Instruction::ShuffleVector: return 3;
    case llvm::Instruction::FPToSI:
    case llvm::Instruction::FPToUI:
    case llvm::Instruction::SIToFP:
    case llvm::Instruction::UIToFP:
    case llvm::Instruction::FPTrunc:
    case llvm::Instruction::FPExt: return 4;
    default: return 1;
  }
}

struct Entry {
  llvm::Instruction* instruction = nullptr;
  std::vector<std::size_t> needs;
  int cycles = 0;
  std::int64_t done = -1;  ///< when the result is there; -1: it has no place yet
};

}  // namespace

void interleave_chains(llvm::BasicBlock& block) {
  llvm::Instruction* const end = block.getTerminator();
  std::vector<Entry> all;
  llvm::DenseMap<const llvm::Value*, std::size_t> numbers;
  std::vector<std::size_t> reads;  // since the last write
  std::size_t write = 0;
  bool written = false;
  for (llvm::Instruction& i : block) {
    if (llvm::isa<llvm::PHINode>(i) || &i == end) continue;
    const std::size_t number = all.size();
    Entry e{&i, {}, latency(i), -1};
    for (const llvm::Use& u : i.operands())
      if (const auto found = numbers.find(u.get()); found != numbers.end()) e.needs.push_back(found->second);
    const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
    if (i.mayReadOrWriteMemory() && !(call && call->getIntrinsicID() == llvm::Intrinsic::prefetch)) {
      if (written) e.needs.push_back(write);
      if (i.mayWriteToMemory()) {
        e.needs.insert(e.needs.end(), reads.begin(), reads.end());
        reads.clear();
        write = number, written = true;
      } else {
        reads.push_back(number);
      }
    }
    numbers.insert({&i, number});
    all.push_back(std::move(e));
  }
  if (all.size() < kMinInstructions) return;

  // Picks the first instruction, in the original order, whose operands are ready; if there is none, the one that waits least.
  std::int64_t now = 0;
  for (std::size_t oldest = 0, placed = 0; placed < all.size(); ++placed) {
    while (all[oldest].done >= 0) ++oldest;
    std::size_t chosen = all.size();
    std::int64_t least = 0;
    for (std::size_t k = oldest; k < std::min(all.size(), oldest + kLookAhead); ++k) {
      if (all[k].done >= 0) continue;
      std::int64_t ready = now;
      for (std::size_t n : all[k].needs) ready = all[n].done < 0 || ready < 0 ? -1 : std::max(ready, all[n].done);
      if (ready < 0 || (chosen < all.size() && ready >= least)) continue;
      chosen = k, least = ready;
      if (ready == now) break;
    }
    Entry& e = all[chosen];
    e.done = least + e.cycles * kCycle;
    now = least + (e.cycles > 0 ? kIssue : 0);
    if (end)
      e.instruction->moveBefore(end);
    else
      e.instruction->moveBefore(block, block.end());
  }
}

}  // namespace weft::detail
