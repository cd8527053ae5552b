// The emitter's state: the loops that are open, and what has been computed in each. Includes LLVM: internal to the emitter.
//
// A value is emitted where it is first needed, but in the outermost open loop whose iterations it depends on: in front of the loop inside
// of that. Loops may be unrolled: then one loop body stands for several iterations ("copies"), and a value exists once for each
// combination of copies of the loops that it depends on.
#pragma once
#include <llvm/ADT/STLFunctionalExtras.h>

#include <functional>
#include <map>
#include <span>
#include <unordered_map>

#include "weft/backends/codegen/emit/emit.h"
#include "weft/backends/codegen/emit/reduce_values.h"
#include "weft/backends/codegen/emit/vector_builder.h"
#include "weft/backends/codegen/schedule/kernel_accesses.h"

namespace weft::detail {

class KernelEmitter {
 public:
  KernelEmitter(llvm::Module& module, const Kernel& k, const Schedule& s, const VectorFeatures& features, llvm::Function* function);
  /// The function's body, as emit_kernel says.
  void run();
  /// Emits all blocks into the middle of the function, with `args` as the pointers. Returns the block where the code continues.
  llvm::BasicBlock* run_inline(llvm::BasicBlock* at, std::span<llvm::Value* const> args);

 private:
  using Value = llvm::Value;
  using Values = std::vector<Value*>;
  /// For each open loop: which of its copies.
  using Copy = std::vector<int>;

  /// An open loop, or a conditional block (which counts as a loop of one iteration).
  struct Frame {
    int dim = -1;
    Value* iteration = nullptr;  ///< the first copy's coordinate
    int unroll = 1;
    std::int64_t step = 1;               ///< between copies
    llvm::Instruction* entry = nullptr;  ///< the branch into it: what is computed outside goes in front
    std::unordered_map<std::uint64_t, Value*> memo;
    std::map<std::vector<std::int64_t>, Value*> addresses;
  };

  // Control flow.
  using Body = std::function<Values(Values)>;
  Values loop(int dim, Value* low, Value* high, std::int64_t step, int unroll, std::int64_t copy_step, Values carried, const Body& body);
  Values when(int dim, Value* at, Value* condition, Values carried, const Body& body);
  Values run_loop(const LoopPlan& plan, Value* low, Value* high, Values carried, const Body& body, const Section* section = nullptr);
  Values run_sections(LoopPlan plan, Value* low, Value* high, Values carried, const Body& body);
  Values run_loops(std::span<const LoopPlan> plans, Values carried, const Body& body);
  void range(int dim, Value*& low, Value*& high);
  void outer_loops();
  /// Emits the rows of these blocks, for a kernel that is partitioned by rows.
  class RowList;
  void rows(Value* begin, Value* end);  // emit_row_partition.cpp
  Value* in_blocks(Value* begin, Value* count, Value*& row);
  /// Interleaves instruction chains in the blocks, if the schedule says so.
  void overlap(std::span<llvm::BasicBlock* const> blocks);
  llvm::AllocaInst* reserve(const KernelArg& a);
  void for_each_copy(const std::function<void(const Copy&)>& f) const;

  // Nests.
  void nest(std::size_t number);
  /// Whether the nest updates an array in order, as often as an index is inside, and the indices of many updates are compared at once.
  bool updates_in_chunks(std::size_t number) const;  // emit_updates.cpp
  void update_in_chunks(std::size_t number);
  bool copies_in_place(std::size_t number) const;
  class NestReductions;
  void reduce(std::size_t number);       // emit_reduce.cpp
  void reduce_rows(std::size_t number);  // emit_rows.cpp
  void repeat(const Repeat& r);
  void store_all(std::size_t number, bool in_reduction);
  void store_all(const std::vector<const Store*>& stores);
  void store(const Store& s, const Copy& copy, Value* value);
  bool store_pair(const Store& re, const Store& im, const Copy& copy, Value* real, Value* imag);
  Value* run_on(const Reduction& r, Value*& total, const Copy& copy, Value* keep);
  Value* accumulate(const Reduction& r, Value* a, const Copy& copy, bool vector, Value* keep);
  /// Whether the reduction multiplies and adds in one step.
  bool is_fused(const Reduction& r, Value* keep) const;
  DType index_dtype(const Reduction& r) const { return k_.dag[r.position].dtype; }
  /// Whether an extremum across lanes ignores NaNs and the signs of zeros, and keeps account of the lanes that saw a NaN and of the signs
  /// that all elements have in common, which takes fewer instructions.
  bool flags_nans(const Reduction& r) const;
  Value* join(const Reduction& r, Value* a, Value* b, bool flagged);
  Value* with_sign_of_zeros(const Reduction& r, Value* v, Value* bits);
  Value* horizontal(Value* v, llvm::function_ref<Value*(Value*, Value*)> join);  ///< of all lanes, halves first
  void horizontal_arg(const Reduction& r, Value*& value, Value*& position);

