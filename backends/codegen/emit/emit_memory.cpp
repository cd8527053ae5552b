// Memory of emitted kernels: addresses and stores.
#include <llvm/IR/Module.h>

#include <algorithm>
#include <bit>

#include "weft/backends/codegen/emit/emit_kernel.h"
#include "weft/backends/codegen/emit/lane_order.h"
#include "weft/backends/codegen/schedule/kernel_accesses.h"

namespace weft::detail {

using llvm::Value;

namespace {

constexpr std::int64_t kLineBytes = 64;
}  // namespace

int KernelEmitter::slots() const {
  int n = 1;
  for (const LoopPlan& l : s_.outer) n *= l.unroll;
  return n;
}
/// The number of the outer point's scratch copy, below slots().
Value* KernelEmitter::copy_slot(const Copy& copy) const {
  std::uint64_t slot = 0;
  for (std::size_t i = 0; i < frames_.size() && static_cast<int>(i) <= base_level_; ++i)
    if (frames_[i].unroll > 1) slot = slot * static_cast<std::uint64_t>(frames_[i].unroll) + static_cast<std::uint64_t>(copy[i]);
  return llvm::ConstantInt::get(llvm::Type::getInt64Ty(module_.getContext()), slot);
}

bool KernelEmitter::is_lane_scratch(int arg) const {
  return k_.args[static_cast<std::size_t>(arg)].scratch && s_.vector_dim >= 0 && lanes_ > 1;
}

/// Scratch where lanes are outer points: it has a vector for each copy of the outer point.
KernelEmitter::Address KernelEmitter::scratch_address(int arg, NodeId position, const Copy& copy) {
  llvm::Type* const element = builder_.memory_type(k_.args[static_cast<std::size_t>(arg)].dtype);
  const std::int64_t stride = std::int64_t{s_.lanes} * slots();
  Address out;
  Value* const index = get(position, copy);
  Value* const slot = ir_.CreateMul(copy_slot(copy), i64(s_.lanes));
  if (VectorBuilder::lanes_of(index) == 1) {
    out.pointer = ir_.CreateGEP(element, args_[static_cast<std::size_t>(arg)], ir_.CreateAdd(ir_.CreateMul(index, i64(stride)), slot));
    out.stride = is_lane_scratch(arg) ? 1 : 0;
    return out;
  }
  out.indices = ir_.CreateMul(index, llvm::ConstantInt::get(index->getType(), static_cast<std::uint64_t>(stride)));
  out.indices = ir_.CreateAdd(out.indices, builder_.splat(ir_.CreateTrunc(slot, index_type()), lanes_));
  if (is_lane_scratch(arg)) out.indices = ir_.CreateAdd(out.indices, lane_numbers());
  return out;
}

/// The argument's start and those terms of the position that the innermost loop which it names does not change: computed in front of that
/// loop, once for all loads and stores that have them in common.
Value* KernelEmitter::address_outside(int arg, const Affine& position, int innermost_dim, const Copy& copy) {
  Value* const start = args_[static_cast<std::size_t>(arg)];
  std::uint64_t dims = 0;
  bool pinned = false;
  std::vector<std::int64_t> terms{arg};
  for (const AffineTerm& t : position.terms) {
    if (t.atom >= 0 && t.atom == innermost_dim) continue;
    if (t.atom >= 0) {
      dims |= std::uint64_t{1} << t.atom;
    } else {
      dims |= k_.dag[~t.atom].dims;
      pinned |= pinned_[static_cast<std::size_t>(~t.atom)] != 0;
      terms.push_back(static_cast<std::int64_t>(key(~t.atom, copy)));
    }
    terms.push_back(t.atom), terms.push_back(t.coef);
  }
  if (terms.size() == 1) return start;
  const int level = level_of(dims, pinned);
  auto& addresses = frames_[static_cast<std::size_t>(level)].addresses;
  if (const auto found = addresses.find(terms); found != addresses.end()) return found->second;
  Value* const outer = at_level(level, [&] {
    Value* sum = nullptr;
    for (const AffineTerm& t : position.terms) {
      if (t.atom >= 0 && t.atom == innermost_dim) continue;
      Value* v = t.atom < 0 ? lane_index(~t.atom, copy) : nullptr;
      for (const Frame& f : frames_)
        if (t.atom >= 0 && f.dim == t.atom) v = f.iteration;
      v = ir_.CreateMul(v, i64(t.coef));
      sum = sum ? ir_.CreateAdd(sum, v) : v;
    }
    return ir_.CreateGEP(builder_.memory_type(k_.args[static_cast<std::size_t>(arg)].dtype), start, sum);
  });
  frames_[static_cast<std::size_t>(level)].addresses.emplace(std::move(terms), outer);
  return outer;
}

/// Splits a position into a part that is invariant in the innermost loops, and constant offsets.
KernelEmitter::Address KernelEmitter::address(int arg, NodeId position, const Copy& copy) {
  const KernelArg& info = k_.args[static_cast<std::size_t>(arg)];
  const bool by_lanes = s_.vector_dim >= 0;
  if (info.scratch && by_lanes && s_.lanes * slots() > 1) return scratch_address(arg, position, copy);

  const Affine& a = k_.dag.affine(position);
  Address out;
  bool regular = true, even = true;
  for (const AffineTerm& t : a.terms) {
    if (t.atom < 0 && varies(k_.dag[~t.atom].dims)) regular = false;
    if (lanes_ > 1 && t.atom == vector_dim_) out.stride = t.coef;
    even &= t.coef % 2 == 0;
  }
  // Scratch has a slot for each copy of the outer point, one behind the other.
  const std::int64_t slot_at =
      info.scratch && !by_lanes && slots() > 1 ? llvm::cast<llvm::ConstantInt>(copy_slot(copy))->getSExtValue() * info.elements : 0;
  if (!regular) {
    out.indices = get(position, copy);
    if (slot_at > 0)
      out.indices = ir_.CreateAdd(out.indices, llvm::ConstantInt::get(out.indices->getType(), static_cast<std::uint64_t>(slot_at)));
    return out;
  }
  const Frame* innermost = nullptr;
  std::int64_t innermost_coef = 0;
  for (std::size_t i = frames_.size(); i-- > 1 && !innermost;)
    for (const AffineTerm& t : a.terms)
      if (t.atom >= 0 && frames_[i].dim == t.atom) innermost = &frames_[i], innermost_coef = t.coef;
  std::int64_t fixed = a.constant + slot_at;
  for (const AffineTerm& t : a.terms)
    for (std::size_t i = 0; i < frames_.size(); ++i)
      if (t.atom >= 0 && frames_[i].dim == t.atom && frames_[i].unroll > 1) fixed += t.coef * copy[i] * frames_[i].step;

  llvm::Type* const element = builder_.memory_type(info.dtype);
  Value* outer = address_outside(arg, a, innermost ? innermost->dim : -1, copy);
  if (innermost)
    outer = ir_.CreateGEP(element, outer,
                          innermost_coef == 1 ? innermost->iteration : ir_.CreateMul(innermost->iteration, i64(innermost_coef)));
  out.interleaved = out.stride == 2 && even && info.elements % 2 == 0;
  out.odd = out.interleaved && (a.constant & 1);
  if (out.odd) --fixed;
  out.pointer = fixed == 0 ? outer : ir_.CreateGEP(element, outer, i64(fixed));
  return out;
}

/// Whether the first `kept` lanes are better accessed by smaller vectors than under a mask: processors can't forward a masked store to a
/// load.
bool KernelEmitter::in_parts(int kept) const {
  return kept > 0 && (std::popcount(static_cast<unsigned>(kept)) <= 2 || !features_.masked_memory);
}

Value* KernelEmitter::load_parts(llvm::FixedVectorType* type, Value* pointer, int kept, llvm::Align align) {
  llvm::Type* element = type->getElementType();
  const int lanes = static_cast<int>(type->getNumElements());
  Value* v = llvm::Constant::getNullValue(type);
  for (int at = 0, n = 0; at < kept; at += n) {
    n = static_cast<int>(std::bit_floor(static_cast<unsigned>(kept - at)));
    Value* from = ir_.CreateConstGEP1_64(element, pointer, static_cast<std::uint64_t>(at));
    if (n == 1) {
      v = ir_.CreateInsertElement(v, ir_.CreateAlignedLoad(element, from, align), static_cast<std::uint64_t>(at));
      continue;
    }
    Value* part = ir_.CreateAlignedLoad(llvm::FixedVectorType::get(element, static_cast<unsigned>(n)), from, align);
    std::vector<int> wide, mixed;
    for (int l = 0; l < lanes; ++l) {
      const bool inside = l >= at && l < at + n;
      wide.push_back(inside ? l - at : -1);
      mixed.push_back(inside ? lanes + l : l);
    }
    v = ir_.CreateShuffleVector(v, ir_.CreateShuffleVector(part, wide), mixed);
  }
  return v;
}

void KernelEmitter::store_parts(Value* v, Value* pointer, int kept, llvm::Align align) {
  llvm::Type* element = llvm::cast<llvm::FixedVectorType>(v->getType())->getElementType();
  for (int at = 0, n = 0; at < kept; at += n) {
    n = static_cast<int>(std::bit_floor(static_cast<unsigned>(kept - at)));
    std::vector<int> lanes;
    for (int l = at; l < at + n; ++l) lanes.push_back(l);
    Value* part = n == 1 ? ir_.CreateExtractElement(v, static_cast<std::uint64_t>(at)) : ir_.CreateShuffleVector(v, lanes);
    ir_.CreateAlignedStore(part, ir_.CreateConstGEP1_64(element, pointer, static_cast<std::uint64_t>(at)), align);
  }
}

Value* KernelEmitter::where_any(Value* mask, Value* pointer, int arg) {
  if (!features_.masked_memory || llvm::isa<llvm::Constant>(mask)) return pointer;
  Value* bits = ir_.CreateBitCast(mask, ir_.getIntNTy(static_cast<unsigned>(VectorBuilder::lanes_of(mask))));
  return ir_.CreateSelect(ir_.CreateICmpNE(bits, llvm::Constant::getNullValue(bits->getType())), pointer,
                          args_[static_cast<std::size_t>(arg)]);
}

/// Whether the store is non-temporal, which needs whole aligned vectors.
bool KernelEmitter::streams(const Store& s) const {
  return lanes_ > 1 && !mask_ && contains(s_.streamed, s.arg) && is_aligned(k_, s, vector_dim_, lanes_, features_.vector_bytes);
}

void KernelEmitter::store_past_caches(Value* v, Value* pointer) {
  llvm::StoreInst* store = ir_.CreateAlignedStore(v, pointer, llvm::Align(static_cast<std::uint64_t>(features_.vector_bytes)));
  store->setMetadata(llvm::LLVMContext::MD_nontemporal,
                     llvm::MDNode::get(module_.getContext(), llvm::ConstantAsMetadata::get(ir_.getInt32(1))));
  streamed_ = true;
}

/// Each vector of lanes prefetches its part of the row that is gathered from some rows later.
void KernelEmitter::fetch_gathered(int arg, NodeId position, const Copy& copy) {
  const std::size_t along = frames_.size() - 1;
  if (!contains(s_.gathered, arg) || along == 0 || frames_[along].dim != vector_dim_) return;
  const std::optional<GatheredRow> row = gathered_row(k_, position, vector_dim_, frames_[along - 1].dim);
  if (!row) return;
  const Affine& a = k_.dag.affine(position);
  Value* at = i64(a.constant + row->first + s_.gathered_ahead * row->apart);
  const auto coordinate = [&](std::size_t i) {
    const Frame& f = frames_[i];
    return copy[i] > 0 ? ir_.CreateAdd(f.iteration, i64(copy[i] * f.step)) : f.iteration;
  };
  for (const AffineTerm& t : a.terms)
    for (std::size_t i = 0; i < along; ++i)
      if (t.atom >= 0 && frames_[i].dim == t.atom) at = ir_.CreateAdd(at, ir_.CreateMul(coordinate(i), i64(t.coef)));
  const std::int64_t bytes = bytes_of_lane(k_, *row, arg, vector_dim_);
  Value* first =
      ir_.CreateGEP(builder_.memory_type(k_.args[static_cast<std::size_t>(arg)].dtype), args_[static_cast<std::size_t>(arg)], at);
  first = ir_.CreateGEP(ir_.getInt8Ty(), first, ir_.CreateMul(coordinate(along), i64(bytes)));
  for (std::int64_t line = 0; line < bytes * lanes_; line += kLineBytes) {
    prefetch(ir_.CreateGEP(ir_.getInt8Ty(), first, i64(line)), false);
  }
}

void KernelEmitter::prefetch(Value* pointer, bool is_store) {
  const auto number = [&](unsigned n) { return ir_.getInt32(n); };
  ir_.CreateIntrinsic(llvm::Intrinsic::prefetch, {pointer->getType()}, {pointer, number(is_store ? 1 : 0), number(3), number(1)});
}

/// Rows are pages apart, so the hardware does not prefetch them. Of vectors that lie in one line, one fetches it.
void KernelEmitter::fetch_ahead(int arg, NodeId position, const Address& a, const Copy& copy) {
  if (!a.pointer || a.stride != 1 || contains(s_.streamed, arg)) return;
  fetch_steps(arg, position, a.pointer);
  const KernelArg& info = k_.args[static_cast<std::size_t>(arg)];
  std::int64_t down = 0, beside = 0;
  for (std::size_t i = 0; i < frames_.size(); ++i) {
    if (frames_[i].dim == vector_dim_ && frames_[i].step == lanes_) beside = copy[i];
  }
  if (beside * lanes_ * info.dtype.itemsize() % kLineBytes != 0) return;
  const int dim = frames_.back().dim;
  if (s_.rows_ahead == 0 || info.scratch || dim < 0 || dim == vector_dim_) return;
  if (!k_.dag.stride(position, dim, down) || down * info.dtype.itemsize() < s_.row_bytes) return;
  prefetch(ir_.CreateGEP(builder_.memory_type(info.dtype), a.pointer, i64(s_.rows_ahead * down)), false);
}

/// Where the vector at `pointer` will be some steps of the innermost loop later. Of vectors that aren't neighbours in memory each may lie
/// in two lines. Lines that are written are fetched as for reading, too: squares of 1000 x 1500 took up to a third less time.
void KernelEmitter::fetch_steps(int arg, NodeId position, Value* pointer) {
  const KernelArg& info = k_.args[static_cast<std::size_t>(arg)];
  const Frame& innermost = frames_.back();
  std::int64_t down = 0;
  if (s_.steps_ahead == 0 || info.scratch || innermost.dim < 0 || !k_.dag.stride(position, innermost.dim, down) || down == 0) return;
  const std::int64_t step = down * innermost.step * innermost.unroll, bytes = lanes_ * info.dtype.itemsize();
  Value* const later = ir_.CreateGEP(builder_.memory_type(info.dtype), pointer, i64(s_.steps_ahead * step));
  prefetch(later, false);
  if (step != lanes_ && step != -lanes_) prefetch(ir_.CreateGEP(ir_.getInt8Ty(), later, i64(bytes - 1)), false);
}

/// A line that is written is read first, from whichever cache or memory has it, and few stores wait for their lines at a time. `vector`: of
/// those that are written side by side.
void KernelEmitter::fetch_stored(int arg, Value* pointer, std::int64_t vector) {
  const std::int64_t bytes = lanes_ * k_.args[static_cast<std::size_t>(arg)].dtype.itemsize();
  if (!contains(s_.prepared, arg) || vector * bytes % kLineBytes != 0) return;
  for (std::int64_t line = 0; line < bytes; line += kLineBytes) {
    prefetch(ir_.CreateGEP(ir_.getInt8Ty(), pointer, i64(s_.stored_ahead + line)), true);
  }
}

void KernelEmitter::store(const Store& s, const Copy& copy, Value* value) {
  const KernelArg& info = k_.args[static_cast<std::size_t>(s.arg)];
  llvm::Type* element = builder_.memory_type(info.dtype);
  const llvm::Align align = element_align(info.dtype);
  const bool lane_scratch = info.scratch && s_.vector_dim >= 0 && lanes_ > 1;
  const Address a = address(s.arg, s.position, copy);
  Value* guard = s.guard >= 0 && s.guard != holds_ ? get(s.guard, copy) : nullptr;
  if (!varies(k_.dag[s.position].dims) && !lane_scratch) {
    Value* p = a.pointer;
    if (guard) {
      // Where the guard doesn't hold, the value is stored to memory that is never read.
      llvm::BasicBlock& entry = function_->getEntryBlock();
      p = ir_.CreateSelect(guard, p, llvm::IRBuilder<>(&entry, entry.begin()).CreateAlloca(element));
    }
    ir_.CreateAlignedStore(builder_.to_memory(value, info.dtype), p, align);
    return;
  }
  if (a.pointer && !info.scratch && lanes_ > 1) fetch_stored(s.arg, a.pointer, copy[frames_.size() - 1]);
  const int kept = first_lanes(mask_);
  if (guard && VectorBuilder::lanes_of(guard) == 1 && (!mask_ || in_parts(kept)) && a.pointer && a.stride == 1 && !streams(s)) {
    // The guard holds for all lanes or none: a store to a selected address is used, since masked stores can't be forwarded to loads.
    llvm::BasicBlock& entry = function_->getEntryBlock();
    llvm::AllocaInst* elsewhere =
        llvm::IRBuilder<>(&entry, entry.begin()).CreateAlloca(llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes_)));
    elsewhere->setAlignment(llvm::Align(64));
    Value *const to = ir_.CreateSelect(guard, a.pointer, elsewhere), *const v = builder_.to_memory(full(value), info.dtype);
    if (mask_)
      store_parts(v, to, kept, align);
    else
      ir_.CreateAlignedStore(v, to, align);
    return;
  }
  Value* const saved_mask = mask_;
  if (guard) mask_ = mask_ ? ir_.CreateAnd(mask_, full(guard)) : full(guard);
  store_lanes(s, a, builder_.to_memory(full(value), info.dtype), copy);
  mask_ = saved_mask;
}

