// The loops of a nest's reductions: accumulators that the loops carry, a step for all copies of the open loops at once, and, behind the
// loops, the combination of each result's accumulators and lanes.
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>

#include "weft/backends/codegen/emit/emit_kernel.h"

namespace weft::detail {

using llvm::Value;

/// Emits the reductions of one nest. What the loops carry is, for each reduction, each copy of the result and each partial accumulator, the
/// accumulator and, where it has one, its position; behind all of these, for each copy of a reduction that keeps account of NaNs, the lanes
/// that have seen one and the bits that all elements have in common.
class KernelEmitter::NestReductions {
 public:
  NestReductions(KernelEmitter& emitter, std::size_t number)
      : e_(emitter),
        number_(number),
        nest_(e_.k_.nests[number]),
        plans_(e_.s_.nests[number].reduce),
        across_(!plans_.empty() && plans_.back().vector),
        running_(std::any_of(nest_.reductions.begin(), nest_.reductions.end(), [](const Reduction& r) { return r.running; })),
        partial_(across_ && !running_ ? static_cast<std::size_t>(plans_.back().unroll) : 1),
        width_(across_ ? e_.s_.lanes : e_.lanes_),
        outside_(e_.frames_.size()) {
    e_.for_each_copy([&](const Copy& c) { copies_.push_back(c); });
  }

  void run() {
    const Values carried = e_.run_loops(plans_, identities(), [&](Values acc) {
      step(acc);
      e_.store_all(number_, true);
      return acc;
    });
    for (const Carried& r : reductions_)
      for (std::size_t c = 0; c < copies_.size() && !r.what.running; ++c) finish(r, c, carried);
  }

 private:
  struct Carried {
    const Reduction& what;
    std::size_t begin;  ///< of its accumulators
    std::size_t flags;  ///< the first of what it knows of NaNs, if it is flagged
    bool has_position, flagged;
  };
  std::size_t accumulator(const Carried& r, std::size_t copy, std::size_t part) const {
    return r.begin + (copy * partial_ + part) * (r.has_position ? 2 : 1);
  }
  Value* identity(const Reduction& r) const { return e_.builder_.splat(reduction_identity(e_.builder_, r), width_); }
  Value* zeros(llvm::Type* type) const { return e_.builder_.splat(llvm::Constant::getNullValue(type), width_); }
  /// The lanes that exist in this step; null: all.
  Value* keep() const { return across_ ? e_.mask_ : nullptr; }

  /// What the loops carry at first. Says where it is.
  Values identities() {
    Values carried;
    for (const Reduction& r : nest_.reductions) {
      const bool has_position = r.kind != Reduction::Kind::reduce;
      reductions_.push_back({r, carried.size(), 0, has_position, across_ && e_.flags_nans(r)});
      for (std::size_t i = 0; i < copies_.size() * partial_; ++i) {
        carried.push_back(identity(r));
        if (has_position) carried.push_back(zeros(e_.builder_.type(e_.index_dtype(r))));
      }
    }
    for (Carried& r : reductions_) {
      r.flags = carried.size();
      for (std::size_t i = 0; i < copies_.size() && r.flagged; ++i) {
        carried.push_back(zeros(e_.ir_.getInt1Ty()));
        carried.push_back(identity(r.what));
      }
    }
    return carried;
  }

  /// The copies of the reducing loops that are open, for the first copy of those outside.
  std::vector<Copy> copies_of_reducing_loops() const {
    std::vector<Copy> inner;
    e_.for_each_copy([&](const Copy& c) {
      if (std::all_of(c.begin(), c.begin() + static_cast<std::ptrdiff_t>(outside_), [](int i) { return i == 0; })) inner.push_back(c);
    });
    return inner;
  }
  static Copy joined(const Copy& outside, Copy inner) {
    std::copy(outside.begin(), outside.end(), inner.begin());
    return inner;
  }

  void step(Values& acc) {
    const std::vector<Copy> inner = copies_of_reducing_loops();
    if (!running_ && copies_.size() * inner.size() * reductions_.size() <= static_cast<std::size_t>(e_.s_.at_once)) compute_first(inner);
    for (const Carried& r : reductions_)
      for (std::size_t c = 0; c < copies_.size(); ++c) step_of(r, c, inner, acc);
  }

  /// Computes all values before anything is stored, so that their instructions can be interleaved.
  void compute_first(const std::vector<Copy>& inner) {
    for (const Copy& outside : copies_)
      for (const Copy& c : inner) {
        const Copy copy = joined(outside, c);
        for (const Reduction& r : nest_.reductions) {
          if (e_.is_fused(r, keep()))
            for (int i = 0; i < 2; ++i) e_.get(e_.k_.dag[r.value].operands[static_cast<std::size_t>(i)], copy);
          else
            e_.get(r.value, copy);
        }
      }
  }

