// Compiled code in files: found again, never trusted blindly, bounded, and safe to share.
#include "backends/cpu/code_cache.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "tests/folder.h"

using weft::detail::CodeCache;
namespace fs = std::filesystem;

namespace {

struct Folder : weft::test::Folder {
  std::vector<fs::path> files() const {
    std::vector<fs::path> all;
    for (const auto& e : fs::directory_iterator(path)) all.push_back(e.path());
    return all;
  }
  std::int64_t bytes() const {
    std::int64_t sum = 0;
    for (const fs::path& p : files()) sum += static_cast<std::int64_t>(fs::file_size(p));
    return sum;
  }
};
std::string read(const fs::path& p) {
  std::ifstream in(p, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void write(const fs::path& p, const std::string& s) { std::ofstream(p, std::ios::binary) << s; }

constexpr std::int64_t kMuch = 1 << 20;

/// What a cache gives for the words, and whether it had to be made.
struct Got {
  std::string code;
  bool made = false;
};
Got get(CodeCache& c, std::string_view words, const std::string& code) {
  Got g;
  g.code = c.get({words, "v1"}, [&] {
    g.made = true;
    return code;
  });
  return g;
}

}  // namespace

TEST_CASE("code cache: an entry is found again, by another cache over the folder too") {
  const Folder folder;
  const std::string code("\0code\n\xff", 7);
  CodeCache first(folder.path, kMuch), second(folder.path, kMuch);
  CHECK(get(first, "a", code).made);
  CHECK_FALSE(get(first, "a", "other").made);
  const Got again = get(second, "a", "other");
  CHECK_FALSE(again.made);
  CHECK(again.code == code);
  CHECK(get(second, "b", "other").made);
  CHECK(second.hits() == 1);
  // Where words end matters.
  CHECK(second.get({"av", "1"}, [] { return std::string("new"); }) == "new");
  CHECK(folder.files().size() == 3);
}

TEST_CASE("code cache: looking for an entry makes none") {
  const Folder folder;
  CodeCache c(folder.path, kMuch);
  CHECK_FALSE(c.find({"a", "v1"}).has_value());
  CHECK(folder.files().empty());
  get(c, "a", "code");
  CHECK(c.find({"a", "v1"}) == "code");
  CHECK(c.hits() == 1);
  CHECK_FALSE(c.find({"av", "1"}).has_value());
  write(folder.files()[0], "damaged");
  CHECK_FALSE(c.find({"a", "v1"}).has_value());
  CHECK(c.hits() == 1);
  CHECK_FALSE(CodeCache("", kMuch).find({"a", "v1"}).has_value());
}

TEST_CASE("code cache: damaged entries are made anew and replaced") {
  const Folder folder;
  CodeCache c(folder.path, kMuch);
  const std::string code(1000, 'x');
  get(c, "a", code);
  const fs::path file = folder.files()[0];
  const std::string whole = read(file);
  for (std::size_t at = 0; at < whole.size(); at += 37) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    write(file, changed);
    CAPTURE(at);
    const Got g = get(c, "a", code);
    CHECK(g.made);
    CHECK(g.code == code);
    CHECK(read(file) == whole);
  }
  for (std::size_t length : {std::size_t{0}, std::size_t{5}, std::size_t{80}, whole.size() - 1}) {
    write(file, whole.substr(0, length));
    CHECK(get(c, "a", code).made);
    CHECK(read(file) == whole);
  }
  write(file, whole + "more");
  CHECK(get(c, "a", code).made);
  // Another entry's file under this name.
  get(c, "b", "b's code");
  for (const fs::path& other : folder.files())
    if (other != file) write(file, read(other));
  CHECK(get(c, "a", code).code == code);
}

TEST_CASE("code cache: writers and readers at once see whole entries") {
  const Folder folder;
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      CodeCache c(folder.path, kMuch);
      for (int i = 0; i < 100; ++i) {
        const std::string code(static_cast<std::size_t>(1000 + i % 7), static_cast<char>('a' + i % 7));
        if (get(c, "k" + std::to_string(i % 7), code).code != code) ++wrong;
      }
    });
  for (std::thread& t : threads) t.join();
  CHECK(wrong == 0);
  CHECK(folder.files().size() == 7);
}

TEST_CASE("code cache: its size is bounded, and what was used last stays") {
  const Folder folder;
  CodeCache c(folder.path, 20000);
  for (int i = 0; i < 100; ++i) get(c, "k" + std::to_string(i), std::string(900, 'x'));
  CHECK(folder.bytes() <= 22000);
  CHECK_FALSE(get(c, "k99", "").made);
  CHECK(get(c, "k0", "new").made);
  get(c, "large", std::string(30000, 'x'));
  CHECK(get(c, "large", "again").made);
}

TEST_CASE("code cache: where it can't or mustn't be used, code is made") {
  CodeCache none("", kMuch), impossible("/proc/weft", kMuch);
  CHECK_FALSE(none.enabled());
  CHECK_FALSE(impossible.enabled());
  CHECK(get(none, "a", "code").code == "code");
  CHECK(get(impossible, "a", "code").code == "code");
  const Folder open_to_all;
  chmod(open_to_all.path.c_str(), 0777);
  CHECK_FALSE(CodeCache(open_to_all.path, kMuch).enabled());
  // A file that others could have written.
  const Folder folder;
  CodeCache c(folder.path, kMuch);
  get(c, "a", "code");
  chmod(folder.files()[0].c_str(), 0666);
  CHECK(get(c, "a", "code").made);
}
