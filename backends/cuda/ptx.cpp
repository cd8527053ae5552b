#include "weft/backends/cuda/ptx.h"

#include <dlfcn.h>
#include <fmt/core.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Linker/Linker.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "weft/backends/codegen/emit/llvm_objects.h"
#include "weft/backends/codegen/gpu/gpu_algebra.h"
#include "weft/backends/codegen/gpu/gpu_radix.h"
#include "weft/backends/common/code_cache.h"
#include "weft/backends/cuda/expand.h"
#include "weft/backends/cuda/radix.h"
#include "weft/backends/cuda/solver.h"
#include "weft/core/base/environment.h"
#include "weft/core/base/nesting.h"
#include "weft/core/base/process_wide.h"
#include "weft/core/errors/error.h"
#include "weft/core/ir/sealed_program.h"
#include "weft/runtime/host/process_end.h"

extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace weft::detail {
namespace {

constexpr int kNewestArchitecture = 90;  // that LLVM 19 knows and newer devices take
constexpr const char* kPtxVersion = "+ptx78";
// Must be changed with every change of the passes between a module and its PTX.
constexpr std::string_view kGenerator = "ptx 1";

std::unique_ptr<llvm::TargetMachine> make_machine(const GpuTarget& target) {
  static const llvm::Target* const nvptx = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    std::string error;
    const llvm::Target* t = llvm::TargetRegistry::lookupTarget("nvptx64-nvidia-cuda", error);
    if (!t) throw CompileError("cuda: " + error);
    return t;
  }();
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;  // results do not depend on what a code generator fuses
  return std::unique_ptr<llvm::TargetMachine>(nvptx->createTargetMachine("nvptx64-nvidia-cuda", fmt::format("sm_{}", target.architecture),
                                                                         kPtxVersion, options, llvm::Reloc::PIC_, {},
                                                                         llvm::CodeGenOptLevel::Default));
}

void verify(const llvm::Module& module) {
  std::string problem;
  llvm::raw_string_ostream os(problem);
  if (llvm::verifyModule(module, &os)) throw CompileError("cuda: internal error: malformed code: " + os.str());
}

/// Links the functions of libdevice that the module calls.
void link_libdevice(llvm::Module& module) {
  std::vector<std::string> needed;
  for (const llvm::Function& f : module)
    if (f.isDeclaration() && f.getName().starts_with("__nv_")) needed.push_back(f.getName().str());
  if (needed.empty()) return;
  static const auto& path = process_wide<std::string>(libdevice_path());
  if (path.empty())
    throw CompileError(
        fmt::format("cuda: the function {} comes from NVIDIA's libdevice.10.bc, which was not found; it is part of the CUDA toolkit "
                    "(nvvm/libdevice). Set WEFT_LIBDEVICE to its path",
                    needed[0].substr(5)));
  static const llvm::MemoryBuffer& bytes = [&]() -> llvm::MemoryBuffer& {
    auto file = llvm::MemoryBuffer::getFile(path);
    if (!file) throw CompileError("cuda: cannot read " + path + ": " + file.getError().message());
    return *file->release();
  }();
  auto library = llvm::getOwningLazyBitcodeModule(llvm::MemoryBuffer::getMemBuffer(bytes.getMemBufferRef(), false), module.getContext());
  if (!library) throw CompileError("cuda: cannot read " + path + ": " + llvm::toString(library.takeError()));
  (*library)->setTargetTriple(module.getTargetTriple());
  (*library)->setDataLayout(module.getDataLayout());
  if (llvm::Linker::linkModules(module, std::move(*library), llvm::Linker::LinkOnlyNeeded)) throw CompileError("cuda: cannot link " + path);
  for (llvm::Function& f : module)
    if (f.getName().starts_with("__nv_") && !f.isDeclaration()) f.setLinkage(llvm::Function::InternalLinkage);
  module.addModuleFlag(llvm::Module::Override, "nvvm-reflect-ftz", std::uint32_t{0});
}

/// max(min(a, b), 0) as min(max(a, 0), max(b, 0)). ptxas 12.8 and 13.0 compute the former and its comparison with b by one instruction of
/// sm_90, VIMNMX.RELU, and take the wrong predicate of it: for a = 0 and b = 2, the result 0 is said to be equal to 2.
void reorder_clamps(llvm::Module& module) {
  using namespace llvm::PatternMatch;
  for (llvm::Function& function : module)
    for (llvm::BasicBlock& block : function)
      for (llvm::Instruction& i : llvm::make_early_inc_range(block)) {
        llvm::Value *a = nullptr, *b = nullptr;
        if (!match(&i, m_c_SMax(m_SMin(m_Value(a), m_Value(b)), m_Zero()))) continue;
        llvm::IRBuilder<> ir(&i);
        llvm::Value* zero = llvm::Constant::getNullValue(i.getType());
        const auto clamped = [&](llvm::Value* v) { return ir.CreateBinaryIntrinsic(llvm::Intrinsic::smax, v, zero); };
        i.replaceAllUsesWith(ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, clamped(a), clamped(b)));
        i.eraseFromParent();
      }
}

