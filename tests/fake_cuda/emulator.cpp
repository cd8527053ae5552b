#include "emulator.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/TargetSelect.h>
#include <sys/mman.h>

#include <cstdlib>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string_view>
#include <vector>

#ifndef __x86_64__
#error "the emulator switches between its fibers on x86-64 only"
#endif

extern "C" double weft_library_math(int, double, double);
// Saves the registers that a call must keep on the stack, stores the stack pointer and goes on with another one.
extern "C" void fake_cuda_switch(void** save, void* to);
asm(R"(
.text
.globl fake_cuda_switch
.type fake_cuda_switch, @function
fake_cuda_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size fake_cuda_switch, .-fake_cuda_switch
)");

namespace fake_cuda {
namespace {

using Kernel = void (*)(void**);
constexpr std::size_t kStackBytes = 256 * 1024;
constexpr unsigned kMaxThreads = 1024;

/// Threads that wait for each other.
struct Barrier {
  unsigned there = 0, alive = 0;
  std::uint64_t rounds = 0;
};
struct Fiber {
  char* stack = nullptr;
  void* top = nullptr;
  bool done = true;
  Barrier* waits = nullptr;
  std::uint64_t round = 0;
};

struct Block {
  Kernel kernel = nullptr;
  void** parameters = nullptr;
  unsigned block = 0, blocks = 1, threads = 1, now = 0;
  Barrier all, warps[kMaxThreads / 32];
  std::uint32_t slots[kMaxThreads];
  Fiber fibers[kMaxThreads];
  void* scheduler = nullptr;
  bool fibered = false;
};
Block& state() {
  static Block b;
  return b;
}

void yield() {
  Block& b = state();
  fake_cuda_switch(&b.fibers[b.now].top, b.scheduler);
}
void leave(Barrier& barrier) {
  --barrier.alive;
  if (barrier.alive > 0 && barrier.there == barrier.alive) barrier.there = 0, ++barrier.rounds;
}
void meet(Barrier& barrier) {
  if (++barrier.there == barrier.alive) {
    barrier.there = 0, ++barrier.rounds;
    return;
  }
  Fiber& f = state().fibers[state().now];
  f.waits = &barrier, f.round = barrier.rounds;
  yield();
}
void fiber_main() {
  Block& b = state();
  b.kernel(b.parameters);
  b.fibers[b.now].done = true;
  leave(b.all), leave(b.warps[b.now / 32]);
  yield();
}

int emulated_thread() { return static_cast<int>(state().now); }
int emulated_block() { return static_cast<int>(state().block); }
int emulated_num_blocks() { return static_cast<int>(state().blocks); }
void emulated_sync_block() { meet(state().all); }
void emulated_sync_warp() { meet(state().warps[state().now / 32]); }
std::uint32_t emulated_exchange(std::uint32_t v, std::uint32_t kind, std::uint32_t other) {
  Block& b = state();
  const unsigned self = b.now, lane = self % 32, first = self - lane;
  b.slots[self] = v;
  emulated_sync_warp();
  const unsigned from = kind == 0 ? lane ^ other : kind == 1 ? (lane >= other ? lane - other : lane) : other % 32;
  const std::uint32_t got = b.slots[first + from];
  emulated_sync_warp();
  return got;
}

std::uint32_t emulated_alike(std::uint32_t v) {
  Block& b = state();
  const unsigned first = b.now / 32 * 32;
  b.slots[b.now] = v;
  emulated_sync_warp();
  std::uint32_t mask = 0;
  for (unsigned lane = 0; lane < 32; ++lane)
    if (b.slots[first + lane] == v) mask |= 1u << lane;
  emulated_sync_warp();
  return mask;
}

/// The order in which the threads of a block, and the blocks, take their turns. On a device there is none: results must not depend on it.
enum class Order { up, down, mixed };
Order order() {
  static const Order o = [] {
    const char* given = std::getenv("FAKE_CUDA_ORDER");
    const std::string_view name = given ? given : "up";
    return name == "down" ? Order::down : name == "mixed" ? Order::mixed : Order::up;
  }();
  return o;
}
/// The i-th of n to take its turn.
unsigned turn(unsigned i, unsigned n, unsigned round) {
  if (order() == Order::up || n < 2) return i;
  if (order() == Order::down) return n - 1 - i;
  std::uint64_t step = 2654435761u * (round + 1u) % n;
  while (step == 0 || std::gcd(step, std::uint64_t{n}) != 1) step = step % n + 1;
  return static_cast<unsigned>((i * step + 7u * round) % n);
}

void (*set_condition)(std::uint64_t, std::uint32_t) = nullptr;
void emulated_set_condition(std::uint64_t condition, std::uint32_t value) { set_condition(condition, value); }

// FAKE_CUDA_CHECK=1: each access of a kernel must be aligned as the code says, and lie in memory that there is.
bool checks() {
  static const bool on = std::getenv("FAKE_CUDA_CHECK") != nullptr;
  return on;
}
bool (*is_memory)(std::uintptr_t, std::size_t) = nullptr;
std::map<std::uintptr_t, std::size_t>& globals() {
  static std::map<std::uintptr_t, std::size_t> m;
  return m;
}
std::string& bad_access() {
  static std::string s;
  return s;
}
bool lies_in(const std::map<std::uintptr_t, std::size_t>& map, std::uintptr_t at, std::size_t bytes) {
  auto it = map.upper_bound(at);
  return it != map.begin() && (--it, at + bytes <= it->first + it->second);
}
/// A thread's own memory, by way of a pointer that is not seen to be one to it.
bool is_own(std::uintptr_t at) {
  const Block& b = state();
  const char* stack = b.fibers[b.now].stack;
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)), begin = reinterpret_cast<std::uintptr_t>(stack);
  return (at > here && at - here < kStackBytes) || (stack && at >= begin && at < begin + kStackBytes);
}
void emulated_access(std::uintptr_t at, std::uint32_t bytes, std::uint32_t align, std::uint32_t writes) {
  if (at % align == 0 && ((is_memory && is_memory(at, bytes)) || lies_in(globals(), at, bytes) || is_own(at))) return;
  const Block& b = state();
  if (bad_access().empty())
    bad_access() = std::string(at % align == 0 ? "an illegal address" : "a misaligned address") + (writes ? " is written" : " is read") +
                   ": " + std::to_string(bytes) + " bytes aligned to " + std::to_string(align) + " by thread " + std::to_string(b.now) +
                   " of block " + std::to_string(b.block);
}
/// Puts a check in front of each access but those of a thread's own memory and of the parameters.
void add_checks(llvm::Module& module) {
  llvm::LLVMContext& context = module.getContext();
  llvm::IRBuilder<> ir(context);
  const llvm::DataLayout& layout = module.getDataLayout();
  const llvm::FunctionCallee check = module.getOrInsertFunction("weft_emulated_access", ir.getVoidTy(), ir.getInt64Ty(), ir.getInt32Ty(),
                                                                ir.getInt32Ty(), ir.getInt32Ty());
  std::vector<llvm::Instruction*> accesses;
  for (llvm::Function& f : module)
    for (llvm::Instruction& i : llvm::instructions(f))
      if (llvm::isa<llvm::LoadInst, llvm::StoreInst, llvm::AtomicRMWInst, llvm::AtomicCmpXchgInst>(i)) accesses.push_back(&i);
  for (llvm::Instruction* i : accesses) {
    llvm::Value* p = const_cast<llvm::Value*>(i->getOperand(llvm::isa<llvm::StoreInst>(i) ? 1 : 0));
    llvm::Type* type = i->getType();
    llvm::Align align;
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(i)) align = load->getAlign();
    if (auto* store = llvm::dyn_cast<llvm::StoreInst>(i)) align = store->getAlign(), type = store->getValueOperand()->getType();
    if (auto* both = llvm::dyn_cast<llvm::AtomicRMWInst>(i)) align = both->getAlign();
    if (auto* both = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(i)) align = both->getAlign(), type = both->getNewValOperand()->getType();
    if (type->isPointerTy() || llvm::isa<llvm::AllocaInst>(llvm::getUnderlyingObject(p, 100))) continue;
    ir.SetInsertPoint(i);
    ir.CreateCall(check, {ir.CreatePtrToInt(p, ir.getInt64Ty()), ir.getInt32(static_cast<std::uint32_t>(layout.getTypeStoreSize(type))),
                          ir.getInt32(static_cast<std::uint32_t>(align.value())), ir.getInt32(llvm::isa<llvm::LoadInst>(i) ? 0 : 1)});
  }
}

