#include "weft/backends/codegen/gpu/gpu_radix.h"

#include <llvm/IR/Module.h>

#include <vector>

#include "weft/backends/codegen/gpu/gpu_routine.h"

namespace weft::detail {
namespace {

using llvm::Value;
using R = RadixKernels;

constexpr int kWarp = 32, kWarps = R::kThreads / kWarp;

class RadixEmitter : GpuRoutine {
 public:
  RadixEmitter(llvm::Module& module, const GpuTarget& target, int code_bits, const std::string& prefix)
      : GpuRoutine(module, target, prefix), bits_(code_bits) {}

  void count() {
    begin(R::count_name(bits_), R::kThreads, 2, 5, {0});
    Value *codes = given_[0], *counts = given_[1], *n = given_[2], *bit = given_[3], *tiles = given_[4];
    Value *line = ir_.CreateUDiv(block_, tiles), *tile = ir_.CreateURem(block_, tiles);
    Value* histogram = shared(i32_, R::kDigits, "count_histogram");
    store(i32(0), at(i32_, histogram, thread_));
    threads_.sync_block();
    Value* first = ir_.CreateMul(tile, i64(R::tile(bits_)));
    Value* begin_of_line = ir_.CreateMul(line, n);
    for (std::int64_t i = 0; i < R::tile(bits_); i += R::kThreads) {
      Value* number = ir_.CreateAdd(first, ir_.CreateAdd(wide(thread_), i64(i)));
      when(ir_.CreateICmpULT(number, n), [&] {
        Value* code = load(code_type(), at(code_type(), codes, ir_.CreateAdd(begin_of_line, number)));
        ir_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, at(i32_, histogram, digit(code, bit)), i32(1), llvm::Align(4),
                            llvm::AtomicOrdering::Monotonic);
      });
    }
    threads_.sync_block();
    store(load(i32_, at(i32_, histogram, thread_)), at(i32_, counts, place_of_count(line, tile, tiles)));
    ir_.CreateRetVoid();
  }

  void sum() {
    begin(R::sum_name(), R::kThreads, 2, 3, {});
    Value *counts = given_[0], *totals = given_[1], *tiles = given_[2];
    Value* row = ir_.CreateMul(block_, tiles);
    sums_ = shared(i32_, kWarps, "sum_sums");
    llvm::BasicBlock *before = ir_.GetInsertBlock(), *loop = block("loop"), *done = block("done");
    ir_.CreateBr(loop);
    ir_.SetInsertPoint(loop);
    llvm::PHINode *start = ir_.CreatePHI(i64_, 2), *running = ir_.CreatePHI(i32_, 2);
    Value *number = ir_.CreateAdd(start, wide(thread_)), *there = ir_.CreateICmpULT(number, tiles);
    // All threads read some address, so that the warp does not diverge.
    Value* place = at(i32_, counts, ir_.CreateAdd(row, ir_.CreateSelect(there, number, i64(0))));
    Value* own = ir_.CreateSelect(there, load(i32_, place), i32(0));
    const auto [below, all] = scan_block(own);
    when(there, [&] { store(ir_.CreateAdd(running, below), place); });
    Value *next = ir_.CreateAdd(start, i64(R::kThreads)), *more = ir_.CreateAdd(running, all);
    start->addIncoming(i64(0), before), running->addIncoming(i32(0), before);
    start->addIncoming(next, ir_.GetInsertBlock()), running->addIncoming(more, ir_.GetInsertBlock());
    ir_.CreateCondBr(ir_.CreateICmpULT(next, tiles), loop, done);
    ir_.SetInsertPoint(done);
    when(ir_.CreateICmpEQ(thread_, i32(0)), [&] { store(more, at(i32_, totals, block_)); });
    ir_.CreateRetVoid();
  }

