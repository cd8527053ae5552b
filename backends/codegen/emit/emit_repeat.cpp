// Loops within one point of a kernel, whose carried values are in registers.
#include <llvm/IR/Module.h>

#include <algorithm>

#include "weft/backends/codegen/emit/blocks.h"
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
      slots.push_back({&c, copy, start, nullptr});
    }
  }
  RepeatLoop loop(ir_, ir_.getInt64Ty());
  Frame f;
  f.dim = r.dim;
  f.entry = loop.entry();
  f.iteration = loop.iteration();
  frames_.push_back(std::move(f));
  for (Slot& s : slots) {
    s.phi = loop.carry(s.start);
    frames_.back().memo[key(local_nodes_.at(s.carried->local), s.copy)] = s.phi;
  }
  if (r.go_on >= 0) {
    Value* any = nullptr;
    for (const Copy& copy : copies) {
      Value* go = get(r.go_on, copy);
      if (VectorBuilder::lanes_of(go) > 1 && mask_) go = ir_.CreateAnd(go, mask_);
      any = any ? (any->getType() == go->getType() ? ir_.CreateOr(any, go) : ir_.CreateOr(any_lane(ir_, any), any_lane(ir_, go))) : go;
    }
    loop.go_on_where(any_lane(ir_, any));
  }
  for (const Repeat& inner : r.inner) repeat(inner);
  std::vector<Value*> next;
  for (const Slot& s : slots) {
    Value* v = get(s.carried->next, s.copy);
    const int lanes = VectorBuilder::lanes_of(s.phi);
    if (lanes > 1) v = builder_.splat(v, lanes);
    // Finished lanes keep their values; if all lanes go on or none, no select is needed.
    if (Value* go = r.go_on >= 0 ? get(r.go_on, s.copy) : nullptr; go && (VectorBuilder::lanes_of(go) > 1 || copies.size() > 1))
      v = ir_.CreateSelect(go, v, s.phi);
    next.push_back(v);
  }
  std::vector<const Store*> stores;
  for (const Store& s : r.stores) stores.push_back(&s);
  store_all(stores);
  loop.end(next, k_.dag.dims[static_cast<std::size_t>(r.dim)]);
  frames_.pop_back();
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const Slot& s = slots[i];
    const auto node = local_nodes_.find(s.carried->result);
    if (node == local_nodes_.end()) continue;
    const Node& n = k_.dag[node->second];
    auto& memo = frames_[static_cast<std::size_t>(level_of(n.dims, true))].memo;
    memo[key(node->second, s.copy)] = r.go_on >= 0 ? s.phi : next[i];
  }
}

}  // namespace weft::detail
