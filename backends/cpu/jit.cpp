#include "backends/cpu/jit.h"

#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Pass.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/Transforms/Scalar.h>

#include <atomic>
#include <cstdlib>

#include "backends/codegen/emit.h"
#include "backends/codegen/vector_builder.h"
#include "backends/cpu/code_cache.h"
#include "core/error.h"

extern "C" void weft_library_lanes(int, int, int, std::uint64_t, const void*, const void*, void*);
extern "C" double weft_library_math(int, double, double);
extern "C" void weft_run_blocks(void*, void* const*, std::int64_t, std::int64_t);
extern "C" std::int32_t weft_run_product(const void*, const float*, const float*, float*);
extern "C" std::int32_t weft_run_opaque(const void*, void* const*);

namespace weft::detail {
namespace {

template <class T>
T check(llvm::Expected<T> v, const char* what) {
  if (!v) throw CompileError(std::string("cpu: ") + what + ": " + llvm::toString(v.takeError()));
  return std::move(*v);
}
void check(llvm::Error e, const char* what) {
  if (e) throw CompileError(std::string("cpu: ") + what + ": " + llvm::toString(std::move(e)));
}

// Another one for each change of generate() or of a machine's options that changes code.
constexpr std::string_view kGenerator = "2";

struct Processor {
  const llvm::Target* target = nullptr;
  std::string triple, cpu, features;
  VectorFeatures vectors;
};

std::unique_ptr<llvm::TargetMachine> make_machine(const Processor& p, llvm::CodeGenOptLevel level) {
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  return std::unique_ptr<llvm::TargetMachine>(
      p.target->createTargetMachine(p.triple, p.cpu, p.features, options, llvm::Reloc::PIC_, llvm::CodeModel::Small, level, /*JIT=*/true));
}

const Processor& processor() {
  static const Processor p = [] {
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
      r.vectors.masked_memory = wide;
      r.vectors.half_conversions = info.checkFeatures("+f16c");
      r.vectors.fma = info.checkFeatures("+fma");
    } else {
      r.vectors.half_conversions = r.vectors.fma = llvm::Triple(r.triple).isAArch64();
    }
    return r;
  }();
  return p;
}

llvm::TargetMachine& thread_machine(CodeQuality quality) {
  thread_local std::unique_ptr<llvm::TargetMachine> machines[2];
  auto& m = machines[static_cast<int>(quality)];
  if (!m) m = make_machine(processor(), quality == CodeQuality::quick ? llvm::CodeGenOptLevel::None : llvm::CodeGenOptLevel::Less);
  return *m;
}

llvm::orc::LLJIT& jit() {
  // Never destroyed: code may be in use when the process ends.
  static llvm::orc::LLJIT* instance = [] {
    processor();
    auto machine = llvm::orc::JITTargetMachineBuilder(llvm::Triple(processor().triple));
    auto j = check(llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(std::move(machine)).create(), "cannot start the linker");
    llvm::orc::SymbolMap own;
    const auto define = [&](const char* name, auto* f) {
      own[j->mangleAndIntern(name)] = {llvm::orc::ExecutorAddr::fromPtr(f),
                                       llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
    };
    define("weft_library_lanes", &weft_library_lanes);
    define("weft_library_math", &weft_library_math);
    define("weft_run_blocks", &weft_run_blocks);
    define("weft_run_product", &weft_run_product);
    define("weft_run_opaque", &weft_run_opaque);
    check(j->getMainJITDylib().define(llvm::orc::absoluteSymbols(std::move(own))), "cannot define symbols");
    return j.release();
  }();
  return *instance;
}

std::unique_ptr<llvm::Module> new_module(llvm::LLVMContext& context, const std::string& name, CodeQuality quality) {
  auto module = std::make_unique<llvm::Module>(name, context);
  module->setTargetTriple(processor().triple);
  module->setDataLayout(thread_machine(quality).createDataLayout());
  return module;
}

std::string control_name(std::size_t i) { return "control" + std::to_string(i); }

/// The kernels that the program itself runs.
std::vector<char> called_kernels(const KernelProgram& p) {
  std::vector<char> called(p.kernels.size());
  for (const Step& s : p.steps)
    if (s.kind == Step::Kind::kernel) called[static_cast<std::size_t>(s.number)] = 1;
  return called;
}

/// Adds the functions of a program that are wanted in a quality; of its control steps it gives the tables.
void emit_program(llvm::Module& module, const std::string& prefix, const KernelProgram& p, const std::vector<Schedule>& schedules,
                  const std::vector<char>& kernels, const std::vector<char>& controls, std::vector<std::vector<FixedPointer>>& tables) {
  const VectorFeatures& features = processor().vectors;
  for (std::size_t i = 0; i < p.kernels.size(); ++i)
    if (kernels[i]) emit_kernel(module, p.kernels[i], schedules[i], features, prefix + p.kernels[i].name);
  for (const Step& s : p.steps)
    if (s.kind == Step::Kind::control && controls[static_cast<std::size_t>(s.number)])
      tables[static_cast<std::size_t>(s.number)] =
          emit_control(module, p, schedules, p, s, features, prefix + control_name(static_cast<std::size_t>(s.number)));
}

void verify(const llvm::Module& module) {
  std::string problem;
  llvm::raw_string_ostream os(problem);
  if (llvm::verifyModule(module, &os)) throw CompileError("cpu: internal error: malformed code: " + os.str());
}

std::string generate(llvm::Module& module, CodeQuality quality, llvm::CodeGenFileType type) {
  llvm::SmallVector<char, 0> out;
  llvm::raw_svector_ostream os(out);
  llvm::legacy::PassManager passes;
  // First of all: a pass that asks for it would else get one that knows no target, and keep masked memory accesses from all later passes.
  passes.add(llvm::createTargetTransformInfoWrapperPass(thread_machine(quality).getTargetIRAnalysis()));
  // Mathematical functions of one argument share their reductions, across the branches to the library that they contain.
  passes.add(llvm::createEarlyCSEPass());
  if (thread_machine(quality).addPassesToEmitFile(passes, os, nullptr, type, /*DisableVerify=*/true))
    throw CompileError("cpu: this processor's code generator cannot write files");
  passes.run(module);
  return std::string(out.data(), out.size());
}

/// An object file of the module, from the cache where there is one: the module says all that the code depends on, but for the processor
/// and how code is generated for it.
std::string object_of(llvm::Module& module, CodeQuality quality) {
  const auto make = [&] {
    verify(module);
    return generate(module, quality, llvm::CodeGenFileType::ObjectFile);
  };
  CodeCache& cache = CodeCache::of_process();
  if (!cache.enabled()) return make();
  llvm::SmallVector<char, 0> bitcode;
  llvm::raw_svector_ostream os(bitcode);
  llvm::WriteBitcodeToFile(module, os);
  const Processor& p = processor();
  return cache.get({kGenerator, LLVM_VERSION_STRING, p.triple, p.cpu, p.features, quality == CodeQuality::good ? "good" : "quick",
                    std::string_view(bitcode.data(), bitcode.size())},
                   make);
}

/// Code with a name space of its own.
class LinkedCode final : public NativeCode {
 public:
  LinkedCode() {
    static std::atomic<std::uint64_t> counter{0};
    llvm::orc::ExecutionSession& session = jit().getExecutionSession();
    library = &session.createBareJITDylib("weft" + std::to_string(counter++));
    library->addToLinkOrder(jit().getMainJITDylib());
    library->addToLinkOrder(*jit().getProcessSymbolsJITDylib());  // memcpy and its like
  }
  ~LinkedCode() override { llvm::consumeError(jit().getExecutionSession().removeJITDylib(*library)); }
  llvm::orc::JITDylib* library;
};

}  // namespace

int native_vector_bytes() { return processor().vectors.vector_bytes; }

std::unique_ptr<NativeCode> compile_program(const KernelProgram& p, const std::vector<Schedule>& schedules, const Qualities& good,
                                            const std::function<void*(const FixedPointer&)>& resolve) {
  auto code = std::make_unique<LinkedCode>();
  code->functions.resize(p.kernels.size());
  code->controls.resize(p.controls.size());
  std::vector<std::vector<FixedPointer>> tables(p.controls.size());
  const std::vector<char> called = called_kernels(p);
  for (const CodeQuality quality : {CodeQuality::quick, CodeQuality::good}) {
    const bool best = quality == CodeQuality::good;
    std::vector<char> kernels(p.kernels.size()), controls(p.controls.size());
    bool any = false;
    for (std::size_t i = 0; i < kernels.size(); ++i) any |= kernels[i] = called[i] && (good.kernels[i] != 0) == best;
    for (std::size_t i = 0; i < controls.size(); ++i) any |= controls[i] = (good.controls[i] != 0) == best;
    if (!any) continue;
    llvm::LLVMContext context;
    const std::string prefix = best ? "good_" : "quick_";
    const auto module = new_module(context, "weft", quality);
    emit_program(*module, prefix, p, schedules, kernels, controls, tables);
    const std::string object = object_of(*module, quality);
    llvm::orc::LLJIT& j = jit();
    llvm::SmallVector<char, 0> bytes(object.begin(), object.end());
    check(j.addObjectFile(*code->library, std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(bytes), "weft", false)), "cannot link");
    const auto address = [&](const std::string& name) { return check(j.lookup(*code->library, name), "cannot link"); };
    for (std::size_t i = 0; i < kernels.size(); ++i)
      if (kernels[i]) code->functions[i] = address(prefix + p.kernels[i].name).toPtr<KernelFunction>();
    for (std::size_t i = 0; i < controls.size(); ++i)
      if (controls[i]) code->controls[i].function = address(prefix + control_name(i)).toPtr<ControlFunction>();
  }
  for (std::size_t i = 0; i < tables.size(); ++i)
    for (const FixedPointer& f : tables[i]) code->controls[i].table.push_back(resolve(f));
  return code;
}

