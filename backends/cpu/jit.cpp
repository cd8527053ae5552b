#include "weft/backends/cpu/jit.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <span>
#include <utility>

#include "weft/backends/codegen/emit/emit.h"
#include "weft/backends/codegen/planner/signature.h"
#include "weft/backends/common/code_cache.h"
#include "weft/backends/cpu/code_generator.h"
#include "weft/backends/cpu/code_tiers.h"
#include "weft/backends/cpu/object_loader.h"
#include "weft/core/base/process_wide.h"
#include "weft/core/errors/error.h"
#include "weft/runtime/host/process_end.h"
#include "weft/runtime/host/thread_pool.h"

extern "C" void weft_library_lanes(int, int, int, std::uint64_t, const void*, const void*, void*);
extern "C" double weft_library_math(int, double, double);
extern "C" void weft_run_blocks(void*, void* const*, std::int64_t, std::int64_t);
extern "C" void weft_run_steps(void*, void* const*, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t);
extern "C" std::int32_t weft_run_matmul(const void*, const void*, const void*, void*);
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

// Must be changed with every change of generate() or of the target machine's options that changes code.
constexpr std::string_view kGenerator = "3";

struct LibrarySymbol {
  const char* name;
  void* address;
};
/// The functions of this library, and the memory functions of the C library, that generated code calls.
const auto& library_symbols() {
  static const LibrarySymbol symbols[] = {{"weft_library_lanes", reinterpret_cast<void*>(&weft_library_lanes)},
                                          {"weft_library_math", reinterpret_cast<void*>(&weft_library_math)},
                                          {"weft_run_blocks", reinterpret_cast<void*>(&weft_run_blocks)},
                                          {"weft_run_steps", reinterpret_cast<void*>(&weft_run_steps)},
                                          {"weft_run_matmul", reinterpret_cast<void*>(&weft_run_matmul)},
                                          {"weft_run_opaque", reinterpret_cast<void*>(&weft_run_opaque)},
                                          {"memcpy", reinterpret_cast<void*>(&std::memcpy)},
                                          {"memmove", reinterpret_cast<void*>(&std::memmove)},
                                          {"memset", reinterpret_cast<void*>(&std::memset)}};
  return symbols;
}

constexpr auto library_address = [](const char* name) -> void* {
  for (const LibrarySymbol& s : library_symbols())
    if (!std::strcmp(s.name, name)) return s.address;
  return dlsym(RTLD_DEFAULT, name);
};

/// What LLVM's linker reports beside its results: causes that the results don't name, such as a lack of memory.
class LinkerReports {
 public:
  void add(const std::string& text) {
    const std::lock_guard lock(mutex_);
    text_ += (text_.empty() ? "" : "; ") + text;
  }
  std::string take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(text_, {});
  }

 private:
  std::mutex mutex_;
  std::string text_;
};
LinkerReports& linker_reports() {
  static auto& reports = process_wide<LinkerReports>();
  return reports;
}

