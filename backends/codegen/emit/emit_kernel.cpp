// Control flow of emitted kernels: loops and nests.
#include "weft/backends/codegen/emit/emit_kernel.h"
#include "weft/backends/codegen/emit/blocks.h"

#include <llvm/IR/Module.h>

#include <algorithm>
#include <limits>

#include "weft/backends/codegen/emit/by_products.h"
#include "weft/backends/codegen/emit/instruction_order.h"
#include "weft/backends/codegen/schedule/kernel_accesses.h"
#include "weft/core/base/nesting.h"
#include "weft/core/errors/error.h"

namespace weft::detail {

using llvm::Value;

namespace {
bool constant(Value* v, std::int64_t& out) {
  const auto* c = llvm::dyn_cast<llvm::ConstantInt>(v);
  if (c) out = c->getSExtValue();
  return c != nullptr;
}
}  // namespace

KernelEmitter::KernelEmitter(llvm::Module& module, const Kernel& k, const Schedule& s, const VectorFeatures& features,
                             llvm::Function* function)
    : module_(module), k_(k), s_(s), features_(features), ir_(module.getContext()), builder_(ir_, module, features), function_(function) {
  wide_index_ = needs_wide_indices(k);
  pinned_.resize(k.dag.nodes.size());
  for (std::size_t n = 0; n < k.dag.nodes.size(); ++n) {
    const Node& node = k.dag.nodes[n];
    bool pinned = node.kind == NodeKind::local || (node.kind == NodeKind::load && k.args[static_cast<std::size_t>(node.integer)].written);
    for (NodeId o : node.operands) pinned |= o >= 0 && pinned_[static_cast<std::size_t>(o)];
    if (node.kind == NodeKind::index)
      for (const AffineTerm& t : k.dag.affines[static_cast<std::size_t>(node.affine)].terms)
        pinned |= t.atom < 0 && pinned_[static_cast<std::size_t>(~t.atom)];
    pinned_[n] = pinned;
    if (node.kind == NodeKind::local) local_nodes_[static_cast<int>(node.integer)] = static_cast<NodeId>(n);
  }
  loads_ = plain_loads(k);
  by_products_ = nodes_by_products(k, s, features);
  ranges_.resize(k.dag.dims.size());
}

llvm::AllocaInst* KernelEmitter::reserve(const KernelArg& a) {
  const std::int64_t copies = std::int64_t{s_.vector_dim >= 0 ? s_.lanes : 1} * slots();
  llvm::AllocaInst* memory =
      ir_.CreateAlloca(llvm::ArrayType::get(builder_.memory_type(a.dtype), static_cast<std::uint64_t>(a.elements * copies)));
  memory->setAlignment(llvm::Align(64));
  return memory;
}

void KernelEmitter::overlap(std::span<llvm::BasicBlock* const> blocks) {
  if (s_.at_once == 0) return;
  for (llvm::BasicBlock* const block : blocks) interleave_chains(*block);
}

namespace {
/// The function's blocks from one on, up to another or the last.
std::vector<llvm::BasicBlock*> blocks_between(llvm::BasicBlock* first, const llvm::BasicBlock* end) {
  std::vector<llvm::BasicBlock*> blocks;
  for (llvm::BasicBlock* block = first; block != end; block = block->getNextNode()) blocks.push_back(block);
  return blocks;
}
}  // namespace

llvm::BasicBlock* KernelEmitter::run_inline(llvm::BasicBlock* at, std::span<Value* const> args) {
  llvm::BasicBlock* const behind = at->getNextNode();
  std::size_t next = 0;
  for (const KernelArg& a : k_.args) {
    if (!a.scratch) {
      args_.push_back(args[next++]);
      continue;
    }
    llvm::BasicBlock& entry = function_->getEntryBlock();
    ir_.SetInsertPoint(&entry, entry.begin());
    args_.push_back(reserve(a));
  }
  llvm::BasicBlock* body = llvm::BasicBlock::Create(module_.getContext(), "kernel", function_);
  ir_.SetInsertPoint(at);
  frames_.emplace_back();
  frames_.back().entry = ir_.CreateBr(body);
  ir_.SetInsertPoint(body);
  outer_loops();
  if (streamed_) ir_.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent);
  remove_unused_gathers();
  // Its own, and those into which what its loops don't change has cut the block in front of it.
  std::vector<llvm::BasicBlock*> blocks = blocks_between(at->getNextNode(), behind ? behind : body), own = blocks_between(body, nullptr);
  blocks.insert(blocks.end(), own.begin(), own.end());
  overlap(blocks);
  take_gathers_apart(blocks);
  return ir_.GetInsertBlock();
}

