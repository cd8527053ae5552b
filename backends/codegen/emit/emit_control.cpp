// Loops and branches as native code around the kernels of their sub-programs.
#include <llvm/ADT/DenseSet.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <map>

#include "weft/backends/codegen/emit/emit.h"
#include "weft/backends/codegen/emit/emit_kernel.h"
#include "weft/backends/codegen/planner/stepped_kernel.h"
#include "weft/core/base/nesting.h"
#include "weft/core/errors/error.h"
#include "weft/core/ir/sealed_program.h"

namespace weft::detail {
namespace {

using llvm::BasicBlock;
using llvm::Value;
using Values = std::vector<Value*>;

constexpr std::size_t kMaxInlineNodes = 1500;    // of one kernel
constexpr std::size_t kMaxRepeatedNodes = 60;    // of one that is run in several places
constexpr std::size_t kMaxFunctionNodes = 6000;  // of all kernels of a function
constexpr std::int64_t kMaxInlineScratch = 1 << 14;
constexpr std::int64_t kLongCopy = 256;     // bytes from which on it pays to ask whether source and destination are the same
constexpr std::size_t kLoadsInBlock = 128;  // LLVM compares each load of a block with all others of it
constexpr std::size_t kFewPointers = 1000;  // that a function keeps from its entry on
constexpr int kMaxOpen = 16;                // depth of nested loops and branches in a function: LLVM's passes take superlinear time in it

class ControlEmitter {
 public:
  ControlEmitter(llvm::Module& module, const KernelProgram& root, const std::vector<Schedule>& schedules, const VectorFeatures& features,
                 const std::string& name)
      : module_(module), root_(root), schedules_(schedules), features_(features), name_(name), ir_(module.getContext()) {}

  std::vector<FixedPointer> run(const KernelProgram& program, const Step& step) {
    count_uses(program.controls[static_cast<std::size_t>(step.number)]);
    begin_function(name_);
    finish_function(program, step);
    return std::move(table_);
  }

 private:
  using Place = ControlStep::Carry::Place;

  void begin_function(const std::string& name) {
    function_ = make_function(module_, features_, name, llvm::FunctionType::get(ir_.getInt32Ty(), {ir_.getPtrTy(), ir_.getPtrTy()}, false));
    entry_ = table_block_ = new_block("entry");
    BasicBlock* body = new_block("body");
    failed_ = new_block("failed");
    ir_.SetInsertPoint(failed_);
    ir_.CreateRet(ir_.getInt32(1));
    ir_.SetInsertPoint(entry_);
    ir_.CreateBr(body);
    ir_.SetInsertPoint(body);
  }
  /// The function's body is the step, whose buffers are its first argument.
  void finish_function(const KernelProgram& program, const Step& step) {
    Values buffers(program.buffers.size());
    for (std::size_t i = 0; i < step.buffers.size(); ++i) {
      if (i % kLoadsInBlock == kLoadsInBlock - 1) ir_.SetInsertPoint(block_behind(ir_.GetInsertBlock(), "buffers"));
      llvm::LoadInst* const pointer = ir_.CreateLoad(ir_.getPtrTy(), ir_.CreateConstGEP1_64(ir_.getPtrTy(), function_->getArg(0), i));
      buffers[static_cast<std::size_t>(step.buffers[i])] = pointer;
      if (step.buffers.size() > kFewPointers) loaded_where_used_.insert(pointer);
    }
    control(program, step, buffers);
    ir_.CreateRet(ir_.getInt32(0));
    if (failed_->use_empty()) failed_->eraseFromParent();
  }

