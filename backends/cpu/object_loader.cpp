#include "weft/backends/cpu/object_loader.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <string>

#include "weft/core/errors/error.h"

namespace weft::detail {
namespace {

/// Thrown if the file has something that the loader doesn't know.
struct Unknown {};

constexpr std::size_t kJump = 16;  // a jump to an address that follows it
constexpr std::size_t kLargest = std::size_t{1} << 30;

/// Whether it is part of the running program. Unwinders aren't told of it: no exception passes through emitted code.
bool is_loaded(const Elf64_Shdr& s) { return (s.sh_flags & SHF_ALLOC) && s.sh_type != SHT_X86_64_UNWIND; }

std::size_t round_up(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

}  // namespace

class ObjectLoader {
 public:
  ObjectLoader(std::string_view file, FunctionRef<void*(const char*)> address, LoadedObject& to)
      : file_(file), address_(address), to_(to) {}

  void load() {
    read_sections();
    read_symbols();
    lay_out();
    map();
    for (std::size_t i = 0; i < sections_.size(); ++i)
      if (sections_[i].sh_type == SHT_RELA) relocate(sections_[i]);
    if (mprotect(to_.memory_, to_.bytes_, PROT_READ | PROT_EXEC) != 0) {
      if (errno == EACCES || errno == EPERM)
        throw CompileError(
            std::string("cpu: this process may not run code that it makes (mprotect: ") + std::strerror(errno) +
            "), as under PR_SET_MDWE, systemd's MemoryDenyWriteExecute or a seccomp filter; permit it, or compile the program "
            "ahead of time (export_object)");
      throw Unknown();
    }
    for (std::size_t i = 1; i < symbols_.size(); ++i)
      if (const Elf64_Sym& s = symbols_[i]; ELF64_ST_BIND(s.st_info) == STB_GLOBAL && s.st_shndx != SHN_UNDEF)
        to_.symbols_.emplace_back(name_of(s), value_of(i));
  }

 private:
  template <class T>
  T read(std::size_t at) const {
    if (at > file_.size() || file_.size() - at < sizeof(T)) throw Unknown();
    T value;
    std::memcpy(&value, file_.data() + at, sizeof value);
    return value;
  }

