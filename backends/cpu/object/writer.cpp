#include "weft/backends/cpu/object/writer.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <string_view>

#include "weft/backends/codegen/emit/emit.h"
#include "weft/backends/codegen/planner/program.h"
#include "weft/backends/codegen/planner/simplify.h"
#include "weft/backends/cpu/object/routine.h"
#include "weft/core/errors/error.h"
#include "weft/core/ir/eqn_avals.h"
#include "weft/core/ir/primitive.h"
#include "weft/core/ir/sealed_program.h"
#include "weft/runtime/host/buffer.h"

namespace weft::detail {
namespace {

using llvm::BasicBlock;
using llvm::Value;
using Role = BufferInfo::Role;

class ProgramWriter {
 public:
  ProgramWriter(llvm::Module& module, const std::string& name, const std::string& symbol, const Jaxpr& program, const Processor& processor,
                ObjectConstants& constants)
      : module_(module),
        name_(name),
        symbol_(symbol),
        vectors_(processor.vectors),
        // A program without library matmuls and without donated inputs.
        p_(form_program(simplify(program, &expand_for_object),
                        {.vector_bytes = processor.vectors.vector_bytes, .matmuls_by_library = false, .expansion = &expand_for_object},
                        {})),
        constants_(constants),
        ir_(module.getContext()) {
    // The caller's arrays are aligned to their elements, and stores past the caches write whole aligned vectors.
    const Target target{.vector_bytes = vectors_.vector_bytes, .streamed_result = std::numeric_limits<std::int64_t>::max()};
    for (const Kernel& k : p_.kernels) schedules_.push_back(make_schedule(k, target));
  }

  llvm::Function* run() {
    llvm::PointerType* pointer = ir_.getPtrTy();
    function_ = llvm::Function::Create(llvm::FunctionType::get(ir_.getInt32Ty(), {pointer, pointer}, false),
                                       llvm::Function::InternalLinkage, symbol_, module_);
    ir_.SetInsertPoint(BasicBlock::Create(module_.getContext(), "entry", function_));
    arrays_ = ir_.CreateAlloca(llvm::ArrayType::get(pointer, longest_list()));
    if (p_.arena_bytes > 0) {
      arena_ = ir_.CreateCall(
          module_.getOrInsertFunction("aligned_alloc", llvm::FunctionType::get(pointer, {ir_.getInt64Ty(), ir_.getInt64Ty()}, false)),
          {ir_.getInt64(64), ir_.getInt64(static_cast<std::uint64_t>((p_.arena_bytes + 63) / 64 * 64))});
      end_unless(ir_.CreateIsNotNull(arena_), ir_.getInt32(kNoMemory), false);
    }
    for (std::size_t i = 0; i < p_.steps.size(); ++i) step(static_cast<int>(i));
    // Results that are inputs, constants or other results.
    for (std::size_t k = 0; k < p_.outputs.size(); ++k) {
      const ProgramOutput& o = p_.outputs[k];
      const BufferInfo& info = p_.buffers[static_cast<std::size_t>(o.buffer)];
      if (o.same_as < 0 && info.role == Role::output && info.number == static_cast<int>(k)) continue;
      ir_.CreateMemMove(argument(1, static_cast<int>(k)), llvm::MaybeAlign(1), address(o.buffer), llvm::MaybeAlign(1),
                        static_cast<std::uint64_t>(p_.jaxpr.data().aval(p_.jaxpr.data().outputs[k]).bytes()));
    }
    finish(ir_.getInt32(0), true);
    return function_;
  }

 private:
  static constexpr std::uint32_t kNoMemory = 1;  // WEFT_AOT_NO_MEMORY

  std::size_t longest_list() const {
    std::size_t most = 1;
    for (const Step& s : p_.steps) most = std::max(most, s.buffers.size());
    return most;
  }

  void finish(Value* status, bool with_arena) {
    if (with_arena && arena_)
      ir_.CreateCall(module_.getOrInsertFunction("free", llvm::FunctionType::get(ir_.getVoidTy(), {ir_.getPtrTy()}, false)), {arena_});
    ir_.CreateRet(status);
  }
  /// Ends the function with the status where the condition doesn't hold.
  void end_unless(Value* holds, Value* status, bool with_arena) {
    BasicBlock *bad = BasicBlock::Create(module_.getContext(), "bad", function_),
               *good = BasicBlock::Create(module_.getContext(), "good", function_);
    ir_.CreateCondBr(holds, good, bad);
    ir_.SetInsertPoint(bad);
    finish(status, with_arena);
    ir_.SetInsertPoint(good);
  }

