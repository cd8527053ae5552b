// Checkpoints: what is read is checked before it is believed, and what is removed is a checkpoint of weft's.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <vector>

#include "tests/folder.h"
#include "weft/core/errors/error.h"
#include "weft/weft.h"

using namespace weft;
using namespace weft::test;
namespace fs = std::filesystem;

namespace {

using Names = std::vector<std::string>;

std::uint32_t crc(const std::string& s) {
  return static_cast<std::uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(s.data()), static_cast<uInt>(s.size())));
}
std::string sealed(const std::string& text) { return text + fmt::format("checksum {:08x}\n", crc(text)); }

template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const IoError& e) {
    return e.what();
  }
  return "no IoError";
}

/// A checkpoint of one float32 array of this shape, as somebody else would write it.
struct Foreign : test::Folder {
  explicit Foreign(const Array& like) : like(like) {
    save_checkpoint(path, like);  // the manifest
    source = path + "/save-000001/";
  }
  std::string load(const std::string& parts, const std::string& data = "") {
    put(source + "parts-0", sealed(parts)), put(source + "data-0", data);
    return error_of([&] { load_checkpoint(path, like); });
  }
  Array like;
  std::string source;
};
bool says(const std::string& text, const std::string& words) {
  CAPTURE(text);
  return text.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("checkpoints: parts that lie about their sizes are refused before anything is read") {
  Foreign f(zeros({1000}));
  // 2^62 elements of 4 bytes are 2^64 bytes, which is 0 in 64 bits.
  CHECK(says(f.load("0 0 4611686018427387904 0 0 00000000\n"), "parts-0: `0 0 4611686018427387904 0 0 00000000` does not fit its array"));
  CHECK(says(f.load("0 -1000000000 4611686018427387904 0 0 00000000\n"), "does not fit"));
  CHECK(says(f.load("0 -4 1000 0 4000 00000000\n"), "does not fit"));
  CHECK(says(f.load("0 9223372036854775807 1000 0 4000 00000000\n"), "does not fit"));
  CHECK(says(f.load("0 1 1000 0 4000 00000000\n"), "does not fit"));
  CHECK(says(f.load("0 0 -1000 0 4000 00000000\n"), "does not fit"));
  CHECK(says(f.load("0 0 1000 -8 4000 00000000\n"), "does not fit"));
  CHECK(says(f.load("0 0 1000 9223372036854775807 4000 00000000\n"), "does not fit"));
  CHECK(says(f.load("0 0 1000 0 3999 00000000\n"), "does not fit"));
  CHECK(says(f.load("0 0,0 1000,1 0 4000 00000000\n"), "does not fit"));
  CHECK(says(f.load("0 - - 0 4 00000000\n"), "does not fit"));
  CHECK(says(f.load("1 0 1000 0 4000 00000000\n"), "is not part of the tree"));
  CHECK(says(f.load("-1 0 1000 0 4000 00000000\n"), "is not part of the tree"));
  CHECK(says(f.load("0 0 1000 0 4000\n"), "is not part of the tree"));
  CHECK(says(f.load("0 0 1000 0 4000 00000000 7\n"), "is not part of the tree"));
  CHECK(says(f.load("0 0x0 1000 0 4000 00000000\n"), "is not part of the tree"));
  CHECK(says(f.load("0 0 99999999999999999999 0 4000 00000000\n"), "is not part of the tree"));
  CHECK(says(f.load("0 0 1000 0 4000 100000000\n"), "is not part of the tree"));
  CHECK(says(f.load("\n\n"), "is not part of the tree"));
  CHECK(says(f.load("0 0 1000 0 4000 00000000\n", "short"), "data-0: it is cut short"));
  CHECK(says(f.load("0 0 1000 0 4000 00000000\n", std::string(4000, 'x')), "their checksum is wrong"));
  const std::string good(4000, '\0');
  CHECK(f.load(fmt::format("0 0 1000 0 4000 {:08x}\n", crc(good)), good) == "no IoError");
}

TEST_CASE("checkpoints: parts must make up their array, each place once") {
  Foreign f(zeros({100, 10}));
  std::string h(2000, '\0');
  const auto part = [&](const char* start, const char* block = "50,10", int bytes = 2000) {
    return fmt::format("0 {} {} 0 {} {:08x}\n", start, block, bytes, crc(h.substr(0, static_cast<std::size_t>(bytes))));
  };
  CHECK(f.load(part("0,0") + part("50,0"), h) == "no IoError");
  CHECK(says(f.load(part("0,0") + part("0,0"), h), "the part at (0, 0) is there twice"));
  CHECK(says(f.load(part("0,0"), h), "there are 1 of 2"));
  CHECK(says(f.load(part("0,0") + part("50,0") + part("50,0"), h), "there twice"));
  CHECK(says(f.load(part("0,0") + part("25,0"), h), "begins at (25, 0)"));
  CHECK(says(f.load(part("0,0") + part("50,0", "25,10", 1000) + part("75,0", "25,10", 1000), h), "parts of (50, 10) and of (25, 10)"));
  CHECK(says(f.load(part("0,0", "30,10", 1200) + part("30,0", "30,10", 1200), h), "don't divide it"));
  CHECK(says(f.load(part("0,0", "0,10", 0), h), "don't divide it"));
  CHECK(says(f.load(""), "all its parts are missing"));
}

TEST_CASE("checkpoints: arrays without elements or dimensions") {
  const test::Folder folder;
  const std::vector<Array> state{zeros({0, 3}), full({}, 2.f), zeros({4, 0}), arange(3)};
  save_checkpoint(folder.path, state);
  const std::vector<Array> again = load_checkpoint(folder.path, state);
  for (std::size_t i = 0; i < state.size(); ++i) CHECK(again[i].shape() == state[i].shape());
  CHECK(again[1].item<float>() == 2.f);
}

TEST_CASE("checkpoints: any damage is an IoError that names the file") {
  const test::Folder folder;
  const Array state = arange(50, float32);
  save_checkpoint(folder.path, state);
  const std::string source = folder.path + "/save-000001/";
  for (const std::string name : {"manifest", "parts-0", "data-0"}) {
    const std::string whole = contents(source + name);
    for (std::size_t at = 0; at < whole.size(); at += name == "data-0" ? 17 : 1) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ (1 << at % 8));
      put(source + name, changed);
      CAPTURE(name);
      CAPTURE(at);
      CHECK(says(error_of([&] { load_checkpoint(folder.path, state); }), name));
      put(source + name, whole.substr(0, at));
      CHECK(says(error_of([&] { load_checkpoint(folder.path, state); }), name));
    }
    // What is not a file is not waited for.
    fs::remove(source + name);
    REQUIRE(mkfifo((source + name).c_str(), 0600) == 0);
    CHECK(says(error_of([&] { load_checkpoint(folder.path, state); }), name));
    fs::remove(source + name);
    fs::create_directory(source + name);
    CHECK(says(error_of([&] { load_checkpoint(folder.path, state); }), name));
    fs::remove(source + name);
    CHECK(says(error_of([&] { load_checkpoint(folder.path, state); }), name));
    put(source + name, whole);
  }
  CHECK(load_checkpoint(folder.path, state).size() == 50);
  for (const char* current : {"", "\n", "..", "../elsewhere", "save-1", "save-000001/../save-000001", "/etc", "save-000009"}) {
    put(folder.path + "/current", current);
    CHECK(error_of([&] { load_checkpoint(folder.path, state); }) != "no IoError");
  }
}

