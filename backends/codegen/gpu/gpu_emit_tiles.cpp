// Transposes through shared memory: a block reads a tile of what is read transposed along its rows and uses it along its columns, so
// that both the loads and the stores of a warp are side by side (Ruetsch and Micikevicius, Optimizing matrix transpose in CUDA, 2009).
#include <llvm/IR/Module.h>

#include "weft/backends/codegen/gpu/gpu_emitter.h"

namespace weft::detail {

using llvm::Value;

void GpuEmitter::tiles() {
  constexpr std::int64_t n = GpuSchedule::kTile;
  const int across = s_.points.back(), down = s_.points[s_.points.size() - 2];
  const auto size_of = [&](int d) { return k_.dag.dims[static_cast<std::size_t>(d)]; };
  const auto extend = [&](Value* v) { return ir_.CreateZExtOrTrunc(v, index_type()); };
  const std::int64_t rows_at_once = s_.threads / n;
  Value* row = ir_.CreateLShr(rank_, i32(5));
  // One column more than there are elements: the threads of a warp that read a column meet different banks.
  std::unordered_map<NodeId, Value*> memory;
  for (NodeId load : s_.transposed_loads)
    memory[load] = threads_.shared(builder_.memory_type(k_.dag[load].dtype), static_cast<std::uint64_t>(n * (n + 1)),
                                   name_ + "_tile" + std::to_string(num_shared_++));
  const std::span<const int> others = std::span(s_.points).first(s_.points.size() - 2);
  const std::int64_t tiles_across = (size_of(across) + n - 1) / n, tiles_down = (size_of(down) + n - 1) / n;
  std::uint64_t dims = 0;
  for (int d : s_.points) dims |= std::uint64_t{1} << d;
  const std::uint64_t within = std::uint64_t{1} << across | std::uint64_t{1} << down;

  loop(dims, extend(team_), number(s_.teams), extend(threads_.num_blocks()), {}, [&](Value* tile, Values v) {
    nest_level_ = scopes_.size() - 1;
    Value* left = ir_.CreateMul(ir_.CreateURem(tile, number(tiles_across)), number(n));
    Value* rest = ir_.CreateUDiv(tile, number(tiles_across));
    Value* top = ir_.CreateMul(ir_.CreateURem(rest, number(tiles_down)), number(n));
    if (!others.empty()) decode(others, ir_.CreateUDiv(rest, number(tiles_down)), 1);
    const auto each_row = [&](int along_lanes, Value* lanes_from, int along_rows, Value* rows_from,
                              const std::function<void(Value*, Value*)>& body) {
      for (std::int64_t first = 0; first < n; first += rows_at_once) {
        llvm::BasicBlock* block = llvm::BasicBlock::Create(module_.getContext(), "row", function_);
        llvm::Instruction* entry = ir_.CreateBr(block);
        ir_.SetInsertPoint(block);
        scopes_.push_back({within, entry, {}});
        Value* r = ir_.CreateAdd(row, i32(first));
        // Beyond the edge the last element is read again.
        Value* exists = nullptr;
        for (const auto& [dim, from, offset] : {std::tuple(along_lanes, lanes_from, lane_), std::tuple(along_rows, rows_from, r)}) {
          Value* at = ir_.CreateAdd(from, extend(offset));
          if (size_of(dim) % n != 0) {
            Value* inside = ir_.CreateICmpULT(at, number(size_of(dim)));
            at = ir_.CreateSelect(inside, at, number(size_of(dim) - 1));
            exists = exists ? ir_.CreateAnd(exists, inside) : inside;
          }
          coordinate_[static_cast<std::size_t>(dim)] = at;
        }
        body(r, exists);
        scopes_.pop_back();
      }
    };
    each_row(down, top, across, left, [&](Value* r, Value*) {
      for (NodeId load : s_.transposed_loads) {
        llvm::Type* element = builder_.memory_type(k_.dag[load].dtype);
        Value* at = ir_.CreateAdd(ir_.CreateMul(r, i32(n + 1)), lane_);
        Value* value = ir_.CreateAlignedLoad(element, address(static_cast<int>(k_.dag[load].integer), get(k_.dag[load].operands[0])),
                                             alignment(static_cast<int>(k_.dag[load].integer)));
        ir_.CreateStore(value, ir_.CreateGEP(element, memory[load], at));
      }
    });
    threads_.sync_block();
    each_row(across, left, down, top, [&](Value* r, Value* exists) {
      for (NodeId load : s_.transposed_loads) {
        llvm::Type* element = builder_.memory_type(k_.dag[load].dtype);
        Value* at = ir_.CreateAdd(ir_.CreateMul(lane_, i32(n + 1)), r);
        scopes_.back().memo[load] =
            builder_.from_memory(ir_.CreateLoad(element, ir_.CreateGEP(element, memory[load], at)), k_.dag[load].dtype);
      }
      store_all(0, false, exists);
    });
    threads_.sync_block();
    return v;
  });
}

}  // namespace weft::detail