void optimise(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager calls;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(calls);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, calls, modules);
  llvm::ModulePassManager passes;
  // Arithmetic by single values; loads and stores stay vectors.
  llvm::cantFail(builder.parsePassPipeline(
      passes, "always-inline,function(scalarizer,sroa,early-cse,instcombine<no-verify-fixpoint>,simplifycfg),globaldce"));
  with_stack(kCompilerStack, [&] { passes.run(module, modules); });
  reorder_clamps(module);
}

/// Kernels that read or write slices of a scan which do not all begin at whole vectors.
void mark_unaligned(const ControlStep& c, std::vector<char>& aligned, bool within) {
  check_nesting("programs inside programs");
  for (const KernelProgram& p : c.programs) {
    bool unaligned = within;
    if (c.kind == ControlStep::Kind::scan) {
      const JaxprData& j = p.jaxpr.data();
      const auto inputs = j.input_avals();
      const std::vector<Aval> outputs = j.output_avals();
      for (std::size_t i = static_cast<std::size_t>(c.num_consts + c.num_carry); i < inputs.size(); ++i)
        unaligned |= inputs[i].bytes() % 16 != 0;
      for (std::size_t i = static_cast<std::size_t>(c.num_carry); i < outputs.size(); ++i) unaligned |= outputs[i].bytes() % 16 != 0;
    }
    for (const Step& s : p.steps)
      if (s.kind == Step::Kind::kernel && unaligned) aligned[static_cast<std::size_t>(s.number)] = 0;
    for (const ControlStep& inner : p.controls) mark_unaligned(inner, aligned, unaligned);
  }
}

/// Kernels of loops and branches work in place on what the loop carries.
void mark_control(const ControlStep& c, std::vector<std::vector<char>>& aliased) {
  check_nesting("programs inside programs");
  for (const KernelProgram& p : c.programs) {
    for (const Step& s : p.steps)
      if (s.kind == Step::Kind::kernel) {
        auto& flags = aliased[static_cast<std::size_t>(s.number)];
        std::fill(flags.begin(), flags.end(), 1);
      }
    for (const ControlStep& inner : p.controls) mark_control(inner, aliased);
  }
}

/// For each kernel, the arguments that may share memory with another one in any of the steps.
std::vector<std::vector<char>> aliased_arguments(const KernelProgram& p) {
  std::vector<std::vector<char>> aliased;
  for (const Kernel& k : p.kernels) aliased.emplace_back(k.args.size(), 0);
  struct Place {
    int input = -1;
    std::int64_t begin = 0, end = 0;
  };
  const auto place = [&](BufferId b) -> Place {
    const BufferInfo& info = p.buffers[static_cast<std::size_t>(b)];
    switch (info.role) {
      case BufferInfo::Role::input: return {info.number, 0, 1};
      case BufferInfo::Role::output: return info.reuses_input >= 0 ? Place{info.reuses_input, 0, 1} : Place{};
      case BufferInfo::Role::temporary: return {-2, info.offset, info.offset + info.aval.bytes()};
      default: return {};
    }
  };
  for (const Step& s : p.steps) {
    if (s.kind != Step::Kind::kernel) continue;
    auto& flags = aliased[static_cast<std::size_t>(s.number)];
    for (std::size_t i = 0; i < s.buffers.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) {
        if (s.buffers[i] < 0 || s.buffers[j] < 0) continue;
        const Place a = place(s.buffers[i]), b = place(s.buffers[j]);
        const bool same = s.buffers[i] == s.buffers[j] || (a.input == b.input && a.input != -1 && a.begin < b.end && b.begin < a.end);
        if (same) flags[i] = flags[j] = 1;
      }
    // The caller may pass one array twice, which matters if one of them is written.
    for (std::size_t i = 0; i < s.buffers.size(); ++i)
      if (s.buffers[i] >= 0 && p.buffers[static_cast<std::size_t>(s.buffers[i])].reuses_input >= 0)
        std::fill(flags.begin(), flags.end(), 1);
  }
  for (const ControlStep& c : p.controls) mark_control(c, aliased);
  return aliased;
}