/// The mask in force applies.
void KernelEmitter::store_lanes(const Store& s, const Address& a, Value* v, const Copy& copy) {
  const KernelArg& info = k_.args[static_cast<std::size_t>(s.arg)];
  llvm::Type* element = builder_.memory_type(info.dtype);
  const llvm::Align align = element_align(info.dtype);
  const int kept = first_lanes(mask_);
  fetch_ahead(s.arg, s.position, a, copy);
  if (a.pointer && a.stride == 1) {
    if (in_parts(kept)) {
      store_parts(v, a.pointer, kept, align);
    } else if (mask_) {
      ir_.CreateMaskedStore(v, s.guard >= 0 && s.guard != holds_ ? where_any(mask_, a.pointer, s.arg) : a.pointer, align, mask_);
    } else if (streams(s)) {
      store_past_caches(v, a.pointer);
    } else if (!store_gathered(s, a.pointer, v)) {
      ir_.CreateAlignedStore(v, a.pointer, align);
    }
    return;
  }
  if (a.pointer && a.stride == -1 && !mask_) {
    ir_.CreateAlignedStore(ir_.CreateShuffleVector(v, reversed(lanes_)), ir_.CreateGEP(element, a.pointer, i64(1 - lanes_)), align);
    return;
  }
  if (a.pointer && kept > 0 && kept <= kFewLanes) {
    for (int l = 0; l < kept; ++l)
      ir_.CreateAlignedStore(ir_.CreateExtractElement(v, static_cast<std::uint64_t>(l)),
                             ir_.CreateGEP(element, a.pointer, i64(l * a.stride + a.odd)), align);
    return;
  }
  Value* pointers = nullptr;
  if (a.indices) {
    pointers = ir_.CreateGEP(element, args_[static_cast<std::size_t>(s.arg)], a.indices);
  } else {
    Value* first = a.odd ? ir_.CreateGEP(element, a.pointer, i64(1)) : a.pointer;
    pointers = ir_.CreateGEP(
        element, first,
        ir_.CreateMul(lane_numbers(), builder_.splat(llvm::ConstantInt::get(index_type(), static_cast<std::uint64_t>(a.stride)), lanes_)));
  }
  ir_.CreateMaskedScatter(v, pointers, align, mask_);
}

