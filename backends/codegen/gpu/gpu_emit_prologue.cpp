// The start of a kernel for GPUs: the function with its parameters and what NVPTX and LLVM are told of them, the thread's lane, warp and
// team, and where the kernel's arguments are.
#include <llvm/IR/Module.h>

#include <string>
#include <vector>

#include "weft/backends/codegen/gpu/gpu_emitter.h"

namespace weft::detail {

using llvm::Value;

namespace {
VectorFeatures gpu_features(const GpuTarget& t) {
  VectorFeatures f;
  f.half_conversions = true;
  f.fma = true;
  f.gpu = t.emulated ? VectorFeatures::Gpu::emulated : VectorFeatures::Gpu::nvidia;
  f.bfloat_rounding = !t.emulated && t.architecture >= 80;
  return f;
}
}  // namespace

GpuEmitter::GpuEmitter(llvm::Module& module, const GpuLaunch& launch, const GpuTarget& target, const std::vector<char>& aliased,
                       const std::string& name)
    : module_(module),
      k_(launch.kernel),
      s_(launch.schedule),
      name_(name),
      ir_(module.getContext()),
      builder_(ir_, module, gpu_features(target)),
      threads_(ir_, module, target) {
  double all = 1;
  for (std::int64_t d : k_.dag.dims) all *= static_cast<double>(d);
  wide_ = all > 1e9 || needs_wide_indices(k_);
  if (s_.lanes > 1) lanes_ = s_.lanes, lane_dim_ = s_.points.back();
  pinned_.resize(k_.dag.nodes.size());
  reads_written_.resize(k_.dag.nodes.size());
  for (std::size_t n = 0; n < k_.dag.nodes.size(); ++n) {
    const Node& node = k_.dag.nodes[n];
    bool written = node.kind == NodeKind::load && k_.args[static_cast<std::size_t>(node.integer)].written;
    bool pinned = written || node.kind == NodeKind::local;
    const auto depend = [&](NodeId o) {
      pinned |= pinned_[static_cast<std::size_t>(o)] != 0, written |= reads_written_[static_cast<std::size_t>(o)] != 0;
    };
    for (NodeId o : node.operands)
      if (o >= 0) depend(o);
    if (node.kind == NodeKind::index)
      for (const AffineTerm& t : k_.dag.affines[static_cast<std::size_t>(node.affine)].terms)
        if (t.atom < 0) depend(~t.atom);
    pinned_[n] = pinned, reads_written_[n] = written;
    if (node.kind == NodeKind::local) local_nodes_[static_cast<int>(node.integer)] = static_cast<NodeId>(n);
  }
  coordinate_.resize(k_.dag.dims.size());
  keep_inside_ = k_.sequential != 0;
  prologue(aliased);
}

void GpuEmitter::prologue(const std::vector<char>& aliased) {
  llvm::LLVMContext& context = module_.getContext();
  llvm::PointerType* pointer = llvm::PointerType::get(context, threads_.global_space());
  std::vector<std::size_t> parameters;
  for (std::size_t a = 0; a < k_.args.size(); ++a)
    if (!k_.args[a].scratch) parameters.push_back(a);
  const std::size_t count = parameters.size() + (s_.workspace ? 1 : 0);
  std::vector<llvm::Type*> types(threads_.emulated() ? 1 : count, pointer);
  function_ =
      llvm::Function::Create(llvm::FunctionType::get(ir_.getVoidTy(), types, false), llvm::Function::ExternalLinkage, name_, module_);
  function_->setDoesNotThrow();
  llvm::BasicBlock* entry = llvm::BasicBlock::Create(context, "entry", function_);
  llvm::BasicBlock* body = llvm::BasicBlock::Create(context, "body", function_);
  ir_.SetInsertPoint(entry);

  std::vector<Value*> given;
  for (std::size_t i = 0; i < count; ++i) {
    if (threads_.emulated()) {
      Value* slot = ir_.CreateLoad(pointer, ir_.CreateConstGEP1_64(pointer, function_->getArg(0), i));
      given.push_back(ir_.CreateLoad(pointer, slot));
    } else {
      given.push_back(function_->getArg(static_cast<unsigned>(i)));
    }
  }
  if (!threads_.emulated()) annotate_kernel(parameters, aliased);
  place_arguments(given, number_teams());
  llvm::Instruction* jump = ir_.CreateBr(body);
  scopes_.emplace_back();
  scopes_.back().entry = jump;
  ir_.SetInsertPoint(body);
}

/// What NVPTX and LLVM are told about the kernel and its parameters.
void GpuEmitter::annotate_kernel(std::span<const std::size_t> parameters, const std::vector<char>& aliased) {
  llvm::LLVMContext& context = module_.getContext();
  function_->setCallingConv(llvm::CallingConv::PTX_Kernel);
  const auto annotate = [&](const char* what, std::int64_t value) {
    module_.getOrInsertNamedMetadata("nvvm.annotations")
        ->addOperand(llvm::MDNode::get(context, {llvm::ValueAsMetadata::get(function_), llvm::MDString::get(context, what),
                                                 llvm::ConstantAsMetadata::get(ir_.getInt32(static_cast<std::uint32_t>(value)))}));
  };
  annotate("kernel", 1);
  annotate("maxntidx", s_.threads);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto n = static_cast<unsigned>(i);
    if (aliased[parameters[i]]) continue;
    function_->addParamAttr(n, llvm::Attribute::NoAlias);
    if (!k_.args[parameters[i]].written) function_->addParamAttr(n, llvm::Attribute::ReadOnly);
  }
}