  /// Emits a deeply nested loop or branch as a separate function.
  void call_apart(const KernelProgram& p, const Step& s, const Values& at) {
    Values given;
    for (BufferId b : s.buffers) given.push_back(at[static_cast<std::size_t>(b)]);
    Value* const arguments = pointers(given);
    const auto outside = ir_.saveIP();
    llvm::Function* const outer = function_;
    BasicBlock *const entry = entry_, *const failed = failed_, *const table_block = table_block_;
    auto fixed = std::exchange(fixed_, {});
    Value* const array = std::exchange(array_, nullptr);
    const std::size_t array_size = std::exchange(array_size_, 0), nodes = std::exchange(nodes_, 0);
    const Step* const done = std::exchange(done_, nullptr);
    begin_function(name_ + ".part" + std::to_string(parts_++));
    llvm::Function* const part = function_;
    part->setLinkage(llvm::GlobalValue::InternalLinkage);
    part->addFnAttr(llvm::Attribute::NoInline);
    finish_function(p, s);
    function_ = outer, entry_ = entry, failed_ = failed, table_block_ = table_block;
    fixed_ = std::move(fixed), array_ = array, array_size_ = array_size, nodes_ = nodes, done_ = done;
    ir_.restoreIP(outside);
    check(ir_.CreateCall(part, {arguments, function_->getArg(1)}));
  }

  void count_uses(const ControlStep& c) {
    for (const KernelProgram& p : c.programs) {
      for (const Step& s : p.steps)
        if (s.kind == Step::Kind::kernel) ++uses_[s.number];
      for (const ControlStep& inner : p.controls) count_uses(inner);
    }
  }

  BasicBlock* new_block(const char* name) { return BasicBlock::Create(module_.getContext(), name, function_); }
  /// A new block that is executed after another one, in front of what followed that.
  BasicBlock* block_behind(BasicBlock* block, const char* name) {
    BasicBlock* const behind = new_block(name);
    if (llvm::Instruction* const end = block->getTerminator()) end->moveBefore(*behind, behind->end());
    llvm::BranchInst::Create(behind, block);
    return behind;
  }
  Value* i64(std::int64_t v) { return ir_.getInt64(static_cast<std::uint64_t>(v)); }
  Value* offset(Value* pointer, std::int64_t bytes) { return bytes == 0 ? pointer : ir_.CreateGEP(ir_.getInt8Ty(), pointer, i64(bytes)); }
  static std::int64_t bytes_of(const KernelProgram& p, BufferId b) { return p.buffers[static_cast<std::size_t>(b)].aval.bytes(); }

  /// Pointers that are not known to be equal may be so when the code runs.
  void copy(Value* to, Value* from, std::int64_t bytes) {
    if (to == from || bytes <= 0) return;
    to = here(to), from = here(from);
    BasicBlock* after = nullptr;
    if (bytes >= kLongCopy) {
      BasicBlock* apart = new_block("apart");
      after = new_block("copied");
      ir_.CreateCondBr(ir_.CreateICmpEQ(to, from), after, apart);
      ir_.SetInsertPoint(apart);
    }
    ir_.CreateMemCpy(to, llvm::MaybeAlign(1), from, llvm::MaybeAlign(1), static_cast<std::uint64_t>(bytes));
    if (!after) return;
    ir_.CreateBr(after);
    ir_.SetInsertPoint(after);
  }

  /// In front of everything else; memory of the stack is in the first block.
  template <class F>
  Value* at_entry(BasicBlock* block, F&& f) {
    const auto saved = ir_.saveIP();
    ir_.SetInsertPoint(block->getTerminator());
    Value* v = f();
    ir_.restoreIP(saved);
    return v;
  }

  /// The pointer for what is emitted now. One of thousands that a function is given is loaded again: in registers and on the stack for the
  /// whole function, they take LLVM's register allocation time that grows with their square.
  Value* here(Value* pointer) {
    auto* const load = llvm::dyn_cast<llvm::LoadInst>(pointer);
    return load && loaded_where_used_.contains(load) ? ir_.Insert(load->clone()) : pointer;
  }