  void step_of(const Carried& r, std::size_t which, const std::vector<Copy>& inner, Values& acc) {
    Values seen;
    for (std::size_t u = 0; u < inner.size(); ++u) {
      const Copy copy = joined(copies_[which], inner[u]);
      const std::size_t at = accumulator(r, which, partial_ > 1 ? u : 0);
      if (r.what.running) {
        Value* const result =
            across_ ? e_.run_on(r.what, acc[at], copy, keep()) : (acc[at] = e_.accumulate(r.what, acc[at], copy, width_ > 1, nullptr));
        e_.frames_.back().memo[e_.key(e_.local_nodes_.at(r.what.local), copy)] = result;
      } else if (r.flagged) {
        seen.push_back(kept_or_identity(r.what, copy));
        acc[at] = e_.join(r.what, acc[at], seen.back(), true);
      } else if (r.has_position) {
        step_with_position(r.what, copy, acc[at], acc[at + 1]);
      } else {
        acc[at] = e_.accumulate(r.what, acc[at], copy, width_ > 1, keep());
      }
    }
    note_nans(r, which, seen, acc);
  }

  Value* kept_or_identity(const Reduction& r, const Copy& copy) {
    Value* const v = e_.builder_.splat(e_.get(r.value, copy), width_);
    return keep() ? e_.ir_.CreateSelect(keep(), v, identity(r)) : v;
  }

  /// Positions grow along the loop, so that the first of equals is kept.
  void step_with_position(const Reduction& r, const Copy& copy, Value*& value, Value*& position) {
    Value* const v = width_ > 1 || keep() ? kept_or_identity(r, copy) : e_.get(r.value, copy);
    Value* p = e_.get(r.position, copy);
    if (width_ > 1) p = e_.builder_.splat(p, width_);
    if (keep() && r.kind == Reduction::Kind::complex_product)
      p = e_.ir_.CreateSelect(keep(), p, llvm::Constant::getNullValue(p->getType()));
    combine_two(e_.builder_, r, e_.index_dtype(r), value, position, v, p, false);
  }

  /// One comparison for two vectors.
  void note_nans(const Carried& r, std::size_t which, const Values& seen, Values& acc) {
    const bool greatest = r.what.combiner == Combiner::max;
    for (std::size_t u = 0; u < seen.size(); u += 2) {
      Value *&flag = acc[r.flags + 2 * which], *&bits = acc[r.flags + 2 * which + 1];
      Value* const other = seen[std::min(u + 1, seen.size() - 1)];
      flag = e_.ir_.CreateOr(flag, e_.ir_.CreateFCmpUNO(seen[u], other));
      bits = e_.builder_.common_bits(greatest, bits, e_.builder_.common_bits(greatest, seen[u], other));
    }
  }

  /// The result of one copy: partial accumulators are combined pairwise, then the lanes.
  void finish(const Carried& r, std::size_t which, const Values& carried) {
    Values value, position;
    for (std::size_t u = 0; u < partial_; ++u) {
      value.push_back(carried[accumulator(r, which, u)]);
      if (r.has_position) position.push_back(carried[accumulator(r, which, u) + 1]);
    }
    while (value.size() > 1) {
      const std::size_t half = (value.size() + 1) / 2;
      for (std::size_t i = 0; i + half < value.size(); ++i) {
        if (r.has_position)
          combine_two(e_.builder_, r.what, e_.index_dtype(r.what), value[i], position[i], value[i + half], position[i + half], true);
        else
          value[i] = e_.join(r.what, value[i], value[i + half], r.flagged);
      }
      value.resize(half);
      if (r.has_position) position.resize(half);
    }
    if (across_ && r.has_position) e_.horizontal_arg(r.what, value[0], position[0]);
    if (across_ && !r.has_position)
      value[0] = e_.horizontal(value[0], [&](Value* a, Value* b) { return e_.join(r.what, a, b, r.flagged); });
    if (r.flagged) {
      Value* const lanes = carried[r.flags + 2 * which];
      Value* const flag = e_.ir_.CreateBitCast(lanes, e_.ir_.getIntNTy(static_cast<unsigned>(width_)));
      value[0] = e_.with_sign_of_zeros(r.what, value[0], carried[r.flags + 2 * which + 1]);
      value[0] = e_.ir_.CreateSelect(e_.ir_.CreateIsNotNull(flag), llvm::ConstantFP::getNaN(value[0]->getType()), value[0]);
    }
    set_local(r.what.local, which, value[0]);
    if (r.has_position) set_local(r.what.local + 1, which, position[0]);
  }
  void set_local(int local, std::size_t which, Value* v) {
    const auto node = e_.local_nodes_.find(local);
    if (node != e_.local_nodes_.end()) e_.frames_.back().memo[e_.key(node->second, copies_[which])] = v;
  }

