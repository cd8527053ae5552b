// An approximation with 14 right digits, Newton's method, and a last step that rounds correctly: Markstein, "Computation of elementary
// functions on the IBM RISC System/6000 processor", IBM Journal of Research and Development 34 (1990); Cornea, Harrison, Tang, "Scientific
// computing on Itanium-based systems", Intel Press (2002), chapter 8. Vectors with an operand so large or so small that a step could
// overflow or lose digits are divided instead.
#include "weft/backends/codegen/emit/by_products.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <cmath>

#include "weft/backends/codegen/emit/blocks.h"
#include "weft/backends/codegen/schedule/cost.h"

namespace weft::detail {

using llvm::Value;

namespace {

/// Notation for vectors of 64 bytes.
class Formulas {
 public:
  Formulas(llvm::IRBuilder<>& ir, Value* like)
      : ir_(ir),
        type_(like->getType()),
        is_double_(type_->getScalarType()->isDoubleTy()),
        integers_(llvm::FixedVectorType::get(ir.getIntNTy(is_double_ ? 64 : 32), is_double_ ? 8 : 16)) {}

  struct Checked {
    Value* value = nullptr;
    Value* outside = nullptr;  ///< lanes in which it is not known to be right
  };

  /// 1 / b or c / b for a constant c.
  Checked inverse(Value* b, double c) {
    Value* size = ir_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, b);
    Value* y = inverse_of(size);
    if (std::abs(c) == 1) return {with_sign_of(c < 0 ? ir_.CreateFNeg(y) : y, b), outside(b, false)};
    return {with_sign_of(quotient_of(number(c), size, y), b), outside(b, false)};
  }
  Checked quotient(Value* a, Value* b) {
    Value* size = ir_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, b);
    Value* y = with_sign_of(quotient_of(a, size, inverse_of(size)), b);
    return {y, ir_.CreateOr(outside(b, true), ir_.CreateAnd(is_not_zero(a), outside(a, false)))};
  }
  Checked root(Value* x) {
    Value* y = root_of(x).root;
    Value* some = is_not_zero(x);
    return {ir_.CreateSelect(some, y, x), ir_.CreateAnd(some, outside(x, false))};
  }
  Checked inverse_root(Value* x) {
    const Roots r = root_of(x);
    return {closest_inverse(r.root, ir_.CreateFAdd(r.half_inverse, r.half_inverse)), outside(x, false)};
  }

  Value* number(double c) { return llvm::ConstantFP::get(type_, c); }

 private:
  struct Roots {
    Value *root, *half_inverse;
  };

  Value* fma(Value* a, Value* b, Value* c) { return ir_.CreateIntrinsic(llvm::Intrinsic::fma, {type_}, {a, b, c}); }
  /// c - a b
  Value* rest(Value* a, Value* b, Value* c) { return fma(ir_.CreateFNeg(a), b, c); }
  Value* fma_up(Value* a, Value* b, Value* c) {
    constexpr unsigned upwards = 2, no_exceptions = 8;
    const auto id = is_double_ ? llvm::Intrinsic::x86_avx512_vfmadd_pd_512 : llvm::Intrinsic::x86_avx512_vfmadd_ps_512;
    return ir_.CreateIntrinsic(id, {}, {a, b, c, ir_.getInt32(upwards | no_exceptions)});
  }
  Value* approximation(bool root, Value* x) {
    namespace id = llvm::Intrinsic;
    const auto which = is_double_ ? (root ? id::x86_avx512_rsqrt14_pd_512 : id::x86_avx512_rcp14_pd_512)
                                  : (root ? id::x86_avx512_rsqrt14_ps_512 : id::x86_avx512_rcp14_ps_512);
    return ir_.CreateIntrinsic(which, {}, {x, number(0), llvm::Constant::getAllOnesValue(ir_.getIntNTy(is_double_ ? 8 : 16))});
  }