  Value* fixed(FixedPointer::Kind kind, const KernelProgram* program, int number) {
    Value*& v = fixed_[{kind, program, number}];
    if (v) return v;
    const std::size_t slot = table_.size();
    table_.push_back({kind, program, number});
    if (slot % kLoadsInBlock == kLoadsInBlock - 1) table_block_ = block_behind(table_block_, "table");
    return v = at_entry(table_block_,
                        [&] { return ir_.CreateLoad(ir_.getPtrTy(), ir_.CreateConstGEP1_64(ir_.getPtrTy(), function_->getArg(1), slot)); });
  }

  /// Stack memory for pointers, reused by each call.
  Value* pointers(const Values& values) {
    if (!array_ || values.size() > array_size_) {
      array_size_ = std::max<std::size_t>(values.size(), 1);
      array_ = at_entry(entry_, [&] { return ir_.CreateAlloca(llvm::ArrayType::get(ir_.getPtrTy(), array_size_)); });
    }
    for (std::size_t i = 0; i < values.size(); ++i) ir_.CreateStore(values[i], ir_.CreateConstGEP1_64(ir_.getPtrTy(), array_, i));
    return array_;
  }

  llvm::FunctionCallee library(const char* name, llvm::Type* result, std::vector<llvm::Type*> args) {
    return module_.getOrInsertFunction(name, llvm::FunctionType::get(result, args, false));
  }
  void check(Value* result) {
    BasicBlock* good = new_block("good");
    ir_.CreateCondBr(ir_.CreateICmpEQ(result, ir_.getInt32(0)), good, failed_);
    ir_.SetInsertPoint(good);
  }

  /// The program's results go where `outputs` says.
  void program(const KernelProgram& p, const Values& inputs, const Values& outputs, Value* arena) {
    const Values at = buffer_addresses(
        p, inputs, outputs, [&](std::int64_t bytes) { return offset(arena, bytes); },
        [&](BufferId b) { return fixed(FixedPointer::Kind::memory, &p, b); });
    // Results that no step computes. Inputs among them are copied while they are whole.
    for (std::size_t k = 0; k < p.outputs.size(); ++k)
      if (p.buffers[static_cast<std::size_t>(p.outputs[k].buffer)].role != BufferInfo::Role::output)
        copy(outputs[k], at[static_cast<std::size_t>(p.outputs[k].buffer)], bytes_of(p, p.outputs[k].buffer));
    for (std::size_t i = 0; i < p.steps.size(); ++i)
      if (&p.steps[i] != done_) step(p, static_cast<int>(i), at);
    for (std::size_t k = 0; k < p.outputs.size(); ++k)
      if (p.buffers[static_cast<std::size_t>(p.outputs[k].buffer)].role == BufferInfo::Role::output)
        copy(outputs[k], at[static_cast<std::size_t>(p.outputs[k].buffer)], bytes_of(p, p.outputs[k].buffer));
  }

  void step(const KernelProgram& p, int number, const Values& at) {
    const Step& s = p.steps[static_cast<std::size_t>(number)];
    llvm::Type *pointer = ir_.getPtrTy(), *status = ir_.getInt32Ty();
    Values args;
    for (BufferId b : s.buffers)
      if (b >= 0) args.push_back(s.kind == Step::Kind::control ? nullptr : here(at[static_cast<std::size_t>(b)]));
    switch (s.kind) {
      case Step::Kind::kernel: kernel(s.number, args); break;
      case Step::Kind::matmul: {
        args.insert(args.begin(), fixed(FixedPointer::Kind::matmul, &root_, s.number));
        check(ir_.CreateCall(library("weft_run_matmul", status, {pointer, pointer, pointer, pointer}), args));
        break;
      }
      case Step::Kind::opaque:
        check(ir_.CreateCall(library("weft_run_opaque", status, {pointer, pointer}),
                             {fixed(FixedPointer::Kind::opaque, &p, number), pointers(args)}));
        break;
      case Step::Kind::control: control(p, s, at); break;
    }
  }