/// The linker for what LoadedObject doesn't know.
llvm::orc::LLJIT& jit() {
  // Never destroyed: code may be in use when the process ends.
  static llvm::orc::LLJIT* instance = [] {
    processor();
    auto machine = llvm::orc::JITTargetMachineBuilder(llvm::Triple(processor().triple));
    auto j = check(llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(std::move(machine)).create(), "cannot start the linker");
    j->getExecutionSession().setErrorReporter([](llvm::Error e) { linker_reports().add(llvm::toString(std::move(e))); });
    llvm::orc::SymbolMap own;
    for (const LibrarySymbol& s : library_symbols())
      own[j->mangleAndIntern(s.name)] = {llvm::orc::ExecutorAddr::fromPtr(s.address),
                                         llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
    check(j->getMainJITDylib().define(llvm::orc::absoluteSymbols(std::move(own))), "cannot define symbols");
    return j.release();
  }();
  return *instance;
}

/// The kernels that the program itself runs.
std::vector<char> called_kernels(const KernelProgram& p) {
  std::vector<char> called(p.kernels.size());
  for (const Step& s : p.steps)
    if (s.kind == Step::Kind::kernel) called[static_cast<std::size_t>(s.number)] = 1;
  return called;
}

/// The build of this library, as its linker noted it; empty where it didn't.
const std::string& build_id() {
  struct Search {
    std::uintptr_t inside;
    std::string found;
  };
  static const auto& id = process_wide_from([] {
    Search search{reinterpret_cast<std::uintptr_t>(&native_vector_bytes), {}};
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* data) {
          auto& s = *static_cast<Search*>(data);
          const auto part = [&](const ElfW(Phdr) & h) { return info->dlpi_addr + h.p_vaddr; };
          const std::span<const ElfW(Phdr)> headers(info->dlpi_phdr, info->dlpi_phnum);
          if (std::none_of(headers.begin(), headers.end(),
                           [&](const ElfW(Phdr) & h) { return h.p_type == PT_LOAD && s.inside - part(h) < h.p_memsz; }))
            return 0;
          for (const ElfW(Phdr) & h : headers) {
            if (h.p_type != PT_NOTE) continue;
            const auto* at = reinterpret_cast<const char*>(part(h));
            for (const char* end = at + h.p_memsz; at + sizeof(ElfW(Nhdr)) <= end;) {
              ElfW(Nhdr) note;
              std::memcpy(&note, at, sizeof note);
              const char* name = at + sizeof note;
              const char* contents = name + (note.n_namesz + 3) / 4 * 4;
              at = contents + (note.n_descsz + 3) / 4 * 4;
              if (at <= end && note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && !std::memcmp(name, "GNU", 4))
                s.found.assign(contents, note.n_descsz);
            }
          }
          return 1;
        },
        &search);
    return search.found;
  });
  return id;
}

/// The part of a program that becomes one object file, all in one tier.
struct Unit {
  CodeTier tier = CodeTier::baseline;
  std::vector<int> kernels, controls;
  double work = 0;
};

constexpr double kUnitWork = 1500;  // of emission and code generation, about ten times what an object file costs in itself

/// Depends on the program only, so that another process finds the same units in the cache.
std::vector<Unit> cut(const KernelProgram& p, const std::vector<Schedule>& schedules, const CodeTiers& tiers) {
  std::vector<Unit> units;
  const std::vector<char> called = called_kernels(p);
  const auto add = [&](std::vector<int> Unit::* list, int number, CodeTier tier, double work, bool with_kernels) {
    auto open =
        std::find_if(units.rbegin(), units.rend(), [&](const Unit& u) { return u.tier == tier && u.controls.empty() == with_kernels; });
    if (open == units.rend() || open->work + work > kUnitWork) {
      units.push_back({tier, {}, {}, 0});
      open = units.rbegin();
    }
    ((*open).*list).push_back(number);
    open->work += work;
  };
  for (std::size_t i = 0; i < p.kernels.size(); ++i)
    if (called[i] && tiers.kernels[i])
      add(&Unit::kernels, static_cast<int>(i), *tiers.kernels[i], emission_work(p.kernels[i], schedules[i]), true);
  for (std::size_t i = 0; i < p.controls.size(); ++i)
    if (tiers.controls[i]) add(&Unit::controls, static_cast<int>(i), *tiers.controls[i], emission_work(p.controls[i], p, schedules), false);
  // The largest units come first, so that threads finish at about the same time.
  std::stable_sort(units.begin(), units.end(), [](const Unit& a, const Unit& b) { return a.work > b.work; });
  return units;
}

// Each object file has a name space of its own.
std::string kernel_symbol(std::size_t i) { return "kernel" + std::to_string(i); }
std::string control_symbol(std::size_t i) { return "control" + std::to_string(i); }

const Step& control_step(const KernelProgram& p, int number) {
  return *std::find_if(p.steps.begin(), p.steps.end(), [&](const Step& s) { return s.kind == Step::Kind::control && s.number == number; });
}

/// The schedules for code of each tier.
struct Schedules {
  const std::vector<Schedule>& optimized;
  std::vector<Schedule> baseline;
  const std::vector<Schedule>& of(CodeTier q) const { return q == CodeTier::optimized ? optimized : baseline; }
};

/// Baseline code, which is also interpreted, has few instructions.
VectorFeatures features_for(CodeTier tier) {
  VectorFeatures f = processor().vectors;
  if (tier == CodeTier::baseline) f.division = {};
  return f;
}