  /// A constant's or literal's contents.
  llvm::Constant* fixed(const KernelProgram& p, BufferId b) {
    const BufferInfo& info = p.buffers[static_cast<std::size_t>(b)];
    const JaxprData& data = p.jaxpr.data();
    const auto number = static_cast<std::size_t>(info.number);
    const void* const memory = info.role == Role::constant ? host_data(data.consts[number]) : data.literals[number].bits.data();
    return constants_.add(module_, memory, info.aval.bytes());
  }
  Value* argument(unsigned list, int number) {
    return ir_.CreateLoad(ir_.getPtrTy(),
                          ir_.CreateConstGEP1_64(ir_.getPtrTy(), function_->getArg(list), static_cast<std::uint64_t>(number)));
  }
  Value* address(BufferId b) {
    const BufferInfo& info = p_.buffers[static_cast<std::size_t>(b)];
    switch (info.role) {
      case Role::input: return argument(0, info.number);
      case Role::output: return argument(1, info.number);
      case Role::temporary:
        return ir_.CreateConstGEP1_64(ir_.getInt8Ty(), arena_, static_cast<std::uint64_t>(std::max<std::int64_t>(info.offset, 0)));
      default: return fixed(p_, b);
    }
  }
  void store(const std::vector<Value*>& list, Value* to) {
    for (std::size_t k = 0; k < list.size(); ++k) ir_.CreateStore(list[k], ir_.CreateConstGEP1_64(ir_.getPtrTy(), to, k));
  }

  void step(int number) {
    const Step& s = p_.steps[static_cast<std::size_t>(number)];
    std::vector<Value*> at;
    for (const BufferId b : s.buffers)
      if (b >= 0) at.push_back(address(b));
    store(at, arrays_);
    llvm::PointerType* pointer = ir_.getPtrTy();
    switch (s.kind) {
      case Step::Kind::kernel: {
        llvm::Function*& kernel = kernels_[s.number];
        const auto k = static_cast<std::size_t>(s.number);
        if (!kernel) {
          const std::string symbol = symbol_ + "_kernel" + std::to_string(s.number);
          emit_kernel(module_, p_.kernels[k], schedules_[k], vectors_, symbol);
          kernel = module_.getFunction(symbol);
        }
        ir_.CreateCall(kernel, {arrays_, ir_.getInt64(0), ir_.getInt64(static_cast<std::uint64_t>(schedules_[k].num_blocks))});
        break;
      }
      case Step::Kind::control: {
        const std::string symbol = symbol_ + "_step" + std::to_string(number);
        std::vector<llvm::Constant*> table;
        for (const FixedPointer& f : emit_control(module_, p_, schedules_, p_, s, vectors_, symbol)) table.push_back(pointed(f));
        llvm::Constant* const contents = llvm::ConstantArray::get(llvm::ArrayType::get(pointer, table.size()), table);
        auto* const global =
            new llvm::GlobalVariable(module_, contents->getType(), true, llvm::GlobalValue::PrivateLinkage, contents, "table");
        call(module_.getFunction(symbol), {arrays_, global});
        break;
      }
      case Step::Kind::opaque: {
        const auto [routine, plan] = routine_of(p_, s);
        call(routine, {plan, arrays_});
        break;
      }
      case Step::Kind::matmul: throw CompileError("export_object: internal error: a library's matmul in " + name_);
    }
  }
  /// Calls a function that returns a status; this function returns it if it is not 0.
  void call(llvm::FunctionCallee f, std::initializer_list<Value*> args) {
    Value* const status = ir_.CreateCall(f, args);
    end_unless(ir_.CreateICmpEQ(status, ir_.getInt32(0)), status, true);
  }

