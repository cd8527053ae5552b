// Control flow of kernels for GPUs: points distributed to teams of threads, nests, reductions within a thread and across a team.
#include <llvm/IR/Module.h>

#include <algorithm>
#include <array>

#include "weft/backends/codegen/emit/blocks.h"
#include "weft/backends/codegen/gpu/gpu_emitter.h"
#include "weft/core/base/nesting.h"
#include "weft/core/errors/error.h"

namespace weft::detail {

using llvm::Value;

namespace {
std::uint64_t mask_of(std::span<const int> dims) {
  std::uint64_t m = 0;
  for (int d : dims) m |= std::uint64_t{1} << d;
  return m;
}
}  // namespace

void GpuEmitter::run() {
  s_.transposed_loads.empty() ? points() : tiles();
  ir_.CreateRetVoid();
}

std::int64_t GpuEmitter::size(std::span<const int> dims) const {
  std::int64_t n = 1;
  for (int d : dims) n *= k_.dag.dims[static_cast<std::size_t>(d)];
  return n;
}

void GpuEmitter::points() {
  const auto extend = [&](Value* v) { return ir_.CreateZExtOrTrunc(v, index_type()); };
  const std::int64_t teams_of_block = s_.columns ? 32 : s_.threads / s_.team;
  Value* blocks = threads_.num_blocks();
  Value* low = extend(team_);
  Value* step = extend(ir_.CreateMul(blocks, i32(teams_of_block)));
  Value* high = number(s_.teams);
  // Threads that meet at barriers must run the same number of iterations.
  if (s_.columns) low = extend(ir_.CreateSub(team_, lane_));
  loop(mask_of(s_.points), low, high, step, {}, [&](Value* point, Values v) {
    nest_level_ = scopes_.size() - 1;
    if (s_.columns) {
      point = ir_.CreateAdd(point, extend(lane_));
      exists_ = ir_.CreateICmpULT(point, high);
      point = ir_.CreateSelect(exists_, point, number(s_.teams - 1));
    }
    decode(s_.points, point, s_.lanes);
    for (std::size_t n = 0; n < k_.nests.size(); ++n) {
      nest(n);
      if (s_.team > 1 && k_.nests.size() > 1) sync_team();
    }
    return v;
  });
}

/// The coordinates of iteration `number` of loops, the last one fastest; of vectors of `lanes` along that.
void GpuEmitter::decode(std::span<const int> dims, Value* number_of, std::int64_t lanes) {
  for (std::size_t i = dims.size(); i-- > 0;) {
    const std::int64_t n = k_.dag.dims[static_cast<std::size_t>(dims[i])] / lanes;
    Value* c = i == 0 ? number_of : ir_.CreateURem(number_of, number(n));
    if (i > 0) number_of = ir_.CreateUDiv(number_of, number(n));
    coordinate_[static_cast<std::size_t>(dims[i])] = lanes == 1 ? c : ir_.CreateMul(c, number(lanes));
    lanes = 1;
  }
}

GpuEmitter::Values GpuEmitter::loop(std::uint64_t dims, Value* low, Value* high, Value* step, Values carried,
                                    const std::function<Values(Value*, Values)>& body) {
  llvm::LLVMContext& context = module_.getContext();
  llvm::BasicBlock* inside = llvm::BasicBlock::Create(context, "loop", function_);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(context, "next", function_);
  llvm::Instruction* entry = ir_.CreateCondBr(ir_.CreateICmpSLT(low, high), inside, after);
  ir_.SetInsertPoint(inside);
  llvm::PHINode* iteration = ir_.CreatePHI(low->getType(), 2);
  iteration->addIncoming(low, entry->getParent());
  std::vector<llvm::PHINode*> phis;
  Values inner;
  for (Value* v : carried) {
    phis.push_back(ir_.CreatePHI(v->getType(), 2));
    phis.back()->addIncoming(v, entry->getParent());
    inner.push_back(phis.back());
  }
  scopes_.push_back({dims, entry, {}});
  Values results = body(iteration, std::move(inner));
  scopes_.pop_back();
  Value* next = ir_.CreateAdd(iteration, step);
  llvm::BasicBlock* last = ir_.GetInsertBlock();
  ir_.CreateCondBr(ir_.CreateICmpSLT(next, high), inside, after);
  iteration->addIncoming(next, last);
  for (std::size_t i = 0; i < phis.size(); ++i) phis[i]->addIncoming(results[i], last);
  ir_.SetInsertPoint(after);
  // What is emitted in front of this loop later comes before its entry.
  return either(ir_, carried, entry->getParent(), results, last);
}

GpuEmitter::Values GpuEmitter::when(Value* condition, Values carried, const Body& body) {
  return run_where(ir_, "where", condition, carried, [&](llvm::Instruction* entry) {
    scopes_.push_back({0, entry, {}});
    Values results = body(carried);
    scopes_.pop_back();
    return results;
  });
}

void GpuEmitter::sync_team() {
  if (s_.team == 1) return;
  if (s_.team == 32 && !s_.columns)
    threads_.sync_warp();
  else
    threads_.sync_block();
}

void GpuEmitter::nest(std::size_t n) {
  const GpuNestSchedule& g = s_.nests[n];
  const bool ordered = (mask_of(g.in_order) & k_.sequential) != 0;
  in_order(g.in_order, [&] {
    distributed(n);
    if (ordered) sync_team();
  });
}

void GpuEmitter::in_order(std::span<const int> dims, const std::function<void()>& body) {
  if (dims.empty()) return body();
  const auto d = static_cast<std::size_t>(dims[0]);
  loop(std::uint64_t{1} << dims[0], number(0), number(k_.dag.dims[d]), number(1), {}, [&](Value* at, Values v) {
    coordinate_[d] = at;
    in_order(dims.subspan(1), body);
    return v;
  });
}

void GpuEmitter::distributed(std::size_t n) {
  const Nest& t = k_.nests[n];
  const GpuNestSchedule& g = s_.nests[n];
  const bool has_reductions = !t.reduce.empty() || !t.reductions.empty();
  const bool running = std::any_of(t.reductions.begin(), t.reductions.end(), [](const Reduction& r) { return r.running; });
  const auto first = [&]() -> Value* {
    Value* here = s_.team > 1 ? ir_.CreateICmpEQ(rank_, i32(0)) : nullptr;
    return !exists_ ? here : here ? ir_.CreateAnd(here, exists_) : exists_;
  };
  if (g.distributed.empty()) {
    if (has_reductions && running && g.reduces_across)
      scan(n);
    else if (has_reductions)
      reduce(n);
    for (const Repeat& r : t.repeats) repeat(r, first());
    store_all(n, false, first());
    return;
  }
  const auto vectors = along(g.distributed, g.lanes);
  loop(mask_of(g.distributed), ir_.CreateZExtOrTrunc(rank_, index_type()), number(size(g.distributed) / g.lanes), number(s_.team), {},
       [&](Value* at, Values v) {
         decode(g.distributed, at, g.lanes);
         if (has_reductions) reduce(n);
         store_all(n, false, exists_);
         return v;
       });
}

/// Until what is returned goes, the last of the loops is emitted with vectors of so many lanes.
std::shared_ptr<void> GpuEmitter::along(std::span<const int> dims, int lanes) {
  if (lanes == 1) return nullptr;
  lanes_ = lanes, lane_dim_ = dims.back();
  return {this, [](GpuEmitter* e) { e->lanes_ = 1, e->lane_dim_ = -1; }};
}

/// A loop within the point, whose carried values are registers.
void GpuEmitter::repeat(const Repeat& r, Value* condition) {
  struct Slot {
    const Repeat::Carried* carried;
    Value* start;
    llvm::PHINode* phi;
  };
  std::vector<Slot> slots;
  for (const Repeat::Carried& c : r.carried)
    if (local_nodes_.count(c.local) > 0) slots.push_back({&c, get(c.start), nullptr});
  RepeatLoop loop(ir_, index_type());
  scopes_.push_back({std::uint64_t{1} << r.dim, loop.entry(), {}});
  coordinate_[static_cast<std::size_t>(r.dim)] = loop.iteration();
  for (Slot& s : slots) {
    s.phi = loop.carry(s.start);
    set_local(s.carried->local, s.phi);
  }
  if (r.go_on >= 0) loop.go_on_where(get(r.go_on));
  for (const Repeat& inner : r.inner) repeat(inner, condition);
  std::vector<Value*> next;
  for (const Slot& s : slots) next.push_back(get(s.carried->next));
  std::vector<const Store*> stores;
  for (const Store& s : r.stores) stores.push_back(&s);
  store_all(stores, condition);
  loop.end(next, k_.dag.dims[static_cast<std::size_t>(r.dim)]);
  scopes_.pop_back();
  for (std::size_t i = 0; i < slots.size(); ++i) set_local(slots[i].carried->result, r.go_on >= 0 ? slots[i].phi : next[i]);
}

/// How many steps the reducing loops have together.
Value* GpuEmitter::steps_of(const Nest& t) {
  if (t.reduce.empty()) return number(1);
  const auto d = static_cast<std::size_t>(t.reduce[0]);
  const LoopLimit& limit = k_.limits[d];
  if (limit.outer < 0) return number(size(t.reduce));
  Value* left =
      ir_.CreateSub(number(limit.total), ir_.CreateMul(coordinate_[static_cast<std::size_t>(limit.outer)], number(k_.dag.dims[d])));
  Value* outermost = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, number(k_.dag.dims[d]), left);
  return ir_.CreateMul(outermost, number(size(t.reduce) / k_.dag.dims[d]));
}

