// Kernels that are partitioned by rows: a task goes through all iterations of the loop, a chunk at a time. With vectors it first lists the
// iterations of the chunk whose row belongs to the task; then it executes only these, in order.
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include "weft/backends/codegen/emit/emit_kernel.h"

namespace weft::detail {

using llvm::Value;

namespace {
constexpr std::int64_t kNoted = 1024;  // iterations in a chunk
constexpr int kMostLanes = 16;         // iterations examined in one vector
constexpr int kTableLanes = 8;         // lanes compressed by a table lookup

/// A table for compressing eight lanes: for each set of lanes its members in order, then arbitrary ones.
llvm::Constant* lanes_of_sets(llvm::Module& module) {
  constexpr const char* kName = "lanes_of_sets";
  if (llvm::GlobalVariable* known = module.getNamedGlobal(kName)) return known;
  std::vector<std::uint32_t> lanes;
  for (std::uint32_t set = 0; set < 1u << kTableLanes; ++set) {
    const std::size_t begin = lanes.size();
    for (std::uint32_t i = 0; i < kTableLanes; ++i)
      if (set >> i & 1) lanes.push_back(i);
    lanes.resize(begin + kTableLanes);
  }
  llvm::Constant* table = llvm::ConstantDataArray::get(module.getContext(), lanes);
  auto* variable = new llvm::GlobalVariable(module, table->getType(), true, llvm::GlobalValue::PrivateLinkage, table, kName);
  variable->setAlignment(llvm::Align(32));
  return variable;
}
}  // namespace

/// Whether the current iteration (or which of its lanes) has a row of these blocks and is in bounds. Sets `row` to its 32-bit row.
Value* KernelEmitter::in_blocks(Value* begin, Value* count, Value*& row) {
  const Copy copy(frames_.size(), 0);
  row = get(k_.row_partition.row, copy);
  const int lanes = VectorBuilder::lanes_of(row);
  row = ir_.CreateTrunc(row, row->getType()->getWithNewBitWidth(32));
  const auto same = [&](Value* v) { return builder_.splat(ir_.CreateTrunc(v, ir_.getInt32Ty()), lanes); };
  Value* block = ir_.CreateLShr(row, same(i64(s_.row_bits)));
  block = ir_.CreateAnd(block, same(i64(s_.num_blocks - 1)));
  Value* in = ir_.CreateICmpULT(ir_.CreateSub(block, same(begin)), same(count));
  const NodeId guard = k_.nests[0].stores[0].guard;
  return guard < 0 ? in : ir_.CreateAnd(in, builder_.splat(get(guard, copy), lanes));
}

/// The iterations of a chunk whose rows belong to the task: a list of their numbers and one of their rows, in the order of the loop.
class KernelEmitter::RowList {
 public:
  RowList(KernelEmitter& emitter, Value* begin, Value* end)
      : e_(emitter),
        begin_(begin),
        count_(emitter.ir_.CreateSub(end, begin)),
        number_(emitter.ir_.getInt32Ty()),
        lanes_(emitter.features_.lookups ? kMostLanes : kTableLanes),
        vector_(llvm::FixedVectorType::get(number_, static_cast<unsigned>(lanes_))),
        which_(reserve(kNoted + kMostLanes)),
        where_(reserve(kNoted + kMostLanes)),
        lane_rows_(reserve(kMostLanes)),
        lane_flags_(reserve(kMostLanes)) {}

  int lanes() const { return lanes_; }

  /// Lists the current iteration if its row belongs to the task. `length`: of the lists, before and after.
  Values note(const Values& length) {
    Value* row = nullptr;
    Value* in = e_.in_blocks(begin_, count_, row);
    put(e_.ir_.CreateTrunc(e_.frames_.back().iteration, number_), which_, length[0]), put(row, where_, length[0]);
    return {e_.ir_.CreateAdd(length[0], e_.ir_.CreateZExt(in, e_.ir_.getInt64Ty()))};
  }

  /// The same for a vector of iterations.
  Values note_lanes(const Values& length) {
    Value* row = nullptr;
    Value* in = e_.in_blocks(begin_, count_, row);
    Value* first = e_.ir_.CreateTrunc(e_.frames_.back().iteration, number_);
    const bool by_vectors = e_.features_.vector_bytes >= 32 && e_.features_.gpu == VectorFeatures::Gpu::none;
    return by_vectors ? compress(in, row, first, length) : note_one_by_one(in, row, first, length);
  }

  /// Of the entry that the current iteration reads: the number of the listed iteration, and its row.
  Value* listed_iteration() { return e_.ir_.CreateZExt(get(which_, e_.frames_.back().iteration), e_.ir_.getInt64Ty()); }
  Value* listed_row() { return e_.ir_.CreateZExt(get(where_, e_.frames_.back().iteration), e_.ir_.getInt64Ty()); }