TEST_CASE("checkpoints: only checkpoints are removed") {
  const test::Folder folder;
  const std::string& f = folder.path;
  fs::create_directories(f + "/save-for-paper"), put(f + "/save-for-paper/fig1.txt", "figures"), put(f + "/save-notes.txt", "notes");
  fs::create_directory(f + "/save-000007"), put(f + "/save-000007/data-0", "theirs");               // no checkpoint
  fs::create_directory(f + "/save-12345"), put(f + "/save-12345/manifest", "weft checkpoint 1\n");  // no such name
  put(f + "/save-000005", "a file");
  const Array state = arange(10, float32);
  for (int i = 0; i < 3; ++i) save_checkpoint(f, state + static_cast<float>(i));
  CHECK(names(f) == Names{"current", "save-000005", "save-000007", "save-000010", "save-12345", "save-for-paper", "save-notes.txt"});
  CHECK(contents(f + "/save-for-paper/fig1.txt") == "figures");
  CHECK(contents(f + "/save-000007/data-0") == "theirs");
  CHECK(load_checkpoint(f, state).to_vector<float>()[0] == 2.f);
  // A link to a folder that is one, and what somebody put into one.
  fs::rename(f + "/save-000010", f + "/kept");
  fs::create_symlink("kept", f + "/save-000010");
  CHECK(load_checkpoint(f, state).to_vector<float>()[0] == 2.f);
  save_checkpoint(f, state);
  put(f + "/save-000011/remarks", "good run");
  save_checkpoint(f, state);
  CHECK(fs::exists(f + "/kept/data-0"));
  CHECK(names(f + "/save-000011") == Names{"remarks"});
  // What a process left that died while it saved.
  fs::create_directory(f + "/save-000050");
  put(f + "/save-000050/manifest", "weft checkpoint 1, unfinished\n"), put(f + "/save-000050/data-0", "half");
  save_checkpoint(f, state);
  CHECK_FALSE(fs::exists(f + "/save-000050"));
  CHECK(fs::exists(f + "/save-000051"));
}