/// Stores two values, such as the parts of complex numbers, by one store if they are adjacent.
bool KernelEmitter::store_pair(const Store& re, const Store& im, const Copy& copy, Value* real, Value* imag) {
  if (re.arg != im.arg || mask_ || re.guard >= 0 || !varies(k_.dag[re.position].dims)) return false;
  const KernelArg& info = k_.args[static_cast<std::size_t>(re.arg)];
  if (info.scratch || k_.dag.affine(im.position).constant != k_.dag.affine(re.position).constant + 1 ||
      k_.dag.affine(im.position).terms != k_.dag.affine(re.position).terms)
    return false;
  const Address a = address(re.arg, re.position, copy);
  if (!a.pointer || !a.interleaved || a.odd) return false;
  std::vector<int> zip;
  for (int i = 0; i < lanes_; ++i) zip.push_back(i), zip.push_back(i + lanes_);
  Value *first = builder_.to_memory(full(real), info.dtype), *second = builder_.to_memory(full(imag), info.dtype);
  ir_.CreateAlignedStore(ir_.CreateShuffleVector(first, second, zip), a.pointer, element_align(info.dtype));
  return true;
}

void KernelEmitter::store_all(std::size_t number, bool in_reduction) {
  std::vector<const Store*> stores;
  for (const Store& s : k_.nests[number].stores)
    if (s.in_reduction == in_reduction) stores.push_back(&s);
  store_all(stores);
}