/// The rules that emit code for operations that the planner forms no kernels of.
struct DeviceCodeRules {
  using Function = void(llvm::Module& module, const GpuTarget& target, const JaxprData& j, const Eqn& e, const std::string& prefix);
};
const Rule<DeviceCodeRules, SolverCall> solver_code([](llvm::Module& module, const GpuTarget& target, const JaxprData&, const Eqn&,
                                                       const std::string& prefix) {
  if (!module.getFunction(prefix + AlgebraKernels::places_name())) emit_algebra_kernels(module, target, prefix);
});
const Rule<DeviceCodeRules, RadixOrder> radix_code([](llvm::Module& module, const GpuTarget& target, const JaxprData& j, const Eqn& e,
                                                      const std::string& prefix) {
  const int bits = 8 * j.aval(e.inputs[0]).dtype.itemsize();
  if (!module.getFunction(prefix + RadixKernels::move_name(bits))) emit_radix_kernels(module, target, bits, prefix);
});

/// Code of equations without kernels of their own.
void emit_others(llvm::Module& module, const KernelProgram& p, const GpuTarget& target, const std::string& prefix) {
  check_nesting("programs inside programs", nesting_depth(p.jaxpr));
  for (const Step& s : p.steps) {
    if (s.kind != Step::Kind::opaque) continue;
    const Eqn& e = p.jaxpr.data().eqns[static_cast<std::size_t>(s.number)];
    if (DeviceCodeRules::Function* const rule = find_rule<DeviceCodeRules>(*e.op)) rule(module, target, p.jaxpr.data(), e, prefix);
  }
  for (const ControlStep& c : p.controls)
    for (const KernelProgram& part : c.programs) emit_others(module, part, target, prefix);
}
std::vector<std::pair<std::string, std::string>> others_in(const llvm::Module& module, const std::string& prefix) {
  std::vector<std::pair<std::string, std::string>> names;
  std::vector<std::string> known{RadixKernels::sum_name(), AlgebraKernels::places_name(), AlgebraKernels::pivots_name()};
  for (int bits : {32, 64}) known.push_back(RadixKernels::count_name(bits)), known.push_back(RadixKernels::move_name(bits));
  for (const std::string& name : known)
    if (module.getFunction(prefix + name)) names.emplace_back(name, prefix + name);
  return names;
}

ModuleOwner build_module(llvm::LLVMContext& context, const KernelProgram& p, const GpuTarget& target, llvm::TargetMachine* machine,
                         const std::string& prefix, std::vector<std::vector<GpuFunction>>& functions) {
  ModuleOwner module(new llvm::Module("weft", context));
  if (machine) {
    module->setTargetTriple("nvptx64-nvidia-cuda");
    module->setDataLayout(machine->createDataLayout());
  } else {
    module->setTargetTriple(llvm::sys::getProcessTriple());
  }
  const std::vector<std::vector<char>> aliased = aliased_arguments(p);
  std::vector<char> aligned(p.kernels.size(), 1);
  for (const ControlStep& c : p.controls) mark_unaligned(c, aligned, false);
  for (std::size_t k = 0; k < p.kernels.size(); ++k) {
    functions.emplace_back();
    for (const GpuLaunch& launch : gpu_launches(p.kernels[k], aligned[k] != 0)) {
      const std::string name = prefix + launch.kernel.name;
      emit_gpu_kernel(*module, launch, target, aliased[k], name);
      functions.back().push_back({name, launch.schedule});
    }
  }
  emit_others(*module, p, target, prefix);
  verify(*module);
  return module;
}

std::string generate(llvm::Module& module, llvm::TargetMachine& machine) {
  link_libdevice(module);
  optimise(module, machine);
  llvm::SmallVector<char, 0> out;
  llvm::raw_svector_ostream os(out);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, os, nullptr, llvm::CodeGenFileType::AssemblyFile))
    throw CompileError("cuda: LLVM was built without a code generator for PTX");
  with_stack(kCompilerStack, [&] { passes.run(module); });
  return {out.data(), out.size()};
}