void GpuEmitter::set_local(int local, Value* v) {
  if (const auto node = local_nodes_.find(local); node != local_nodes_.end()) scopes_.back().memo[node->second] = v;
}

void GpuEmitter::reduce(std::size_t n) {
  const Nest& t = k_.nests[n];
  const bool across = s_.nests[n].reduces_across;
  const int lanes = across ? s_.nests[n].lanes : 1;
  Values carried;
  for (const Reduction& r : t.reductions) {
    carried.push_back(builder_.splat(reduction_identity(builder_, r), lanes));
    if (width(r) == 2) carried.push_back(llvm::Constant::getNullValue(builder_.type(k_.dag[r.position].dtype)));
  }
  const auto body = [&](Values acc) {
    std::size_t next = 0;
    for (const Reduction& r : t.reductions) {
      const Values old(acc.begin() + static_cast<std::ptrdiff_t>(next), acc.begin() + static_cast<std::ptrdiff_t>(next + width(r)));
      const Values now = accumulate(r, old);
      std::copy(now.begin(), now.end(), acc.begin() + static_cast<std::ptrdiff_t>(next));
      if (r.running) set_local(r.local, now[0]);
      next += width(r);
    }
    store_all(n, true, across ? exists_ : s_.team > 1 && s_.nests[n].distributed.empty() ? ir_.CreateICmpEQ(rank_, i32(0)) : exists_);
    return acc;
  };
  if (t.reduce.empty() && !across) {
    carried = body(std::move(carried));
  } else {
    Value* low = across ? ir_.CreateZExtOrTrunc(rank_, index_type()) : number(0);
    // The vectors of a nest without loops over points in it are along its reducing loops.
    const auto vectors = along(t.reduce, lanes);
    Value* steps = lanes > 1 ? number(size(t.reduce) / lanes) : steps_of(t);
    carried = loop(mask_of(t.reduce), low, steps, number(across ? s_.team : 1), std::move(carried), [&](Value* at, Values acc) {
      decode(t.reduce, at, lanes);
      return body(std::move(acc));
    });
  }
  if (lanes > 1)
    for (std::size_t i = 0; i < carried.size(); ++i) carried[i] = combine_lanes(t.reductions[i], carried[i]);
  std::size_t next = 0;
  for (const Reduction& r : t.reductions) {
    Values v(carried.begin() + static_cast<std::ptrdiff_t>(next), carried.begin() + static_cast<std::ptrdiff_t>(next + width(r)));
    next += width(r);
    if (r.running) continue;
    if (across) v = combine_team(r, v);
    set_local(r.local, v[0]);
    if (width(r) == 2) set_local(r.local + 1, v[1]);
  }
}