  llvm::Function* kernel_function(int number) {
    llvm::Function*& f = kernels_[number];
    if (f) return f;
    const Kernel& k = root_.kernels[static_cast<std::size_t>(number)];
    const std::string name = name_ + "_" + k.name;
    emit_kernel(module_, k, schedules_[static_cast<std::size_t>(number)], features_, name);
    f = module_.getFunction(name);
    f->setLinkage(llvm::Function::InternalLinkage);
    return f;
  }

  void kernel(int number, const Values& args) {
    const Kernel& k = root_.kernels[static_cast<std::size_t>(number)];
    const Schedule& schedule = schedules_[static_cast<std::size_t>(number)];
    const bool parallel = is_forked(schedule.num_blocks, schedule.grain);
    std::int64_t scratch = 0;
    for (const KernelArg& a : k.args)
      if (a.scratch) scratch += a.elements * a.dtype.itemsize() * (schedule.vector_dim >= 0 ? schedule.lanes : 1);
    const bool small = k.dag.nodes.size() <= (uses_[number] == 1 ? kMaxInlineNodes : kMaxRepeatedNodes);
    if (!parallel && small && nodes_ + k.dag.nodes.size() <= kMaxFunctionNodes && scratch <= kMaxInlineScratch) {
      nodes_ += k.dag.nodes.size();
      ir_.SetInsertPoint(KernelEmitter(module_, k, schedule, features_, function_).run_inline(ir_.GetInsertBlock(), args));
      return;
    }
    llvm::Function* f = kernel_function(number);
    if (!parallel) {
      ir_.CreateCall(f, {pointers(args), i64(0), i64(schedule.num_blocks)});
      return;
    }
    llvm::Type *pointer = ir_.getPtrTy(), *count = ir_.getInt64Ty();
    ir_.CreateCall(library("weft_run_blocks", ir_.getVoidTy(), {pointer, pointer, count, count}),
                   {f, pointers(args), i64(schedule.num_blocks), i64(schedule.grain)});
  }

  void control(const KernelProgram& p, const Step& s, const Values& at) {
    check_nesting("programs inside programs", nesting_depth(p.jaxpr));
    const ControlStep& c = p.controls[static_cast<std::size_t>(s.number)];
    if (open_ == kMaxOpen) {
      open_ = 0;
      call_apart(p, s, at);
      open_ = kMaxOpen;
      return;
    }
    ++open_;
    Values operands, results;
    const std::size_t end = s.buffers.size() - (c.scratch_bytes > 0 ? 1 : 0);
    for (std::size_t i = 0; i < end; ++i)
      (static_cast<int>(i) < c.num_inputs ? operands : results).push_back(at[static_cast<std::size_t>(s.buffers[i])]);
    Value* scratch = c.scratch_bytes > 0 ? at[static_cast<std::size_t>(s.buffers.back())] : llvm::Constant::getNullValue(ir_.getPtrTy());
    switch (c.kind) {
      case ControlStep::Kind::scan: scan(c, operands, results, scratch); break;
      case ControlStep::Kind::while_loop: while_loop(c, operands, results, scratch); break;
      case ControlStep::Kind::cond: cond(c, operands, results, scratch); break;
    }
    --open_;
  }

  /// The memory of the carried values during a loop.
  struct Carried {
    const ControlStep& c;
    Values start, result;
    std::vector<std::int64_t> bytes;
    Values now, next;                                 ///< of the open iteration
    std::vector<std::array<llvm::PHINode*, 3>> phis;  ///< of a swapped one: now, next, and next but one
  };

