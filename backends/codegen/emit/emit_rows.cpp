// Reductions whose accumulators are in memory: the reducing loop goes through whole rows.
#include "weft/backends/codegen/emit/emit_kernel.h"

namespace weft::detail {

using llvm::Value;

void KernelEmitter::reduce_rows(std::size_t number) {
  const Nest& t = k_.nests[number];
  const NestSchedule& plan = s_.nests[number];
  // The accumulators of each point; along the vectors, a whole number of them.
  const auto extent = [&](const LoopPlan& l) {
    const std::int64_t n = k_.dag.dims[static_cast<std::size_t>(l.dim)];
    return l.vector ? (n + s_.lanes - 1) / s_.lanes * s_.lanes : n;
  };
  std::int64_t points = 1;
  for (const LoopPlan& l : plan.parallel) points *= extent(l);
  Values memory;
  for (const Reduction& r : t.reductions) {
    llvm::BasicBlock& entry = function_->getEntryBlock();
    llvm::AllocaInst* m = llvm::IRBuilder<>(&entry, entry.begin())
                              .CreateAlloca(llvm::ArrayType::get(builder_.type(r.dtype), static_cast<std::uint64_t>(points)));
    m->setAlignment(llvm::Align(64));
    memory.push_back(m);
  }
  const auto at = [&](std::size_t r, const Copy& copy) {
    llvm::Type* element = builder_.type(t.reductions[r].dtype);
    Value* index = i64(0);
    std::int64_t fixed = 0;
    for (const LoopPlan& l : plan.parallel)
      for (std::size_t i = 0; i < frames_.size(); ++i)
        if (frames_[i].dim == l.dim) {
          index = ir_.CreateAdd(ir_.CreateMul(index, i64(extent(l))), frames_[i].iteration);
          fixed = fixed * extent(l) + copy[i] * frames_[i].step;
        }
    return ir_.CreateGEP(element, ir_.CreateGEP(element, memory[r], index), i64(fixed));
  };
  const auto type = [&](std::size_t r) -> llvm::Type* {
    llvm::Type* element = builder_.type(t.reductions[r].dtype);
    return lanes_ > 1 ? llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes_)) : element;
  };
  const auto align = [&](std::size_t r) { return llvm::Align(static_cast<std::uint64_t>(t.reductions[r].dtype.itemsize())); };
  const auto get_sum = [&](std::size_t r, const Copy& copy) { return ir_.CreateAlignedLoad(type(r), at(r, copy), align(r)); };
  const auto set_sum = [&](std::size_t r, const Copy& copy, Value* v) { ir_.CreateAlignedStore(v, at(r, copy), align(r)); };
  const auto for_each_sum = [&](const std::function<void(std::size_t, const Copy&)>& f) {
    for_each_copy([&](const Copy& copy) {
      for (std::size_t r = 0; r < t.reductions.size(); ++r) f(r, copy);
    });
  };
  run_loops(plan.parallel, {}, [&](Values v) {
    for_each_sum(
        [&](std::size_t r, const Copy& copy) { set_sum(r, copy, builder_.splat(reduction_identity(builder_, t.reductions[r]), lanes_)); });
    return v;
  });
  run_loops(plan.reduce, {}, [&](Values v) {
    const std::size_t row = frames_.size() - 1;
    run_loops(plan.parallel, {}, [&](Values w) {
      for_each_sum([&](std::size_t r, const Copy& first) {
        if (first[row] != 0) return;
        Value* sum = get_sum(r, first);
        for (Copy copy = first; copy[row] < frames_[row].unroll; ++copy[row])
          sum = accumulate(t.reductions[r], sum, copy, lanes_ > 1, nullptr);
        set_sum(r, first, sum);
      });
      return w;
    });
    return v;
  });
  run_loops(plan.parallel, {}, [&](Values v) {
    for_each_sum([&](std::size_t r, const Copy& copy) {
      const auto node = local_nodes_.find(t.reductions[r].local);
      if (node != local_nodes_.end()) frames_.back().memo[key(node->second, copy)] = get_sum(r, copy);
    });
    store_all(number, false);
    return v;
  });
}

}  // namespace weft::detail