void KernelEmitter::store_all(const std::vector<const Store*>& stores) {
  if (stores.empty()) return;
  if (flat()) {
    // All values are computed first, since a store may overwrite memory that another value reads.
    std::vector<std::pair<Copy, Values>> all;
    for_each_copy([&](const Copy& copy) {
      all.emplace_back(copy, Values{});
      for (const Store* s : stores) all.back().second.push_back(spread_over_elements(s->value, copy));
    });
    for (const auto& [copy, values] : all)
      for (std::size_t i = 0; i < stores.size(); ++i) store_flat(*stores[i], copy, values[i]);
    return;
  }
  std::vector<Square> square(stores.size());
  std::vector<int> sign(stores.size(), 1);
  std::vector<std::vector<std::size_t>> joined(stores.size());
  bool squares = false;  // some stores wait for several copies
  for (std::size_t i = 0; i < stores.size(); ++i) {
    if (stores[i]->guard < 0) square[i] = square_of(stores[i]->arg, stores[i]->position);
    if (square[i].frame < 0) joined[i] = joined_frames(*stores[i], sign[i]);
    squares |= square[i].frame >= 0 || !joined[i].empty();
  }
  // All values are computed first, since a store may overwrite memory that another value reads.
  std::map<Copy, Values> all;
  if (squares)
    for_each_copy([&](const Copy& copy) {
      for (const Store* s : stores) all[copy].push_back(get(s->value, copy));
    });
  std::size_t copies = 0;
  for_each_copy([&](const Copy&) { ++copies; });
  if (!squares && copies * stores.size() <= static_cast<std::size_t>(s_.at_once))
    for_each_copy([&](const Copy& copy) {
      for (const Store* s : stores) get(s->value, copy);
    });
  for_each_copy([&](const Copy& copy) {
    Values values;
    if (!squares)
      for (const Store* s : stores) values.push_back(get(s->value, copy));
    for (std::size_t i = 0; i < stores.size(); ++i) {
      if (square[i].frame >= 0) {
        const auto f = static_cast<std::size_t>(square[i].frame);
        if (copy[f] != 0) continue;
        Values columns;
        Copy each = copy;
        for (; each[f] < lanes_; ++each[f]) columns.push_back(all[each][i]);
        each[f] = square[i].backwards ? lanes_ - 1 : 0;
        if (square[i].backwards) std::reverse(columns.begin(), columns.end());
        store_rows(*stores[i], each, columns);
      } else if (!joined[i].empty()) {
        const std::vector<Copy> record = copies_along(joined[i], copy);
        if (copy != record.front()) continue;
        Values columns;
        for (const Copy& each : record) columns.push_back(all[each][i]);
        if (sign[i] < 0) std::reverse(columns.begin(), columns.end());
        store_joined(*stores[i], sign[i] > 0 ? record.front() : record.back(), columns);
      } else if (squares) {
        store(*stores[i], copy, all[copy][i]);
      } else if (i + 1 < stores.size() && store_pair(*stores[i], *stores[i + 1], copy, values[i], values[i + 1])) {
        ++i;
      } else if (const std::size_t n = store_record(std::span(stores).subspan(i), copy, std::span(values).subspan(i)); n > 0) {
        i += n - 1;
      } else {
        store(*stores[i], copy, values[i]);
      }
    }
  });
}

}  // namespace weft::detail