void KernelEmitter::run() {
  llvm::BasicBlock* entry = llvm::BasicBlock::Create(module_.getContext(), "entry", function_);
  llvm::BasicBlock* body = llvm::BasicBlock::Create(module_.getContext(), "body", function_);
  ir_.SetInsertPoint(entry);
  std::uint64_t next = 0;
  for (const KernelArg& a : k_.args) {
    if (!a.scratch) {
      Value* slot = ir_.CreateConstGEP1_64(ir_.getPtrTy(), function_->getArg(0), next++);
      args_.push_back(ir_.CreateLoad(ir_.getPtrTy(), slot));
      continue;
    }
    args_.push_back(reserve(a));
  }
  // Loop invariants are emitted in front of this branch, after the stack memory of slow paths.
  llvm::Instruction* jump = ir_.CreateBr(body);
  frames_.emplace_back();
  frames_.back().entry = jump;
  ir_.SetInsertPoint(body);

  Value *begin = function_->getArg(1), *end = function_->getArg(2);
  if (s_.row_bits >= 0) {
    rows(begin, end);
  } else if (s_.task_loops == 0) {
    outer_loops();
  } else if (s_.task_loops == 1) {
    const auto size = i64(k_.dag.dims[static_cast<std::size_t>(s_.outer[0].dim)]);
    ranges_[static_cast<std::size_t>(s_.outer[0].dim)] = {
        ir_.CreateMul(begin, i64(s_.block[0])),
        ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, ir_.CreateMul(end, i64(s_.block[0])), size)};
    outer_loops();
  } else {
    loop(-1, begin, end, 1, 1, 0, {}, [&](Values v) {
      Value* rest = frames_.back().iteration;
      for (std::size_t i = static_cast<std::size_t>(s_.task_loops); i-- > 0;) {
        const auto n = static_cast<std::uint64_t>(s_.blocks[i]);
        if (n == 1) continue;  // a whole loop, whose range is known: its conditions are too
        Value* b = i == 0 ? rest : ir_.CreateURem(rest, ir_.getInt64(n));
        rest = i == 0 ? rest : ir_.CreateUDiv(rest, ir_.getInt64(n));
        const int dim = s_.outer[i].dim;
        const std::int64_t size = k_.dag.dims[static_cast<std::size_t>(dim)];
        Value* low = ir_.CreateMul(b, i64(s_.block[i]));
        Value* high = ir_.CreateAdd(low, i64(s_.block[i]));
        if (size % s_.block[i] != 0) high = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, high, i64(size));
        ranges_[static_cast<std::size_t>(dim)] = {low, high};
      }
      outer_loops();
      return v;
    });
  }
  // Non-temporal stores are ordered by a fence: other threads may read the results as soon as the function returns.
  if (streamed_) ir_.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent);
  ir_.CreateRetVoid();
  remove_unused_gathers();
  const std::vector<llvm::BasicBlock*> blocks = blocks_between(entry->getNextNode(), nullptr);
  overlap(blocks);
  take_gathers_apart(blocks);
}

void KernelEmitter::outer_loops() {
  bool all_in_place = true;
  for (std::size_t n = 0; n < k_.nests.size(); ++n) all_in_place = all_in_place && copies_in_place(n);
  if (all_in_place) return;
  run_loops(s_.outer, {}, [&](Values v) {
    base_level_ = static_cast<int>(frames_.size()) - 1;
    for (std::size_t n = 0; n < k_.nests.size(); ++n) nest(n);
    return v;
  });
}

void KernelEmitter::range(int dim, Value*& low, Value*& high) {
  const auto d = static_cast<std::size_t>(dim);
  low = i64(0), high = i64(k_.dag.dims[d]);
  if (ranges_[d].first) low = ranges_[d].first, high = ranges_[d].second;
  const LoopLimit& limit = k_.limits[d];
  if (limit.outer < 0) return;
  for (const Frame& f : frames_)
    if (f.dim == limit.outer) {
      Value* left = ir_.CreateSub(i64(limit.total), ir_.CreateMul(f.iteration, i64(k_.dag.dims[d])));
      high = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, high, left);
    }
}