  // Values.
  Value* get(NodeId n, const Copy& copy);
  Value* compute(NodeId n, const Copy& copy);
  Value* call_math(NodeId id, const Copy& copy);
  Value* share_of_sum(const Node& n, const Copy& copy);
  Value* by_products(NodeId n, const Copy& copy);
  Value* load(NodeId id, const Copy& copy);
  Value* affine_value(NodeId n, const Copy& copy);  ///< i64, or a vector of index_type(); so are the values of all index nodes
  Value* lane_index(NodeId n, const Copy& copy);    ///< of an atom: a vector of index_type(), or i64
  Value* shared_part(NodeId n, const Copy& copy);   ///< the part of a position that is the same in all lanes, as i64
  Value* lane_part(NodeId n, const Copy& copy);     ///< the rest, as a vector of index_type()
  Value* scaled(Value* v, std::int64_t c);
  Value* full(Value* v) { return builder_.splat(v, lanes_); }
  bool varies(std::uint64_t dims) const { return lanes_ > 1 && (dims >> vector_dim_ & 1); }
  int level_of(std::uint64_t dims, bool pinned) const;
  std::uint64_t key(NodeId n, const Copy& copy, int variant = 0) const;
  Value* at_level(int level, llvm::function_ref<Value*()> f);
  struct Address {
    Value* pointer = nullptr;  ///< of the first lane
    std::int64_t stride = 0;   ///< between lanes
    Value* indices = nullptr;  ///< instead: a vector of positions relative to the argument
    bool interleaved = false;  ///< stride 2, all else even: pairs of elements
    bool odd = false;          ///< the second of a pair; then the pointer is that of the first
  };
  Address address(int arg, NodeId position, const Copy& copy);
  bool is_lane_scratch(int arg) const;  ///< scratch of which each lane has an element
  Address scratch_address(int arg, NodeId position, const Copy& copy);
  Value* address_outside(int arg, const Affine& position, int innermost_dim, const Copy& copy);
  /// A load of a vector, an element for each lane.
  struct LaneLoad {
    NodeId id;
    int arg;
    llvm::FixedVectorType* type;
    llvm::Align align;
    Value* guard;  ///< the lanes for which the load is wanted, or one value for all; null: all
    Value* mask;   ///< of those, the lanes that exist; null: all
    Address at = {};
    int kept = -1;  ///< how many lanes the mask keeps, if these are known and the first ones
  };
  Value* load_uniform(NodeId id, Value* guard, const Copy& copy);
  /// Rows of elements that lanes are strided in, and that an open loop, unrolled as far as there are lanes, goes along.
  struct Square {
    int frame = -1;  ///< of the open loop; -1: there is none
    bool backwards = false;
  };
  Value* load_square(NodeId id, Square place, const Copy& copy);
  Value* load_forward(const LaneLoad& l);
  Value* load_backward(const LaneLoad& l);
  Value* load_interleaved(const LaneLoad& l, const Copy& copy);
  Value* load_each(const LaneLoad& l);
  Value* load_gathered(const LaneLoad& l, const Copy& copy);
  Value* load_from_words(const LaneLoad& l, const Copy& copy);
  void fetch_gathered(int arg, NodeId position, const Copy& copy);
  // emit_gathered.cpp
  bool store_gathered(const Store& s, Value* to, Value* v);
  std::vector<Value*> lanes_of_indices(Value* indices);
  void remove_unused_gathers();
  void take_gathers_apart(std::span<llvm::BasicBlock* const> blocks);
  Value* loaded_one_by_one(llvm::Instruction& gather, llvm::GetElementPtrInst& places);
  void fetch_stored(int arg, Value* pointer, std::int64_t vector);
  void fetch_ahead(int arg, NodeId position, const Address& a, const Copy& copy);
  void fetch_steps(int arg, NodeId position, Value* pointer);
  void prefetch(Value* pointer, bool is_store);
  static llvm::Align element_align(DType t) { return llvm::Align(static_cast<std::uint64_t>(t.itemsize())); }
  void store_lanes(const Store& s, const Address& a, Value* v, const Copy& copy);
  bool in_parts(int kept) const;
  /// The pointer if any lane of the mask is set, else the start of the argument: a masked access without lanes takes hundreds of cycles if
  /// it points to an unmapped page.
  Value* where_any(Value* mask, Value* pointer, int arg);
  Value* load_parts(llvm::FixedVectorType* type, Value* pointer, int kept, llvm::Align align);
  void store_parts(Value* v, Value* pointer, int kept, llvm::Align align);
  Square square_of(int arg, NodeId position) const;
  /// The vectors at the position of a copy, that of the lowest address, and its successors along the lanes; then element k of each is that
  /// of the k-th copy in memory's order.
  Values load_rows(int arg, NodeId position, const Copy& first);
  void store_rows(const Store& s, const Copy& first, const Values& columns);
  void transpose_square(Values& square);
  /// For lanes that read several elements of strided records: loads each record as a vector. Null for other loads.
  Value* load_record(NodeId id, const Address& a, const Copy& copy);
  /// The first so many elements of each lane's record, the first of which begins here; element by element.
  Values load_columns(DType t, std::int64_t stride, Value* first, int kept);
  int existing_lanes() const;
  /// Stores the elements of each lane's record that these stores begin with; how many stores that were, or 0: they are single ones.
  std::size_t store_record(std::span<const Store* const> stores, const Copy& copy, std::span<Value* const> values);
  // emit_flat.cpp
  /// Whether the lanes of the open loops are neighbouring elements of records.
  bool flat() const { return s_.flat_records && lanes_ > 1 && vector_dim_ == s_.vector_dim && !mask_; }
  bool is_flat(NodeId n) const;
  /// Which vector of the records' elements the copy is, and the copy that is the first.
  int flat_vector(Copy& copy) const;
  /// A value as one of elements: of values that all elements of a record share, each as often as they do; of values that all records share,
  /// one after the other.
  Value* spread_over_elements(NodeId n, const Copy& copy);
  Value* flat_pointer(int arg, NodeId position, Copy copy);
  /// The operand of a node.
  Value* operand(NodeId of, NodeId n, const Copy& copy) { return flat() && is_flat(of) ? spread_over_elements(n, copy) : get(n, copy); }
  void store_flat(const Store& s, const Copy& copy, Value* v);
  // emit_records.cpp
  int record_frame(NodeId position, std::int64_t apart, int& sign) const;
  void record_at(NodeId id, int stride, int kept, std::int64_t& base, int& reach) const;
  /// A load whose lanes are a few elements apart, loaded together with the record's other elements; null if it must be a gather.
  Value* load_from_span(NodeId id, const Copy& copy);
  /// What loads of the loop in which this one is emitted have in common. (Not those of an inner loop, whose code comes later.)
  std::map<std::vector<std::int64_t>, Value*>& shared_loads(NodeId load) {
    return frames_[static_cast<std::size_t>(level_of(k_.dag[load].dims, pinned_[static_cast<std::size_t>(load)]))].addresses;
  }
  /// Lanes that read elements of a short row by computed indices, from registers that hold the row; null for other loads.
  Value* look_up(NodeId id, const Copy& copy);  // emit_lookup.cpp
  /// The open loops whose copies together cover all elements between the store's lanes, the fastest first; empty if there are none.
  std::vector<std::size_t> joined_frames(const Store& s, int& sign) const;
  /// All copies of these loops, the first loop fastest, for a copy of the other loops.
  std::vector<Copy> copies_along(const std::vector<std::size_t>& loops, Copy copy) const;
  /// The contiguous range of copies of such a loop for which a load's guard holds; empty if that is not known.
  std::pair<int, int> guarded_copies(NodeId guard, std::size_t loop, const Copy& copy);
  /// Stores all elements of records, each a vector of lanes, in memory order; `first`: the copy of the first element.
  void store_joined(const Store& s, const Copy& first, Values columns);
  bool streams(const Store& s) const;
  void store_past_caches(Value* v, Value* pointer);  ///< a whole vector, aligned
  Value* copy_slot(const Copy& copy) const;
  int slots() const;
  llvm::Type* index_type() { return wide_index_ ? ir_.getInt64Ty() : ir_.getInt32Ty(); }
  Value* lane_numbers();
  Value* i64(std::int64_t v) { return ir_.getInt64(static_cast<std::uint64_t>(v)); }