/// The unit's object file, from the cache where it is there. Units of kernels are known by what they are made of; those of control steps by
/// LLVM's intermediate code, which says all that the code depends on but for the processor and how code is generated for it.
/// `tables`: of the program's control steps; those of the unit are filled in. nothing: it is not in the cache, and not to be `made`.
std::optional<std::string> object_of(const Unit& u, const KernelProgram& p, const Schedules& all, bool made,
                                     std::vector<std::vector<FixedPointer>>& tables) {
  const std::vector<Schedule>& schedules = all.of(u.tier);
  ContextOwner context;
  ModuleOwner module;
  const auto emit = [&] {
    module = new_module(context, "weft", u.tier);
    const VectorFeatures features = features_for(u.tier);
    for (std::size_t i = 0; i < u.kernels.size(); ++i)
      emit_kernel(*module, p.kernels[static_cast<std::size_t>(u.kernels[i])], schedules[static_cast<std::size_t>(u.kernels[i])], features,
                  kernel_symbol(i));
    for (std::size_t i = 0; i < u.controls.size(); ++i)
      tables[static_cast<std::size_t>(u.controls[i])] =
          emit_control(*module, p, schedules, p, control_step(p, u.controls[i]), features, control_symbol(i));
  };
  const auto make = [&] {
    if (!module) emit();
    verify(*module);
    return generate(*module, u.tier);
  };
  CodeCache& cache = CodeCache::of_process();
  if (!cache.enabled()) return made ? std::optional(make()) : std::nullopt;
  const auto find = [&](std::initializer_list<std::string_view> words) {
    return made ? std::optional(cache.get(words, make)) : cache.find(words);
  };
  const Processor& host = processor();
  const std::string_view tier = u.tier == CodeTier::optimized ? "optimized" : "baseline";
  if (u.controls.empty() && !build_id().empty()) {
    std::vector<std::int64_t> plan;
    for (const int k : u.kernels) {
      const std::vector<std::int64_t> one = code_signature(p.kernels[static_cast<std::size_t>(k)], schedules[static_cast<std::size_t>(k)]);
      plan.push_back(static_cast<std::int64_t>(one.size()));
      plan.insert(plan.end(), one.begin(), one.end());
    }
    return find({build_id(), LLVM_VERSION_STRING, host.triple, host.cpu, host.features, tier,
                 std::string_view(reinterpret_cast<const char*>(plan.data()), plan.size() * sizeof plan[0])});
  }
  emit();
  llvm::SmallVector<char, 0> bitcode;
  llvm::raw_svector_ostream os(bitcode);
  llvm::WriteBitcodeToFile(*module, os);
  return find(
      {kGenerator, LLVM_VERSION_STRING, host.triple, host.cpu, host.features, tier, std::string_view(bitcode.data(), bitcode.size())});
}

/// Whether all of the unit's kernels can be run without machine code; then they are in `code`.
bool interpret(const Unit& u, const KernelProgram& p, const std::vector<Schedule>& schedules, NativeCode& code) {
  ContextOwner context;
  const auto module = new_module(context, "weft", CodeTier::baseline);
  const VectorFeatures features = features_for(CodeTier::baseline);
  std::vector<std::unique_ptr<InterpretedCode>> made;
  for (std::size_t i = 0; i < u.kernels.size(); ++i) {
    const auto k = static_cast<std::size_t>(u.kernels[i]);
    emit_kernel(*module, p.kernels[k], schedules[k], features, kernel_symbol(i));
    verify(*module);
    made.push_back(InterpretedCode::of(*module->getFunction(kernel_symbol(i))));
    if (!made.back()) return false;
  }
  for (std::size_t i = 0; i < u.kernels.size(); ++i) code.interpreted[static_cast<std::size_t>(u.kernels[i])] = std::move(made[i]);
  return true;
}

