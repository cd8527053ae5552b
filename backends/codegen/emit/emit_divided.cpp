// Kernels that are divided by rows: a task goes through all iterations of the loop, some at a time. It first notes which of those have one
// of its rows, and which, by vectors where the processor can close up their lanes; then it does what is to be done for these alone, in
// their order.
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include "weft/backends/codegen/emit/emit_kernel.h"

namespace weft::detail {

using llvm::Value;

namespace {
constexpr std::int64_t kNoted = 1024;  // iterations that are looked at before any is done
constexpr int kClosedUp = 16;          // lanes of 32 bits that are closed up at once
}  // namespace

/// Whether the open iteration, or which lanes of it, has a row of the blocks and is not left out. `row` is set to that, in 32 bits.
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
  const auto list = [&] {
    llvm::AllocaInst* a = llvm::IRBuilder<>(&entry, entry.begin()).CreateAlloca(llvm::ArrayType::get(number, kNoted + kClosedUp));
    a->setAlignment(llvm::Align(64));
    return a;
  };
  llvm::AllocaInst *const which = list(), *const where = list();
  const auto put = [&](Value* v, llvm::AllocaInst* to, Value* at) {
    ir_.CreateAlignedStore(v, ir_.CreateGEP(number, to, at), llvm::Align(4));
  };
  const auto note = [&](Values v) {
    Value* row = nullptr;
    Value* in = in_blocks(begin, count, row);
    put(ir_.CreateTrunc(frames_.back().iteration, number), which, v[0]), put(row, where, v[0]);
    return Values{ir_.CreateAdd(v[0], ir_.CreateZExt(in, ir_.getInt64Ty()))};
  };
  const auto note_lanes = [&](Values v) {
    Value* row = nullptr;
    Value* in = in_blocks(begin, count, row);
    llvm::Type* type = llvm::FixedVectorType::get(number, kClosedUp);
    std::vector<llvm::Constant*> numbers;
    for (unsigned i = 0; i < kClosedUp; ++i) numbers.push_back(ir_.getInt32(i));
    Value* iterations =
        ir_.CreateAdd(builder_.splat(ir_.CreateTrunc(frames_.back().iteration, number), kClosedUp), llvm::ConstantVector::get(numbers));
    const auto closed_up = [&](Value* x) {
      return ir_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_compress, {type}, {x, llvm::Constant::getNullValue(type), in});
    };
    put(closed_up(iterations), which, v[0]), put(closed_up(row), where, v[0]);
    Value* bits = ir_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, ir_.CreateBitCast(in, ir_.getInt16Ty()));
    return Values{ir_.CreateAdd(v[0], ir_.CreateZExt(bits, ir_.getInt64Ty()))};
  };
  loop(-1, i64(0), i64(n), kNoted, 1, 0, {}, [&](Values none) {
    base_level_ = static_cast<int>(frames_.size()) - 1;
    Value* first = frames_.back().iteration;
    Value* last = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, ir_.CreateAdd(first, i64(kNoted)), i64(n));
    Values found{i64(0)};
    if (features_.lookups) {
      Value* whole = ir_.CreateAdd(first, ir_.CreateAnd(ir_.CreateSub(last, first), i64(-kClosedUp)));
      const int saved_dim = vector_dim_;
      lanes_ = kClosedUp, vector_dim_ = dim;
      found = loop(dim, first, whole, kClosedUp, 1, kClosedUp, found, note_lanes);
      lanes_ = 1, vector_dim_ = saved_dim;
      first = whole;
    }
    found = loop(dim, first, last, 1, 1, 1, found, note);
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