std::string code_as_text(const KernelProgram& p, const std::vector<Schedule>& schedules, bool assembly) {
  llvm::LLVMContext context;
  const auto module = new_module(context, "", CodeQuality::good);
  std::vector<std::vector<FixedPointer>> tables(p.controls.size());
  emit_program(*module, "", p, schedules, called_kernels(p), std::vector<char>(p.controls.size(), 1), tables);
  if (assembly) return generate(*module, CodeQuality::good, llvm::CodeGenFileType::AssemblyFile);
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os, nullptr);
  return os.str();
}

std::string object_file(const std::string& name, const std::vector<Kernel>& kernels, const std::vector<Schedule>& schedules,
                        const std::vector<ObjectCall>& calls, const std::vector<std::string>& constants, std::int64_t arena_bytes) {
  llvm::LLVMContext context;
  const auto module = new_module(context, name + "_", CodeQuality::good);
  for (std::size_t i = 0; i < kernels.size(); ++i)
    emit_kernel(*module, kernels[i], schedules[i], processor().vectors, name + "_" + kernels[i].name);
  for (llvm::Function& f : *module)
    if (!f.isDeclaration()) f.setLinkage(llvm::Function::InternalLinkage);
  llvm::IRBuilder<> ir(context);
  llvm::PointerType* pointer = ir.getPtrTy();
  auto* function = llvm::Function::Create(llvm::FunctionType::get(ir.getVoidTy(), {pointer, pointer}, false),
                                          llvm::Function::ExternalLinkage, name, *module);
  ir.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", function));
  std::vector<llvm::Value*> data;
  for (const std::string& bytes : constants) {
    llvm::Constant* contents = llvm::ConstantDataArray::getString(context, bytes, false);
    auto* global = new llvm::GlobalVariable(*module, contents->getType(), true, llvm::GlobalValue::PrivateLinkage, contents, "constant");
    global->setAlignment(llvm::Align(64));
    data.push_back(global);
  }
  llvm::Value* arena = nullptr;
  llvm::FunctionCallee free_memory;
  if (arena_bytes > 0) {
    const llvm::FunctionCallee allocate =
        module->getOrInsertFunction("aligned_alloc", llvm::FunctionType::get(pointer, {ir.getInt64Ty(), ir.getInt64Ty()}, false));
    free_memory = module->getOrInsertFunction("free", llvm::FunctionType::get(ir.getVoidTy(), {pointer}, false));
    arena = ir.CreateCall(allocate, {ir.getInt64(64), ir.getInt64(static_cast<std::uint64_t>(arena_bytes))});
  }
  std::size_t most = 1;
  for (const ObjectCall& c : calls) most = std::max(most, c.args.size());
  llvm::Value* args = ir.CreateAlloca(llvm::ArrayType::get(pointer, most));
  for (const ObjectCall& c : calls) {
    for (std::size_t i = 0; i < c.args.size(); ++i) {
      const ObjectCall::Pointer& p = c.args[i];
      llvm::Value* v = nullptr;
      switch (p.kind) {
        case ObjectCall::Pointer::Kind::input:
        case ObjectCall::Pointer::Kind::output:
          v = ir.CreateLoad(pointer, ir.CreateConstGEP1_64(pointer, function->getArg(p.kind == ObjectCall::Pointer::Kind::input ? 0 : 1),
                                                           static_cast<std::uint64_t>(p.index)));
          break;
        case ObjectCall::Pointer::Kind::arena:
          v = ir.CreateConstGEP1_64(ir.getInt8Ty(), arena, static_cast<std::uint64_t>(p.index));
          break;
        case ObjectCall::Pointer::Kind::constant:
          v = data[static_cast<std::size_t>(p.index)];
          break;
      }
      ir.CreateStore(v, ir.CreateConstGEP1_64(pointer, args, i));
    }
    const auto k = static_cast<std::size_t>(c.kernel);
    ir.CreateCall(module->getFunction(name + "_" + kernels[k].name),
                  {args, ir.getInt64(0), ir.getInt64(static_cast<std::uint64_t>(schedules[k].num_blocks))});
  }
  if (arena) ir.CreateCall(free_memory, {arena});
  ir.CreateRetVoid();
  verify(*module);
  return generate(*module, CodeQuality::good, llvm::CodeGenFileType::ObjectFile);
}

}  // namespace weft::detail
