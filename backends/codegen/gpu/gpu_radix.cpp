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
    Tile t{};
    t.n = given_[6], t.bit = given_[7], t.tiles = given_[8], t.flags = given_[9];
    t.line = ir_.CreateUDiv(block_, t.tiles), t.number = ir_.CreateURem(block_, t.tiles);
    t.first = ir_.CreateMul(t.number, i64(R::tile(bits_))), t.begin_of_line = ir_.CreateMul(t.line, t.n);
    t.lane = ir_.CreateAnd(thread_, i32(kWarp - 1)), t.warp = ir_.CreateLShr(thread_, i32(5));
    t.starts = shared(i32_, kWarps * R::kDigits, "move_starts");
    t.codes = shared(code_type(), static_cast<std::uint64_t>(R::tile(bits_)), "move_codes");
    t.positions = shared(i32_, static_cast<std::uint64_t>(R::tile(bits_)), "move_positions");
    t.targets = shared(i32_, R::kDigits, "move_targets");
    sums_ = shared(i32_, kWarps, "move_sums");
    read_codes(t);
    rank_in_warps(t);
    start_digits(t);
    sort_in_block(t);
    write_sorted(t);
    ir_.CreateRetVoid();
  }

 private:
  /// A block's elements while they are moved.
  struct Tile {
    Value *n, *bit, *tiles, *flags;  ///< parameters
    Value *line, *number, *first, *begin_of_line;
    Value *lane, *warp;
    Value* starts;                            ///< of each warp, by digit: elements counted, then the first's place. In shared memory.
    Value *codes, *positions;                 ///< sorted, in shared memory
    Value* targets;                           ///< by digit: what is added to a place in the tile. In shared memory.
    Value* own_starts;                        ///< where the warp's part of `starts` begins
    std::vector<Value*> code, element, rank;  ///< of the thread's elements: code, number in the line, place in the tile
  };
  int elements_of_thread() const { return static_cast<int>(R::tile(bits_) / R::kThreads); }
  Value* start_of_warp(const Tile& t, int warp) { return at(i32_, t.starts, ir_.CreateAdd(thread_, i32(warp * R::kDigits))); }

  void read_codes(Tile& t) {
    // Elements beyond the end count as the largest code, so that they sort last.
    Value* own = ir_.CreateAdd(t.first, wide(ir_.CreateAdd(ir_.CreateMul(t.warp, i32(elements_of_thread() * kWarp)), t.lane)));
    for (int i = 0; i < elements_of_thread(); ++i) {
      Value* element = ir_.CreateAdd(own, i64(i * kWarp));
      Value* there = ir_.CreateICmpULT(element, t.n);
      Value* read = ir_.CreateSelect(there, element, t.first);
      Value* found = load(code_type(), at(code_type(), given_[0], ir_.CreateAdd(t.begin_of_line, read)));
      t.element.push_back(element);
      t.code.push_back(ir_.CreateSelect(there, found, llvm::Constant::getAllOnesValue(code_type())));
    }
  }

  /// The rank of each element among those of its warp with the same digit, and each warp's numbers of elements by digit.
  void rank_in_warps(Tile& t) {
    for (int w = 0; w < kWarps; ++w) store(i32(0), start_of_warp(t, w));
    threads_.sync_block();
    Value* below = ir_.CreateSub(ir_.CreateShl(i32(1), t.lane), i32(1));
    t.own_starts = ir_.CreateMul(t.warp, i32(R::kDigits));
    for (Value* code : t.code) {
      Value* d = digit(code, t.bit);
      Value* alike = threads_.alike(d);
      Value* before = ir_.CreateAnd(alike, below);
      Value* slot = at(i32_, t.starts, ir_.CreateAdd(t.own_starts, d));
      Value* so_far = load(i32_, slot);
      t.rank.push_back(ir_.CreateAdd(so_far, count_bits(before)));
      threads_.sync_warp();
      when(ir_.CreateICmpEQ(before, i32(0)), [&] { store(ir_.CreateAdd(so_far, count_bits(alike)), slot); });
      threads_.sync_warp();
    }
    threads_.sync_block();
  }

  /// Where each warp's elements of a digit begin in the tile, and what is added there to reach the line: each thread does the digit equal
  /// to its number.
  void start_digits(Tile& t) {
    std::vector<Value*> before_warp;
    Value* of_digit = i32(0);
    for (int w = 0; w < kWarps; ++w) {
      before_warp.push_back(of_digit);
      of_digit = ir_.CreateAdd(of_digit, load(i32_, start_of_warp(t, w)));
    }
    Value* start = scan_block(of_digit).first;
    for (int w = 0; w < kWarps; ++w) store(ir_.CreateAdd(start, before_warp[static_cast<std::size_t>(w)]), start_of_warp(t, w));
    Value* target = at(i32_, t.targets, thread_);
    either(
        ir_.CreateICmpUGT(t.tiles, i64(1)),
        [&] {
          Value *counts = given_[4], *totals = given_[5];
          Value* total = load(i32_, at(i32_, totals, ir_.CreateAdd(ir_.CreateMul(t.line, i64(R::kDigits)), wide(thread_))));
          Value* digit_begins = scan_block(total).first;
          Value* before_tile = load(i32_, at(i32_, counts, place_of_count(t.line, t.number, t.tiles)));
          store(ir_.CreateSub(ir_.CreateAdd(digit_begins, before_tile), start), target);
        },
        [&] { store(i32(0), target); });
    threads_.sync_block();
  }

  /// Codes and positions into shared memory, in order.
  void sort_in_block(Tile& t) {
    for (std::size_t i = 0; i < t.code.size(); ++i) {
      t.rank[i] = ir_.CreateAdd(t.rank[i], load(i32_, at(i32_, t.starts, ir_.CreateAdd(t.own_starts, digit(t.code[i], t.bit)))));
      store(t.code[i], at(code_type(), t.codes, t.rank[i]));
    }
    when(is_set(t.flags, R::kWritesPositions), [&] {
      either(
          is_set(t.flags, R::kReadsPositions),
          [&] {
            for (std::size_t i = 0; i < t.element.size(); ++i) {
              Value* read = ir_.CreateSelect(ir_.CreateICmpULT(t.element[i], t.n), t.element[i], t.first);
              store(load(i32_, at(i32_, given_[1], ir_.CreateAdd(t.begin_of_line, read))), at(i32_, t.positions, t.rank[i]));
            }
          },
          [&] {
            for (std::size_t i = 0; i < t.element.size(); ++i) store(ir_.CreateTrunc(t.element[i], i32_), at(i32_, t.positions, t.rank[i]));
          });
    });
    threads_.sync_block();
  }

  /// From shared memory into the line: neighbouring threads write neighbouring elements.
  void write_sorted(const Tile& t) {
    Value* left = ir_.CreateSub(t.n, t.first);
    for (int i = 0; i < elements_of_thread(); ++i) {
      Value* j = ir_.CreateAdd(thread_, i32(i * R::kThreads));
      when(ir_.CreateICmpULT(wide(j), left), [&] {
        Value* moved = load(code_type(), at(code_type(), t.codes, j));
        Value* to = ir_.CreateAdd(load(i32_, at(i32_, t.targets, digit(moved, t.bit))), j);
        Value* place = ir_.CreateAdd(t.begin_of_line, wide(to));
        when(is_set(t.flags, R::kWritesCodes), [&] { store(moved, at(code_type(), given_[2], place)); });
        when(is_set(t.flags, R::kWritesPositions), [&] { store(load(i32_, at(i32_, t.positions, j)), at(i32_, given_[3], place)); });
      });
    }
  }

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