/// Running reductions, a tile of the team's width at a time: a scan across the team, combined with the total of the tiles before.
void GpuEmitter::scan(std::size_t n) {
  const Nest& t = k_.nests[n];
  Values carried;
  for (const Reduction& r : t.reductions) carried.push_back(reduction_identity(builder_, r));
  Value* total = steps_of(t);
  Value* rank = ir_.CreateZExtOrTrunc(rank_, index_type());
  const std::int64_t warps = s_.team / 32;
  loop(mask_of(t.reduce), number(0), total, number(s_.team), std::move(carried), [&](Value* base, Values acc) {
    Value* at = ir_.CreateAdd(base, rank);
    Value* active = ir_.CreateICmpSLT(at, total);
    decode(t.reduce, ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, at, ir_.CreateSub(total, number(1))), 1);
    for (std::size_t i = 0; i < t.reductions.size(); ++i) {
      const Reduction& r = t.reductions[i];
      const auto below = [&](Value* v, int steps, Value* position) {
        Value* other = threads_.exchange(GpuThreads::Exchange::up, v, i32(steps));
        return ir_.CreateSelect(ir_.CreateICmpULT(position, i32(steps)), v, combine(builder_, r, other, v));
      };
      Value* v = ir_.CreateSelect(active, get(r.value), reduction_identity(builder_, r));
      for (int steps = 1; steps < 32; steps *= 2) v = below(v, steps, lane_);
      Value* all = nullptr;
      if (warps > 1) {
        Value* last = ir_.CreateICmpEQ(lane_, i32(31));
        Value* w = through_shared({v}, warp_, last, warps, ir_.CreateURem(lane_, i32(warps)))[0];
        for (int steps = 1; steps < warps; steps *= 2) w = below(w, steps, ir_.CreateURem(lane_, i32(warps)));
        Value* before = threads_.exchange(GpuThreads::Exchange::from, w,
                                          ir_.CreateSelect(ir_.CreateICmpEQ(warp_, i32(0)), i32(0), ir_.CreateSub(warp_, i32(1))));
        v = ir_.CreateSelect(ir_.CreateICmpEQ(warp_, i32(0)), v, combine(builder_, r, before, v));
        all = threads_.exchange(GpuThreads::Exchange::from, w, i32(warps - 1));
      } else {
        all = threads_.exchange(GpuThreads::Exchange::from, v, i32(31));
      }
      set_local(r.local, combine(builder_, r, acc[i], v));
      acc[i] = combine(builder_, r, acc[i], all);
    }
    store_all(n, true, active);
    return acc;
  });
}

