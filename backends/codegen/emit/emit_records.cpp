// Loads and stores of lanes that are a few elements apart, such as the channels of pixels (interleaved access). The span from the first to
// the last lane is loaded as whole vectors, from which shuffles pick the lanes; where all elements of the records are computed side by
// side, they are interleaved and stored as whole vectors. Only for full vectors without a condition; others are gathered and scattered.
#include <algorithm>
#include <cstdlib>

#include "weft/backends/codegen/emit/emit_kernel.h"
#include "weft/backends/codegen/schedule/kernel_accesses.h"
#include "weft/backends/codegen/schedule/records.h"

namespace weft::detail {

using llvm::Value;

/// The open loop whose copies are `apart` elements apart in the lanes' records, in this order (`sign` 1) or, one element apart, in the
/// opposite one (-1); -1: none.
int KernelEmitter::record_frame(NodeId position, std::int64_t apart, int& sign) const {
  for (std::size_t i = 0; i < frames_.size(); ++i) {
    const Frame& f = frames_[i];
    std::int64_t s = 0;
    if (f.dim < 0 || f.dim == vector_dim_ || f.unroll < 2 || f.step != 1 || f.unroll != k_.dag.dims[static_cast<std::size_t>(f.dim)])
      continue;
    if (!k_.dag.stride(position, f.dim, s) || (s != apart && !(apart == 1 && s == -1))) continue;
    sign = s > 0 ? 1 : -1;
    return static_cast<int>(i);
  }
  return -1;
}

/// The loads that lanes share with this one: the elements of a record, of which the first is at `base` and the last before `base + reach`.
void KernelEmitter::record_at(NodeId id, int stride, int kept, std::int64_t& base, int& reach) const {
  const Node& n = k_.dag[id];
  const Affine& position = k_.dag.affine(n.operands[0]);
  std::vector<std::int64_t> places;
  for (NodeId other : loads_) {
    const Affine& at = k_.dag.affine(k_.dag[other].operands[0]);
    if (k_.dag[other].integer == n.integer && at.terms == position.terms) places.push_back(at.constant);
  }
  std::sort(places.begin(), places.end());
  base = position.constant;
  std::int64_t last = base;
  for (std::size_t i = 0, first = 0; i < places.size() && places[first] <= position.constant; ++i) {
    if (places[i] >= places[first] + stride) first = i;
    if (places[first] <= position.constant && position.constant < places[first] + stride)
      base = places[first], last = std::max(last, places[i]);
  }
  reach = static_cast<int>(last - base) + kept;
}

std::pair<int, int> KernelEmitter::guarded_copies(NodeId guard, std::size_t loop, const Copy& copy) {
  std::pair<int, int> held{0, 0};
  Copy each = copy;
  for (int c = 0; c < frames_[loop].unroll; ++c) {
    each[loop] = c;
    const auto* holds = llvm::dyn_cast<llvm::Constant>(get(guard, each));
    if (!holds || !(holds->isAllOnesValue() || holds->isNullValue())) return {};
    if (holds->isNullValue()) continue;
    if (held.second == 0) held = {c, c};
    if (held.second++ != c) return {};
  }
  return held;
}

Value* KernelEmitter::load_from_span(NodeId id, const Copy& copy) {
  const Node& n = k_.dag[id];
  const int arg = static_cast<int>(n.integer);
  std::int64_t apart = 0, base = 0;
  int sign = 1, reach = 1;
  if (lanes_ < 2 || (mask_ && !llvm::isa<llvm::Constant>(mask_))) return nullptr;
  const bool is_guarded = n.operands[1] >= 0;
  if (k_.args[static_cast<std::size_t>(arg)].scratch ||
      (is_guarded ? pinned_[static_cast<std::size_t>(id)] != 0 : std::find(loads_.begin(), loads_.end(), id) == loads_.end()))
    return nullptr;
  if (!k_.dag.stride(n.operands[0], vector_dim_, apart) || std::abs(apart) < 2 || std::abs(apart) > kLongestRecord) return nullptr;
  const int stride = static_cast<int>(std::abs(apart)), f = record_frame(n.operands[0], 1, sign);
  std::pair<int, int> held{0, f < 0 ? 1 : frames_[static_cast<std::size_t>(f)].unroll};
  if (is_guarded && f >= 0) held = guarded_copies(n.operands[1], static_cast<std::size_t>(f), copy);
  const int kept = held.second - held.first;
  if (kept < 1 || kept > stride) return nullptr;
  Copy each = copy;
  if (f >= 0) each[static_cast<std::size_t>(f)] = sign > 0 ? held.first : held.second - 1;
  if (is_guarded)
    base = k_.dag.affine(n.operands[0]).constant, reach = kept;
  else
    record_at(id, stride, kept, base, reach);
  const int lanes = existing_lanes(), span = (lanes - 1) * stride + reach;
  int width = lanes_;  // of the vectors that are loaded: a shuffle picks from two of them
  while (features_.wide_shuffles(n.dtype.itemsize()) && 2 * width <= span && 2 * width * n.dtype.itemsize() <= features_.vector_bytes)
    width *= 2;
  const int count = (span + width - 1) / width;
  const Address a = address(arg, n.operands[0], each);
  if (!a.pointer || a.interleaved || span < lanes_) return nullptr;
  llvm::Type* element = builder_.memory_type(n.dtype);
  llvm::FixedVectorType* type = llvm::FixedVectorType::get(element, static_cast<unsigned>(width));
  const int before = static_cast<int>(k_.dag.affine(n.operands[0]).constant - base);
  // Where lanes go backwards in memory, the last lane's record is the first.
  const bool back = apart < 0;
  const int first = back ? (lanes - 1) * stride : 0;
  // The last vector ends where the last record does.
  const auto begin = [&](int part) { return std::min(part * width, span - width); };
  std::vector<std::int64_t> part_key{-2 - width, arg, base, 0};
  for (const AffineTerm& t : k_.dag.affine(n.operands[0]).terms) part_key.push_back(t.atom), part_key.push_back(t.coef);
  part_key.insert(part_key.end(), each.begin(), each.end());
  Values parts;
  for (int i = 0; i < count; ++i) {
    part_key[3] = i;
    Value*& part = shared_loads(id)[part_key];
    if (!part)
      part = ir_.CreateAlignedLoad(type, ir_.CreateGEP(element, a.pointer, i64(begin(i) - before - first)), element_align(n.dtype));
    parts.push_back(part);
  }
  auto& memo = frames_[static_cast<std::size_t>(level_of(n.dims, false))].memo;
  Value* result = nullptr;
  for (int c = 0; c < kept; ++c) {
    // Each step takes the lanes of one more part; lanes that do not exist repeat the last one.
    Value* column = parts[0];
    for (int i = std::min(1, count - 1); i < count; ++i) {
      std::vector<int> from;
      for (int l = 0; l < lanes_; ++l) {
        const int record = std::min(l, lanes - 1), at = (back ? lanes - 1 - record : record) * stride + before + c,
                  part = std::min(at / width, count - 1);
        from.push_back(part == 0 ? (i > 1 ? l : at) : part == i ? width + at - begin(i) : part > i ? 0 : l);
      }
      if (i + 1 < count) from.resize(static_cast<std::size_t>(width), -1);
      column = ir_.CreateShuffleVector(column, parts[static_cast<std::size_t>(i)], from);
    }
    Value* v = builder_.from_memory(column, n.dtype);
    if (f >= 0) each[static_cast<std::size_t>(f)] = sign > 0 ? held.first + c : held.second - 1 - c;
    if (f < 0 || each[static_cast<std::size_t>(f)] == copy[static_cast<std::size_t>(f)])
      result = v;
    else
      memo.emplace(key(id, each), v);
  }
  return result;
}

std::vector<std::size_t> KernelEmitter::joined_frames(const Store& s, int& sign) const {
  std::int64_t stride = 0, next = 1;
  if (lanes_ < 2 || (mask_ && !llvm::isa<llvm::Constant>(mask_)) || s.guard >= 0 || k_.args[static_cast<std::size_t>(s.arg)].scratch)
    return {};
  if (!k_.dag.stride(s.position, vector_dim_, stride) || stride < 2 || stride > kLongestRecord) return {};
  if (existing_lanes() * stride < lanes_) return {};
  std::vector<std::size_t> loops;
  for (int f = record_frame(s.position, 1, sign), ignored = 1; f >= 0; f = sign < 0 ? -1 : record_frame(s.position, next, ignored)) {
    loops.push_back(static_cast<std::size_t>(f)), next *= frames_[loops.back()].unroll;
    if (next == stride) return loops;
  }
  return {};
}

std::vector<KernelEmitter::Copy> KernelEmitter::copies_along(const std::vector<std::size_t>& loops, Copy copy) const {
  for (std::size_t f : loops) copy[f] = 0;
  std::vector<Copy> all{copy};
  for (std::size_t f : loops) {
    const std::size_t before = all.size();
    for (int c = 1; c < frames_[f].unroll; ++c)
      for (std::size_t i = 0; i < before; ++i) all.push_back(all[i]), all.back()[f] = c;
  }
  return all;
}

void KernelEmitter::store_joined(const Store& s, const Copy& first, Values columns) {
  const DType t = k_.args[static_cast<std::size_t>(s.arg)].dtype;
  llvm::Type* element = builder_.memory_type(t);
  for (Value*& v : columns) v = builder_.to_memory(full(v), t);
  const Address a = address(s.arg, s.position, first);
  Value* begin = a.odd ? ir_.CreateGEP(element, a.pointer, i64(1)) : a.pointer;
  const int n = static_cast<int>(columns.size()), all = existing_lanes() * n;
  const bool past_caches =
      !mask_ && contains(s_.streamed, s.arg) && is_aligned_record(k_, s, vector_dim_, lanes_, features_.vector_bytes, s_.record_dims);
  for (int part = 0; part * lanes_ < all; ++part) {
    const int start = std::min(part * lanes_, all - lanes_);
    Value* joined = columns[0];
    for (int c = 1; c < n; ++c) {
      std::vector<int> from;
      for (int l = 0; l < lanes_; ++l) {
        const int at = start + l, column = at % n;
        from.push_back(column == c ? lanes_ + at / n : column > c ? -1 : c > 1 ? l : at / n);
      }
      joined = ir_.CreateShuffleVector(joined, columns[static_cast<std::size_t>(c)], from);
    }
    Value* const to = ir_.CreateGEP(element, begin, i64(start));
    if (past_caches)
      store_past_caches(joined, to);
    else
      fetch_stored(s.arg, to, 0), ir_.CreateAlignedStore(joined, to, element_align(t));
  }
}

}  // namespace weft::detail
