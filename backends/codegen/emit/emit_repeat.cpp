// Loops within one point of a kernel, whose carried values are in registers.
#include <llvm/IR/Module.h>

#include <algorithm>

#include "weft/backends/codegen/emit/emit_kernel.h"

namespace weft::detail {

using llvm::Value;

namespace {
Value* any_lane(llvm::IRBuilder<>& ir, Value* v) {
  const int lanes = VectorBuilder::lanes_of(v);
  if (lanes == 1) return v;
  Value* bits = ir.CreateBitCast(v, ir.getIntNTy(static_cast<unsigned>(lanes)));
  return ir.CreateICmpNE(bits, llvm::Constant::getNullValue(bits->getType()));
}
}  // namespace

void KernelEmitter::repeat(const Repeat& r) {
  std::vector<Copy> copies;
  for_each_copy([&](const Copy& c) { copies.push_back(c); });
  // One phi for each carried value and each copy that differs.
  struct Slot {
    const Repeat::Carried* carried;
    Copy copy;
    Value* start = nullptr;
    llvm::PHINode* phi = nullptr;
    Value* next = nullptr;
  };
  std::vector<Slot> slots;
  for (const Repeat::Carried& c : r.carried) {
    const auto node = local_nodes_.find(c.local);
    if (node == local_nodes_.end()) continue;  // nobody reads it
    const std::uint64_t dims = k_.dag[node->second].dims;
    std::vector<std::uint64_t> seen;
    for (const Copy& copy : copies) {
      const std::uint64_t id = key(node->second, copy);
      if (std::find(seen.begin(), seen.end(), id) != seen.end()) continue;
      seen.push_back(id);
      Value* start = get(c.start, copy);
      if (varies(dims)) start = full(start);
      slots.push_back({&c, copy, start, nullptr, nullptr});
    }
  }
  llvm::BasicBlock* inside = llvm::BasicBlock::Create(module_.getContext(), "repeat", function_);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(module_.getContext(), "done", function_);
  Frame f;
  f.dim = r.dim;
  f.entry = ir_.CreateBr(inside);
  llvm::BasicBlock* before = f.entry->getParent();
  ir_.SetInsertPoint(inside);
  llvm::PHINode* iteration = ir_.CreatePHI(ir_.getInt64Ty(), 2);
  iteration->addIncoming(i64(0), before);
  f.iteration = iteration;
  frames_.push_back(std::move(f));
  for (Slot& s : slots) {
    s.phi = ir_.CreatePHI(s.start->getType(), 2);
    s.phi->addIncoming(s.start, before);
    frames_.back().memo[key(local_nodes_.at(s.carried->local), s.copy)] = s.phi;
  }
  if (r.go_on >= 0) {
    Value* any = nullptr;
    for (const Copy& copy : copies) {
      Value* go = get(r.go_on, copy);
      if (VectorBuilder::lanes_of(go) > 1 && mask_) go = ir_.CreateAnd(go, mask_);
      any = any ? (any->getType() == go->getType() ? ir_.CreateOr(any, go) : ir_.CreateOr(any_lane(ir_, any), any_lane(ir_, go))) : go;
    }
    llvm::BasicBlock* body = llvm::BasicBlock::Create(module_.getContext(), "again", function_);
    ir_.CreateCondBr(any_lane(ir_, any), body, after);
    ir_.SetInsertPoint(body);
  }
  for (const Repeat& inner : r.inner) repeat(inner);
  for (Slot& s : slots) {
    s.next = get(s.carried->next, s.copy);
    const int lanes = VectorBuilder::lanes_of(s.phi);
    if (lanes > 1) s.next = builder_.splat(s.next, lanes);
    if (r.go_on < 0) continue;
    // Finished lanes keep their values; if all lanes go on or none, no select is needed.
    Value* go = get(r.go_on, s.copy);
    if (VectorBuilder::lanes_of(go) > 1 || copies.size() > 1) s.next = ir_.CreateSelect(go, s.next, s.phi);
  }
  std::vector<const Store*> stores;
  for (const Store& s : r.stores) stores.push_back(&s);
  store_all(stores);
  Value* next = ir_.CreateAdd(iteration, i64(1));
  llvm::BasicBlock* last = ir_.GetInsertBlock();
  iteration->addIncoming(next, last);
  for (Slot& s : slots) s.phi->addIncoming(s.next, last);
  if (r.go_on >= 0)
    ir_.CreateBr(inside);
  else
    ir_.CreateCondBr(ir_.CreateICmpSLT(next, i64(k_.dag.dims[static_cast<std::size_t>(r.dim)])), inside, after);
  frames_.pop_back();
  ir_.SetInsertPoint(after);
  for (const Slot& s : slots) {
    const auto node = local_nodes_.find(s.carried->result);
    if (node == local_nodes_.end()) continue;
    const Node& n = k_.dag[node->second];
    auto& memo = frames_[static_cast<std::size_t>(level_of(n.dims, true))].memo;
    memo[key(node->second, s.copy)] = r.go_on >= 0 ? s.phi : s.next;
  }
}

}  // namespace weft::detail