  llvm::Module& module_;
  const Kernel& k_;
  const Schedule& s_;
  const VectorFeatures& features_;
  llvm::IRBuilder<> ir_;
  VectorBuilder builder_;
  llvm::Function* function_ = nullptr;
  std::vector<Frame> frames_;
  std::vector<Value*> args_;
  std::vector<char> pinned_;       // nodes that depend on what the kernel computes in earlier nests
  std::vector<NodeId> loads_;      // that are not guarded, of memory that the kernel doesn't write
  std::vector<char> by_products_;  // nodes_by_products
  std::map<int, NodeId> local_nodes_;
  int lanes_ = 1;  // of the open vector loop, else 1
  int vector_dim_ = 0;
  Value* mask_ = nullptr;  // lanes that exist, in the last vector of a loop
  int base_level_ = 0;     // the innermost outer loop
  bool wide_index_ = false;
  NodeId holds_ = -1;                              ///< a condition that is known to hold
  std::map<int, std::int64_t> sections_;           ///< the loops that are open in a section between borders: where that begins
  std::vector<llvm::Instruction*> taken_apart_;    ///< gathers whose elements were stored one by one
  bool streamed_ = false;                          // some stores went past the caches
  std::vector<std::pair<Value*, Value*>> ranges_;  // of loops that run over less than their size
};

}  // namespace weft::detail