/// Code with name spaces of its own.
class LinkedCode final : public NativeCode {
 public:
  LinkedCode(std::size_t units, std::size_t num_kernels, std::size_t num_controls) : loaded_(units), libraries_(units) {
    functions.resize(num_kernels), interpreted.resize(num_kernels), controls.resize(num_controls);
  }
  ~LinkedCode() override {
    for (llvm::orc::JITDylib* l : libraries_)
      if (l) llvm::consumeError(jit().getExecutionSession().removeJITDylib(*l));
  }
  /// Takes the functions of an object file. For different units from several threads at once.
  void link(std::size_t unit, const ObjectCode& object) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < object.kernels.size(); ++i) names.push_back(kernel_symbol(i));
    for (std::size_t i = 0; i < object.controls.size(); ++i) names.push_back(control_symbol(i));
    std::vector<void*> addresses;
    loaded_[unit] = LoadedObject::of(object.file, library_address);
    if (!loaded_[unit]) addresses = link_by_llvm(unit, object.file, names);
    for (std::size_t i = addresses.size(); i < names.size(); ++i) addresses.push_back(loaded_[unit]->find(names[i]));
    if (std::find(addresses.begin(), addresses.end(), nullptr) != addresses.end())
      throw CompileError("cpu: internal error: an object file lacks a function");
    std::size_t next = 0;
    for (const int k : object.kernels) functions[static_cast<std::size_t>(k)] = reinterpret_cast<KernelFunction>(addresses[next++]);
    for (const int c : object.controls)
      controls[static_cast<std::size_t>(c)].function = reinterpret_cast<ControlFunction>(addresses[next++]);
  }

 private:
  std::vector<void*> link_by_llvm(std::size_t unit, const std::string& object, const std::vector<std::string>& names) {
    static std::atomic<std::uint64_t> counter{0};
    llvm::orc::LLJIT& j = jit();
    llvm::orc::ExecutionSession& session = j.getExecutionSession();
    llvm::orc::JITDylib& library = session.createBareJITDylib("weft" + std::to_string(counter++));
    libraries_[unit] = &library;
    library.addToLinkOrder(j.getMainJITDylib());
    library.addToLinkOrder(*j.getProcessSymbolsJITDylib());
    llvm::SmallVector<char, 0> bytes(object.begin(), object.end());
    check(j.addObjectFile(library, std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(bytes), "weft", false)), "cannot link");
    llvm::orc::SymbolLookupSet wanted;
    for (const std::string& n : names) wanted.add(j.mangleAndIntern(n));
    llvm::Expected<llvm::orc::SymbolMap> linked = session.lookup(llvm::orc::makeJITDylibSearchOrder(&library), wanted);
    if (!linked) {
      const std::string why = linker_reports().take();
      if (why.find(std::strerror(ENOMEM)) != std::string::npos) {
        llvm::consumeError(linked.takeError());
        throw MemoryError("cpu: there is not enough memory for the code of a kernel");
      }
      throw CompileError("cpu: cannot link: " + llvm::toString(linked.takeError()) + (why.empty() ? "" : ": " + why));
    }
    const llvm::orc::SymbolMap& found = *linked;
    std::vector<void*> addresses;
    for (const std::string& n : names) addresses.push_back(found.lookup(j.mangleAndIntern(n)).getAddress().toPtr<void*>());
    return addresses;
  }

  std::vector<std::unique_ptr<LoadedObject>> loaded_;
  std::vector<llvm::orc::JITDylib*> libraries_;
};

}  // namespace

int native_vector_bytes() { return processor().vectors.vector_bytes; }

