#include "weft/backends/cpu/code_generator.h"
#include "weft/core/base/environment.h"

#include <fmt/format.h>
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

#include "weft/backends/cpu/bit_permutations.h"
#include "weft/backends/cpu/constants_in_memory.h"
#include "weft/core/base/nesting.h"
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

/// Passes that do nothing for kernels, which have no exceptions, garbage collection, thread-local variables, AMX tiles, memcmp, debug
/// information, counters or hardening. Each costs some microseconds all the same.
constexpr const char* kIdlePasses[] = {
    // Passes on LLVM IR.
    "expand-large-div-rem", "expand-large-fp-convert", "atomic-expand", "lower-amx-intrinsics", "lower-amx-type", "gc-lowering",
    "shadow-stack-gc-lowering", "lower-constant-intrinsics", "expandvp", "post-inline-ee-instrument", "expand-reductions",
    "indirectbr-expand", "dwarf-eh-prepare", "callbrprepare", "safe-stack", "stack-protector", "debug-ata", "mergeicmps", "expand-memcmp",
    "consthoist", "replace-with-veclib", "partially-inline-libcalls", "tlshoist", "x86-partial-reduction",
    // Passes on machine code.
    "x86argumentstackrebase", "localstackalloc", "x86-slh", "fastpretileconfig", "fasttileconfig", "tilepreconfig", "tileconfig",
    "lowertilecopy", "removeredundantdebugvalues", "fixup-statepoint-caller-saved", "machine-opt-remark-emitter", "kcfi", "gc-analysis",
    "fentry-insert", "xray-instrumentation", "patchable-function", "funclet-layout", "stackmap-liveness", "livedebugvalues",
    "machine-sanmd", "stack-frame-layout", "x86-seses", "x86-return-thunks", "cfi-instr-inserter", "x86-lvi-ret", "x86-lvi-load",
    "pseudo-probe-inserter", "unpack-mi-bundles", "x86-domain-reassignment", "regallocscoringpass", "post-RA-sched"};

/// Needed for long double (x87) instructions, which only exported code has.
constexpr const char* kX87Pass = "x86-codegen";
bool has_long_double(const llvm::Module& module) {
  return std::any_of(module.begin(), module.end(), [](const llvm::Function& f) { return f.getReturnType()->isX86_FP80Ty(); });
}

/// Takes all passes but those that are idle on x86.
class BusyPasses final : public llvm::legacy::PassManagerBase {
 public:
  BusyPasses(llvm::legacy::PassManager& to, bool x86, bool long_double) : to_(to), x86_(x86), long_double_(long_double) {}
  void add(llvm::Pass* pass) override {
    const llvm::PassInfo* info = llvm::PassRegistry::getPassRegistry()->getPassInfo(pass->getPassID());
    if (x86_ && info && (idle().contains(info->getPassArgument()) || (!long_double_ && info->getPassArgument() == kX87Pass)))
      delete pass;
    else
      to_.add(pass);
  }

 private:
  static const llvm::StringSet<>& idle() {
    // Never destroyed: a thread may compile while the process ends.
    static const llvm::StringSet<>& passes = *[] {
      auto* names = new llvm::StringSet<>;
      for (const char* name : kIdlePasses) names->insert(name);
      return names;
    }();
    return passes;
  }
  llvm::legacy::PassManager& to_;
  const bool x86_, long_double_;
};

/// Cycles from one instruction to the next, as of Intel's servers since Skylake. Zen 4 computes vectors of 64 bytes in two halves.
VectorFeatures::Division division_of(const Processor& p) {
  VectorFeatures::Division d{.quotient_f32 = 10, .quotient_f64 = 16, .root_f32 = 12, .root_f64 = 24, .multiply_add = .5};
  if (p.cpu == "znver4") d = {.quotient_f32 = 6, .quotient_f64 = 10, .root_f32 = 10, .root_f64 = 18, .multiply_add = 1};
  return d;
}

/// What code for the processor may use.
VectorFeatures features_of(const Processor& p) {
  VectorFeatures f;
  const auto machine = make_machine(p, llvm::CodeGenOptLevel::None);
  const llvm::MCSubtargetInfo& info = *machine->getMCSubtargetInfo();
  if (llvm::Triple(p.triple).isX86()) {
    const bool wide = info.checkFeatures("+avx512f,+avx512bw,+avx512vl,+avx512dq");
    f.vector_bytes = wide ? 64 : info.checkFeatures("+avx2") ? 32 : 16;
    f.masked_memory = f.lookups = f.word_conversions = wide;
    f.byte_shuffles = wide && info.checkFeatures("+avx512vbmi");
    f.fast_gathers = info.checkFeatures("+avx2,+fast-gather");
    f.half_conversions = info.checkFeatures("+f16c");
    f.half_arithmetic = wide && info.checkFeatures("+avx512fp16");
    f.fma = info.checkFeatures("+fma");
    f.word_products = true;
    if (wide) f.division = division_of(p);
  } else {
    f.half_conversions = f.fma = llvm::Triple(p.triple).isAArch64();
  }
  return f;
}

