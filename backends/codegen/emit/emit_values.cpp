// Values of emitted kernels: expressions and positions.
#include <llvm/IR/Module.h>

#include <algorithm>

#include "weft/backends/codegen/emit/blocks.h"
#include "weft/backends/codegen/emit/by_products.h"
#include "weft/backends/codegen/emit/emit_kernel.h"
#include "weft/backends/codegen/math/sixteen_lanes.h"
#include "weft/backends/codegen/schedule/kernel_accesses.h"
#include "weft/core/errors/error.h"

namespace weft::detail {

using llvm::Value;

int KernelEmitter::level_of(std::uint64_t dims, bool pinned) const {
  for (std::size_t i = frames_.size(); i-- > 1;)
    if (frames_[i].dim >= 0 && (dims >> frames_[i].dim & 1))
      return pinned ? std::max(static_cast<int>(i), base_level_) : static_cast<int>(i);
  return pinned ? base_level_ : 0;
}

std::uint64_t KernelEmitter::key(NodeId n, const Copy& copy, int variant) const {
  const std::uint64_t dims = n >= 0 ? k_.dag[n].dims : ~std::uint64_t{0};
  std::uint64_t which = 0;
  for (std::size_t i = 0; i < frames_.size(); ++i) {
    // Copies of loops on which the node doesn't depend are not part of the key: those loops may be unrolled differently where it is used
    // again.
    if (frames_[i].unroll == 1 || !(dims >> frames_[i].dim & 1)) continue;
    which = which * static_cast<std::uint64_t>(frames_[i].unroll) + static_cast<std::uint64_t>(i < copy.size() ? copy[i] : 0);
  }
  if (which >> 20 || variant >> 4) throw CompileError("codegen: internal error: too many copies of a loop's body");
  return static_cast<std::uint64_t>(n) << 24 | static_cast<std::uint64_t>(variant) << 20 | which;
}

/// Runs f with the insertion point moved in front of the loop inside of the given level.
Value* KernelEmitter::at_level(int level, llvm::function_ref<Value*()> f) {
  if (static_cast<std::size_t>(level) + 1 >= frames_.size()) return f();
  return emit_before(ir_, frames_[static_cast<std::size_t>(level) + 1].entry, f);
}

Value* KernelEmitter::get(NodeId n, const Copy& copy) {
  const Node& node = k_.dag[n];
  if (n == holds_) return ir_.getTrue();
  if (node.kind == NodeKind::constant) return builder_.constant_value(node.dtype, node.floating, node.integer);
  const int level = level_of(node.dims, pinned_[static_cast<std::size_t>(n)]);
  auto& memo = frames_[static_cast<std::size_t>(level)].memo;
  const std::uint64_t id = key(n, copy);
  if (const auto found = memo.find(id); found != memo.end()) return found->second;
  if (node.kind == NodeKind::local) throw CompileError("codegen: internal error: a reduction is read before it is complete");
  Value* v = at_level(level, [&] { return compute(n, copy); });
  frames_[static_cast<std::size_t>(level)].memo.emplace(id, v);
  return v;
}

namespace {

/// Whether a value is a difference, multiplied or divided by others.
bool is_difference(const Kernel& k, NodeId n, int depth) {
  const Node& node = k.dag[n];
  if (node.kind != NodeKind::op || depth-- == 0) return false;
  if (node.op == ScalarOp::sub) return true;
  if (node.op == ScalarOp::mul && is_difference(k, node.operands[1], depth)) return true;
  return (node.op == ScalarOp::mul || node.op == ScalarOp::div) && is_difference(k, node.operands[0], depth);
}

/// Whether a value is the square of a distance, multiplied or divided by others: the square of a difference, or a sum of squares.
bool is_squared_distance(const Kernel& k, NodeId n, int depth, bool summed = false) {
  const Node& node = k.dag[n];
  if (depth-- == 0) return false;
  if (node.kind == NodeKind::local) {
    for (const Nest& nest : k.nests)
      for (const Reduction& r : nest.reductions)
        if (r.local == node.integer)
          return r.kind == Reduction::Kind::reduce && r.combiner == Combiner::sum && is_squared_distance(k, r.value, depth, true);
    return false;
  }
  if (node.kind != NodeKind::op) return false;
  const auto& x = node.operands;
  const auto is_square = [&] { return x[0] == x[1] && (summed || is_difference(k, x[0], depth)); };
  switch (node.op) {
    case ScalarOp::mul: return is_square() || is_squared_distance(k, x[0], depth, summed) || is_squared_distance(k, x[1], depth, summed);
    case ScalarOp::div: return is_squared_distance(k, x[0], depth, summed);
    case ScalarOp::add: return is_squared_distance(k, x[0], depth, true) && is_squared_distance(k, x[1], depth, true);
    case ScalarOp::fma: return x[0] == x[1] && is_squared_distance(k, x[2], depth, true);
    default: return false;
  }
}

/// Whether it is the negative of such a value: what a Gaussian takes the exponential of.
bool falls_with_distance(const Kernel& k, NodeId n, int depth = 6) {
  const Node& node = k.dag[n];
  if (node.kind != NodeKind::op || depth-- == 0) return false;
  const auto& x = node.operands;
  const auto is_negative = [&](NodeId c) { return k.dag[c].kind == NodeKind::constant && k.dag[c].floating < 0; };
  switch (node.op) {
    case ScalarOp::neg: return is_squared_distance(k, x[0], depth);
    case ScalarOp::mul:
      return (is_negative(x[0]) && is_squared_distance(k, x[1], depth)) || (is_negative(x[1]) && is_squared_distance(k, x[0], depth)) ||
             falls_with_distance(k, x[0], depth) || falls_with_distance(k, x[1], depth);
    case ScalarOp::div: return falls_with_distance(k, x[0], depth);
    default: return false;
  }
}

}  // namespace

Value* KernelEmitter::compute(NodeId n, const Copy& copy) {
  const Node& node = k_.dag[n];
  switch (node.kind) {
    case NodeKind::load: return load(n, copy);
    case NodeKind::index: return affine_value(n, copy);
    case NodeKind::index_below:
      for (const auto& [dim, from] : sections_)
        if (is_border(k_, node, dim)) return ir_.getInt1(holds_at(k_, node, from));
      break;
    case NodeKind::op:
    case NodeKind::math:
      // What is not chosen is not computed.
      if (node.kind == NodeKind::op && (node.op == ScalarOp::select || (node.op == ScalarOp::bit_and && node.dtype.is_bool())))
        if (const auto* c = llvm::dyn_cast<llvm::Constant>(operand(n, node.operands[0], copy))) {
          if (c->isAllOnesValue()) return operand(n, node.operands[1], copy);
          if (c->isNullValue()) return operand(n, node.operands[node.op == ScalarOp::select ? 2 : 0], copy);
        }
      if (lanes_ == 16 && features_.lookups && varies(node.dims) && std::binary_search(s_.by_inverse.begin(), s_.by_inverse.end(), n))
        return share_of_sum(node, copy);
      if (by_products_[static_cast<std::size_t>(n)] && varies(node.dims) && !mask_) return by_products(n, copy);
      if (node.kind == NodeKind::math && contains(s_.called, node.function)) return call_math(n, copy);
      if (node.kind == NodeKind::math && node.function == MathFunction::exp && falls_with_distance(k_, node.operands[0])) {
        operand(n, node.operands[0], copy);  // exponentials in it are others
        builder_.often_small = true;
        Value* const y = expression(builder_, k_.dag, n, [&](NodeId o) { return operand(n, o, copy); });
        builder_.often_small = false;
        return y;
      }
      break;
    default: break;
  }
  return expression(builder_, k_.dag, n, [&](NodeId o) { return operand(n, o, copy); });
}

/// The mathematical function as a call of a function in the module.
Value* KernelEmitter::call_math(NodeId id, const Copy& copy) {
  const Node& n = k_.dag[id];
  const DType t = k_.dag[n.operands[0]].dtype;
  Values args;
  int lanes = 1;
  for (NodeId o : n.operands)
    if (o >= 0) args.push_back(operand(id, o, copy)), lanes = std::max(lanes, VectorBuilder::lanes_of(args.back()));
  for (Value*& v : args) v = builder_.splat(v, lanes);
  const std::string name = "math_" + std::string(name_of(n.function)) + "_" + std::string(t.short_name()) + "x" + std::to_string(lanes);
  llvm::Function* function = module_.getFunction(name);
  if (!function) {
    function = make_function(module_, features_, name,
                             llvm::FunctionType::get(args[0]->getType(), std::vector<llvm::Type*>(args.size(), args[0]->getType()), false));
    function->setLinkage(llvm::Function::InternalLinkage);
    llvm::IRBuilder<> ir(llvm::BasicBlock::Create(module_.getContext(), "entry", function));
    llvm::Instruction* jump = ir.CreateBr(llvm::BasicBlock::Create(module_.getContext(), "body", function));
    ir.SetInsertPoint(jump->getSuccessor(0));
    VectorBuilder builder(ir, module_, features_);
    std::vector<KernelValue> parameters;
    for (llvm::Argument& a : function->args()) parameters.push_back(builder.wrap(&a, t));
    ir.CreateRet(builder.math_op(n.function, parameters));
  }
  return ir_.CreateCall(function, args);
}

/// A quotient by a sum, as a product with its inverse.
Value* KernelEmitter::share_of_sum(const Node& n, const Copy& copy) {
  const NodeId sum = n.operands[1];
  const int level = level_of(k_.dag[sum].dims, true);
  auto& memo = frames_[static_cast<std::size_t>(level)].memo;
  SixteenDivisors s;
  Value** const parts[] = {&s.down, &s.mantissa, &s.inverse};
  const auto part = [&](int i) { return key(sum, copy, i + 1); };
  if (const auto found = memo.find(part(0)); found != memo.end()) {
    for (int i = 0; i < 3; ++i) *parts[i] = memo.at(part(i));
  } else {
    at_level(level, [&] {
      s = sixteen_lane_divisors(ir_, full(get(sum, copy)));
      return s.down;
    });
    for (int i = 0; i < 3; ++i) memo.emplace(part(i), *parts[i]);
  }
  return sixteen_lane_quotient(ir_, full(get(n.operands[0], copy)), s);
}

/// A quotient, a square root or an inverse square root.
Value* KernelEmitter::by_products(NodeId id, const Copy& copy) {
  const Node& n = k_.dag[id];
  Value* x = full(operand(id, n.operands[0], copy));
  if (n.kind == NodeKind::math) return inverse_root_by_products(ir_, x);
  if (n.op == ScalarOp::sqrt) return root_by_products(ir_, x);
  return quotient_by_products(ir_, x, full(operand(id, n.operands[1], copy)));
}

Value* KernelEmitter::lane_numbers() {
  std::vector<llvm::Constant*> numbers;
  for (int i = 0; i < lanes_; ++i) numbers.push_back(llvm::ConstantInt::get(index_type(), static_cast<std::uint64_t>(i)));
  return llvm::ConstantVector::get(numbers);
}

/// A term of an affine form that is a node.
Value* KernelEmitter::lane_index(NodeId n, const Copy& copy) {
  const Node& node = k_.dag[n];
  if (node.kind == NodeKind::index_div || node.kind == NodeKind::index_mod) return get(n, copy);
  // A computed integer that is known to be small is not widened first.
  NodeId narrow = n;
  if (!wide_index_ && node.kind == NodeKind::op && node.op == ScalarOp::convert && k_.dag[node.operands[0]].dtype.is_signed())
    narrow = node.operands[0];
  Value* v = get(varies(node.dims) ? narrow : n, copy);
  if (VectorBuilder::lanes_of(v) == 1) return ir_.CreateSExtOrTrunc(v, ir_.getInt64Ty());
  return ir_.CreateSExtOrTrunc(v, llvm::FixedVectorType::get(index_type(), static_cast<unsigned>(lanes_)));
}

Value* KernelEmitter::scaled(Value* v, std::int64_t c) {
  return c == 1 ? v : ir_.CreateMul(v, llvm::ConstantInt::get(v->getType(), static_cast<std::uint64_t>(c)));
}

Value* KernelEmitter::shared_part(NodeId n, const Copy& copy) {
  const Affine& a = k_.dag.affine(n);
  Value* sum = i64(a.constant);
  for (const AffineTerm& t : a.terms) {
    if (t.atom < 0) {
      if (!varies(k_.dag[~t.atom].dims)) sum = ir_.CreateAdd(sum, scaled(lane_index(~t.atom, copy), t.coef));
      continue;
    }
    for (std::size_t i = 0; i < frames_.size(); ++i) {
      const Frame& f = frames_[i];
      if (f.dim != t.atom) continue;
      Value* at = f.unroll > 1 && copy[i] > 0 ? ir_.CreateAdd(f.iteration, i64(copy[i] * f.step)) : f.iteration;
      sum = ir_.CreateAdd(sum, scaled(at, t.coef));
    }
  }
  return sum;
}

Value* KernelEmitter::affine_value(NodeId n, const Copy& copy) {
  Value* scalar = shared_part(n, copy);
  if (!varies(k_.dag[n].dims)) return scalar;
  Value* lanes = builder_.splat(ir_.CreateSExtOrTrunc(scalar, index_type()), lanes_);
  return ir_.CreateAdd(lanes, lane_part(n, copy));
}

Value* KernelEmitter::lane_part(NodeId n, const Copy& copy) {
  Value* sum = llvm::Constant::getNullValue(llvm::FixedVectorType::get(index_type(), static_cast<unsigned>(lanes_)));
  for (const AffineTerm& t : k_.dag.affine(n).terms) {
    if (t.atom == vector_dim_) {
      sum = ir_.CreateAdd(sum, scaled(lane_numbers(), t.coef));
    } else if (t.atom < 0 && varies(k_.dag[~t.atom].dims)) {
      // A value that could differ between the lanes but is a constant has one lane.
      Value* v = lane_index(~t.atom, copy);
      if (VectorBuilder::lanes_of(v) == 1) v = builder_.splat(ir_.CreateSExtOrTrunc(v, index_type()), lanes_);
      sum = ir_.CreateAdd(sum, scaled(v, t.coef));
    }
  }
  return sum;
}

}  // namespace weft::detail