GpuEmitter::Values GpuEmitter::exchange(GpuThreads::Exchange kind, const Values& v, Value* lane) {
  Values out;
  for (Value* x : v) out.push_back(threads_.exchange(kind, x, lane));
  return out;
}

/// Values go to the block's shared memory at `slot` (by the threads where `writes` holds), and come back from position `read`.
GpuEmitter::Values GpuEmitter::through_shared(const Values& v, Value* slot, Value* writes, std::int64_t count, Value* read) {
  Values memory;
  for (std::size_t i = 0; i < v.size(); ++i) {
    llvm::Type* type = v[i]->getType()->isIntegerTy(1) ? ir_.getInt8Ty() : v[i]->getType();
    Values& known = reduction_memory_[{type, count}];
    if (known.size() <= i) known.resize(i + 1);
    if (!known[i])
      known[i] = threads_.shared(type, static_cast<std::uint64_t>(count), name_ + "_reduction" + std::to_string(num_shared_++));
    memory.push_back(known[i]);
  }
  const auto put = [&] {
    for (std::size_t i = 0; i < v.size(); ++i) {
      Value* x = v[i]->getType()->isIntegerTy(1) ? ir_.CreateZExt(v[i], ir_.getInt8Ty()) : v[i];
      ir_.CreateStore(x, ir_.CreateGEP(x->getType(), memory[i], slot));
    }
  };
  threads_.sync_block();
  if (writes)
    when(writes, {}, [&](Values none) {
      put();
      return none;
    });
  else
    put();
  threads_.sync_block();
  Values out;
  for (std::size_t i = 0; i < v.size(); ++i) {
    llvm::Type* type = v[i]->getType()->isIntegerTy(1) ? ir_.getInt8Ty() : v[i]->getType();
    Value* x = ir_.CreateLoad(type, ir_.CreateGEP(type, memory[i], read));
    out.push_back(v[i]->getType()->isIntegerTy(1) ? ir_.CreateTrunc(x, ir_.getInt1Ty()) : x);
  }
  return out;
}

