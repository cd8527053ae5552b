#include "weft/backends/codegen/gpu/gpu_algebra.h"

#include <llvm/IR/Module.h>

#include "weft/backends/codegen/gpu/gpu_routine.h"

namespace weft::detail {
namespace {

using llvm::Value;
using K = AlgebraKernels;

class AlgebraEmitter : GpuRoutine {
 public:
  using GpuRoutine::GpuRoutine;

  void places() {
    begin(K::places_name(), K::kThreads, 1, 4, {});
    Value *out = given_[0], *first = given_[1], *bytes = given_[2], *count = given_[3], *i = number();
    when(ir_.CreateICmpULT(i, count), [&] { store(ir_.CreateAdd(first, ir_.CreateMul(i, bytes)), at(i64_, out, i)); });
    ir_.CreateRetVoid();
  }

  void pivots() {
    begin(K::pivots_name(), K::kThreads, 3, 6, {0});
    Value *from_one = given_[0], *pivots = given_[1], *permutation = given_[2], *interchanges = given_[3], *rows = given_[4],
          *count = given_[5], *i = number();
    when(ir_.CreateICmpULT(i, count), [&] {
      Value *first_row = ir_.CreateMul(i, rows), *first = ir_.CreateMul(i, interchanges);
      const auto row = [&](Value* k) { return at(i32_, permutation, ir_.CreateAdd(first_row, k)); };
      loop(rows, [&](Value* k) { store(ir_.CreateTrunc(k, i32_), row(k)); });
      loop(interchanges, [&](Value* k) {
        Value* place = ir_.CreateAdd(first, k);
        Value* other = ir_.CreateSub(load(i64_, at(i64_, from_one, place)), i64(1));
        other = ir_.CreateSelect(ir_.CreateICmpULT(other, rows), other, k);
        store(ir_.CreateTrunc(other, i32_), at(i32_, pivots, place));
        Value *a = load(i32_, row(k)), *b = load(i32_, row(other));
        store(b, row(k)), store(a, row(other));
      });
    });
    ir_.CreateRetVoid();
  }

 private:
  Value* number() { return ir_.CreateAdd(ir_.CreateMul(block_, i64(K::kThreads)), wide(thread_)); }
};

}  // namespace

void emit_algebra_kernels(llvm::Module& module, const GpuTarget& target, const std::string& prefix) {
  AlgebraEmitter emitter(module, target, prefix);
  emitter.places();
  emitter.pivots();
}

}  // namespace weft::detail