TEST_CASE("checkpoints: a file called current that is none of weft's is not replaced") {
  const test::Folder folder;
  put(folder.path + "/current", "my own notes\n");
  CHECK(says(error_of([&] { save_checkpoint(folder.path, ones({2})); }), "current: it names no subfolder"));
  CHECK(contents(folder.path + "/current") == "my own notes\n");
  CHECK(names(folder.path) == Names{"current"});
}

TEST_CASE("checkpoints: one that fails leaves nothing, and the earlier one whole") {
  const test::Folder folder;
  const std::string inner = folder.path + "/runs/1";
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit full{1000, before.rlim_max};
  const Array large = zeros({100000}), small = arange(10, float32);
  setrlimit(RLIMIT_FSIZE, &full);
  const std::string first = error_of([&] { save_checkpoint(inner, large); });
  setrlimit(RLIMIT_FSIZE, &before);
  CHECK(says(first, "data-0: File too large"));
  CHECK(names(folder.path).empty());
  save_checkpoint(inner, small);
  setrlimit(RLIMIT_FSIZE, &full);
  for (int i = 0; i < 3; ++i) CHECK_THROWS_AS(save_checkpoint(inner, large), IoError);
  setrlimit(RLIMIT_FSIZE, &before);
  CHECK(names(inner) == Names{"current", "save-000001"});
  CHECK(load_checkpoint(inner, small).to_vector<float>()[9] == 9.f);
  save_checkpoint(inner, small);
  CHECK(names(inner) == Names{"current", "save-000002"});
}

TEST_CASE("checkpoints: one that another process reads stays until it is read") {
  const test::Folder folder;
  save_checkpoint(folder.path, ones({3}));
  const int reader = open((folder.path + "/save-000001").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  REQUIRE(flock(reader, LOCK_SH) == 0);
  save_checkpoint(folder.path, ones({3}));
  CHECK(names(folder.path) == Names{"current", "save-000001", "save-000002"});
  CHECK(names(folder.path + "/save-000001").size() == 3);
  close(reader);
  save_checkpoint(folder.path, ones({3}));
  CHECK(names(folder.path) == Names{"current", "save-000003"});
}

TEST_CASE("checkpoints: of several processes that save to one folder, each finds a whole one at any time") {
  const test::Folder folder;
  const std::vector<Array> first{full(2000, 0.f), full(3, 0.f)};
  save_checkpoint(folder.path, first);
  std::vector<pid_t> savers;
  for (int k = 1; k <= 3; ++k) {
    savers.push_back(fork());
    if (savers.back() != 0) continue;
    int wrong = 0;
    for (int i = 0; i < 30; ++i) {
      const auto number = static_cast<float>(100 * k + i);
      const std::string error = error_of([&] {
        save_checkpoint(folder.path, std::vector<Array>{full(2000, number), full(3, number)});
        const std::vector<Array> read = load_checkpoint(folder.path, first);
        wrong += !all(read[0] == read[1][0]).item<bool>();
      });
      if (error != "no IoError") ++wrong, fmt::print(stderr, "{}\n", error);
    }
    _exit(wrong == 0 ? 0 : 1);
  }
  for (const pid_t saver : savers) {
    int status = -1;
    REQUIRE(waitpid(saver, &status, 0) == saver);
    CHECK(status == 0);
  }
  const std::vector<Array> last = load_checkpoint(folder.path, first);
  CHECK(last[0][0].item<float>() > 0);
  save_checkpoint(folder.path, first);  // what two of them kept each other from removing goes by then
  CHECK(names(folder.path).size() == 2);
}