  /// The inverse of b > 0, rounded, from one with half of the digits or more. A step from an inverse within one unit in the last place
  /// rounds correctly, unless all digits of b are ones: then one that is not too small is needed, hence the rounding upwards.
  Value* closest_inverse(Value* b, Value* y) {
    y = fma_up(y, rest(b, y, number(1)), y);
    return fma(y, rest(b, y, number(1)), y);
  }
  Value* inverse_of(Value* b) {
    Value* y = approximation(false, b);
    if (is_double_) y = fma(y, rest(b, y, number(1)), y);
    return closest_inverse(b, y);
  }
  /// a / b for b > 0 and its inverse y. What is left is subtracted, which keeps the sign of zero.
  Value* quotient_of(Value* a, Value* b, Value* y) {
    Value* q = ir_.CreateFMul(a, y);
    Value* left = fma(b, q, ir_.CreateFNeg(a));
    return fma(ir_.CreateFNeg(left), y, q);
  }
  /// By Goldschmidt's iteration: the root and half of its inverse at the same time.
  Roots root_of(Value* x) {
    Value* y = approximation(true, x);
    Value *root = ir_.CreateFMul(x, y), *half = ir_.CreateFMul(y, number(.5));
    for (int i = 0; i < (is_double_ ? 2 : 1); ++i) {
      Value* r = rest(root, half, number(.5));
      root = fma(root, r, root), half = fma(half, r, half);
    }
    return {fma(rest(root, root, x), half, root), half};
  }

  Value* bits(Value* x) { return ir_.CreateBitCast(x, integers_); }
  Value* twice(Value* x) { return ir_.CreateAdd(bits(x), bits(x)); }
  Value* is_not_zero(Value* x) { return ir_.CreateICmpNE(twice(x), llvm::Constant::getNullValue(integers_)); }
  Value* with_sign_of(Value* y, Value* b) {
    const unsigned width = is_double_ ? 64 : 32;
    Value* sign = ir_.CreateAnd(bits(b), llvm::ConstantInt::get(integers_, llvm::APInt::getSignMask(width)));
    return ir_.CreateBitCast(ir_.CreateXor(bits(y), sign), type_);
  }
  /// Where x is not of moderate size: the first bits of its exponent are alike. That leaves 2^-511 to 2^513 (float32: 2^-63 to 2^65);
  /// narrow: 2^-255 to 2^257 (2^-31 to 2^33), so that a quotient of two such numbers has a moderate exponent, too.
  Value* outside(Value* x, bool narrow) {
    Value *once = bits(x), *shifted = twice(x), *moderate = ir_.CreateXor(once, shifted);
    if (narrow) moderate = ir_.CreateAnd(moderate, ir_.CreateNot(ir_.CreateXor(shifted, ir_.CreateAdd(shifted, shifted))));
    Value* bit = llvm::ConstantInt::get(integers_, std::uint64_t{1} << (is_double_ ? 62 : 30));
    return ir_.CreateICmpEQ(ir_.CreateAnd(moderate, bit), llvm::Constant::getNullValue(integers_));
  }

  llvm::IRBuilder<>& ir_;
  llvm::Type* type_;
  bool is_double_;
  llvm::FixedVectorType* integers_;
};

Value* unless_outside(llvm::IRBuilder<>& ir, const Formulas::Checked& usual, llvm::function_ref<Value*()> divided) {
  return unless_any(ir, usual.outside, usual.value, divided);
}

/// What a node takes of the divider, in cycles, and in instructions if it is computed by products.
struct Ways {
  double divider = 0, instructions = 0;
};

/// Nothing where the node is no quotient or root that can be either. The instructions are those that Formulas makes, three for the
/// approximation.
Ways ways(const Kernel& k, const Node& n, const VectorFeatures::Division& d) {
  if (n.dtype != float32 && n.dtype != float64) return {};
  const bool wide = n.dtype == float64;
  const double quotient = wide ? d.quotient_f64 : d.quotient_f32, root = wide ? d.root_f64 : d.root_f32;
  const double more = wide ? 3 : 0;  // of an iteration, at most
  if (n.kind == NodeKind::math && n.function == MathFunction::rsqrt) return {quotient + root, 19 + more};
  if (n.kind != NodeKind::op) return {};
  if (n.op == ScalarOp::sqrt) return {root, 16 + more};
  if (n.op != ScalarOp::div || k.dag[n.operands[1]].kind == NodeKind::constant) return {};
  const Node& a = k.dag[n.operands[0]];
  if (a.kind != NodeKind::constant) return {quotient, 21 + more};
  const double size = std::abs(a.floating);
  if (size == 1) return {quotient, 12 + more};
  if (size > 0x1p-31 && size < 0x1p31) return {quotient, 15 + more};
  return {};
}