std::string text_of(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os, nullptr);
  return os.str();
}

}  // namespace

int known_architecture(int compute_capability) {
  for (int a : {90, 89, 87, 86, 80, 75})
    if (compute_capability >= a) return a;
  throw DeviceError(fmt::format("cuda: devices of compute capability {}.{} are not supported; 7.5 and newer are", compute_capability / 10,
                                compute_capability % 10));
}

GpuTarget default_gpu_target() {
  GpuTarget t;
  if (const std::string text(word_in_environment("WEFT_CUDA_ARCH")); !text.empty()) {
    const std::string digits = text.substr(text.rfind('_') == std::string::npos ? 0 : text.rfind('_') + 1);
    char* end = nullptr;
    const long value = std::strtol(digits.c_str(), &end, 10);
    if (digits.empty() || *end != 0 || value < 75 || value > 200)
      throw DeviceError("WEFT_CUDA_ARCH is `" + text + "`; it must be an architecture of 75 or newer, such as sm_80");
    t.architecture = std::min(known_architecture(static_cast<int>(value)), kNewestArchitecture);
  }
  return t;
}

TargetTraits gpu_traits() {
  TargetTraits t;
  t.platform = "cuda";
  t.matmuls_by_library = t.matmul_epilogues = t.gelu_epilogues = t.unordered_scatters = true;
  t.relu_epilogues = is_switched_on("WEFT_CUDA_RELU_EPILOGUE");
  t.expansion = &expand_for_gpu;
  return t;
}

std::string libdevice_path() {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const auto there = [&](const fs::path& p) { return fs::is_regular_file(p, ignored); };
  if (const std::string given(word_in_environment("WEFT_LIBDEVICE")); !given.empty()) return there(given) ? given : "";
  std::vector<fs::path> folders;
  Dl_info here;
  if (dladdr(reinterpret_cast<void*>(&LLVMInitializeNVPTXTargetInfo), &here) && here.dli_fname)
    folders.push_back(fs::path(here.dli_fname).parent_path());
  if (dladdr(reinterpret_cast<void*>(&libdevice_path), &here) && here.dli_fname) folders.push_back(fs::path(here.dli_fname).parent_path());
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH", "CUDA_DIR"})
    if (const char* home = std::getenv(variable)) folders.push_back(fs::path(home) / "nvvm/libdevice");
  folders.push_back("/usr/local/cuda/nvvm/libdevice");
  folders.push_back("/usr/lib/nvidia-cuda-toolkit/libdevice");
  for (const fs::path& f : folders)
    if (there(f / "libdevice.10.bc")) return (f / "libdevice.10.bc").string();
  return "";
}

GpuCode compile_for_gpu(const KernelProgram& p, const GpuTarget& target, const std::string& prefix) {
  const LibraryUse use;
  GpuCode code;
  ContextOwner context;
  if (target.emulated) {
    const auto module = build_module(context, p, target, nullptr, prefix, code.kernels);
    code.others = others_in(*module, prefix);
    code.image = text_of(*module);
    return code;
  }
  const auto machine = make_machine(target);
  const auto module = build_module(context, p, target, machine.get(), prefix, code.kernels);
  code.others = others_in(*module, prefix);
  llvm::SmallVector<char, 0> bitcode;
  llvm::raw_svector_ostream written(bitcode);
  llvm::WriteBitcodeToFile(*module, written);
  code.image = CodeCache::of_process().get(
      {kGenerator, LLVM_VERSION_STRING, machine->getTargetCPU().str(), std::string_view(bitcode.data(), bitcode.size())},
      [&] { return generate(*module, *machine); });
  return code;
}

std::string gpu_llvm_text(const KernelProgram& p, const GpuTarget& target) {
  const LibraryUse use;
  ContextOwner context;
  const auto machine = make_machine(target);
  std::vector<std::vector<GpuFunction>> functions;
  const auto module = build_module(context, p, target, machine.get(), "", functions);
  optimise(*module, *machine);
  return text_of(*module);
}

std::string ptx_text(const Jaxpr& j, const std::vector<bool>& donated, const GpuTarget& target, const std::string& prefix) {
  const TargetTraits traits = gpu_traits();
  return compile_for_gpu(form_program(simplify_with_names(j, traits.expansion), traits, donated), target, prefix).image;
}

}  // namespace weft::detail
