#include "weft/backends/cpu/code_generator.h"

#include <llvm/ADT/StringSet.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Pass.h>
#include <llvm/PassInfo.h>
#include <llvm/PassRegistry.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/Transforms/Scalar.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "weft/core/base/process_wide.h"
#include "weft/core/base/thread_object.h"
#include "weft/core/errors/error.h"
#include "weft/runtime/host/process_end.h"

namespace weft::detail {
namespace {

std::unique_ptr<llvm::TargetMachine> make_machine(const Processor& p, llvm::CodeGenOptLevel level) {
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  return std::unique_ptr<llvm::TargetMachine>(
      p.target->createTargetMachine(p.triple, p.cpu, p.features, options, llvm::Reloc::PIC_, llvm::CodeModel::Small, level, /*JIT=*/true));
}

llvm::TargetMachine& thread_machine(CodeTier tier) {
  struct Machines {
    ~Machines() {
      const LibraryUse use;
      for (auto& m : of) m.reset();
    }
    std::unique_ptr<llvm::TargetMachine> of[2];
  };
  auto& m = of_thread<Machines>().of[static_cast<int>(tier)];
  if (!m) m = make_machine(processor(), tier == CodeTier::baseline ? llvm::CodeGenOptLevel::None : llvm::CodeGenOptLevel::Less);
  return *m;
}

/// Passes for what kernels never have: exceptions, garbage collection, threads' variables, tiles, comparisons of memory,
/// debug information, counters, protection against attacks. Each costs some microseconds all the same.
constexpr const char* kIdlePasses[] = {
    // Of the intermediate code.
    "expand-large-div-rem", "expand-large-fp-convert", "atomic-expand", "lower-amx-intrinsics", "lower-amx-type", "gc-lowering",
    "shadow-stack-gc-lowering", "lower-constant-intrinsics", "expandvp", "post-inline-ee-instrument", "expand-reductions",
    "indirectbr-expand", "dwarf-eh-prepare", "callbrprepare", "safe-stack", "stack-protector", "debug-ata", "mergeicmps", "expand-memcmp",
    "consthoist", "replace-with-veclib", "partially-inline-libcalls", "tlshoist", "x86-partial-reduction",
    // Of the machine's.
    "x86argumentstackrebase", "localstackalloc", "x86-slh", "fastpretileconfig", "fasttileconfig", "tilepreconfig", "tileconfig",
    "lowertilecopy", "removeredundantdebugvalues", "fixup-statepoint-caller-saved", "machine-opt-remark-emitter", "kcfi", "gc-analysis",
    "fentry-insert", "xray-instrumentation", "patchable-function", "funclet-layout", "stackmap-liveness", "livedebugvalues",
    "machine-sanmd", "stack-frame-layout", "x86-seses", "x86-return-thunks", "cfi-instr-inserter", "x86-lvi-ret", "x86-lvi-load",
    "pseudo-probe-inserter", "unpack-mi-bundles", "x86-domain-reassignment", "regallocscoringpass", "post-RA-sched"};

/// Makes instructions of long double's; only exported code has any.
constexpr const char* kX87Pass = "x86-codegen";
bool has_long_double(const llvm::Module& module) {
  return std::any_of(module.begin(), module.end(), [](const llvm::Function& f) { return f.getReturnType()->isX86_FP80Ty(); });
}

/// Takes all passes but the idle ones.
class BusyPasses final : public llvm::legacy::PassManagerBase {
 public:
  BusyPasses(llvm::legacy::PassManager& to, bool long_double) : to_(to), long_double_(long_double) {}
  void add(llvm::Pass* pass) override {
    const llvm::PassInfo* info = llvm::PassRegistry::getPassRegistry()->getPassInfo(pass->getPassID());
    if (info && (idle().contains(info->getPassArgument()) || (!long_double_ && info->getPassArgument() == kX87Pass)))
      delete pass;
    else
      to_.add(pass);
  }