/// `step`: of the loop; `copy_step`: between its copies.
KernelEmitter::Values KernelEmitter::loop(int dim, Value* low, Value* high, std::int64_t step, int unroll, std::int64_t copy_step,
                                          Values carried, const Body& body) {
  std::int64_t l = 0, h = 0;
  const bool known = constant(low, l) && constant(high, h);
  if (known && l >= h) return carried;
  llvm::BasicBlock* inside = llvm::BasicBlock::Create(module_.getContext(), "loop", function_);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(module_.getContext(), "next", function_);
  llvm::Instruction* entry = known ? ir_.CreateBr(inside) : ir_.CreateCondBr(ir_.CreateICmpSLT(low, high), inside, after);
  ir_.SetInsertPoint(inside);
  Frame f;
  f.dim = dim, f.unroll = unroll, f.step = copy_step, f.entry = entry;
  const bool once = known && l + step >= h;
  llvm::PHINode* iteration = nullptr;
  std::vector<llvm::PHINode*> phis;
  Values inner;
  if (once) {
    f.iteration = low;
    inner = carried;
  } else {
    iteration = ir_.CreatePHI(ir_.getInt64Ty(), 2);
    iteration->addIncoming(low, entry->getParent());
    f.iteration = iteration;
    for (Value* v : carried) {
      phis.push_back(ir_.CreatePHI(v->getType(), 2));
      phis.back()->addIncoming(v, entry->getParent());
      inner.push_back(phis.back());
    }
  }
  frames_.push_back(std::move(f));
  Values results = body(inner);
  frames_.pop_back();
  llvm::BasicBlock* last = nullptr;
  if (once) {
    last = ir_.GetInsertBlock();
    ir_.CreateBr(after);
  } else {
    Value* next = ir_.CreateAdd(iteration, i64(step));
    last = ir_.GetInsertBlock();
    ir_.CreateCondBr(ir_.CreateICmpSLT(next, high), inside, after);
    iteration->addIncoming(next, last);
    for (std::size_t i = 0; i < phis.size(); ++i) phis[i]->addIncoming(results[i], last);
  }
  ir_.SetInsertPoint(after);
  if (known) return results;
  return either(ir_, carried, entry->getParent(), results, last);
}

KernelEmitter::Values KernelEmitter::when(int dim, Value* at, Value* condition, Values carried, const Body& body) {
  return run_where(ir_, "tail", condition, carried, [&](llvm::Instruction* entry) {
    Frame f;
    f.dim = dim, f.iteration = at, f.entry = entry;
    frames_.push_back(std::move(f));
    Values results = body(carried);
    frames_.pop_back();
    return results;
  });
}

/// The sections of a loop, one after the other, as far as they lie in the range.
KernelEmitter::Values KernelEmitter::run_sections(LoopPlan plan, Value* low, Value* high, Values carried, const Body& body) {
  std::int64_t first = 0, last = 0;
  const bool known = constant(low, first) && constant(high, last);
  const int unroll = plan.unroll;
  plan.peeled = false;
  for (const Section& s : sections(k_, plan.dim, plan.vector ? s_.lanes : 1)) {
    plan.unroll = s.uniform ? unroll : 1;
    if (s.uniform) sections_[plan.dim] = s.from;
    if (known) {
      const std::int64_t from = std::max(first, s.from), to = std::min(last, s.to);
      if (from < to) carried = run_loop(plan, i64(from), i64(to), std::move(carried), body);
    } else {
      Value* from = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, low, i64(s.from));
      Value* to = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, high, i64(s.to));
      to = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, to, from);
      carried = run_loop(plan, from, to, std::move(carried), body, &s);
    }
    sections_.erase(plan.dim);
  }
  return carried;
}