constexpr std::string_view kKnown[] = {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"};

std::string write_file(llvm::Module& module, llvm::TargetMachine& machine, bool assembly) {
  llvm::SmallVector<char, 0> out;
  llvm::raw_svector_ostream os(out);
  if (machine.getOptLevel() != llvm::CodeGenOptLevel::None) {
    join_bit_permutations(module);
    if (const llvm::MCSubtargetInfo& info = *machine.getMCSubtargetInfo();
        machine.getTargetTriple().isX86() && info.checkFeatures("+avx2") && !info.checkFeatures("+avx512f"))
      keep_constants_in_memory(module);
  }
  auto passes = std::make_unique<llvm::legacy::PassManager>();
  try {
    // Added first: otherwise passes would get the target-independent cost model, which scalarises masked memory accesses.
    passes->add(llvm::createTargetTransformInfoWrapperPass(machine.getTargetIRAnalysis()));
    // Mathematical functions of one argument share their reductions, across the branches to the library that they contain.
    passes->add(llvm::createEarlyCSEPass());
    const auto type = assembly ? llvm::CodeGenFileType::AssemblyFile : llvm::CodeGenFileType::ObjectFile;
    BusyPasses busy(*passes, machine.getTargetTriple().isX86(), has_long_double(module));
    if (machine.addPassesToEmitFile(busy, os, nullptr, type, /*DisableVerify=*/true))
      throw CompileError("cpu: this processor's code generator cannot write files");
    with_stack(kCompilerStack, [&] { passes->run(module); });
  } catch (...) {
    // Where memory ended in the middle of LLVM, the passes are half made, and destroying them crashes.
    static_cast<void>(passes.release());
    throw;
  }
  return std::string(out.data(), out.size());
}

}  // namespace

namespace {

/// LLVM ignores a processor that it doesn't know, and aborts the process for one of another architecture.
void check_processor(const Processor& p, const std::string& name) {
  const bool x86 = llvm::Triple(p.triple).isX86();
  const std::unique_ptr<llvm::MCSubtargetInfo> all(p.target->createMCSubtargetInfo(p.triple, "", ""));
  if (all->isCPUStringValid(name)) {
    const std::unique_ptr<llvm::MCSubtargetInfo> one(p.target->createMCSubtargetInfo(p.triple, name, ""));
    if (!x86 || one->checkFeatures("+64bit")) return;
  }
  throw CompileError(fmt::format("WEFT_CPU is `{}`; LLVM makes no code of {} for such a processor", name, p.triple));
}

}  // namespace

const Processor& processor() {
  static const auto& p = process_wide_from([] {
    // LLVM would abort the process if it runs out of memory.
    llvm::install_bad_alloc_error_handler([](void*, const char*, bool) { throw std::bad_alloc(); });
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    Processor r;
    r.triple = llvm::sys::getProcessTriple();
    std::string error;
    r.target = llvm::TargetRegistry::lookupTarget(r.triple, error);
    if (!r.target) throw CompileError("cpu: " + error);
    if (const std::string_view name = word_in_environment("WEFT_CPU"); !name.empty()) {
      r.cpu = name;
      check_processor(r, r.cpu);
    } else {
      r.cpu = llvm::sys::getHostCPUName().str();
      for (const auto& f : llvm::sys::getHostCPUFeatures())
        r.features += (r.features.empty() ? "" : ",") + std::string(f.second ? "+" : "-") + f.first().str();
    }
    // AMD's insertq and extrq write 16 bytes without AVX's encoding: each waits for the rest of a register of 32, about 200 cycles on
    // Zen 3.
    if (llvm::Triple(r.triple).isX86()) r.features += r.features.empty() ? "-sse4a" : ",-sse4a";
    // Positions are computed by the emitter; looking for better ones takes a sixth of the code generator's time.
    auto& known = llvm::cl::getRegisteredOptions();
    if (const auto option = known.find("disable-lsr"); option != known.end())
      static_cast<llvm::cl::opt<bool>*>(option->second)->setValue(true);
    r.vectors = features_of(r);
    return r;
  });
  return p;
}

ModuleOwner new_module(llvm::LLVMContext& context, const std::string& name, CodeTier tier) {
  ModuleOwner module(new llvm::Module(name, context));
  module->setTargetTriple(processor().triple);
  module->setDataLayout(thread_machine(tier).createDataLayout());
  return module;
}

ModuleOwner new_module(llvm::LLVMContext& context, const std::string& name, const Processor& p) {
  ModuleOwner module(new llvm::Module(name, context));
  module->setTargetTriple(p.triple);
  module->setDataLayout(make_machine(p, llvm::CodeGenOptLevel::None)->createDataLayout());
  return module;
}

void verify(const llvm::Module& module) {
  std::string problem;
  llvm::raw_string_ostream os(problem);
  if (llvm::verifyModule(module, &os)) throw CompileError("cpu: internal error: malformed code: " + os.str());
}

std::string generate(llvm::Module& module, CodeTier tier, bool assembly) { return write_file(module, thread_machine(tier), assembly); }
std::string generate(llvm::Module& module, const Processor& p) {
  return write_file(module, *make_machine(p, llvm::CodeGenOptLevel::Less), false);
}

Processor processor_named(std::string_view name) {
  if (name == "native") return processor();
  processor();  // LLVM's settings
  if (std::find(std::begin(kKnown), std::end(kKnown), name) == std::end(kKnown)) {
    std::string all;
    for (const std::string_view known : kKnown) all += ", `" + std::string(known) + "`";
    throw CompileError("export_object: no processor is called `" + std::string(name) + "`; there are `native`" + all);
  }
  Processor p;
  const bool arm = name == "aarch64";
  if (arm) {
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
  } else {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  }
  p.triple = arm ? "aarch64-unknown-linux-gnu" : "x86_64-unknown-linux-gnu";
  p.cpu = arm ? "generic" : std::string(name);
  std::string error;
  p.target = llvm::TargetRegistry::lookupTarget(p.triple, error);
  if (!p.target) throw CompileError("export_object: " + error);
  p.vectors = features_of(p);
  return p;
}

}  // namespace weft::detail