std::set<void*>& fibered_kernels() {
  static std::set<void*> s;
  return s;
}

template <class T>
T check(llvm::Expected<T> v) {
  if (!v) throw std::runtime_error(llvm::toString(v.takeError()));
  return std::move(*v);
}
void check(llvm::Error e) {
  if (e) throw std::runtime_error(llvm::toString(std::move(e)));
}

class Loaded final : public Emulated {
 public:
  explicit Loaded(const std::string& text) {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    auto context = std::make_unique<llvm::LLVMContext>();
    llvm::SMDiagnostic problem;
    auto module = llvm::parseAssemblyString(text, problem, *context);
    if (!module) throw std::runtime_error("malformed text: " + problem.getMessage().str());
    for (const llvm::Function& f : *module) {
      if (f.isDeclaration() || f.hasInternalLinkage()) continue;
      bool meets = false;
      for (const llvm::Instruction& i : llvm::instructions(f))
        if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&i); call && call->getCalledFunction()) {
          const llvm::StringRef name = call->getCalledFunction()->getName();
          meets |= name.starts_with("weft_emulated_sync") || name == "weft_emulated_exchange" || name == "weft_emulated_alike";
        }
      meets_[f.getName().str()] = meets;
    }
    if (checks()) {
      add_checks(*module);
      for (llvm::GlobalVariable& g : module->globals()) {
        if (g.isDeclaration()) continue;
        if (!g.hasName()) g.setName("unnamed");
        globals_.emplace_back(g.getName().str(), module->getDataLayout().getTypeAllocSize(g.getValueType()));
        g.setLinkage(llvm::GlobalValue::ExternalLinkage);
      }
    }
    // Tests run most kernels once: what counts is how soon there is code.
    auto machine = check(llvm::orc::JITTargetMachineBuilder::detectHost());
    machine.setCodeGenOptLevel(llvm::CodeGenOptLevel::None);
    jit_ = check(llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(std::move(machine)).create());
    llvm::orc::SymbolMap own;
    const auto define = [&](const char* name, auto* f) {
      own[jit_->mangleAndIntern(name)] = {llvm::orc::ExecutorAddr::fromPtr(f),
                                          llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
    };
    define("weft_emulated_thread", &emulated_thread);
    define("weft_emulated_block", &emulated_block);
    define("weft_emulated_num_blocks", &emulated_num_blocks);
    define("weft_emulated_sync_block", &emulated_sync_block);
    define("weft_emulated_sync_warp", &emulated_sync_warp);
    define("weft_emulated_exchange", &emulated_exchange);
    define("weft_emulated_alike", &emulated_alike);
    define("weft_emulated_set_condition", &emulated_set_condition);
    define("weft_emulated_access", &emulated_access);
    define("weft_library_math", &weft_library_math);
    check(jit_->getMainJITDylib().define(llvm::orc::absoluteSymbols(std::move(own))));
    auto generator = check(llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(jit_->getDataLayout().getGlobalPrefix()));
    jit_->getMainJITDylib().addGenerator(std::move(generator));
    check(jit_->addIRModule(llvm::orc::ThreadSafeModule(std::move(module), std::move(context))));
  }
  ~Loaded() override {
    for (void* f : found_) fibered_kernels().erase(f);
    for (std::uintptr_t g : placed_) globals().erase(g);
  }
  void* find(const std::string& name) override {
    const auto known = meets_.find(name);
    if (known == meets_.end()) return nullptr;
    void* f = check(jit_->lookup(name)).toPtr<void*>();
    found_.push_back(f);
    for (const auto& [global, bytes] : globals_) {
      placed_.push_back(check(jit_->lookup(global)).getValue());
      globals()[placed_.back()] = bytes;
    }
    globals_.clear();
    if (known->second) fibered_kernels().insert(f);
    return f;
  }

 private:
  std::unique_ptr<llvm::orc::LLJIT> jit_;
  std::map<std::string, bool> meets_;  // whether a kernel's threads meet
  std::vector<void*> found_;
  std::vector<std::pair<std::string, std::size_t>> globals_;  // names and sizes, until the first kernel is looked up
  std::vector<std::uintptr_t> placed_;
};

