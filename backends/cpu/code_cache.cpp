#include "backends/cpu/code_cache.h"

#include <fcntl.h>
#include <llvm/Support/BLAKE3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

namespace weft::detail {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "weft code 1\n";
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

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  explicit operator bool() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  bool read_all(char* to, std::size_t n) const {
    while (n > 0) {
      const ssize_t got = read(descriptor_, to, n);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      to += got, n -= static_cast<std::size_t>(got);
    }
    return true;
  }
  bool write_all(std::string_view s) const {
    while (!s.empty()) {
      const ssize_t put = write(descriptor_, s.data(), s.size());
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) return false;
      s.remove_prefix(static_cast<std::size_t>(put));
    }
    return true;
  }

 private:
  int descriptor_;
};

std::string folder_of_environment() {
  if (const char* on = std::getenv("WEFT_CACHE"); on && (!std::strcmp(on, "0") || !std::strcmp(on, "off"))) return {};
  if (const char* folder = std::getenv("WEFT_CACHE_DIR")) return folder;
  if (const char* base = std::getenv("XDG_CACHE_HOME"); base && *base) return std::string(base) + "/weft";
  if (const char* home = std::getenv("HOME"); home && *home) return std::string(home) + "/.cache/weft";
  return {};
}

}  // namespace

CodeCache::CodeCache(std::string folder, std::int64_t limit) : folder_(std::move(folder)), limit_(limit) {
  if (folder_.empty()) return;
  std::error_code error;
  fs::create_directories(fs::path(folder_).parent_path(), error);
  mkdir(folder_.c_str(), 0700);
  struct stat s{};
  if (stat(folder_.c_str(), &s) != 0 || !S_ISDIR(s.st_mode) || !is_own(s)) folder_.clear();
}

CodeCache& CodeCache::of_process() {
  static CodeCache cache = [] {
    std::int64_t megabytes = 256;
    if (const char* text = std::getenv("WEFT_CACHE_MB")) megabytes = std::max(0LL, std::atoll(text));
    return CodeCache(folder_of_environment(), megabytes << 20);
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

std::optional<std::string> CodeCache::load(const std::string& path, std::string_view key) const {
  const File file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat s{};
  if (!file || fstat(file.descriptor(), &s) != 0 || !S_ISREG(s.st_mode) || !is_own(s)) return {};
  std::array<char, kHeader> header;
  if (static_cast<std::size_t>(s.st_size) < kHeader || !file.read_all(header.data(), kHeader)) return {};
  const std::string_view all(header.data(), kHeader);
  std::uint64_t size = 0;
  std::memcpy(&size, header.data() + kMagic.size() + 2 * kHash, sizeof size);
  if (all.substr(0, kMagic.size()) != kMagic || all.substr(kMagic.size(), kHash) != key ||
      size != static_cast<std::size_t>(s.st_size) - kHeader)
    return {};
  std::string code(size, '\0');
  if (!file.read_all(code.data(), size) || hash_of({code}) != all.substr(kMagic.size() + kHash, kHash)) return {};
  futimens(file.descriptor(), nullptr);  // used now
  return code;
}

void CodeCache::store(const std::string& path, std::string_view key, std::string_view code) {
  static std::atomic<std::uint64_t> counter{0};
  const auto bytes = static_cast<std::int64_t>(kHeader + code.size());
  if (bytes > limit_) return;
  const std::string aside = path + "." + std::to_string(getpid()) + "." + std::to_string(counter++) + ".new";
  const std::uint64_t size = code.size();
  std::string header(kMagic);
  header.append(key).append(hash_of({code})).append(reinterpret_cast<const char*>(&size), sizeof size);
  bool written = false;
  {
    const File file(open(aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file) return;
    written = file.write_all(header) && file.write_all(code);
  }
  if (!written || rename(aside.c_str(), path.c_str()) != 0) {
    unlink(aside.c_str());
    return;
  }
  // Files are counted at the first entry and then each time that much has been written that it could matter.
  const std::int64_t before = written_.load();
  if (before < 0 || before + bytes > limit_ / 16) {
    written_ = 0;
    remove_old();
  } else {
    written_ += bytes;
  }
}

void CodeCache::remove_old() {
  struct Entry {
    fs::file_time_type used;
    std::int64_t bytes;
    fs::path path;
  };
  std::vector<Entry> entries;
  std::int64_t total = 0;
  std::error_code error;
  const auto now = fs::file_time_type::clock::now();
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    std::error_code gone;  // another process may remove it meanwhile
    const auto bytes = it->file_size(gone);
    if (gone) continue;
    const auto used = it->last_write_time(gone);
    if (gone) continue;
    // What a process that died left behind.
    if (it->path().extension() == ".new") {
      if (now - used > std::chrono::hours(1)) fs::remove(it->path(), gone);
      continue;
    }
    entries.push_back({used, static_cast<std::int64_t>(bytes), it->path()});
    total += entries.back().bytes;
  }
  if (total <= limit_) return;
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& e : entries) {
    if (total <= limit_ / 4 * 3) break;
    fs::remove(e.path, error);
    total -= e.bytes;
  }
}

}  // namespace weft::detail