  std::pair<llvm::FunctionCallee, llvm::Constant*> routine_of(const KernelProgram& p, const Step& s) {
    const JaxprData& data = p.jaxpr.data();
    const Eqn& e = data.eqns[static_cast<std::size_t>(s.number)];
    const std::vector<Aval> in = operand_avals(data, e);
    const std::optional<ObjectRoutine> routine = object_routine(*e.op, *e.params, in, result_avals(data, e));
    if (!routine) {
      std::string types;
      for (const Aval& a : in) types += (types.empty() ? "" : ", ") + to_string(a);
      const char* const why =
          e.op->kind == Kind::effect
              ? " calls the program that made it, which an object file has not; leave the callback out of what is exported"
          : e.op->kind == Kind::collective || e.op->kind == Kind::spmd
              ? " runs on several devices, which no object file can hold; export what one of them does"
              : " has no code without weft; compute it outside of what is exported";
      throw CompileError(
          "export_object: " + name_ + ": " + std::string(e.op->name) + " of " + (types.empty() ? "no operands" : types) + why, e.loc);
    }
    llvm::PointerType* pointer = ir_.getPtrTy();
    return {module_.getOrInsertFunction(routine->symbol, llvm::FunctionType::get(ir_.getInt32Ty(), {pointer, pointer}, false)),
            constants_.add(module_, routine->plan.data(), static_cast<std::int64_t>(routine->plan.size()))};
  }
  /// What a control step's code finds in its table.
  llvm::Constant* pointed(const FixedPointer& f) {
    if (f.kind == FixedPointer::Kind::memory) return fixed(*f.program, f.number);
    if (f.kind == FixedPointer::Kind::matmul) throw CompileError("export_object: internal error: a library's matmul in " + name_);
    auto [routine, plan] = routine_of(*f.program, f.program->steps[static_cast<std::size_t>(f.number)]);
    auto* const code = llvm::cast<llvm::Function>(routine.getCallee());
    llvm::Constant* const record = llvm::ConstantStruct::getAnon(module_.getContext(), {code, plan});
    return new llvm::GlobalVariable(module_, record->getType(), true, llvm::GlobalValue::PrivateLinkage, record, "routine");
  }

  llvm::Module& module_;
  const std::string name_, symbol_;
  const VectorFeatures vectors_;
  const KernelProgram p_;
  std::vector<Schedule> schedules_;
  ObjectConstants& constants_;
  llvm::IRBuilder<> ir_;
  llvm::Function* function_ = nullptr;
  Value *arrays_ = nullptr, *arena_ = nullptr;
  std::map<int, llvm::Function*> kernels_;
};

llvm::GlobalVariable* global_bytes(llvm::Module& module, const std::string& symbol, std::size_t bytes) {
  if (llvm::GlobalVariable* known = module.getNamedGlobal(symbol)) return known;
  auto* const type = llvm::ArrayType::get(llvm::Type::getInt8Ty(module.getContext()), bytes);
  auto* const global = new llvm::GlobalVariable(module, type, true, llvm::GlobalValue::ExternalLinkage, nullptr, symbol);
  global->setVisibility(llvm::GlobalValue::HiddenVisibility);
  global->setAlignment(llvm::Align(64));
  return global;
}

}  // namespace

llvm::Constant* ObjectConstants::add(llvm::Module& module, const void* data, std::int64_t bytes) {
  const std::string_view given(static_cast<const char*>(data), static_cast<std::size_t>(bytes));
  const std::size_t hash = std::hash<std::string_view>()(given);
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto at = first; at != last; ++at)
    if (contents_[at->second] == given) return global_bytes(module, symbol(at->second), given.size());
  by_hash_.emplace(hash, contents_.size());
  contents_.emplace_back(given);
  return global_bytes(module, symbol(contents_.size() - 1), given.size());
}

void ObjectConstants::define(llvm::Module& module) const {
  for (std::size_t i = 0; i < contents_.size(); ++i) {
    llvm::GlobalVariable* const global = global_bytes(module, symbol(i), contents_[i].size());
    global->setInitializer(llvm::ConstantDataArray::getString(module.getContext(), contents_[i], false));
    global->setLinkage(llvm::GlobalValue::InternalLinkage);
  }
}

llvm::Function* write_program(llvm::Module& module, const std::string& name, const std::string& symbol, const Jaxpr& program,
                              const Processor& processor, ObjectConstants& constants) {
  return ProgramWriter(module, name, symbol, program, processor, constants).run();
}

}  // namespace weft::detail