 private:
  static const llvm::StringSet<>& idle() {
    // Never destroyed: a thread may compile while the process ends.
    static const llvm::StringSet<>& passes = *[] {
      auto* names = new llvm::StringSet<>;
      if (llvm::Triple(processor().triple).isX86())
        for (const char* name : kIdlePasses) names->insert(name);
      return names;
    }();
    return passes;
  }
  llvm::legacy::PassManager& to_;
  const bool long_double_;
};

}  // namespace

const Processor& processor() {
  static const auto& p = process_wide_from([] {
    // LLVM would end the process where it can't have memory.
    llvm::install_bad_alloc_error_handler([](void*, const char*, bool) { throw std::bad_alloc(); });
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    Processor r;
    r.triple = llvm::sys::getProcessTriple();
    std::string error;
    r.target = llvm::TargetRegistry::lookupTarget(r.triple, error);
    if (!r.target) throw CompileError("cpu: " + error);
    if (const char* name = std::getenv("WEFT_CPU")) {
      r.cpu = name;
    } else {
      r.cpu = llvm::sys::getHostCPUName().str();
      for (const auto& f : llvm::sys::getHostCPUFeatures())
        r.features += (r.features.empty() ? "" : ",") + std::string(f.second ? "+" : "-") + f.first().str();
    }
    // Positions are computed by the emitter; looking for better ones takes a sixth of the code generator's time.
    auto& known = llvm::cl::getRegisteredOptions();
    if (const auto option = known.find("disable-lsr"); option != known.end())
      static_cast<llvm::cl::opt<bool>*>(option->second)->setValue(true);
    const auto machine = make_machine(r, llvm::CodeGenOptLevel::None);
    const llvm::MCSubtargetInfo& info = *machine->getMCSubtargetInfo();
    if (llvm::Triple(r.triple).isX86()) {
      const bool wide = info.checkFeatures("+avx512f,+avx512bw,+avx512vl,+avx512dq");
      r.vectors.vector_bytes = wide ? 64 : info.checkFeatures("+avx2") ? 32 : 16;
      r.vectors.masked_memory = r.vectors.lookups = wide;
      r.vectors.half_conversions = info.checkFeatures("+f16c");
      r.vectors.fma = info.checkFeatures("+fma");
    } else {
      r.vectors.half_conversions = r.vectors.fma = llvm::Triple(r.triple).isAArch64();
    }
    return r;
  });
  return p;
}

std::unique_ptr<llvm::Module> new_module(llvm::LLVMContext& context, const std::string& name, CodeTier tier) {
  auto module = std::make_unique<llvm::Module>(name, context);
  module->setTargetTriple(processor().triple);
  module->setDataLayout(thread_machine(tier).createDataLayout());
  return module;
}

void verify(const llvm::Module& module) {
  std::string problem;
  llvm::raw_string_ostream os(problem);
  if (llvm::verifyModule(module, &os)) throw CompileError("cpu: internal error: malformed code: " + os.str());
}

std::string generate(llvm::Module& module, CodeTier tier, bool assembly) {
  llvm::SmallVector<char, 0> out;
  llvm::raw_svector_ostream os(out);
  llvm::legacy::PassManager passes;
  // First of all: a pass that asks for it would else get one that knows no target, and keep masked memory accesses from all later passes.
  passes.add(llvm::createTargetTransformInfoWrapperPass(thread_machine(tier).getTargetIRAnalysis()));
  // Mathematical functions of one argument share their reductions, across the branches to the library that they contain.
  passes.add(llvm::createEarlyCSEPass());
  const auto type = assembly ? llvm::CodeGenFileType::AssemblyFile : llvm::CodeGenFileType::ObjectFile;
  BusyPasses busy(passes, has_long_double(module));
  if (thread_machine(tier).addPassesToEmitFile(busy, os, nullptr, type, /*DisableVerify=*/true))
    throw CompileError("cpu: this processor's code generator cannot write files");
  passes.run(module);
  return std::string(out.data(), out.size());
}

}  // namespace weft::detail