/// Whole unrolled bodies, then single iterations or vectors, then a masked vector. `section`: the range lies in it, and is not known.
KernelEmitter::Values KernelEmitter::run_loop(const LoopPlan& plan, Value* low, Value* high, Values carried, const Body& body,
                                              const Section* section) {
  if (plan.peeled) return run_sections(plan, low, high, std::move(carried), body);
  const int dim = plan.dim;
  const std::int64_t size = k_.dag.dims[static_cast<std::size_t>(dim)], lanes = plan.vector ? s_.lanes : 1;
  const int saved_lanes = lanes_, saved_dim = vector_dim_;
  if (plan.vector) lanes_ = s_.lanes, vector_dim_ = dim;
  const auto rounded = [&](std::int64_t unit) {
    Value* n = ir_.CreateSub(high, low);
    return ir_.CreateAdd(low, ir_.CreateSub(n, ir_.CreateURem(n, i64(unit))));
  };
  // The range is known for a whole loop; blocks begin at whole unrolled bodies, sections at whole vectors.
  std::int64_t first = 0, last = 0;
  const std::int64_t extent = constant(low, first) && constant(high, last) ? last - first : section ? section->to : size;
  Value* at = low;
  const bool limited = k_.limits[static_cast<std::size_t>(dim)].outer >= 0;
  const std::int64_t unit = plan.unroll * lanes;
  const bool in_units = !limited && !section && extent % unit == 0;
  if (plan.unroll > 1 && (section ? section->to - section->from : extent) >= unit) {
    Value* end = in_units ? high : rounded(unit);
    carried = loop(dim, at, end, unit, plan.unroll, lanes, std::move(carried), body);
    at = end;
  }
  if (plan.unroll == 1 || extent % unit >= lanes || limited || section) {
    Value* end = extent % lanes == 0 && !limited ? high : rounded(lanes);
    if (extent >= lanes) carried = loop(dim, at, end, lanes, 1, lanes, std::move(carried), body), at = end;
  }
  if (plan.vector && (extent % lanes != 0 || limited)) {
    Value* saved_mask = mask_;
    std::int64_t a = 0, h = 0;
    const bool known = constant(at, a) && constant(high, h);
    if (!known || a < h) {
      Value* condition = known ? static_cast<Value*>(ir_.getTrue()) : ir_.CreateICmpSLT(at, high);
      if (limited && !known) {
        Value* left = ir_.CreateTrunc(ir_.CreateSub(high, at), ir_.getInt32Ty());
        std::vector<llvm::Constant*> numbers;
        for (unsigned i = 0; i < static_cast<unsigned>(lanes); ++i) numbers.push_back(ir_.getInt32(i));
        mask_ = ir_.CreateICmpSLT(llvm::ConstantVector::get(numbers), builder_.splat(left, static_cast<int>(lanes)));
      } else {
        // Blocks begin at whole vectors, so that the mask of the last one depends on the size only.
        std::vector<llvm::Constant*> bits;
        for (std::int64_t i = 0; i < lanes; ++i) bits.push_back(ir_.getInt1(i < extent % lanes));
        mask_ = llvm::ConstantVector::get(bits);
      }
      carried = when(dim, at, condition, std::move(carried), body);
      mask_ = saved_mask;
    }
  }
  lanes_ = saved_lanes, vector_dim_ = saved_dim;
  return carried;
}

KernelEmitter::Values KernelEmitter::run_loops(std::span<const LoopPlan> plans, Values carried, const Body& body) {
  if (plans.empty()) return body(std::move(carried));
  Value *low = nullptr, *high = nullptr;
  range(plans[0].dim, low, high);
  return run_loop(plans[0], low, high, std::move(carried), [&](Values v) { return run_loops(plans.subspan(1), std::move(v), body); });
}

void KernelEmitter::for_each_copy(const std::function<void(const Copy&)>& f) const {
  const std::size_t frames = frames_.size();
  Copy copy(frames, 0);
  while (true) {
    f(copy);
    std::size_t i = frames;
    while (i-- > 0) {
      if (++copy[i] < frames_[i].unroll) break;
      copy[i] = 0;
      if (i == 0) return;
    }
    if (frames == 0) return;
  }
}

// Whether the nest only copies arguments onto themselves, as it does for carries that are updated in place.
bool KernelEmitter::copies_in_place(std::size_t number) const {
  const auto copied = copied_arguments(k_, k_.nests[number]);
  return copied && std::all_of(copied->begin(), copied->end(), [&](const std::pair<int, int>& c) {
           return args_[static_cast<std::size_t>(c.first)] == args_[static_cast<std::size_t>(c.second)];
         });
}

void KernelEmitter::nest(std::size_t number) {
  if (copies_in_place(number)) return;
  if (s_.nests[number].by_rows) return reduce_rows(number);
  if (updates_in_chunks(number)) return update_in_chunks(number);
  run_loops(s_.nests[number].parallel, {}, [&](Values v) {
    if (!k_.nests[number].reduce.empty() || !k_.nests[number].reductions.empty()) reduce(number);
    for (const Repeat& r : k_.nests[number].repeats) repeat(r);
    store_all(number, false);
    return v;
  });
}

llvm::Function* make_function(llvm::Module& module, const VectorFeatures& features, const std::string& name, llvm::FunctionType* type) {
  llvm::Function* f = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module);
  f->setDoesNotThrow();
  f->addFnAttr("prefer-vector-width", std::to_string(8 * features.vector_bytes));
  f->addFnAttr("min-legal-vector-width", std::to_string(8 * features.vector_bytes));
  return f;
}

void emit_kernel(llvm::Module& module, const Kernel& k, const Schedule& s, const VectorFeatures& features, const std::string& name) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* number = llvm::Type::getInt64Ty(context);
  llvm::FunctionType* type =
      llvm::FunctionType::get(llvm::Type::getVoidTy(context), {llvm::PointerType::get(context, 0), number, number}, false);
  with_stack(kCompilerStack, [&] { KernelEmitter(module, k, s, features, make_function(module, features, name, type)).run(); });
}

}  // namespace weft::detail
