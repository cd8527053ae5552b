// Kernels that are divided by rows: a task goes through all iterations of the loop, a chunk at a time. With vectors it first lists the
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
  row = get(k_.division.row, copy);
  const int lanes = VectorBuilder::lanes_of(row);
  row = ir_.CreateTrunc(row, row->getType()->getWithNewBitWidth(32));
  const auto same = [&](Value* v) { return builder_.splat(ir_.CreateTrunc(v, ir_.getInt32Ty()), lanes); };
  Value* block = ir_.CreateLShr(row, same(i64(s_.row_bits)));
  block = ir_.CreateAnd(block, same(i64(s_.num_blocks - 1)));
  Value* in = ir_.CreateICmpULT(ir_.CreateSub(block, same(begin)), same(count));
  const NodeId guard = k_.nests[0].stores[0].guard;
  return guard < 0 ? in : ir_.CreateAnd(in, builder_.splat(get(guard, copy), lanes));
}

void KernelEmitter::rows(Value* begin, Value* end) {
  const int dim = k_.division.loop;
  const NodeId row_number = ~k_.dag.affine(k_.division.row).terms[0].atom;
  const std::int64_t n = k_.dag.dims[static_cast<std::size_t>(dim)];
  Value* count = ir_.CreateSub(end, begin);
  llvm::BasicBlock& entry = function_->getEntryBlock();
  llvm::Type* number = ir_.getInt32Ty();
  const auto list = [&](std::uint64_t size) {
    llvm::AllocaInst* a = llvm::IRBuilder<>(&entry, entry.begin()).CreateAlloca(llvm::ArrayType::get(number, size));
    a->setAlignment(llvm::Align(64));
    return a;
  };
  llvm::AllocaInst *const which = list(kNoted + kMostLanes), *const where = list(kNoted + kMostLanes);
  const auto put = [&](Value* v, llvm::AllocaInst* to, Value* at) {
    ir_.CreateAlignedStore(v, ir_.CreateGEP(number, to, at), llvm::Align(4));
  };
  const auto note = [&](Values v) {
    Value* row = nullptr;
    Value* in = in_blocks(begin, count, row);
    put(ir_.CreateTrunc(frames_.back().iteration, number), which, v[0]), put(row, where, v[0]);
    return Values{ir_.CreateAdd(v[0], ir_.CreateZExt(in, ir_.getInt64Ty()))};
  };
  const bool by_vectors = features_.vector_bytes >= 32 && features_.gpu == VectorFeatures::Gpu::none;
  const int lanes = features_.lookups ? kMostLanes : kTableLanes;
  llvm::Type* type = llvm::FixedVectorType::get(number, static_cast<unsigned>(lanes));
  llvm::AllocaInst *const lane_rows = list(kMostLanes), *const lane_flags = list(kMostLanes);
  const auto note_lanes = [&](Values v) {
    Value* row = nullptr;
    Value* in = in_blocks(begin, count, row);
    Value* first = ir_.CreateTrunc(frames_.back().iteration, number);
    if (!by_vectors) {
      // Each iteration is written to the end of the list, where the next one overwrites it unless it belongs to the task.
      ir_.CreateAlignedStore(row, lane_rows, llvm::Align(32)),
          ir_.CreateAlignedStore(ir_.CreateZExt(in, type), lane_flags, llvm::Align(32));
      return loop(-1, i64(0), i64(lanes), 1, 1, 0, v, [&](Values w) {
        Value* lane = frames_.back().iteration;
        const auto at_lane = [&](llvm::AllocaInst* from) {
          return ir_.CreateAlignedLoad(number, ir_.CreateGEP(number, from, lane), llvm::Align(4));
        };
        put(ir_.CreateAdd(first, ir_.CreateTrunc(lane, number)), which, w[0]), put(at_lane(lane_rows), where, w[0]);
        return Values{ir_.CreateAdd(w[0], ir_.CreateZExt(at_lane(lane_flags), ir_.getInt64Ty()))};
      });
    }
    std::vector<llvm::Constant*> numbers;
    for (int i = 0; i < lanes; ++i) numbers.push_back(ir_.getInt32(static_cast<std::uint32_t>(i)));
    Value* set = ir_.CreateBitCast(in, ir_.getIntNTy(static_cast<unsigned>(lanes)));
    Value* order = nullptr;
    if (lanes == kTableLanes)
      order =
          ir_.CreateAlignedLoad(type, ir_.CreateGEP(type, lanes_of_sets(module_), ir_.CreateZExt(set, ir_.getInt64Ty())), llvm::Align(32));
    const auto closed_up = [&](Value* x) -> Value* {
      if (order) return ir_.CreateIntrinsic(llvm::Intrinsic::x86_avx2_permd, {}, {x, order});
      return ir_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_compress, {type}, {x, llvm::Constant::getNullValue(type), in});
    };
    put(closed_up(ir_.CreateAdd(builder_.splat(first, lanes), llvm::ConstantVector::get(numbers))), which, v[0]);
    put(closed_up(row), where, v[0]);
    return Values{ir_.CreateAdd(v[0], ir_.CreateZExt(ir_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, set), ir_.getInt64Ty()))};
  };
  loop(-1, i64(0), i64(n), kNoted, 1, 0, {}, [&](Values none) {
    base_level_ = static_cast<int>(frames_.size()) - 1;
    Value* first = frames_.back().iteration;
    Value* last = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, ir_.CreateAdd(first, i64(kNoted)), i64(n));
    Values found{i64(0)};
    Value* whole = ir_.CreateAdd(first, ir_.CreateAnd(ir_.CreateSub(last, first), i64(-lanes)));
    const int saved_dim = vector_dim_;
    lanes_ = lanes, vector_dim_ = dim;
    found = loop(dim, first, whole, lanes, 1, lanes, found, note_lanes);
    lanes_ = 1, vector_dim_ = saved_dim;
    found = loop(dim, whole, last, 1, 1, 1, found, note);
    loop(-1, i64(0), found[0], 1, 1, 0, {}, [&](Values v) {
      Frame& f = frames_.back();
      const auto noted = [&](llvm::AllocaInst* from) {
        return ir_.CreateZExt(ir_.CreateAlignedLoad(number, ir_.CreateGEP(number, from, f.iteration), llvm::Align(4)), ir_.getInt64Ty());
      };
      f.memo.emplace(key(row_number, {}), noted(where));
      f.iteration = noted(which);
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