  Carried begin_carry(const ControlStep& c, const KernelProgram& body, std::span<Value* const> start, std::span<Value* const> results,
                      Value* scratch, bool odd) {
    Carried k{c, {start.begin(), start.end()}, {results.begin(), results.begin() + c.num_carry}, {}, {}, {}, {}};
    for (int i = 0; i < c.num_carry; ++i) {
      const auto n = static_cast<std::size_t>(i);
      k.bytes.push_back(body.jaxpr.data().aval(body.jaxpr.data().outputs[n]).bytes());
      if (c.carry[n].place == Place::in_place) copy(k.result[n], k.start[n], k.bytes[n]);
    }
    // Into the loop.
    BasicBlock *before = ir_.GetInsertBlock(), *inside = new_block("loop");
    Values first, second;
    for (int i = 0; i < c.num_carry; ++i) {
      const auto n = static_cast<std::size_t>(i);
      Value* spare = c.carry[n].place == Place::swapped ? offset(scratch, c.carry[n].spare) : nullptr;
      first.push_back(odd ? k.result[n] : spare), second.push_back(odd ? spare : k.result[n]);
    }
    ir_.CreateBr(inside);
    ir_.SetInsertPoint(inside);
    for (int i = 0; i < c.num_carry; ++i) {
      const auto n = static_cast<std::size_t>(i);
      k.phis.push_back({});
      switch (c.carry[n].place) {
        case Place::kept: k.now.push_back(k.start[n]), k.next.push_back(k.start[n]); break;
        case Place::in_place: k.now.push_back(k.result[n]), k.next.push_back(k.result[n]); break;
        case Place::swapped: {
          const std::array<Value*, 3> from{k.start[n], first[n], second[n]};
          for (std::size_t j = 0; j < 3; ++j) {
            k.phis[n][j] = ir_.CreatePHI(ir_.getPtrTy(), 2);
            k.phis[n][j]->addIncoming(from[j], before);
          }
          k.now.push_back(k.phis[n][0]), k.next.push_back(k.phis[n][1]);
        }
      }
    }
    return k;
  }
  /// The open iteration is done; the current block jumps back to the loop's begin.
  void end_iteration(Carried& k) {
    for (auto& p : k.phis) {
      if (!p[0]) continue;
      p[0]->addIncoming(p[1], ir_.GetInsertBlock());
      p[1]->addIncoming(p[2], ir_.GetInsertBlock());
      p[2]->addIncoming(p[1], ir_.GetInsertBlock());
    }
  }

  /// Calls all iterations of a stepped kernel at once; the emitted loop runs the rest of the body.
  void run_stepped(const ControlStep& c, const SteppedKernel& stepped, const Values& operands, const Values& results, Value* scratch) {
    const KernelProgram& body = c.programs[0];
    const Step& s = body.steps[static_cast<std::size_t>(stepped.step)];
    Values once;
    for (BufferId b : s.buffers) {
      if (b < 0) continue;
      const BufferInfo& info = body.buffers[static_cast<std::size_t>(b)];
      const bool input = info.role == BufferInfo::Role::input, output = info.role == BufferInfo::Role::output;
      once.push_back(input    ? operands[static_cast<std::size_t>(info.number)]
                     : output ? results[static_cast<std::size_t>(info.number)]
                              : fixed(FixedPointer::Kind::memory, &body, static_cast<int>(b)));
    }
    // The pointers of the first iteration, of odd ones, and of even ones.
    Values all;
    for (int kind = 0; kind < 3; ++kind) {
      Values args = once;
      for (const SteppedKernel::Carried& v : stepped.carried) {
        Value *result = results[static_cast<std::size_t>(v.number)],
              *spare = offset(scratch, c.carry[static_cast<std::size_t>(v.number)].spare);
        if (c.length % 2 == 0) std::swap(result, spare);
        args[static_cast<std::size_t>(v.to)] = kind == 1 ? spare : result;
        if (v.from >= 0 && kind > 0) args[static_cast<std::size_t>(v.from)] = kind == 1 ? result : spare;
      }
      all.insert(all.end(), args.begin(), args.end());
    }
    llvm::Type *pointer = ir_.getPtrTy(), *count = ir_.getInt64Ty();
    ir_.CreateCall(library("weft_run_steps", ir_.getVoidTy(), {pointer, pointer, count, count, count, count, count}),
                   {kernel_function(s.number), pointers(all), i64(static_cast<std::int64_t>(once.size())),
                    i64(schedules_[static_cast<std::size_t>(s.number)].num_blocks), i64(stepped.radius), i64(stepped.tile), i64(c.length)});
  }