/// Emits the thread's lane, its warp, its team and its rank in the team; returns the team's number in its block.
Value* GpuEmitter::number_teams() {
  Value* thread = threads_.thread();
  Value* block = threads_.block();
  lane_ = ir_.CreateAnd(thread, i32(31));
  warp_ = ir_.CreateLShr(thread, i32(5));
  Value* team_in_block = i32(0);
  if (s_.team == 1)
    rank_ = i32(0), team_in_block = thread;
  else if (s_.columns)
    rank_ = warp_, team_in_block = lane_;
  else if (teams_of_block() == 1)
    rank_ = thread;
  else
    rank_ = lane_, team_in_block = warp_;
  team_ = ir_.CreateAdd(ir_.CreateMul(block, i32(teams_of_block())), team_in_block);
  return team_in_block;
}

/// The kernel's arguments: those that are given, and memory for those that the kernel alone uses, in the workspace, in the thread's own
/// memory, or in the block's shared memory.
void GpuEmitter::place_arguments(std::span<Value* const> given, Value* team_in_block) {
  std::size_t next = 0;
  Value* place = nullptr;
  if (s_.common_scratch)
    place = given.back();
  else if (s_.workspace)
    place = ir_.CreateGEP(ir_.getInt8Ty(), given.back(),
                          ir_.CreateMul(ir_.CreateZExt(team_, ir_.getInt64Ty()), ir_.getInt64(static_cast<std::uint64_t>(s_.scratch))));
  std::int64_t offset = 0;
  for (const KernelArg& a : k_.args) {
    if (!a.scratch) {
      args_.push_back(given[next++]);
      continue;
    }
    llvm::Type* element = builder_.memory_type(a.dtype);
    const auto elements = static_cast<std::uint64_t>(a.elements);
    if (place) {
      args_.push_back(ir_.CreateConstGEP1_64(ir_.getInt8Ty(), place, static_cast<std::uint64_t>(offset)));
      offset += (a.elements * a.dtype.itemsize() + 15) / 16 * 16;
    } else if (s_.team == 1) {
      llvm::AllocaInst* memory = ir_.CreateAlloca(llvm::ArrayType::get(element, elements));
      memory->setAlignment(llvm::Align(16));
      args_.push_back(memory);
    } else {
      Value* memory = threads_.shared(element, elements * static_cast<std::uint64_t>(teams_of_block()),
                                      name_ + "_scratch" + std::to_string(num_shared_++));
      args_.push_back(ir_.CreateGEP(element, memory, ir_.CreateMul(team_in_block, i32(a.elements))));
    }
  }
}

}  // namespace weft::detail