 private:
  llvm::AllocaInst* reserve(std::int64_t size) {
    llvm::BasicBlock& entry = e_.function_->getEntryBlock();
    llvm::Type* type = llvm::ArrayType::get(number_, static_cast<std::uint64_t>(size));
    llvm::AllocaInst* a = llvm::IRBuilder<>(&entry, entry.begin()).CreateAlloca(type);
    a->setAlignment(llvm::Align(64));
    return a;
  }
  void put(Value* v, llvm::AllocaInst* to, Value* at) { e_.ir_.CreateAlignedStore(v, e_.ir_.CreateGEP(number_, to, at), llvm::Align(4)); }
  Value* get(llvm::AllocaInst* from, Value* at) {
    return e_.ir_.CreateAlignedLoad(number_, e_.ir_.CreateGEP(number_, from, at), llvm::Align(4));
  }

  /// Each iteration is written to the end of the list, where the next one overwrites it unless it belongs to the task.
  Values note_one_by_one(Value* in, Value* row, Value* first, const Values& length) {
    e_.ir_.CreateAlignedStore(row, lane_rows_, llvm::Align(32));
    e_.ir_.CreateAlignedStore(e_.ir_.CreateZExt(in, vector_), lane_flags_, llvm::Align(32));
    return e_.loop(-1, e_.i64(0), e_.i64(lanes_), 1, 1, 0, length, [&](Values v) {
      Value* lane = e_.frames_.back().iteration;
      put(e_.ir_.CreateAdd(first, e_.ir_.CreateTrunc(lane, number_)), which_, v[0]), put(get(lane_rows_, lane), where_, v[0]);
      return Values{e_.ir_.CreateAdd(v[0], e_.ir_.CreateZExt(get(lane_flags_, lane), e_.ir_.getInt64Ty()))};
    });
  }

  Values compress(Value* in, Value* row, Value* first, const Values& length) {
    llvm::IRBuilder<>& ir = e_.ir_;
    std::vector<llvm::Constant*> numbers;
    for (int i = 0; i < lanes_; ++i) numbers.push_back(ir.getInt32(static_cast<std::uint32_t>(i)));
    Value* set = ir.CreateBitCast(in, ir.getIntNTy(static_cast<unsigned>(lanes_)));
    Value* order = nullptr;
    if (lanes_ == kTableLanes) {
      Value* entry = ir.CreateGEP(vector_, lanes_of_sets(e_.module_), ir.CreateZExt(set, ir.getInt64Ty()));
      order = ir.CreateAlignedLoad(vector_, entry, llvm::Align(32));
    }
    const auto closed_up = [&](Value* x) -> Value* {
      if (order) return ir.CreateIntrinsic(llvm::Intrinsic::x86_avx2_permd, {}, {x, order});
      return ir.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_compress, {vector_}, {x, llvm::Constant::getNullValue(vector_), in});
    };
    put(closed_up(ir.CreateAdd(e_.builder_.splat(first, lanes_), llvm::ConstantVector::get(numbers))), which_, length[0]);
    put(closed_up(row), where_, length[0]);
    return {ir.CreateAdd(length[0], ir.CreateZExt(ir.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, set), ir.getInt64Ty()))};
  }

  KernelEmitter& e_;
  Value *begin_, *count_;  // of the task's blocks
  llvm::Type* number_;
  int lanes_;
  llvm::Type* vector_;
  llvm::AllocaInst *which_, *where_;           // numbers of iterations, and their rows
  llvm::AllocaInst *lane_rows_, *lane_flags_;  // of a vector, where its lanes are noted one by one
};

void KernelEmitter::rows(Value* begin, Value* end) {
  const int dim = k_.row_partition.loop;
  const NodeId row_number = ~k_.dag.affine(k_.row_partition.row).terms[0].atom;
  const std::int64_t n = k_.dag.dims[static_cast<std::size_t>(dim)];
  RowList list(*this, begin, end);
  loop(-1, i64(0), i64(n), kNoted, 1, 0, {}, [&](Values none) {
    base_level_ = static_cast<int>(frames_.size()) - 1;
    Value* first = frames_.back().iteration;
    Value* last = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, ir_.CreateAdd(first, i64(kNoted)), i64(n));
    Value* whole = ir_.CreateAdd(first, ir_.CreateAnd(ir_.CreateSub(last, first), i64(-list.lanes())));
    const int saved_dim = vector_dim_;
    lanes_ = list.lanes(), vector_dim_ = dim;
    Values length = loop(dim, first, whole, list.lanes(), 1, list.lanes(), {i64(0)}, [&](Values v) { return list.note_lanes(v); });
    lanes_ = 1, vector_dim_ = saved_dim;
    length = loop(dim, whole, last, 1, 1, 1, length, [&](Values v) { return list.note(v); });
    loop(-1, i64(0), length[0], 1, 1, 0, {}, [&](Values v) {
      Frame& f = frames_.back();
      f.memo.emplace(key(row_number, {}), list.listed_row());
      f.iteration = list.listed_iteration();
      f.dim = dim;
      holds_ = k_.nests[0].stores[0].guard;
      v = run_loops(std::span(s_.nests[0].parallel).subspan(1), std::move(v), [&](Values w) {
        store_all(0, false);
        return w;
      });
      holds_ = -1;
      return v;
    });
    return none;
  });
}

}  // namespace weft::detail