  void scan(const ControlStep& c, const Values& operands, const Values& results, Value* scratch) {
    const KernelProgram& body = c.programs[0];
    const auto consts = static_cast<std::size_t>(c.num_consts), fixed_inputs = consts + static_cast<std::size_t>(c.num_carry);
    const JaxprData& data = body.jaxpr.data();
    if (c.length == 0) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(c.num_carry); ++i)
        copy(results[i], operands[consts + i], data.aval(data.outputs[i]).bytes());
      return;
    }
    const std::optional<SteppedKernel> stepped = find_stepped_kernel(c, root_.kernels, schedules_);
    if (stepped) run_stepped(c, *stepped, operands, results, scratch);
    // The last iteration writes to the results.
    Carried k = begin_carry(c, body, std::span(operands).subspan(consts, static_cast<std::size_t>(c.num_carry)), results, scratch,
                            c.length % 2 == 1);
    BasicBlock* inside = ir_.GetInsertBlock();
    llvm::PHINode* iteration = ir_.CreatePHI(ir_.getInt64Ty(), 2);
    iteration->addIncoming(i64(0), inside->getSinglePredecessor());
    Value* position = c.reverse ? ir_.CreateSub(i64(c.length - 1), iteration) : iteration;
    const auto slice = [&](Value* all, std::int64_t bytes) {
      return bytes == 0 ? all : ir_.CreateGEP(ir_.getInt8Ty(), all, ir_.CreateMul(position, i64(bytes)));
    };
    Values inputs(operands.begin(), operands.begin() + c.num_consts);
    inputs.insert(inputs.end(), k.now.begin(), k.now.end());
    for (std::size_t i = fixed_inputs; i < operands.size(); ++i) inputs.push_back(slice(operands[i], data.input_avals()[i].bytes()));
    Values outputs = k.next;
    for (std::size_t i = outputs.size(); i < results.size(); ++i) outputs.push_back(slice(results[i], data.aval(data.outputs[i]).bytes()));
    if (stepped) done_ = &body.steps[static_cast<std::size_t>(stepped->step)];
    program(body, inputs, outputs, offset(scratch, c.arena));
    end_iteration(k);
    Value* next = ir_.CreateAdd(iteration, i64(1));
    iteration->addIncoming(next, ir_.GetInsertBlock());
    BasicBlock* after = new_block("after");
    ir_.CreateCondBr(ir_.CreateICmpSLT(next, i64(c.length)), inside, after);
    ir_.SetInsertPoint(after);
    for (std::size_t i = 0; i < k.result.size(); ++i)
      if (c.carry[i].place == Place::kept) copy(k.result[i], k.start[i], k.bytes[i]);
  }

