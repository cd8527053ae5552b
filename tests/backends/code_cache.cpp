// Compiled code in files: found again, never trusted blindly, bounded, and safe to share.
#include "weft/backends/common/code_cache.h"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <thread>
#include <vector>

#include "tests/folder.h"

using weft::detail::CodeCache;
namespace fs = std::filesystem;

namespace {

struct Folder : weft::test::Folder {
  std::string own() const { return path + "/weft-code"; }
  /// The entries.
  std::vector<fs::path> files() const {
    std::vector<fs::path> all;
    for (const auto& e : fs::directory_iterator(own()))
      if (e.path().filename() != "CACHEDIR.TAG") all.push_back(e.path());
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
  // Another's code and its hash behind this one's key.
  for (const fs::path& other : folder.files())
    if (other != file) write(file, whole.substr(0, 44) + read(other).substr(44));
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

TEST_CASE("code cache: files of others are never removed, wherever the cache is put") {
  const Folder folder;
  const std::string measurements(200000, 'x'), name(64, 'a');
  write(folder.path + "/thesis.tex", "my thesis"), write(folder.path + "/" + name, measurements);
  CodeCache first(folder.path, 20000);
  get(first, "a", "code");
  // Also not in its own folder.
  write(folder.own() + "/notes.new", measurements), write(folder.own() + "/" + name, measurements);
  fs::create_directory(folder.own() + "/" + std::string(64, 'b'));
  fs::create_symlink(folder.path + "/thesis.tex", folder.own() + "/" + std::string(64, 'c'));
  for (const char* theirs : {"/thesis.tex", "/weft-code/notes.new"})
    fs::last_write_time(folder.path + theirs, fs::file_time_type::clock::now() - std::chrono::hours(1000));
  CodeCache second(folder.path, 20000);
  for (int i = 0; i < 100; ++i) get(second, "k" + std::to_string(i), std::string(900, 'x'));
  CHECK(read(folder.path + "/thesis.tex") == "my thesis");
  CHECK(read(folder.path + "/" + name) == measurements);
  CHECK(read(folder.own() + "/notes.new") == measurements);
  CHECK(read(folder.own() + "/" + name) == measurements);
  CHECK(fs::is_symlink(folder.own() + "/" + std::string(64, 'c')));
  CHECK(folder.files().size() < 40);
}

TEST_CASE("code cache: a folder of its name that it didn't make is left alone") {
  const Folder folder;
  fs::create_directory(folder.own());
  chmod(folder.own().c_str(), 0700);
  write(folder.own() + "/source.cpp", "code of another kind");
  CodeCache c(folder.path, kMuch);
  CHECK_FALSE(c.enabled());
  CHECK(get(c, "a", "code").made);
  CHECK(folder.files().size() == 1);
  CHECK_FALSE(fs::exists(folder.own() + "/CACHEDIR.TAG"));
  // An empty one is as good as its own, and so is one whose tag is lost.
  fs::remove(folder.own() + "/source.cpp");
  CodeCache again(folder.path, kMuch);
  CHECK(again.enabled());
  CHECK(read(folder.own() + "/CACHEDIR.TAG").starts_with("Signature: 8a477f597d28d172789f06886806bc55"));
  get(again, "a", "code");
  fs::remove(folder.own() + "/CACHEDIR.TAG");
  CodeCache third(folder.path, kMuch);
  CHECK_FALSE(get(third, "a", "code").made);
  CHECK(fs::exists(folder.own() + "/CACHEDIR.TAG"));
}

TEST_CASE("code cache: what is not a file in an entry's place doesn't hang or vanish") {
  const Folder folder;
  CodeCache c(folder.path, kMuch);
  get(c, "a", "code");
  const fs::path file = folder.files()[0];
  const auto replaced_by = [&](const std::function<void()>& make) {
    fs::remove(file);
    make();
    CHECK(get(c, "a", "code").made);
    CHECK(get(c, "a", "code").made);
    CodeCache other(folder.path, 4000);
    for (int i = 0; i < 10; ++i) get(other, "k" + std::to_string(i), std::string(900, 'x'));
    CHECK(fs::exists(fs::symlink_status(file)));
    CHECK_FALSE(fs::is_regular_file(fs::symlink_status(file)));
  };
  replaced_by([&] { REQUIRE(mkfifo(file.c_str(), 0600) == 0); });
  replaced_by([&] { fs::create_directory(file); });
  fs::remove(file);
  CHECK(get(c, "a", "code").made);
  CHECK_FALSE(get(c, "a", "code").made);
}

TEST_CASE("code cache: what a process left that died is removed, and entries of other versions go like its own") {
  const Folder folder;
  {
    CodeCache make(folder.path, kMuch);
  }
  const fs::path dead = folder.own() + "/.weft-12345-0-ff.new", later = folder.own() + "/" + std::string(64, 'd');
  write(dead, "half an entry"), write(later, "weft code 99\n" + std::string(5000, 'x'));
  fs::last_write_time(later, fs::file_time_type::clock::now() - std::chrono::hours(1));
  CodeCache c(folder.path, 4000);
  get(c, "a", std::string(900, 'x'));
  CHECK_FALSE(fs::exists(dead));
  CHECK_FALSE(fs::exists(later));
  CHECK_FALSE(get(c, "a", "").made);
}

TEST_CASE("code cache: processes that share it, and remove while others read") {
  const Folder folder;
  std::vector<pid_t> children;
  for (int p = 0; p < 3; ++p) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    int wrong = 0;
    CodeCache c(folder.path, 8000);
    for (int i = 0; i < 300; ++i) {
      const std::string code(static_cast<std::size_t>(900 + i % 11), static_cast<char>('a' + i % 11));
      wrong += get(c, "k" + std::to_string(i % 11), code).code != code;
    }
    _exit(wrong != 0);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  for (const fs::path& p : folder.files()) CHECK(p.filename().string().size() == 64);
  CHECK(folder.bytes() <= 12000);
}

TEST_CASE("code cache: a full disk leaves nothing behind") {
  const Folder folder;
  CodeCache c(folder.path, kMuch);
  get(c, "a", "code");
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit full{200, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &full);
  CHECK(get(c, "b", std::string(5000, 'x')).made);
  setrlimit(RLIMIT_FSIZE, &before);
  CHECK(folder.files().size() == 1);
  CHECK(get(c, "b", "code").made);
  CHECK_FALSE(get(c, "b", "code").made);
}
