// Loads that are strided along the lanes: blocks of elements, and records, are read by rows and transposed in registers.
#include <algorithm>
#include <tuple>
#include <utility>

#include "weft/backends/codegen/emit/emit_kernel.h"
#include "weft/backends/codegen/schedule/memory_steps.h"

namespace weft::detail {

using llvm::Value;

KernelEmitter::Square KernelEmitter::square_of(int arg, NodeId position) const {
  if (lanes_ == 1 || !contains(s_.transposed, arg) || (mask_ && !llvm::isa<llvm::Constant>(mask_))) return {};
  for (std::size_t i = 0; i < frames_.size(); ++i)
    if (frames_[i].unroll == lanes_ && frames_[i].step == 1 && frames_[i].dim >= 0)
      if (const int direction = square_direction(k_, position, vector_dim_, frames_[i].dim); direction != 0)
        return {static_cast<int>(i), direction < 0};
  return {};
}

int KernelEmitter::existing_lanes() const {
  if (!mask_) return lanes_;
  int n = 0;
  for (int i = 0; i < lanes_; ++i) n += llvm::cast<llvm::Constant>(mask_)->getAggregateElement(static_cast<unsigned>(i))->isOneValue();
  return n;
}

KernelEmitter::Values KernelEmitter::load_rows(int arg, NodeId position, const Copy& first) {
  const DType t = k_.args[static_cast<std::size_t>(arg)].dtype;
  llvm::Type* element = builder_.memory_type(t);
  llvm::Type* type = llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes_));
  const Address a = address(arg, position, first);
  Values rows(static_cast<std::size_t>(lanes_), llvm::Constant::getNullValue(type));
  for (int l = 0; l < existing_lanes(); ++l) {
    Value* const row = ir_.CreateGEP(element, a.pointer, i64(l * a.stride));
    fetch_steps(arg, position, row);
    rows[static_cast<std::size_t>(l)] = ir_.CreateAlignedLoad(type, row, element_align(t));
  }
  return rows;
}

void KernelEmitter::store_rows(const Store& s, const Copy& first, const Values& columns) {
  const DType t = k_.args[static_cast<std::size_t>(s.arg)].dtype;
  llvm::Type* element = builder_.memory_type(t);
  Values rows;
  for (Value* v : columns) rows.push_back(builder_.to_memory(full(v), t));
  transpose_square(rows);
  const Address a = address(s.arg, s.position, first);
  for (int l = 0; l < existing_lanes(); ++l) {
    Value* const row = ir_.CreateGEP(element, a.pointer, i64(l * a.stride));
    if (!contains(s_.streamed, s.arg)) fetch_steps(s.arg, s.position, row);
    ir_.CreateAlignedStore(rows[static_cast<std::size_t>(l)], row, element_align(t));
  }
}

/// Transposes a square: off-diagonal blocks of half the size are exchanged, then blocks within them, until a block's rows fit in 128 bits.
/// Within these, rows that are half a block apart are interleaved as often as it takes for each to hold a column: one instruction each,
/// where exchanging smaller blocks takes several.
void KernelEmitter::transpose_square(Values& square) {
  const int block = std::min(lanes_, static_cast<int>(128 / square[0]->getType()->getScalarSizeInBits()));
  std::vector<int> low, high;
  const auto shuffle = [&](Value* a, Value* b) {
    return std::pair{ir_.CreateShuffleVector(a, b, low), ir_.CreateShuffleVector(a, b, high)};
  };
  for (int half = lanes_ / 2; half >= block; half /= 2) {
    low.clear(), high.clear();
    for (int l = 0; l < lanes_; ++l) {
      low.push_back(l & half ? lanes_ + l - half : l);
      high.push_back(l & half ? lanes_ + l : l + half);
    }
    for (int i = 0; i < lanes_; ++i) {
      if (i & half) continue;
      Value *&a = square[static_cast<std::size_t>(i)], *&b = square[static_cast<std::size_t>(i + half)];
      std::tie(a, b) = shuffle(a, b);
    }
  }
  // The code generator takes superlinear time in the length of a chain of such steps.
  if (lanes_ >= 8 && square[0]->getType()->isFPOrFPVectorTy())
    for (Value*& v : square) v = ir_.CreateArithmeticFence(v, v->getType());
  low.clear(), high.clear();
  for (int l = 0; l < lanes_; ++l) {
    const int from = l / block * block + l % block / 2 + l % 2 * lanes_;
    low.push_back(from), high.push_back(from + block / 2);
  }
  for (int step = 1; step < block; step *= 2) {
    const Values rows = square;
    for (int i = 0; i < lanes_; i += 2) {
      const auto from = static_cast<std::size_t>(i / block * block + i % block / 2), to = static_cast<std::size_t>(i);
      std::tie(square[to], square[to + 1]) = shuffle(rows[from], rows[from + static_cast<std::size_t>(block) / 2]);
    }
  }
}