  void while_loop(const ControlStep& c, const Values& operands, const Values& results, Value* scratch) {
    const KernelProgram &condition = c.programs[0], &body = c.programs[1];
    const std::ptrdiff_t a = c.cond_consts, b = a + c.num_consts;
    Carried k = begin_carry(c, body, std::span(operands).subspan(static_cast<std::size_t>(b)), results, scratch, true);
    BasicBlock *inside = ir_.GetInsertBlock(), *go_on = new_block("body"), *after = new_block("after");
    Values inputs(operands.begin(), operands.begin() + a);
    inputs.insert(inputs.end(), k.now.begin(), k.now.end());
    Value* predicate = offset(scratch, c.predicate);
    program(condition, inputs, {predicate}, offset(scratch, c.arena));
    ir_.CreateCondBr(ir_.CreateICmpNE(ir_.CreateLoad(ir_.getInt8Ty(), predicate), ir_.getInt8(0)), go_on, after);
    ir_.SetInsertPoint(go_on);
    inputs.assign(operands.begin() + a, operands.begin() + b);
    inputs.insert(inputs.end(), k.now.begin(), k.now.end());
    program(body, inputs, k.next, offset(scratch, c.arena));
    end_iteration(k);
    ir_.CreateBr(inside);
    ir_.SetInsertPoint(after);
    for (std::size_t i = 0; i < k.result.size(); ++i) {
      if (c.carry[i].place == Place::in_place || k.bytes[i] == 0) continue;
      if (c.carry[i].place == Place::kept) {
        copy(k.result[i], k.start[i], k.bytes[i]);
        continue;
      }
      BasicBlock *elsewhere = new_block("elsewhere"), *there = new_block("there");
      ir_.CreateCondBr(ir_.CreateICmpEQ(k.now[i], k.result[i]), there, elsewhere);
      ir_.SetInsertPoint(elsewhere);
      copy(k.result[i], k.now[i], k.bytes[i]);
      ir_.CreateBr(there);
      ir_.SetInsertPoint(there);
    }
  }

  void cond(const ControlStep& c, const Values& operands, const Values& results, Value* scratch) {
    const auto n = static_cast<unsigned>(c.programs.size());
    Value* index = ir_.CreateLoad(ir_.getInt32Ty(), operands[0]);
    index = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, index, ir_.getInt32(0));
    BasicBlock *last = new_block("branch"), *after = new_block("after");
    llvm::SwitchInst* choice = ir_.CreateSwitch(index, last, n);
    for (unsigned i = 0; i < n; ++i) {
      BasicBlock* block = i + 1 == n ? last : new_block("branch");
      if (i + 1 < n) choice->addCase(ir_.getInt32(i), block);
      ir_.SetInsertPoint(block);
      const KernelProgram& p = c.programs[i];
      Values inputs(operands.begin() + 1, operands.end());
      for (std::size_t r = 0; r < results.size(); ++r)
        if (c.takes[r] >= 0 && begins_as_input(p, r)) {
          Value*& input = inputs[static_cast<std::size_t>(c.takes[r]) - 1];
          copy(results[r], input, bytes_of(p, p.outputs[r].buffer));
          input = results[r];
        }
      program(p, inputs, results, offset(scratch, c.arena));
      ir_.CreateBr(after);
    }
    ir_.SetInsertPoint(after);
  }

  llvm::Module& module_;
  const KernelProgram& root_;
  const std::vector<Schedule>& schedules_;
  const VectorFeatures& features_;
  const std::string name_;
  llvm::IRBuilder<> ir_;
  llvm::Function* function_ = nullptr;
  BasicBlock *entry_ = nullptr, *failed_ = nullptr;
  BasicBlock* table_block_ = nullptr;  ///< the last of those that load fixed pointers
  llvm::DenseSet<const llvm::LoadInst*> loaded_where_used_;
  std::vector<FixedPointer> table_;
  std::map<std::tuple<FixedPointer::Kind, const KernelProgram*, int>, Value*> fixed_;
  std::map<int, llvm::Function*> kernels_;
  std::map<int, int> uses_;     // of kernels: in how many places
  const Step* done_ = nullptr;  // a step of the open body that is not part of the loop
  Value* array_ = nullptr;
  std::size_t array_size_ = 0, nodes_ = 0;
  int open_ = 0, parts_ = 0;  // loops and branches that are open in the function; functions beside the first
};

}  // namespace

std::vector<FixedPointer> emit_control(llvm::Module& module, const KernelProgram& root, const std::vector<Schedule>& schedules,
                                       const KernelProgram& program, const Step& step, const VectorFeatures& features,
                                       const std::string& name) {
  return ControlEmitter(module, root, schedules, features, name).run(program, step);
}

}  // namespace weft::detail