  /// Stable: a warp takes consecutive elements, 32 at a time; equal digits of a warp are numbered by the lanes below, and those of the
  /// warps before come first.
  void move() {
    begin(R::move_name(bits_), R::kThreads, 6, 10, {0, 1, 4, 5});
    Value *codes = given_[0], *positions = given_[1], *codes_out = given_[2], *positions_out = given_[3], *counts = given_[4],
          *totals = given_[5], *n = given_[6], *bit = given_[7], *tiles = given_[8], *flags = given_[9];
    const auto each = static_cast<std::size_t>(R::tile(bits_) / R::kThreads);
    Value *line = ir_.CreateUDiv(block_, tiles), *tile = ir_.CreateURem(block_, tiles);
    Value *first = ir_.CreateMul(tile, i64(R::tile(bits_))), *begin_of_line = ir_.CreateMul(line, n);
    Value *lane = ir_.CreateAnd(thread_, i32(kWarp - 1)), *warp = ir_.CreateLShr(thread_, i32(5));
    Value* starts = shared(i32_, kWarps * R::kDigits, "move_starts");  // of each warp, by digit: elements counted, then the first's place
    Value* tile_codes = shared(code_type(), static_cast<std::uint64_t>(R::tile(bits_)), "move_codes");
    Value* tile_positions = shared(i32_, static_cast<std::uint64_t>(R::tile(bits_)), "move_positions");
    Value* targets = shared(i32_, R::kDigits, "move_targets");
    sums_ = shared(i32_, kWarps, "move_sums");
    const auto of_warp = [&](int w) { return at(i32_, starts, ir_.CreateAdd(thread_, i32(w * R::kDigits))); };

    // Elements beyond the end count as the largest code, so that they sort last.
    std::vector<Value*> code(each), number(each), rank(each);
    Value* own = ir_.CreateAdd(first, wide(ir_.CreateAdd(ir_.CreateMul(warp, i32(static_cast<std::int64_t>(each) * kWarp)), lane)));
    for (std::size_t i = 0; i < each; ++i) {
      number[i] = ir_.CreateAdd(own, i64(static_cast<std::int64_t>(i) * kWarp));
      Value* there = ir_.CreateICmpULT(number[i], n);
      Value* read = ir_.CreateSelect(there, number[i], first);
      Value* found = load(code_type(), at(code_type(), codes, ir_.CreateAdd(begin_of_line, read)));
      code[i] = ir_.CreateSelect(there, found, llvm::Constant::getAllOnesValue(code_type()));
    }
    for (int w = 0; w < kWarps; ++w) store(i32(0), of_warp(w));
    threads_.sync_block();

    Value* below = ir_.CreateSub(ir_.CreateShl(i32(1), lane), i32(1));
    Value* own_starts = ir_.CreateMul(warp, i32(R::kDigits));
    for (std::size_t i = 0; i < each; ++i) {
      Value* d = digit(code[i], bit);
      Value* alike = threads_.alike(d);
      Value* before = ir_.CreateAnd(alike, below);
      Value* slot = at(i32_, starts, ir_.CreateAdd(own_starts, d));
      Value* so_far = load(i32_, slot);
      rank[i] = ir_.CreateAdd(so_far, count_bits(before));
      threads_.sync_warp();
      when(ir_.CreateICmpEQ(before, i32(0)), [&] { store(ir_.CreateAdd(so_far, count_bits(alike)), slot); });
      threads_.sync_warp();
    }
    threads_.sync_block();

    // From here on, each thread handles the digit equal to its number.
    std::vector<Value*> before_warp;
    Value* of_digit = i32(0);
    for (int w = 0; w < kWarps; ++w) {
      before_warp.push_back(of_digit);
      of_digit = ir_.CreateAdd(of_digit, load(i32_, of_warp(w)));
    }
    Value* start = scan_block(of_digit).first;
    for (int w = 0; w < kWarps; ++w) store(ir_.CreateAdd(start, before_warp[static_cast<std::size_t>(w)]), of_warp(w));
    Value* target = at(i32_, targets, thread_);
    either(
        ir_.CreateICmpUGT(tiles, i64(1)),
        [&] {
          Value* total = load(i32_, at(i32_, totals, ir_.CreateAdd(ir_.CreateMul(line, i64(R::kDigits)), wide(thread_))));
          Value* digit_begins = scan_block(total).first;
          Value* before_tile = load(i32_, at(i32_, counts, place_of_count(line, tile, tiles)));
          store(ir_.CreateSub(ir_.CreateAdd(digit_begins, before_tile), start), target);
        },
        [&] { store(i32(0), target); });
    threads_.sync_block();

    for (std::size_t i = 0; i < each; ++i) {
      rank[i] = ir_.CreateAdd(rank[i], load(i32_, at(i32_, starts, ir_.CreateAdd(own_starts, digit(code[i], bit)))));
      store(code[i], at(code_type(), tile_codes, rank[i]));
    }
    when(is_set(flags, R::kWritesPositions), [&] {
      either(
          is_set(flags, R::kReadsPositions),
          [&] {
            for (std::size_t i = 0; i < each; ++i) {
              Value* read = ir_.CreateSelect(ir_.CreateICmpULT(number[i], n), number[i], first);
              store(load(i32_, at(i32_, positions, ir_.CreateAdd(begin_of_line, read))), at(i32_, tile_positions, rank[i]));
            }
          },
          [&] {
            for (std::size_t i = 0; i < each; ++i) store(ir_.CreateTrunc(number[i], i32_), at(i32_, tile_positions, rank[i]));
          });
    });
    threads_.sync_block();

    Value* left = ir_.CreateSub(n, first);
    for (std::size_t i = 0; i < each; ++i) {
      Value* j = ir_.CreateAdd(thread_, i32(static_cast<std::int64_t>(i) * R::kThreads));
      when(ir_.CreateICmpULT(wide(j), left), [&] {
        Value* moved = load(code_type(), at(code_type(), tile_codes, j));
        Value* to = ir_.CreateAdd(load(i32_, at(i32_, targets, digit(moved, bit))), j);
        Value* place = ir_.CreateAdd(begin_of_line, wide(to));
        when(is_set(flags, R::kWritesCodes), [&] { store(moved, at(code_type(), codes_out, place)); });
        when(is_set(flags, R::kWritesPositions), [&] { store(load(i32_, at(i32_, tile_positions, j)), at(i32_, positions_out, place)); });
      });
    }
    ir_.CreateRetVoid();
  }

