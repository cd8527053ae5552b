// Maps return addresses to functions and lines: by LLVM's symbolizer for the user's program, by the dynamic linker for weft itself.
#include <dlfcn.h>
#include <link.h>
#include <llvm/DebugInfo/Symbolize/Symbolize.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <string_view>

#include "weft/core/base/process_wide.h"
#include "weft/core/errors/stack_trace.h"

namespace weft::detail {
namespace {

/// A loaded program or library.
struct Module {
  std::string path;  ///< empty: none
  std::uintptr_t bias = 0;
  bool is_program = false;
};

struct Search {
  std::uintptr_t address;
  Module found;
  int index = 0;
};

int look_into(dl_phdr_info* info, std::size_t, void* data) {
  auto& s = *static_cast<Search*>(data);
  const bool first = s.index++ == 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& h = info->dlpi_phdr[i];
    const std::uintptr_t begin = info->dlpi_addr + h.p_vaddr;
    if (h.p_type != PT_LOAD || s.address < begin || s.address >= begin + h.p_memsz) continue;
    s.found = {first ? "/proc/self/exe" : info->dlpi_name, info->dlpi_addr, first};
    return 1;
  }
  return 0;
}
Module module_of(std::uintptr_t address) {
  Search s{address, {}};
  dl_iterate_phdr(look_into, &s);
  return s.found;
}

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// Whether the symbol's outermost name is this one, as the Itanium C++ ABI writes it.
bool is_within(std::string_view symbol, std::string_view outermost) {
  if (!symbol.starts_with("_Z")) return false;
  symbol.remove_prefix(2);
  while (symbol.starts_with("Z")) symbol.remove_prefix(1);  // an entity within a function
  if (symbol.starts_with("N")) symbol.remove_prefix(1);
  while (!symbol.empty() && std::string_view("KVRO").find(symbol[0]) != std::string_view::npos) symbol.remove_prefix(1);
  return symbol.starts_with(outermost);
}
bool is_standard(std::string_view symbol) {
  return is_within(symbol, "St") || is_within(symbol, "Sa") || is_within(symbol, "Ss") || is_within(symbol, "9__gnu_cxx") ||
         is_within(symbol, "10__cxxabiv1") || symbol == "_start" || symbol.starts_with("__libc_start") || symbol == "clone3";
}
bool is_standard_library(std::string_view file) {
  for (const std::string_view name : {"libc.so", "libstdc++.so", "libc++.so", "libpthread.so", "libgcc_s.so", "ld-linux"})
    if (file.starts_with(name)) return true;
  return false;
}

class Symbols {
 public:
  const std::vector<CodeFrame>& at(void* address) {
    const auto known = known_.find(address);
    return known != known_.end() ? known->second : known_.emplace(address, look_up(address)).first->second;
  }

 private:
  using Specifier = llvm::DILineInfoSpecifier;
  static llvm::symbolize::LLVMSymbolizer::Options options() {
    llvm::symbolize::LLVMSymbolizer::Options o;
    o.Demangle = false;
    o.PrintFunctions = Specifier::FunctionNameKind::LinkageName;
    o.PathStyle = Specifier::FileLineInfoKind::RelativeFilePath;
    return o;
  }

  std::vector<CodeFrame> look_up(void* address) {
    static const Module& own = process_wide<Module>(module_of(reinterpret_cast<std::uintptr_t>(&code_frames)));
    const std::uintptr_t call = reinterpret_cast<std::uintptr_t>(address) - 1;  // within the instruction that calls
    const Module m = module_of(call);
    if (m.path.empty()) return {};  // code that was made at run time, or a library that was closed
    CodeFrame frame;
    frame.object = m.is_program ? program_name() : file_name(m.path);
    const bool in_weft = m.bias == own.bias && !m.is_program;
    if (in_weft || is_standard_library(frame.object)) {
      Dl_info info{};
      if (dladdr(reinterpret_cast<void*>(call), &info) && info.dli_sname) frame.symbol = info.dli_sname;
      frame.of_library = in_weft;
      frame.of_standard = !in_weft;
      return {frame};
    }
    llvm::Expected<llvm::DIInliningInfo> info =
        symbolizer_.symbolizeInlinedCode(m.path, {call - m.bias, llvm::object::SectionedAddress::UndefSection});
    if (!info) {
      llvm::consumeError(info.takeError());
      return {};
    }
    std::vector<CodeFrame> out;
    for (std::uint32_t i = 0; i < info->getNumberOfFrames(); ++i) {
      const llvm::DILineInfo& line = info->getFrame(i);
      CodeFrame f = frame;
      if (line.FunctionName != llvm::DILineInfo::BadString) f.symbol = line.FunctionName;
      if (line.FileName != llvm::DILineInfo::BadString) f.file = line.FileName, f.line = static_cast<int>(line.Line);
      f.of_library = is_within(f.symbol, "4weft");
      f.of_standard = is_standard(f.symbol);
      out.push_back(std::move(f));
    }
    return out;
  }

  static std::string program_name() { return program_invocation_short_name; }

  llvm::symbolize::LLVMSymbolizer symbolizer_{options()};
  std::map<void*, std::vector<CodeFrame>> known_;
};

}  // namespace

std::vector<CodeFrame> code_frames(std::span<void* const> addresses) {
  static std::mutex* const mutex = new std::mutex;  // never destroyed: errors are read until the very end
  static Symbols* const symbols = new Symbols;
  const std::lock_guard lock(*mutex);
  std::vector<CodeFrame> out;
  for (void* a : addresses) {
    const std::vector<CodeFrame>& frames = symbols->at(a);
    out.insert(out.end(), frames.begin(), frames.end());
  }
  return out;
}

}  // namespace weft::detail