void run_block(Block& b) {
  for (unsigned t = 0; t < b.threads; ++t) {
    Fiber& f = b.fibers[t];
    if (!f.stack) {
      f.stack = static_cast<char*>(mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
      if (f.stack == MAP_FAILED) throw std::runtime_error("no memory for the stacks of threads");
    }
    // As if fiber_main had been called: its frame is aligned as the calling convention wants, above it six registers to be restored.
    auto* top = reinterpret_cast<void**>(f.stack + kStackBytes - 16);
    *--top = nullptr;
    *--top = reinterpret_cast<void*>(&fiber_main);
    for (int i = 0; i < 6; ++i) *--top = nullptr;
    f.top = top;
    f.done = false, f.waits = nullptr;
  }
  b.all = {0, b.threads, 0};
  for (unsigned w = 0; w < (b.threads + 31) / 32; ++w) b.warps[w] = {0, std::min(32u, b.threads - 32 * w), 0};
  unsigned round = b.block;
  for (unsigned left = b.threads; left > 0; ++round) {
    bool any = false;
    for (unsigned i = 0; i < b.threads; ++i) {
      const unsigned t = turn(i, b.threads, round);
      Fiber& f = b.fibers[t];
      if (f.done || (f.waits && f.waits->rounds == f.round)) continue;
      f.waits = nullptr;
      b.now = t;
      any = true;
      fake_cuda_switch(&b.scheduler, f.top);
      left -= f.done;
    }
    if (!any) throw std::runtime_error("the threads of a block wait for each other without end");
  }
}

}  // namespace