  KernelEmitter& e_;
  const std::size_t number_;
  const Nest& nest_;
  const std::vector<LoopPlan>& plans_;
  const bool across_;          // the innermost reducing loop is along the lanes
  const bool running_;         // prefixes are results, too
  const std::size_t partial_;  // accumulators of each copy
  const int width_;            // lanes of an accumulator
  const std::size_t outside_;  // open loops outside of the reducing ones
  std::vector<Copy> copies_;   // of those
  std::vector<Carried> reductions_;
};

void KernelEmitter::reduce(std::size_t number) { NestReductions(*this, number).run(); }

/// One vector of a running reduction: the prefix sum of its lanes, by doubling distances (Hillis, Steele: "Data parallel algorithms",
/// 1986), added to `total`, which holds the reduction of all earlier steps in every lane and is updated.
Value* KernelEmitter::run_on(const Reduction& r, Value*& total, const Copy& copy, Value* keep) {
  const int lanes = s_.lanes;
  Value* nothing = builder_.splat(reduction_identity(builder_, r), lanes);
  // Lanes that move up past zeros would become vexpandps, which takes three times as long as moving them past anything else.
  if (r.combiner == Combiner::sum && r.dtype.is_floating()) nothing = llvm::ConstantFP::getNegativeZero(nothing->getType());
  Value* v = builder_.splat(get(r.value, copy), lanes);
  if (keep) v = ir_.CreateSelect(keep, v, nothing);
  for (int distance = 1; distance < lanes; distance *= 2) {
    std::vector<int> shifted;
    for (int i = 0; i < lanes; ++i) shifted.push_back(lanes + i - distance);
    v = combine(builder_, r, v, ir_.CreateShuffleVector(nothing, v, shifted));
  }
  Value* const result = combine(builder_, r, total, v);
  // LLVM would take two instructions to spread the last lane of sixteen.
  Value* last = features_.lookups && v->getType() == llvm::FixedVectorType::get(ir_.getFloatTy(), 16)
                    ? ir_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_permvar_sf_512, {}, {v, builder_.splat(ir_.getInt32(15), lanes)})
                    : ir_.CreateShuffleVector(v, std::vector<int>(static_cast<std::size_t>(lanes), lanes - 1));
  total = combine(builder_, r, total, last);
  return result;
}

bool KernelEmitter::is_fused(const Reduction& r, Value* keep) const {
  const Node& n = k_.dag[r.value];
  return r.kind == Reduction::Kind::reduce && r.combiner == Combiner::sum && r.dtype.is_floating() && features_.fma &&
         n.kind == NodeKind::op && n.op == ScalarOp::mul && !keep;
}

Value* KernelEmitter::accumulate(const Reduction& r, Value* a, const Copy& copy, bool vector, Value* keep) {
  const int width = vector ? VectorBuilder::lanes_of(a) : 1;
  if (is_fused(r, keep)) {
    const Node& n = k_.dag[r.value];
    Value* x = builder_.splat(get(n.operands[0], copy), width);
    Value* y = builder_.splat(get(n.operands[1], copy), width);
    return ir_.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {x, y, a});
  }
  Value* v = builder_.splat(get(r.value, copy), width);
  if (keep) v = ir_.CreateSelect(keep, v, builder_.splat(reduction_identity(builder_, r), width));
  return combine(builder_, r, a, v);
}

namespace {
std::vector<int> upper_half(int lanes, int half) {
  std::vector<int> m;
  for (int i = 0; i < lanes; ++i) m.push_back(i < half ? i + half : -1);
  return m;
}
}  // namespace

bool KernelEmitter::flags_nans(const Reduction& r) const {
  return features_.lookups && !r.running && r.kind == Reduction::Kind::reduce &&
         (r.combiner == Combiner::max || r.combiner == Combiner::min) && (r.dtype == float32 || r.dtype == float64);
}
Value* KernelEmitter::join(const Reduction& r, Value* a, Value* b, bool flagged) {
  if (!flagged) return combine(builder_, r, a, b);
  return ir_.CreateSelect(r.combiner == Combiner::max ? ir_.CreateFCmpOGT(a, b) : ir_.CreateFCmpOLT(a, b), a, b);
}
Value* KernelEmitter::horizontal(Value* v, llvm::function_ref<Value*(Value*, Value*)> join) {
  const int lanes = VectorBuilder::lanes_of(v);
  for (int half = lanes / 2; half >= 1; half /= 2) v = join(v, ir_.CreateShuffleVector(v, upper_half(lanes, half)));
  return lanes > 1 ? ir_.CreateExtractElement(v, std::uint64_t{0}) : v;
}
Value* KernelEmitter::with_sign_of_zeros(const Reduction& r, Value* v, Value* bits) {
  Value* zero = llvm::ConstantFP::getZero(v->getType());
  bits = horizontal(bits, [&](Value* a, Value* b) { return builder_.common_bits(r.combiner == Combiner::max, a, b); });
  return ir_.CreateSelect(ir_.CreateFCmpOEQ(v, zero), ir_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, zero, bits), v);
}
void KernelEmitter::horizontal_arg(const Reduction& r, Value*& value, Value*& position) {
  const int lanes = VectorBuilder::lanes_of(value);
  for (int half = lanes / 2; half >= 1; half /= 2)
    combine_two(builder_, r, index_dtype(r), value, position, ir_.CreateShuffleVector(value, upper_half(lanes, half)),
                ir_.CreateShuffleVector(position, upper_half(lanes, half)), true);
  if (lanes > 1) value = ir_.CreateExtractElement(value, std::uint64_t{0}), position = ir_.CreateExtractElement(position, std::uint64_t{0});
}

}  // namespace weft::detail