std::unique_ptr<NativeCode> compile_program(const KernelProgram& p, const std::vector<Schedule>& schedules, const CodeTiers& tiers,
                                            const std::function<void*(const FixedPointer&)>& resolve, const std::function<bool()>& stop) {
  std::vector<Unit> units = cut(p, schedules, tiers);
  auto code = std::make_unique<LinkedCode>(units.size(), p.kernels.size(), p.controls.size());
  code->made = tiers;
  for (const Schedule& s : schedules) code->blocks.push_back({s.num_blocks, s.grain});
  const bool keeps = CodeCache::of_process().enabled();
  code->objects.resize(units.size());
  Schedules all{schedules, {}};
  if (std::any_of(units.begin(), units.end(), [](const Unit& u) { return u.tier != CodeTier::optimized; }))
    all.baseline = baseline_schedules(p, schedules);
  std::vector<std::vector<FixedPointer>> tables(p.controls.size());
  const auto make = [&](std::int64_t number) {
    if (process_has_ended() || (stop && stop())) throw CompileError("cpu: compiling was stopped");
    Unit& u = units[static_cast<std::size_t>(number)];
    std::optional<std::string> object;
    if (u.tier != CodeTier::optimized) {
      // Optimised code from an earlier process is used at once.
      const CodeTier asked = std::exchange(u.tier, CodeTier::optimized);
      object = object_of(u, p, all, false, tables);
      if (!object) u.tier = asked;
    }
    if (u.tier == CodeTier::interpreted) {
      if (interpret(u, p, all.baseline, *code)) return;
      u.tier = CodeTier::baseline;
    }
    if (!object) object = object_of(u, p, all, true, tables);
    ObjectCode made{std::move(*object), u.kernels, u.controls, u.tier};
    code->link(static_cast<std::size_t>(number), made);
    for (const int k : u.kernels) code->made.kernels[static_cast<std::size_t>(k)] = u.tier;
    for (const int c : u.controls) code->made.controls[static_cast<std::size_t>(c)] = u.tier;
    if (keeps) code->objects[static_cast<std::size_t>(number)] = std::move(made);
  };
  try {
    parallel_for(static_cast<std::int64_t>(units.size()), make);
  } catch (...) {
    hold_if_ended();
    throw;
  }
  for (std::size_t i = 0; i < tables.size(); ++i)
    for (const FixedPointer& f : tables[i]) code->controls[i].table.push_back(resolve(f));
  std::erase_if(code->objects, [](const ObjectCode& o) { return o.file.empty(); });
  code->tables = std::move(tables);
  return code;
}

std::unique_ptr<NativeCode> compile_kernel(const Kernel& k, const Schedule& s) {
  const LibraryUse use;
  ContextOwner context;
  const auto module = new_module(context, "weft", CodeTier::optimized);
  emit_kernel(*module, k, s, processor().vectors, kernel_symbol(0));
  verify(*module);
  auto code = std::make_unique<LinkedCode>(1, 1, 0);
  code->blocks.push_back({s.num_blocks, s.grain});
  code->made.kernels.emplace_back(CodeTier::optimized);
  code->link(0, {generate(*module, CodeTier::optimized), {0}, {}, CodeTier::optimized});
  return code;
}

std::unique_ptr<NativeCode> link_program(const std::vector<Schedule>& schedules, const std::vector<ObjectCode>& objects,
                                         const std::vector<std::vector<FixedPointer>>& tables,
                                         const std::function<void*(const FixedPointer&)>& resolve) {
  auto code = std::make_unique<LinkedCode>(objects.size(), schedules.size(), tables.size());
  code->made.kernels.resize(schedules.size()), code->made.controls.resize(tables.size());
  for (const Schedule& s : schedules) code->blocks.push_back({s.num_blocks, s.grain});
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const ObjectCode& o = objects[i];
    code->link(i, o);
    for (const int k : o.kernels) code->made.kernels[static_cast<std::size_t>(k)] = o.tier;
    for (const int c : o.controls) code->made.controls[static_cast<std::size_t>(c)] = o.tier;
  }
  for (std::size_t i = 0; i < tables.size(); ++i)
    for (const FixedPointer& f : tables[i]) code->controls[i].table.push_back(resolve(f));
  return code;
}

std::string code_identity() {
  if (build_id().empty()) return {};
  std::string all;
  for (const std::string_view part :
       {std::string_view(build_id()), std::string_view(LLVM_VERSION_STRING), std::string_view(processor().triple),
        std::string_view(processor().cpu), std::string_view(processor().features)})
    all.append(std::to_string(part.size())).append(" ").append(part);
  return all;
}

std::string code_as_text(const KernelProgram& p, const std::vector<Schedule>& schedules, bool assembly) {
  const LibraryUse use;
  ContextOwner context;
  const auto module = new_module(context, "", CodeTier::optimized);
  const std::vector<char> called = called_kernels(p);
  for (std::size_t i = 0; i < p.kernels.size(); ++i)
    if (called[i]) emit_kernel(*module, p.kernels[i], schedules[i], processor().vectors, p.kernels[i].name);
  for (std::size_t i = 0; i < p.controls.size(); ++i)
    emit_control(*module, p, schedules, p, control_step(p, static_cast<int>(i)), processor().vectors, control_symbol(i));
  if (assembly) return generate(*module, CodeTier::optimized, true);
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os, nullptr);
  return os.str();
}

}  // namespace weft::detail