  void read_sections() {
    const auto header = read<Elf64_Ehdr>(0);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_type != ET_REL || header.e_machine != EM_X86_64)
      throw Unknown();
    for (std::size_t i = 0; i < header.e_shnum; ++i) {
      sections_.push_back(read<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr)));
      const Elf64_Shdr& s = sections_.back();
      if (s.sh_size > kLargest || s.sh_addralign > 4096) throw Unknown();
      if (s.sh_type != SHT_NOBITS) contents(s);
    }
  }
  /// The contents of a section in the file. A malformed file may name a section without contents (SHT_NOBITS) as a string table.
  std::string_view contents(const Elf64_Shdr& s) const {
    if (s.sh_offset > file_.size() || file_.size() - s.sh_offset < s.sh_size) throw Unknown();
    return file_.substr(s.sh_offset, s.sh_size);
  }
  const Elf64_Shdr& section(std::size_t i) const {
    if (i >= sections_.size()) throw Unknown();
    return sections_[i];
  }

  void read_symbols() {
    for (const Elf64_Shdr& s : sections_) {
      if (s.sh_type != SHT_SYMTAB) continue;
      names_ = contents(section(s.sh_link));
      if (names_.empty() || names_.back() != '\0') throw Unknown();
      for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= s.sh_size; at += sizeof(Elf64_Sym))
        symbols_.push_back(read<Elf64_Sym>(s.sh_offset + at));
    }
  }
  const char* name_of(const Elf64_Sym& s) const {
    if (s.st_name >= names_.size()) throw Unknown();
    return names_.data() + s.st_name;
  }

  /// Sections, then for each symbol of another library a jump to it, then its address.
  void lay_out() {
    std::size_t end = 0;
    places_.assign(sections_.size(), 0);
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      const Elf64_Shdr& s = sections_[i];
      if (!is_loaded(s)) continue;
      if (s.sh_type != SHT_PROGBITS || (s.sh_flags & SHF_TLS)) throw Unknown();
      if ((s.sh_flags & SHF_WRITE) && !section_name(s).starts_with(".data.rel.ro")) throw Unknown();
      places_[i] = end = round_up(end, std::max<std::size_t>(1, s.sh_addralign));
      end += s.sh_size;
      if (end > kLargest) throw Unknown();
    }
    jumps_ = round_up(end, kJump);
    std::size_t outside = 0;
    for (std::size_t i = 1; i < symbols_.size(); ++i)
      if (symbols_[i].st_shndx == SHN_UNDEF) outside_[i] = outside++;
    addresses_ = jumps_ + outside * kJump;
    to_.bytes_ = round_up(std::max<std::size_t>(1, addresses_ + outside * sizeof(void*)), static_cast<std::size_t>(getpagesize()));
  }
  std::string_view section_name(const Elf64_Shdr& s) const {
    const std::string_view all = contents(section(read<Elf64_Ehdr>(0).e_shstrndx));
    if (s.sh_name >= all.size()) throw Unknown();
    return all.substr(s.sh_name, all.find('\0', s.sh_name) - s.sh_name);
  }

  void map() {
    void* const m = mmap(nullptr, to_.bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (m == MAP_FAILED) throw Unknown();
    to_.memory_ = m;
    for (std::size_t i = 0; i < sections_.size(); ++i)
      if (is_loaded(sections_[i])) std::memcpy(at(places_[i]), contents(sections_[i]).data(), sections_[i].sh_size);
    for (const auto& [symbol, number] : outside_) {
      void* const target = address_(name_of(symbols_[symbol]));
      if (!target) throw Unknown();
      std::memcpy(at(jumps_ + number * kJump), "\xff\x25\x00\x00\x00\x00", 6);  // jmp *(%rip)
      std::memcpy(at(jumps_ + number * kJump + 6), &target, sizeof target);
      std::memcpy(at(addresses_ + number * sizeof target), &target, sizeof target);
    }
  }
  char* at(std::size_t place) const { return static_cast<char*>(to_.memory_) + place; }

  char* value_of(std::size_t symbol) const {
    const Elf64_Sym& s = symbols_[symbol];
    if (s.st_shndx >= SHN_LORESERVE || !is_loaded(section(s.st_shndx)) || s.st_value > section(s.st_shndx).sh_size ||
        ELF64_ST_TYPE(s.st_info) == STT_GNU_IFUNC)
      throw Unknown();
    return at(places_[s.st_shndx]) + s.st_value;
  }

  void relocate(const Elf64_Shdr& table) {
    const Elf64_Shdr& into = section(table.sh_info);
    if (!is_loaded(into)) return;
    for (std::size_t k = 0; k + sizeof(Elf64_Rela) <= table.sh_size; k += sizeof(Elf64_Rela)) {
      const auto r = read<Elf64_Rela>(table.sh_offset + k);
      const std::uint32_t type = ELF64_R_TYPE(r.r_info);
      const std::size_t width = type == R_X86_64_64 || type == R_X86_64_PC64 ? 8 : 4, symbol = ELF64_R_SYM(r.r_info);
      if (symbol == 0 || symbol >= symbols_.size() || into.sh_size < width || r.r_offset > into.sh_size - width) throw Unknown();
      char* const place = at(places_[table.sh_info]) + r.r_offset;
      const auto found = outside_.find(symbol);
      const bool outside = found != outside_.end();
      std::int64_t value = 0;
      switch (type) {
        case R_X86_64_64:
        case R_X86_64_PC64:
        case R_X86_64_PC32:
          // An address of another library's that may be far from here.
          if (outside && type != R_X86_64_64) throw Unknown();
          value = outside ? read_address(found->second) : reinterpret_cast<std::int64_t>(value_of(symbol));
          break;
        case R_X86_64_PLT32: value = reinterpret_cast<std::int64_t>(outside ? at(jumps_ + found->second * kJump) : value_of(symbol)); break;
        case R_X86_64_GOTPCREL:
        case R_X86_64_GOTPCRELX:
        case R_X86_64_REX_GOTPCRELX:
          if (!outside) throw Unknown();
          value = reinterpret_cast<std::int64_t>(at(addresses_ + found->second * sizeof(void*)));
          break;
        default: throw Unknown();
      }
      // Unsigned arithmetic wraps around for damaged files.
      std::uint64_t sum = static_cast<std::uint64_t>(value) + static_cast<std::uint64_t>(r.r_addend);
      if (type != R_X86_64_64) sum -= reinterpret_cast<std::uint64_t>(place);
      value = static_cast<std::int64_t>(sum);
      if (width == 4 && (value < std::numeric_limits<std::int32_t>::min() || value > std::numeric_limits<std::int32_t>::max()))
        throw Unknown();
      std::memcpy(place, &value, width);
    }
  }
  std::int64_t read_address(std::size_t number) const {
    std::int64_t value;
    std::memcpy(&value, at(addresses_ + number * sizeof(void*)), sizeof value);
    return value;
  }

  const std::string_view file_;
  const FunctionRef<void*(const char*)> address_;
  LoadedObject& to_;
  std::vector<Elf64_Shdr> sections_;
  std::vector<Elf64_Sym> symbols_;
  std::string_view names_;
  std::vector<std::size_t> places_;             // of sections in memory
  std::map<std::size_t, std::size_t> outside_;  // symbols of other libraries: which jump and address are theirs
  std::size_t jumps_ = 0, addresses_ = 0;
};

std::unique_ptr<LoadedObject> LoadedObject::of([[maybe_unused]] std::string_view file,
                                               [[maybe_unused]] FunctionRef<void*(const char*)> address) {
#if defined(__x86_64__)
  std::unique_ptr<LoadedObject> object(new LoadedObject);
  try {
    ObjectLoader(file, address, *object).load();
  } catch (const Unknown&) {
    return nullptr;
  }
  return object;
#else
  return nullptr;
#endif
}

LoadedObject::~LoadedObject() {
  if (memory_) munmap(memory_, bytes_);
}

void* LoadedObject::find(std::string_view name) const {
  const auto found = std::find_if(symbols_.begin(), symbols_.end(), [&](const auto& s) { return s.first == name; });
  return found == symbols_.end() ? nullptr : found->second;
}

}  // namespace weft::detail