/// The reduction over the team's threads, in each of them; in an order fixed by the team's size.
GpuEmitter::Values GpuEmitter::combine_team(const Reduction& r, Values v) {
  if (s_.team == 1) return v;
  if (s_.columns) {
    // Threads of a column are 32 apart. In each step, half of the remaining threads pass their values to the others.
    for (std::int64_t half = s_.team / 2; half >= 1; half /= 2) {
      Value* thread = ir_.CreateAdd(ir_.CreateMul(warp_, i32(32)), lane_);
      Value* partner = ir_.CreateAdd(ir_.CreateMul(ir_.CreateXor(warp_, i32(half)), i32(32)), lane_);
      v = combine_all(r, v, through_shared(v, thread, nullptr, s_.threads, partner), true);
    }
    return v;
  }
  for (int bits = 16; bits >= 1; bits /= 2) v = combine_all(r, v, exchange(GpuThreads::Exchange::across, v, i32(bits)), true);
  const std::int64_t warps = s_.team / 32;
  if (warps <= 1) return v;
  v = through_shared(v, warp_, ir_.CreateICmpEQ(lane_, i32(0)), warps, ir_.CreateURem(lane_, i32(warps)));
  for (std::int64_t bits = warps / 2; bits >= 1; bits /= 2)
    v = combine_all(r, v, exchange(GpuThreads::Exchange::across, v, i32(bits)), true);
  return v;
}

/// The lanes of a vector of partial results as one: the second half with the first, and so on.
Value* GpuEmitter::combine_lanes(const Reduction& r, Value* v) {
  Values parts;
  for (int i = 0; i < VectorBuilder::lanes_of(v); ++i) parts.push_back(ir_.CreateExtractElement(v, static_cast<std::uint64_t>(i)));
  for (std::size_t half = parts.size() / 2; half > 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i) parts[i] = combine(builder_, r, parts[i], parts[i + half]);
  return parts[0];
}

GpuEmitter::Values GpuEmitter::combine_all(const Reduction& r, const Values& a, const Values& b, bool ties) {
  if (width(r) == 1) return {combine(builder_, r, a[0], b[0])};
  Value *value = a[0], *position = a[1];
  combine_two(builder_, r, k_.dag[r.position].dtype, value, position, b[0], b[1], ties);
  return {value, position};
}

GpuEmitter::Values GpuEmitter::accumulate(const Reduction& r, const Values& a) {
  if (width(r) == 2) {
    // Positions grow along the loop, so that the first of equals is kept.
    return combine_all(r, a, {get(r.value), get(r.position)}, false);
  }
  const Node& n = k_.dag[r.value];
  const int lanes = VectorBuilder::lanes_of(a[0]);
  const auto value_of = [&](NodeId node) { return builder_.splat(get(node), lanes); };
  if (r.combiner == Combiner::sum && r.dtype.is_floating() && n.kind == NodeKind::op && n.op == ScalarOp::mul)
    return {ir_.CreateIntrinsic(llvm::Intrinsic::fma, {a[0]->getType()}, {value_of(n.operands[0]), value_of(n.operands[1]), a[0]})};
  return {combine(builder_, r, a[0], value_of(r.value))};
}

void emit_gpu_kernel(llvm::Module& module, const GpuLaunch& launch, const GpuTarget& target, const std::vector<char>& aliased,
                     const std::string& name) {
  with_stack(kCompilerStack, [&] { GpuEmitter(module, launch, target, aliased, name).run(); });
}

}  // namespace weft::detail
