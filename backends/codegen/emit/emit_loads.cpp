// Loads of emitted kernels: by one element, by a vector in the lanes' order or the opposite one, by parts of vectors, by transposed
// squares, by gathers.
#include <algorithm>
#include <bit>

#include "weft/backends/codegen/emit/emit_kernel.h"
#include "weft/backends/codegen/emit/lane_order.h"

namespace weft::detail {

using llvm::Value;

namespace {
std::vector<int> every_second(int lanes, int first) {
  std::vector<int> m;
  for (int i = 0; i < lanes; ++i) m.push_back(2 * i + first);
  return m;
}
}  // namespace

/// One element, the same for all lanes.
Value* KernelEmitter::load_uniform(NodeId id, Value* guard, const Copy& copy) {
  const Node& n = k_.dag[id];
  const int arg = static_cast<int>(n.integer);
  Value* pointer = address(arg, n.operands[0], copy).pointer;
  if (guard) {
    if (VectorBuilder::lanes_of(guard) > 1) {
      Value* const bits = ir_.CreateBitCast(guard, ir_.getIntNTy(static_cast<unsigned>(VectorBuilder::lanes_of(guard))));
      guard = ir_.CreateICmpNE(bits, llvm::Constant::getNullValue(bits->getType()));
    }
    pointer = ir_.CreateSelect(guard, pointer, args_[static_cast<std::size_t>(arg)]);
  }
  return builder_.from_memory(ir_.CreateAlignedLoad(builder_.memory_type(n.dtype), pointer, element_align(n.dtype)), n.dtype);
}

/// A column of a square that is as many copies of an open loop wide as there are lanes: its rows are loaded and transposed, for all copies
/// at once.
Value* KernelEmitter::load_square(NodeId id, Square place, const Copy& copy) {
  const Node& n = k_.dag[id];
  const auto frame = static_cast<std::size_t>(place.frame);
  Copy each = copy;
  each[frame] = place.backwards ? lanes_ - 1 : 0;
  Values square = load_rows(static_cast<int>(n.integer), n.operands[0], each);
  transpose_square(square);
  if (place.backwards) std::reverse(square.begin(), square.end());
  auto& memo = frames_[static_cast<std::size_t>(level_of(n.dims, pinned_[static_cast<std::size_t>(id)]))].memo;
  for (each[frame] = 0; each[frame] < lanes_; ++each[frame]) {
    Value*& v = square[static_cast<std::size_t>(each[frame])];
    v = builder_.from_memory(v, n.dtype);
    if (each[frame] != copy[frame]) memo.emplace(key(id, each), v);
  }
  return square[static_cast<std::size_t>(copy[frame])];
}

/// Neighbouring elements in the lanes' order.
Value* KernelEmitter::load_forward(const LaneLoad& l) {
  // What the kernel does not write was not stored under a mask just before. One smaller vector reads fewer lines than a whole one of
  // which a mask keeps a part.
  const bool one = std::popcount(static_cast<unsigned>(std::max(l.kept, 0))) == 1;
  if (in_parts(l.kept) && (one || !features_.masked_memory || k_.args[static_cast<std::size_t>(l.arg)].written))
    return load_parts(l.type, l.at.pointer, l.kept, l.align);
  if (l.mask) return ir_.CreateMaskedLoad(l.type, l.at.pointer, l.align, l.mask, llvm::Constant::getNullValue(l.type));
  return ir_.CreateAlignedLoad(l.type, l.at.pointer, l.align);
}

/// Neighbouring elements in the opposite order.
Value* KernelEmitter::load_backward(const LaneLoad& l) {
  Value* first = ir_.CreateGEP(l.type->getElementType(), l.at.pointer, i64(1 - lanes_));
  if (l.guard && l.mask) first = where_any(l.mask, first, l.arg);
  Value* const v = l.mask
                       ? static_cast<Value*>(ir_.CreateMaskedLoad(l.type, first, l.align, ir_.CreateShuffleVector(l.mask, reversed(lanes_)),
                                                                  llvm::Constant::getNullValue(l.type)))
                       : ir_.CreateAlignedLoad(l.type, first, l.align);
  return ir_.CreateShuffleVector(v, reversed(lanes_));
}

/// The real or the imaginary parts of neighbouring complex numbers: both share the load.
Value* KernelEmitter::load_interleaved(const LaneLoad& l, const Copy& copy) {
  const Affine pair = k_.dag.affine(k_.dag[l.id].operands[0]);
  std::vector<std::int64_t> wide_key{-1, l.arg, pair.constant - (l.at.odd ? 1 : 0)};
  for (const AffineTerm& t : pair.terms) wide_key.push_back(t.atom), wide_key.push_back(t.coef);
  for (int c : copy) wide_key.push_back(c);
  Value*& both = shared_loads(l.id)[wide_key];
  if (!both)
    both = ir_.CreateAlignedLoad(llvm::FixedVectorType::get(l.type->getElementType(), static_cast<unsigned>(2 * lanes_)), l.at.pointer,
                                 l.align);
  return ir_.CreateShuffleVector(both, every_second(lanes_, l.at.odd));
}

/// A few lanes at a stride, element by element.
Value* KernelEmitter::load_each(const LaneLoad& l) {
  llvm::Type* const element = l.type->getElementType();
  Value* v = llvm::Constant::getNullValue(l.type);
  for (int i = 0; i < l.kept; ++i) {
    Value* const from = ir_.CreateGEP(element, l.at.pointer, i64(i * l.at.stride + l.at.odd));
    v = ir_.CreateInsertElement(v, ir_.CreateAlignedLoad(element, from, l.align), static_cast<std::uint64_t>(i));
  }
  return v;
}

Value* KernelEmitter::load(NodeId id, const Copy& copy) {
  const Node& n = k_.dag[id];
  const int arg = static_cast<int>(n.integer);
  Value* guard = n.operands[1] >= 0 ? get(n.operands[1], copy) : nullptr;
  if (const auto* c = llvm::dyn_cast_or_null<llvm::Constant>(guard); c && c->isAllOnesValue()) guard = nullptr;
  if (const auto* c = llvm::dyn_cast_or_null<llvm::Constant>(guard); c && c->isNullValue())
    return full(llvm::Constant::getNullValue(builder_.type(n.dtype)));  // nobody looks at it
  if (!varies(k_.dag[n.operands[0]].dims) && !is_lane_scratch(arg)) return load_uniform(id, guard, copy);

  LaneLoad l{.id = id,
             .arg = arg,
             .type = llvm::FixedVectorType::get(builder_.memory_type(n.dtype), static_cast<unsigned>(lanes_)),
             .align = element_align(n.dtype),
             .guard = guard,
             .mask = mask_};
  if (flat() && is_flat(id))
    return builder_.from_memory(ir_.CreateAlignedLoad(l.type, flat_pointer(arg, n.operands[0], copy), l.align), n.dtype);
  if (const Square square = guard ? Square() : square_of(arg, n.operands[0]); square.frame >= 0) return load_square(id, square, copy);
  l.at = address(arg, n.operands[0], copy);
  fetch_ahead(arg, n.operands[0], l.at, copy);
  const bool forward = l.at.pointer && l.at.stride == 1;
  if (guard && VectorBuilder::lanes_of(guard) == 1 && forward && k_.args[static_cast<std::size_t>(arg)].elements >= lanes_) {
    // The guard holds for all lanes or none: if it doesn't, the load reads another address and its value is not used.
    l.at.pointer = ir_.CreateSelect(guard, l.at.pointer, args_[static_cast<std::size_t>(arg)]);
  } else if (guard) {
    l.guard = full(guard);
    l.mask = l.mask ? ir_.CreateAnd(l.mask, l.guard) : l.guard;
  }
  l.kept = first_lanes(l.mask);
  if (guard && l.mask && forward) l.at.pointer = where_any(l.mask, l.at.pointer, arg);

  Value* v = nullptr;
  if (forward) {
    v = load_forward(l);
  } else if (l.at.pointer && l.at.stride == -1) {
    v = load_backward(l);
  } else if (l.at.pointer && l.at.interleaved && !l.mask) {
    v = load_interleaved(l, copy);
  } else if (l.at.pointer && l.kept > 0 && l.kept <= kFewLanes) {
    v = load_each(l);
  } else if (Value* const lane_of_span = guard ? nullptr : load_from_span(id, copy)) {
    return lane_of_span;
  } else if (Value* const looked_up = l.at.indices ? look_up(id, copy) : nullptr) {
    return guard ? ir_.CreateSelect(l.guard, looked_up, llvm::Constant::getNullValue(looked_up->getType())) : looked_up;
  } else if (Value* const element_of_record = guard ? nullptr : load_record(id, l.at, copy)) {
    return element_of_record;
  } else {
    v = load_gathered(l, copy);
  }
  return builder_.from_memory(v, n.dtype);
}

}  // namespace weft::detail