 private:
  llvm::IntegerType* code_type() { return ir_.getIntNTy(static_cast<unsigned>(bits_)); }
  Value* shared(llvm::Type* t, std::uint64_t n, const char* name) {
    return threads_.shared(t, n, prefix_ + "radix_" + std::to_string(bits_) + "_" + name);
  }
  Value* digit(Value* code, Value* bit) {
    Value* low = ir_.CreateLShr(code, ir_.CreateZExtOrTrunc(bit, code_type()));
    return ir_.CreateAnd(ir_.CreateZExtOrTrunc(low, i32_), i32(R::kDigits - 1));
  }
  Value* count_bits(Value* v) { return ir_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, v); }
  Value* is_set(Value* flags, std::int64_t flag) { return ir_.CreateICmpNE(ir_.CreateAnd(flags, i64(flag)), i64(0)); }
  /// The place of the count of the thread's digit.
  Value* place_of_count(Value* line, Value* tile, Value* tiles) {
    Value* row = ir_.CreateAdd(ir_.CreateMul(line, i64(R::kDigits)), wide(thread_));
    return ir_.CreateAdd(ir_.CreateMul(row, tiles), tile);
  }

  /// The sum over the block's threads below, and over all. All threads take part.
  std::pair<Value*, Value*> scan_block(Value* own) {
    Value *lane = ir_.CreateAnd(thread_, i32(kWarp - 1)), *warp = ir_.CreateLShr(thread_, i32(5));
    Value* up_to = own;
    for (int apart = 1; apart < kWarp; apart *= 2) {
      Value* other = threads_.exchange(GpuThreads::Exchange::up, up_to, i32(apart));
      up_to = ir_.CreateAdd(up_to, ir_.CreateSelect(ir_.CreateICmpUGE(lane, i32(apart)), other, i32(0)));
    }
    threads_.sync_block();  // what was there has been read
    when(ir_.CreateICmpEQ(lane, i32(kWarp - 1)), [&] { store(up_to, at(i32_, sums_, warp)); });
    threads_.sync_block();
    Value *below = ir_.CreateSub(up_to, own), *all = i32(0);
    for (int w = 0; w < kWarps; ++w) {
      Value* sum = load(i32_, at(i32_, sums_, i32(w)));
      below = ir_.CreateAdd(below, ir_.CreateSelect(ir_.CreateICmpUGT(warp, i32(w)), sum, i32(0)));
      all = ir_.CreateAdd(all, sum);
    }
    return {below, all};
  }

  const int bits_;
  Value* sums_ = nullptr;
};

}  // namespace

void emit_radix_kernels(llvm::Module& module, const GpuTarget& target, int code_bits, const std::string& prefix) {
  RadixEmitter emitter(module, target, code_bits, prefix);
  emitter.count();
  if (!module.getFunction(prefix + R::sum_name())) emitter.sum();
  emitter.move();
}

}  // namespace weft::detail