/// Of a register of what is computed otherwise.
double instructions(const Kernel& k, const Node& n) {
  const bool by_constant = n.kind == NodeKind::op && n.op == ScalarOp::div && k.dag[n.operands[1]].kind == NodeKind::constant;
  if (by_constant && n.dtype.is_floating()) return 6;  // two products and the check of divide_by_constant
  return node_cost(n) / (n.dtype.itemsize() == 8 ? 2 : 1);
}

constexpr double kWorthwhile = 0.95;  // of the time before, since it is more code

/// Cycles of the divider and of other instructions, some of them products in place of it: chains of multiply-adds fill what a processor
/// sees ahead, so that units wait for one another. As measured on Ice Lake for 40 expressions.
double together(double divider, double others) { return 1.25 * (others + divider / 2); }

struct Candidate {
  std::size_t node;
  double divider, added;  ///< cycles
};

}  // namespace

std::vector<char> nodes_by_products(const Kernel& k, const Schedule& s, const VectorFeatures& features) {
  std::vector<char> chosen(k.dag.nodes.size());
  const VectorFeatures::Division& d = features.division;
  // Steps of a loop wait for one another, and multiply-adds one after the other take longer than the divider.
  const bool has_steps = std::any_of(k.nests.begin(), k.nests.end(), [](const Nest& t) { return !t.repeats.empty(); });
  if (d.multiply_add == 0 || s.lanes == 1 || has_steps) return chosen;
  std::uint64_t vectors = s.vector_dim >= 0 ? std::uint64_t{1} << s.vector_dim : 0;
  for (const NestSchedule& n : s.nests)
    for (const std::vector<LoopPlan>* loops : {&n.parallel, &n.reduce})
      for (const LoopPlan& l : *loops)
        if (l.vector) vectors |= std::uint64_t{1} << l.dim;

  const std::vector<char> live = live_nodes(k);
  std::vector<Candidate> candidates;
  double divider = 0, others = 0;
  for (std::size_t i = 0; i < live.size(); ++i) {
    const Node& n = k.dag.nodes[i];
    if (!live[i] || (n.kind != NodeKind::op && n.kind != NodeKind::math)) continue;
    const bool varies = n.dims & vectors;
    const double times = points_along(k, n.dims) / (varies ? s.lanes : 1);
    const double registers = varies ? s.lanes * n.dtype.itemsize() / 64. : 0;
    const Ways w = varies && !std::binary_search(s.by_inverse.begin(), s.by_inverse.end(), static_cast<NodeId>(i)) ? ways(k, n, d) : Ways{};
    if (w.divider == 0) {
      others += times * instructions(k, n) * std::max(1., registers) * d.multiply_add;
      continue;
    }
    divider += times * w.divider * registers;
    if (registers == 1) candidates.push_back({i, times * w.divider, times * w.instructions * d.multiply_add});
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.divider * b.added > b.divider * a.added; });
  double least = kWorthwhile * std::max(divider, others);
  std::size_t count = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    divider -= candidates[i].divider, others += candidates[i].added;
    if (const double cycles = together(divider, others); cycles < least) least = cycles, count = i + 1;
  }
  for (std::size_t i = 0; i < count; ++i) chosen[candidates[i].node] = 1;
  return chosen;
}

Value* quotient_by_products(llvm::IRBuilder<>& ir, Value* a, Value* b) {
  Formulas f(ir, b);
  const auto* constant = llvm::dyn_cast<llvm::Constant>(a);
  const auto* c = constant ? llvm::dyn_cast_or_null<llvm::ConstantFP>(constant->getSplatValue()) : nullptr;
  const double number = !c ? 0 : c->getType()->isDoubleTy() ? c->getValueAPF().convertToDouble() : c->getValueAPF().convertToFloat();
  const Formulas::Checked q = c ? f.inverse(b, number) : f.quotient(a, b);
  return unless_outside(ir, q, [&] { return ir.CreateFDiv(a, b); });
}

Value* root_by_products(llvm::IRBuilder<>& ir, Value* x) {
  return unless_outside(ir, Formulas(ir, x).root(x), [&] { return ir.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x); });
}

Value* inverse_root_by_products(llvm::IRBuilder<>& ir, Value* x) {
  Formulas f(ir, x);
  return unless_outside(ir, f.inverse_root(x),
                        [&] { return ir.CreateFDiv(f.number(1), ir.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x)); });
}

}  // namespace weft::detail
