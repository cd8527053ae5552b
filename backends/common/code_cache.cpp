#include "weft/backends/common/code_cache.h"

#include <fcntl.h>
#include <llvm/Support/BLAKE3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>
#include <vector>

#include "weft/core/base/environment.h"
#include "weft/core/base/own_folder.h"

namespace weft::detail {
namespace {

constexpr std::string_view kMagic = "weft code 2\n";
constexpr std::size_t kHash = 32;
constexpr std::size_t kHeader = kMagic.size() + 2 * kHash + sizeof(std::uint64_t);

std::string hash_of(std::initializer_list<std::string_view> words) {
  llvm::BLAKE3 h;
  for (std::string_view w : words) {
    const std::uint64_t size = w.size();
    h.update(llvm::ArrayRef<std::uint8_t>(reinterpret_cast<const std::uint8_t*>(&size), sizeof size));
    h.update(llvm::ArrayRef<std::uint8_t>(reinterpret_cast<const std::uint8_t*>(w.data()), w.size()));
  }
  const auto bytes = h.final<kHash>();
  return {bytes.begin(), bytes.end()};
}
std::string hexadecimal(std::string_view bytes) {
  std::string text;
  for (char c : bytes)
    for (int shift : {4, 0}) text += "0123456789abcdef"[static_cast<unsigned char>(c) >> shift & 15];
  return text;
}

/// Whether only this user can have written it.
bool is_own(const struct stat& s) { return s.st_uid == geteuid() && (s.st_mode & (S_IWGRP | S_IWOTH)) == 0; }

bool is_entry_name(std::string_view name) {
  return name.size() == 2 * kHash && name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}
constexpr OwnKind kOwn{"CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n# weft code", is_entry_name, "weft code "};
constexpr std::string_view kTag =
    "Signature: 8a477f597d28d172789f06886806bc55\n# weft code: this folder is a cache of compiled code, made by weft. It may be removed "
    "at any time.\n# https://bford.info/cachedir/\n";

}  // namespace

std::string CodeCache::wanted_folder() {
  if (!is_switched_on("WEFT_CACHE", true)) return {};
  if (const std::string_view folder = word_in_environment("WEFT_CACHE_DIR"); !folder.empty()) return std::string(folder);
  if (const char* base = std::getenv("XDG_CACHE_HOME"); base && *base) return std::string(base) + "/weft";
  if (const char* home = std::getenv("HOME"); home && *home) return std::string(home) + "/.cache/weft";
  return {};
}

CodeCache::CodeCache(std::string folder, std::int64_t limit) : limit_(limit) {
  if (folder.empty()) return;
  try {
    const std::string own = folder + "/weft-code";
    make_folders(own, {}, "cache", 0700);
    for (const std::string& f : {folder, own}) {
      struct stat s{};
      if (stat(f.c_str(), &s) != 0 || !is_own(s)) return;
    }
    if (OwnFolder::mark(own, kOwn, kTag, {Sync::file})) folder_ = own;
  } catch (const std::exception&) {  // it can't be made
  }
}

CodeCache& CodeCache::of_process() {
  static auto& cache = *[] {
    const std::int64_t megabytes = integer_in_environment("WEFT_CACHE_MB").value_or(256);
    return new CodeCache(wanted_folder(), megabytes << 20);  // never destroyed
  }();
  return cache;
}

std::string CodeCache::get(std::initializer_list<std::string_view> words, FunctionRef<std::string()> make) {
  if (!enabled()) return make();
  const std::string key = hash_of(words), path = folder_ + "/" + hexadecimal(key);
  if (std::optional<std::string> code = load(path, key)) {
    ++hits_;
    return std::move(*code);
  }
  std::string code = make();
  store(path, key, code);
  return code;
}

void CodeCache::put(std::initializer_list<std::string_view> words, std::string_view code) {
  if (!enabled()) return;
  const std::string key = hash_of(words);
  store(folder_ + "/" + hexadecimal(key), key, code);
}

std::optional<std::string> CodeCache::find(std::initializer_list<std::string_view> words) {
  if (!enabled()) return {};
  const std::string key = hash_of(words);
  std::optional<std::string> code = load(folder_ + "/" + hexadecimal(key), key);
  hits_ += code.has_value();
  return code;
}

std::optional<std::string> CodeCache::load(const std::string& path, std::string_view key) const try {
  const Descriptor file = open_regular(path, Links::refuse);
  struct stat s{};
  if (!file || fstat(file.get(), &s) != 0 || !is_own(s) || s.st_size < static_cast<off_t>(kHeader)) return {};
  std::array<char, kHeader> header;
  if (read_at(file, header.data(), kHeader, 0) != static_cast<ssize_t>(kHeader)) return {};
  const std::string_view all(header.data(), kHeader);
  std::uint64_t size = 0;
  std::memcpy(&size, header.data() + kMagic.size() + 2 * kHash, sizeof size);
  if (all.substr(0, kMagic.size()) != kMagic || all.substr(kMagic.size(), kHash) != key ||
      size != static_cast<std::size_t>(s.st_size) - kHeader)
    return {};
  std::string code(size, '\0');
  if (read_at(file, code.data(), size, kHeader) != static_cast<ssize_t>(size) ||
      hash_of({key, code}) != all.substr(kMagic.size() + kHash, kHash))
    return {};
  futimens(file.get(), nullptr);  // used now
  return code;
} catch (const std::exception&) {  // no memory for it
  return {};
}

void CodeCache::store(const std::string& path, std::string_view key, std::string_view code) try {
  const auto bytes = static_cast<std::int64_t>(kHeader + code.size());
  if (bytes > limit_) return;
  const std::uint64_t size = code.size();
  std::string header(kMagic);
  header.append(key).append(hash_of({key, code})).append(reinterpret_cast<const char*>(&size), sizeof size);
  // The file contains a hash of its key and its code, by which readers detect incomplete data and another entry's, so it is not synced.
  write_file(path, {header, code}, {}, "cache", {Sync::none, Target::regular, Attributes::fresh, 0600});
  // The cache's size is measured at the first entry, and again whenever enough has been written to matter.
  const std::int64_t before = written_.load();
  if (before < 0 || before + bytes > limit_ / 16) {
    written_ = 0;
    remove_old();
  } else {
    written_ += bytes;
  }
} catch (const std::exception&) {  // a full disk, no memory: it is made again when it is needed again
}

void CodeCache::remove_old() {
  struct Entry {
    std::pair<std::time_t, long> used;
    std::int64_t bytes;
    std::string name;
  };
  const std::optional<OwnFolder> own = OwnFolder::open(folder_, kOwn);
  const auto names = own ? names_in(own->descriptor()) : std::nullopt;
  if (!names) return;
  std::vector<Entry> entries;
  std::int64_t total = 0;
  for (const std::string& name : *names) {
    if (own->remove_abandoned(name)) continue;
    struct stat s{};  // another process may have removed it meanwhile
    if (!is_entry_name(name) || fstatat(own->descriptor().get(), name.c_str(), &s, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(s.st_mode))
      continue;
    entries.push_back({{s.st_mtim.tv_sec, s.st_mtim.tv_nsec}, s.st_size, name});
    total += s.st_size;
  }
  if (total <= limit_) return;
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& e : entries) {
    if (total <= limit_ / 4 * 3) break;
    if (own->remove(e.name)) total -= e.bytes;
  }
}

CodeCache::Contents CodeCache::contents() const {
  Contents c{folder_, 0, 0, limit_};
  const std::optional<OwnFolder> own = enabled() ? OwnFolder::open(folder_, kOwn) : std::nullopt;
  const auto names = own ? names_in(own->descriptor()) : std::nullopt;
  if (!names) return c;
  for (const std::string& name : *names) {
    struct stat s{};
    if (!is_entry_name(name) || fstatat(own->descriptor().get(), name.c_str(), &s, AT_SYMLINK_NOFOLLOW) != 0) continue;
    ++c.entries;
    c.bytes += s.st_size;
  }
  return c;
}

}  // namespace weft::detail