Value* KernelEmitter::load_record(NodeId id, const Address& a, const Copy& copy) {
  const Node& n = k_.dag[id];
  const Affine& position = k_.dag.affine(n.operands[0]);
  if (!contains(s_.records, static_cast<int>(n.integer)) || !a.pointer || a.stride <= 2 || (mask_ && !llvm::isa<llvm::Constant>(mask_)))
    return nullptr;
  if (std::find(loads_.begin(), loads_.end(), id) == loads_.end()) return nullptr;
  std::vector<std::pair<std::int64_t, NodeId>> record;  // where its elements are
  for (NodeId other : loads_) {
    const Affine& at = k_.dag.affine(k_.dag[other].operands[0]);
    if (k_.dag[other].integer == n.integer && at.terms == position.terms) record.emplace_back(at.constant, other);
  }
  std::sort(record.begin(), record.end());
  // As many at a time as there are lanes.
  std::size_t first = 0, last = 0;
  for (; last < record.size(); ++last) {
    if (record[last].first < record[first].first + lanes_) continue;
    if (record[last].first > position.constant) break;
    first = last;
  }
  if (last - first < 2) return nullptr;
  const std::int64_t start = record[first].first;
  const Values columns =
      load_columns(n.dtype, a.stride, ir_.CreateGEP(builder_.memory_type(n.dtype), a.pointer, i64(start - position.constant)),
                   static_cast<int>(record[last - 1].first - start + 1));
  auto& memo = frames_[static_cast<std::size_t>(level_of(n.dims, false))].memo;
  Value* result = nullptr;
  for (; first < last; ++first) {
    const auto [at, node] = record[first];
    Value* v = builder_.from_memory(columns[static_cast<std::size_t>(at - start)], n.dtype);
    if (node == id)
      result = v;
    else
      memo.emplace(key(node, copy), v);
  }
  return result;
}

KernelEmitter::Values KernelEmitter::load_columns(DType t, std::int64_t stride, Value* first, int kept) {
  llvm::Type* element = builder_.memory_type(t);
  llvm::FixedVectorType* type = llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes_));
  const llvm::Align align = element_align(t);
  Values columns;
  if (stride == kept && kept <= s_.shuffled_record && existing_lanes() == lanes_) {
    // Consecutive vectors hold whole records.
    Values parts;
    for (int i = 0; i < kept; ++i) parts.push_back(ir_.CreateAlignedLoad(type, ir_.CreateGEP(element, first, i64(i * lanes_)), align));
    for (int c = 0; c < kept; ++c) {
      Value* column = parts[0];
      for (int i = 1; i < kept; ++i) {
        std::vector<int> from;
        for (int l = 0; l < lanes_; ++l) {
          const int at = l * kept + c, part = at / lanes_;
          from.push_back(part == i ? lanes_ + at % lanes_ : i > 1 ? l : part == 0 ? at : -1);
        }
        column = ir_.CreateShuffleVector(column, parts[static_cast<std::size_t>(i)], from);
      }
      columns.push_back(column);
    }
    return columns;
  }
  llvm::Constant* const zero = llvm::Constant::getNullValue(type);
  std::vector<llvm::Constant*> inside;
  for (int l = 0; l < lanes_; ++l) inside.push_back(ir_.getInt1(l < kept));
  columns.assign(static_cast<std::size_t>(lanes_), zero);
  for (int l = 0; l < existing_lanes(); ++l) {
    Value* row = ir_.CreateGEP(element, first, i64(l * stride));
    columns[static_cast<std::size_t>(l)] = kept == lanes_ ? ir_.CreateAlignedLoad(type, row, align)
                                           : in_parts(kept)
                                               ? load_parts(type, row, kept, align)
                                               : ir_.CreateMaskedLoad(type, row, align, llvm::ConstantVector::get(inside), zero);
  }
  transpose_square(columns);
  return columns;
}

std::size_t KernelEmitter::store_record(std::span<const Store* const> stores, const Copy& copy, std::span<Value* const> values) {
  const Store& s = *stores[0];
  if (lanes_ < 4 || !contains(s_.records, s.arg) || (mask_ && !llvm::isa<llvm::Constant>(mask_))) return 0;
  const auto n = static_cast<int>(written_record(k_, stores, vector_dim_));
  const Address a = address(s.arg, s.position, copy);
  if (n == 0 || !a.pointer) return 0;
  if (n == a.stride && n <= s_.shuffled_record && existing_lanes() * n >= lanes_) {
    store_joined(s, copy, Values(values.begin(), values.begin() + n));
    return static_cast<std::size_t>(n);
  }
  // As many at a time as there are lanes.
  const int most = std::min(n, lanes_);
  const DType t = k_.args[static_cast<std::size_t>(s.arg)].dtype;
  llvm::Type* element = builder_.memory_type(t);
  llvm::FixedVectorType* type = llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes_));
  Values rows(static_cast<std::size_t>(lanes_), llvm::PoisonValue::get(type));
  for (std::size_t i = 0; i < static_cast<std::size_t>(most); ++i) rows[i] = builder_.to_memory(full(values[i]), t);
  transpose_square(rows);
  std::vector<llvm::Constant*> inside;
  for (int l = 0; l < lanes_; ++l) inside.push_back(ir_.getInt1(l < most));
  for (int l = 0; l < existing_lanes(); ++l) {
    Value *row = rows[static_cast<std::size_t>(l)], *to = ir_.CreateGEP(element, a.pointer, i64(l * a.stride));
    if (most == lanes_)
      ir_.CreateAlignedStore(row, to, element_align(t));
    else if (in_parts(most))
      store_parts(row, to, most, element_align(t));
    else
      ir_.CreateMaskedStore(row, to, element_align(t), llvm::ConstantVector::get(inside));
  }
  return static_cast<std::size_t>(most);
}

}  // namespace weft::detail
