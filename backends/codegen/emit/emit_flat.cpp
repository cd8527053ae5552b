// Records whose elements are all treated alike, such as the channels of pixels: lanes are neighbouring elements, so that nothing is
// shuffled between memory and lanes. What all records share (a weight of each channel) is repeated along the lanes, which no loop changes,
// and what all elements of a record share (a weight of each pixel) is spread by one shuffle for each vector.
#include "weft/backends/codegen/emit/emit_kernel.h"

#include <algorithm>
#include <bit>

namespace weft::detail {

using llvm::Value;

bool KernelEmitter::is_flat(NodeId n) const {
  const std::uint64_t dims = k_.dag[n].dims;
  return varies(dims) && std::any_of(s_.record_dims.begin(), s_.record_dims.end(), [&](int d) { return (dims >> d & 1) != 0; });
}

int KernelEmitter::flat_vector(Copy& copy) const {
  int vector = 0, next = 1;
  for (int d : s_.record_dims)
    for (std::size_t i = 0; i < frames_.size(); ++i)
      if (frames_[i].dim == d) vector += next * copy[i], next *= frames_[i].unroll, copy[i] = 0;
  return vector;
}

Value* KernelEmitter::spread_over_elements(NodeId n, const Copy& copy) {
  if (is_flat(n)) return get(n, copy);
  const Node& node = k_.dag[n];
  Copy first = copy;
  const int vector = flat_vector(first);
  std::int64_t length = 1;
  std::vector<std::size_t> loops;
  for (int d : s_.record_dims)
    for (std::size_t i = 0; i < frames_.size(); ++i)
      if (frames_[i].dim == d) loops.push_back(i), length *= frames_[i].unroll;
  const auto element = [&](int lane) { return vector * lanes_ + lane; };
  const int level = level_of(node.dims, pinned_[static_cast<std::size_t>(n)]);
  auto& memo = frames_[static_cast<std::size_t>(level)].memo;
  constexpr int kSpread = 8;  // variants of values: one for each vector of the longest record
  const std::uint64_t id = key(n, first, kSpread + vector);
  if (const auto found = memo.find(id); found != memo.end()) return found->second;
  Value* v = nullptr;
  std::vector<int> from;
  if (Value* shared = get(n, first); VectorBuilder::lanes_of(shared) > 1) {
    for (int l = 0; l < lanes_; ++l) from.push_back(element(l) / static_cast<int>(length));
    v = at_level(level, [&] { return ir_.CreateShuffleVector(shared, from); });
  } else if (std::none_of(loops.begin(), loops.end(), [&](std::size_t i) { return (node.dims >> frames_[i].dim & 1) != 0; })) {
    v = shared;
  } else {
    Values elements;
    for (const Copy& each : copies_along(loops, first)) elements.push_back(get(n, each));
    for (int l = 0; l < lanes_; ++l) from.push_back(element(l) % static_cast<int>(length));
    v = at_level(level, [&]() -> Value* {
      Value* record =
          llvm::PoisonValue::get(llvm::FixedVectorType::get(elements[0]->getType(), std::bit_ceil(static_cast<unsigned>(elements.size()))));
      for (std::size_t i = 0; i < elements.size(); ++i) record = ir_.CreateInsertElement(record, elements[i], i);
      return ir_.CreateShuffleVector(record, from);
    });
  }
  memo.emplace(id, v);
  return v;
}

Value* KernelEmitter::flat_pointer(int arg, NodeId position, Copy copy) {
  const std::int64_t begin = std::int64_t{flat_vector(copy)} * lanes_;
  const Address a = address(arg, position, copy);
  return ir_.CreateGEP(builder_.memory_type(k_.args[static_cast<std::size_t>(arg)].dtype), a.pointer, i64(begin + a.odd));
}

void KernelEmitter::store_flat(const Store& s, const Copy& copy, Value* v) {
  const DType t = k_.args[static_cast<std::size_t>(s.arg)].dtype;
  Value *const to = flat_pointer(s.arg, s.position, copy), *const stored = builder_.to_memory(full(v), t);
  if (contains(s_.streamed, s.arg) && is_aligned_record(k_, s, vector_dim_, lanes_, features_.vector_bytes, s_.record_dims))
    store_past_caches(stored, to);
  else
    fetch_stored(s.arg, to, 0), ir_.CreateAlignedStore(stored, to, element_align(t));
}

}  // namespace weft::detail
