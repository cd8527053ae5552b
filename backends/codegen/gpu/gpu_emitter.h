// The state of emitting one kernel for a GPU. Includes LLVM: internal to the emitter.
//
// As on the CPU a value is emitted where it is first needed, but in front of the innermost open loop that it does not depend on.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>

#include "weft/backends/codegen/emit/reduce_values.h"
#include "weft/backends/codegen/emit/vector_builder.h"
#include "weft/backends/codegen/gpu/gpu_threads.h"

namespace weft::detail {

class GpuEmitter {
 public:
  GpuEmitter(llvm::Module& module, const GpuLaunch& launch, const GpuTarget& target, const std::vector<char>& aliased,
             const std::string& name);
  void run();

 private:
  using Value = llvm::Value;
  using Values = std::vector<Value*>;
  using Body = std::function<Values(Values)>;

  /// An open loop or branch, with the loop dimensions whose coordinates it defines.
  struct Scope {
    std::uint64_t dims = 0;
    llvm::Instruction* entry = nullptr;  ///< the branch into it: what is computed outside goes in front
    std::unordered_map<NodeId, Value*> memo;
  };

  // gpu_emit_prologue.cpp
  void prologue(const std::vector<char>& aliased);
  void annotate_kernel(std::span<const std::size_t> parameters, const std::vector<char>& aliased);
  std::int64_t teams_of_block() const { return s_.columns ? 32 : s_.threads / s_.team; }
  Value* number_teams();
  void place_arguments(std::span<Value* const> given, Value* team_in_block);

  // gpu_emit_control.cpp: points, nests, reductions.
  void points();
  void nest(std::size_t number);
  void in_order(std::span<const int> dims, const std::function<void()>& body);
  void distributed(std::size_t number);
  void reduce(std::size_t number);
  void repeat(const Repeat& r, Value* condition);
  void scan(std::size_t number);
  Values loop(std::uint64_t dims, Value* low, Value* high, Value* step, Values carried, const std::function<Values(Value*, Values)>& body);
  Values when(Value* condition, Values carried, const Body& body);
  [[nodiscard]] std::shared_ptr<void> along(std::span<const int> dims, int lanes);
  void decode(std::span<const int> dims, Value* number, std::int64_t lanes);
  Value* steps_of(const Nest& t);
  std::int64_t size(std::span<const int> dims) const;
  void sync_team();

  Value* combine_lanes(const Reduction& r, Value* v);
  Values combine_all(const Reduction& r, const Values& a, const Values& b, bool ties);
  Values accumulate(const Reduction& r, const Values& a);
  Values combine_team(const Reduction& r, Values v);
  Values exchange(GpuThreads::Exchange kind, const Values& v, Value* lane);
  Values through_shared(const Values& v, Value* slot, Value* writes, std::int64_t count, Value* read);
  static std::size_t width(const Reduction& r) { return r.kind == Reduction::Kind::reduce ? 1 : 2; }
  void set_local(int local, Value* v);

  void tiles();  // gpu_emit_tiles.cpp

  // gpu_emit_values.cpp: expressions, positions, loads and stores.
  Value* get(NodeId n);
  Value* compute(NodeId n);
  Value* load(NodeId n);
  Value* index(NodeId n);  ///< of index_type(), or a vector of it
  Value* affine(NodeId n);
  Value* address(int arg, Value* position);
  Value* first_lane(NodeId position);
  void store_all(std::size_t number, bool in_reduction, Value* condition);
  void store_all(std::span<const Store* const> stores, Value* condition);
  void store(const Store& s, Value* v);
  void store_atomic(const Store& s);
  void exchange_atomic(ScalarOp op, DType t, Value* where, Value* v);
  int level_of(NodeId n) const;
  bool varies(std::uint64_t dims) const { return lane_dim_ >= 0 && (dims >> lane_dim_ & 1); }
  llvm::Type* index_type() { return wide_ ? ir_.getInt64Ty() : ir_.getInt32Ty(); }
  Value* number(std::int64_t v) { return llvm::ConstantInt::get(index_type(), static_cast<std::uint64_t>(v), true); }
  Value* i32(std::int64_t v) { return ir_.getInt32(static_cast<std::uint32_t>(v)); }
  llvm::Align alignment(int arg) const;

  llvm::Module& module_;
  const Kernel& k_;
  const GpuSchedule& s_;
  const std::string name_;
  llvm::IRBuilder<> ir_;
  VectorBuilder builder_;
  GpuThreads threads_;
  llvm::Function* function_ = nullptr;
  std::vector<Value*> args_;  // of each argument; scratch: the team's
  std::vector<Value*> coordinate_;
  std::vector<Scope> scopes_;
  std::vector<char> pinned_;  // nodes that depend on what the kernel itself computes
  std::vector<char> reads_written_;
  std::unordered_map<int, NodeId> local_nodes_;
  std::size_t nest_level_ = 0;  // values that are pinned are not computed outside of it
  bool keep_inside_ = false;    // loads of memory that changes from one iteration to the next stay in their loop
  bool wide_ = false;
  int lanes_ = 1;            ///< of the vectors that are emitted
  int lane_dim_ = -1;        ///< the loop along which they lie; -1: there are none
  Value* rank_ = nullptr;    // the thread's number in its team
  Value* lane_ = nullptr;    // and in its warp
  Value* warp_ = nullptr;    // and the warp's in its block
  Value* team_ = nullptr;    // the team's number on the device
  Value* exists_ = nullptr;  // whether the point is one, where a team takes part though it has none
  int num_shared_ = 0;
  std::map<std::pair<llvm::Type*, std::int64_t>, std::vector<Value*>> reduction_memory_;  // used again by the next reduction
};

}  // namespace weft::detail
