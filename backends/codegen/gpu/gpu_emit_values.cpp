// Values of kernels for GPUs: expressions, positions, loads and stores.
#include <llvm/IR/Module.h>

#include <array>

#include "weft/backends/codegen/emit/blocks.h"
#include "weft/backends/codegen/gpu/gpu_emitter.h"
#include "weft/core/errors/error.h"

namespace weft::detail {

using llvm::Value;

int GpuEmitter::level_of(NodeId n) const {
  const std::uint64_t dims = k_.dag[n].dims;
  const bool pinned = pinned_[static_cast<std::size_t>(n)];
  if (keep_inside_ && reads_written_[static_cast<std::size_t>(n)]) return static_cast<int>(scopes_.size()) - 1;
  std::size_t level = 0;
  for (std::size_t i = scopes_.size(); i-- > 1;)
    if (scopes_[i].dims & dims) {
      level = i;
      break;
    }
  return static_cast<int>(pinned ? std::max(level, nest_level_) : level);
}

Value* GpuEmitter::get(NodeId n) {
  const Node& node = k_.dag[n];
  if (node.kind == NodeKind::constant) return builder_.constant_value(node.dtype, node.floating, node.integer);
  if (node.kind == NodeKind::local)
    for (std::size_t i = scopes_.size(); i-- > 0;)
      if (const auto found = scopes_[i].memo.find(n); found != scopes_[i].memo.end()) return found->second;
  const auto level = static_cast<std::size_t>(level_of(n));
  auto& memo = scopes_[level].memo;
  if (const auto found = memo.find(n); found != memo.end()) return found->second;
  if (node.kind == NodeKind::local) throw CompileError("codegen: internal error: a reduction is read before it is complete");
  Value* v = level + 1 >= scopes_.size() ? compute(n) : emit_before(ir_, scopes_[level + 1].entry, [&] { return compute(n); });
  scopes_[level].memo.emplace(n, v);
  return v;
}

Value* GpuEmitter::compute(NodeId n) {
  const Node& node = k_.dag[n];
  switch (node.kind) {
    case NodeKind::load: return load(n);
    case NodeKind::index: return affine(n);
    case NodeKind::op:
    case NodeKind::math: return expression(builder_, k_.dag, n, [&](NodeId o) { return get(o); });
    default: return expression(builder_, k_.dag, n, [&](NodeId o) { return index(o); });
  }
}

Value* GpuEmitter::index(NodeId n) {
  Value* v = get(n);
  llvm::Type* t = index_type();
  if (const int lanes = VectorBuilder::lanes_of(v); lanes > 1) t = llvm::FixedVectorType::get(t, static_cast<unsigned>(lanes));
  return ir_.CreateSExtOrTrunc(v, t);
}

Value* GpuEmitter::affine(NodeId n) {
  const Affine& a = k_.dag.affine(n);
  const auto scaled = [&](Value* v, std::int64_t c) {
    return c == 1 ? v : ir_.CreateMul(v, llvm::ConstantInt::get(v->getType(), static_cast<std::uint64_t>(c), true));
  };
  Value* scalar = number(a.constant);
  Value* vector = nullptr;
  const auto add_vector = [&](Value* v) { vector = vector ? ir_.CreateAdd(vector, v) : v; };
  for (const AffineTerm& t : a.terms) {
    Value* v = t.atom < 0 ? index(~t.atom) : coordinate_[static_cast<std::size_t>(t.atom)];
    if (!v) throw CompileError("codegen: internal error: a position depends on a loop that is not open");
    if (VectorBuilder::lanes_of(v) > 1)
      add_vector(scaled(v, t.coef));
    else
      scalar = ir_.CreateAdd(scalar, scaled(v, t.coef));
    if (t.atom >= 0 && varies(std::uint64_t{1} << t.atom)) {
      std::vector<llvm::Constant*> lanes;
      for (int i = 0; i < lanes_; ++i) lanes.push_back(llvm::cast<llvm::Constant>(number(i * t.coef)));
      add_vector(llvm::ConstantVector::get(lanes));
    }
  }
  return vector ? ir_.CreateAdd(builder_.splat(scalar, lanes_), vector) : scalar;
}

/// The position of the first lane, where lanes are side by side.
Value* GpuEmitter::first_lane(NodeId position) {
  Value* v = get(position);
  return VectorBuilder::lanes_of(v) > 1 ? ir_.CreateExtractElement(v, std::uint64_t{0}) : v;
}

Value* GpuEmitter::address(int arg, Value* position) {
  const auto a = static_cast<std::size_t>(arg);
  return ir_.CreateGEP(builder_.memory_type(k_.args[a].dtype), args_[a], position);
}

llvm::Align GpuEmitter::alignment(int arg) const {
  return llvm::Align(static_cast<std::uint64_t>(k_.args[static_cast<std::size_t>(arg)].dtype.itemsize()));
}

Value* GpuEmitter::load(NodeId id) {
  const Node& n = k_.dag[id];
  const int arg = static_cast<int>(n.integer);
  const auto a = static_cast<std::size_t>(arg);
  llvm::Type* element = builder_.memory_type(n.dtype);
  const NodeId position = n.operands[0];
  Value* guard = n.operands[1] >= 0 ? get(n.operands[1]) : nullptr;
  const auto one = [&](Value* at, Value* where) -> Value* {
    Value* p = address(arg, at);
    // Where the guard doesn't hold, the first element is read, which always exists.
    if (where) p = ir_.CreateSelect(where, p, args_[a]);
    return ir_.CreateAlignedLoad(element, p, alignment(arg));
  };
  const bool vector = varies(k_.dag[position].dims) || (guard && VectorBuilder::lanes_of(guard) > 1);
  if (!vector) return builder_.from_memory(one(get(position), guard), n.dtype);

  const auto lanes = static_cast<unsigned>(lanes_);
  const Affine& f = k_.dag.affine(position);
  std::int64_t stride = 0;
  bool together = !guard && k_.dag.stride(position, lane_dim_, stride) && stride == 1 && f.constant % lanes_ == 0;
  for (const AffineTerm& t : f.terms) together &= t.atom == lane_dim_ || t.coef % lanes_ == 0;
  llvm::Type* type = llvm::FixedVectorType::get(element, lanes);
  if (together) {
    const auto bytes = static_cast<std::uint64_t>(n.dtype.itemsize()) * lanes;
    return builder_.from_memory(ir_.CreateAlignedLoad(type, address(arg, first_lane(position)), llvm::Align(bytes)), n.dtype);
  }
  Value* at = builder_.splat(get(position), lanes_);
  if (guard) guard = builder_.splat(guard, lanes_);
  Value* v = llvm::PoisonValue::get(type);
  for (unsigned i = 0; i < lanes; ++i)
    v = ir_.CreateInsertElement(
        v, one(ir_.CreateExtractElement(at, std::uint64_t{i}), guard ? ir_.CreateExtractElement(guard, std::uint64_t{i}) : nullptr),
        std::uint64_t{i});
  return builder_.from_memory(v, n.dtype);
}

void GpuEmitter::store(const Store& s, Value* v) {
  const KernelArg& info = k_.args[static_cast<std::size_t>(s.arg)];
  v = builder_.to_memory(v, info.dtype);
  if (lanes_ > 1) {
    v = builder_.splat(v, lanes_);
    const auto bytes = static_cast<std::uint64_t>(info.dtype.itemsize() * lanes_);
    ir_.CreateAlignedStore(v, address(s.arg, first_lane(s.position)), llvm::Align(bytes));
    return;
  }
  ir_.CreateAlignedStore(v, address(s.arg, get(s.position)), alignment(s.arg));
}

void GpuEmitter::store_atomic(const Store& s) {
  ScalarOp op = ScalarOp::add;
  Value* v = get(atomic_operand(k_, s, op));
  const DType t = k_.args[static_cast<std::size_t>(s.arg)].dtype;
  Value* where = address(s.arg, get(s.position));
  const bool orders = op == ScalarOp::min || op == ScalarOp::max;
  if (t.itemsize() < 4 || (op != ScalarOp::add && !(orders && !t.is_floating()))) return exchange_atomic(op, t, where, v);
  using Op = llvm::AtomicRMWInst;
  const auto how = op == ScalarOp::add   ? (t.is_floating() ? Op::FAdd : Op::Add)
                   : op == ScalarOp::max ? (t.is_signed() ? Op::Max : Op::UMax)
                                         : (t.is_signed() ? Op::Min : Op::UMin);
  ir_.CreateAtomicRMW(how, where, v, llvm::MaybeAlign(), llvm::AtomicOrdering::Monotonic);
}

/// A compare-and-exchange loop: computes with the value in memory until no other thread has changed it meanwhile.
void GpuEmitter::exchange_atomic(ScalarOp op, DType t, Value* where, Value* v) {
  llvm::LLVMContext& context = module_.getContext();
  llvm::Type* memory = builder_.memory_type(t);
  llvm::Type* bits = ir_.getIntNTy(static_cast<unsigned>(memory->getPrimitiveSizeInBits().getFixedValue()));
  const llvm::Align align(static_cast<std::uint64_t>(t.itemsize()));
  llvm::LoadInst* first = ir_.CreateAlignedLoad(bits, where, align);
  first->setAtomic(llvm::AtomicOrdering::Monotonic);
  llvm::BasicBlock* before = ir_.GetInsertBlock();
  llvm::BasicBlock* again = llvm::BasicBlock::Create(context, "exchange", function_);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(context, "next", function_);
  llvm::Instruction* entry = ir_.CreateBr(again);
  ir_.SetInsertPoint(again);
  llvm::PHINode* there = ir_.CreatePHI(bits, 2);
  there->addIncoming(first, before);
  scopes_.push_back({0, entry, {}});
  const DType in = t == float16 || t == bfloat16 ? float32 : t;
  KernelValue old = builder_.wrap(builder_.from_memory(ir_.CreateBitCast(there, memory), t), t);
  if (in != t) old = builder_.wrap(builder_.op(ScalarOp::convert, in, std::array{old}), in);
  const KernelValue operand = builder_.wrap(v, in);
  const auto whole = [&](Value* x) {
    if (in != t) x = builder_.op(ScalarOp::convert, t, std::array{builder_.wrap(x, in)});
    return ir_.CreateBitCast(builder_.to_memory(x, t), bits);
  };
  Value* made = whole(builder_.op(op, in, std::array{old, operand}));
  if (t.is_floating() && (op == ScalarOp::min || op == ScalarOp::max)) {
    // Zeros of both signs are equal; which one stays must not depend on the order of threads.
    Value* a = there;
    Value* b = whole(v);
    Value* equal = builder_.op(ScalarOp::eq, bool_, std::array{old, operand});
    made = ir_.CreateSelect(equal, op == ScalarOp::max ? ir_.CreateAnd(a, b) : ir_.CreateOr(a, b), made);
  }
  scopes_.pop_back();
  llvm::Value* tried = ir_.CreateAtomicCmpXchg(where, there, made, align, llvm::AtomicOrdering::Monotonic, llvm::AtomicOrdering::Monotonic);
  there->addIncoming(ir_.CreateExtractValue(tried, 0), ir_.GetInsertBlock());
  ir_.CreateCondBr(ir_.CreateExtractValue(tried, 1), after, again);
  ir_.SetInsertPoint(after);
}

void GpuEmitter::store_all(std::size_t number, bool in_reduction, Value* condition) {
  std::vector<const Store*> stores;
  for (const Store& s : k_.nests[number].stores)
    if (s.in_reduction == in_reduction) stores.push_back(&s);
  store_all(stores, condition);
}

void GpuEmitter::store_all(std::span<const Store* const> stores, Value* condition) {
  if (stores.empty()) return;
  // All values are computed first, since a store may overwrite memory that another value reads.
  Values values, guards;
  for (const Store* s : stores) {
    values.push_back(s_.atomic ? nullptr : get(s->value));
    guards.push_back(s->guard >= 0 ? get(s->guard) : nullptr);
    get(s->position);
  }
  const auto both = [&](Value* a, Value* b) { return !a ? b : !b ? a : ir_.CreateAnd(a, b); };
  for (std::size_t i = 0; i < stores.size(); ++i) {
    const auto run = [&] { s_.atomic ? store_atomic(*stores[i]) : store(*stores[i], values[i]); };
    Value* where = both(condition, guards[i]);
    if (!where) {
      run();
      continue;
    }
    when(where, {}, [&](Values v) {
      run();
      return v;
    });
  }
}

}  // namespace weft::detail