std::shared_ptr<Emulated> load(const std::string& text) {
  // Devices, and programs one after the other, have much code in common.
  constexpr std::size_t kKept = 200;
  static std::map<std::string, std::shared_ptr<Emulated>>& known = *new std::map<std::string, std::shared_ptr<Emulated>>;
  if (known.size() == kKept) known.clear();
  std::shared_ptr<Emulated>& code = known[text];
  if (!code) code = std::make_shared<Loaded>(text);
  return code;
}

void run(void* kernel, unsigned blocks, unsigned threads, void** parameters) {
  Block& b = state();
  b.kernel = reinterpret_cast<Kernel>(kernel);
  b.parameters = parameters, b.blocks = blocks, b.threads = threads;
  const bool fibered = fibered_kernels().count(kernel) > 0;
  static unsigned launches = 0;
  ++launches;
  bad_access().clear();
  for (unsigned i = 0; i < blocks; ++i) {
    b.block = turn(i, blocks, launches);
    if (fibered) {
      run_block(b);
      continue;
    }
    for (unsigned t = 0; t < threads; ++t) b.now = turn(t, threads, launches), b.kernel(parameters);
  }
  if (!bad_access().empty()) throw std::runtime_error(bad_access());
}

void set_conditions_by(void (*set)(std::uint64_t, std::uint32_t)) { set_condition = set; }
void check_memory_by(bool (*there)(std::uintptr_t, std::size_t)) { is_memory = there; }

}  // namespace fake_cuda
