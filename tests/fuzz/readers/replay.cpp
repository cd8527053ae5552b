// The readers without a fuzzer: on the seeds, on the kept inputs that once were findings, and on seeds changed at random, the same ones
// each time. `replay_readers [NAME...]`, with the folder of kept inputs in WEFT_CORPUS; `--seeds NAME FOLDER` writes the seeds into files.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <random>

#include "tests/fuzz/readers/readers.h"
#include "weft/core/errors/error.h"

using namespace weft::fuzz;
namespace fs = std::filesystem;

namespace {

/// Changed in one to four places.
std::string changed(std::string s, const std::vector<std::string>& all, std::mt19937_64& random) {
  const auto below = [&](std::size_t n) { return n ? static_cast<std::size_t>(random() % n) : 0; };
  static constexpr std::string_view numbers[] = {
      "0", "1", "-1", "7", "255", "65536", "2147483648", "4294967297", "9223372036854775807", "-9223372036854775808", "1e400", "nan"};
  for (std::size_t n = 1 + below(4); n > 0; --n) {
    const std::size_t at = below(s.size() + 1), left = s.size() - at;
    switch (below(8)) {
      case 0: s.erase(at, below(std::min<std::size_t>(left, 16) + 1)); break;
      case 1: s.insert(at, 1 + below(4), static_cast<char>(below(256))); break;
      case 2:
        if (left) s[at] = static_cast<char>(below(256));
        break;
      case 3:
        if (left) s[at] = static_cast<char>(s[at] ^ 1 << below(8));
        break;
      case 4: {
        const std::string& other = all[below(all.size())];
        const std::size_t from = below(other.size() + 1);
        s.insert(at, other.substr(from, below(40)));
        break;
      }
      case 5:
        if (below(4) == 0) s.resize(at);
        break;
      case 6: {
        // Lengths and offsets are binary in some formats and decimal in others.
        static constexpr std::uint64_t values[] = {
            0, 1, 0x7f, 0xff, 0x7fffffff, 0x80000000, 0xffffffff, 0x7fffffffffffffff, 0x8000000000000000, ~0ULL};
        const std::uint64_t v = values[below(std::size(values))];
        const std::size_t size = std::size_t{1} << below(4);
        if (left >= size) std::memcpy(s.data() + at, &v, size);
        break;
      }
      default: {
        std::size_t i = at, length = 0;
        while (i < s.size() && (s[i] < '0' || s[i] > '9')) ++i;
        while (i + length < s.size() && s[i + length] >= '0' && s[i + length] <= '9') ++length;
        if (length) s.replace(i, length, numbers[below(std::size(numbers))]);
      }
    }
  }
  return s;
}

/// The input at hand, for the message of a crash.
std::string current;
void write_current() {
  std::FILE* const f = std::fopen("replay-crash", "wb");
  if (!f) return;
  std::fwrite(current.data(), 1, current.size(), f);
  std::fclose(f);
}

void on_crash(int signal) {
  write_current();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

int replay(const InputReader& reader) {
  const std::vector<std::string> seeds = reader.seeds();
  const auto run = [&](const std::string& input, const std::string& what) {
    current = input;
    try {
      reader.read(input);
    } catch (const std::exception& e) {
      write_current();
      fmt::print("{}: {}: an exception that is no weft::Error: {}; the input is in replay-crash\n", reader.name, what, e.what());
      return 1;
    }
    return 0;
  };
  int failed = 0, count = 0;
  std::vector<fs::path> kept;
  if (const char* corpus = std::getenv("WEFT_CORPUS"))
    if (const fs::path folder = fs::path(corpus) / reader.name; fs::is_directory(folder))
      for (const fs::directory_entry& e : fs::directory_iterator(folder)) kept.push_back(e.path());
  std::sort(kept.begin(), kept.end());
  for (const fs::path& p : kept) {
    fmt::print("{}: {}\n", reader.name, p.filename().string());
    std::fflush(stdout);
    failed += run(contents_of(p), p.filename().string()), ++count;
  }
  for (std::size_t i = 0; i < seeds.size(); ++i) failed += run(seeds[i], fmt::format("seed {}", i)), ++count;
  std::mt19937_64 random(7);
  for (int i = 0; i < reader.changed && failed < 10; ++i)
    failed += run(changed(seeds[random() % seeds.size()], seeds, random), fmt::format("changed seed {}", i)), ++count;
  fmt::print("{}: {} inputs, {} kept\n", reader.name, count, kept.size());
  std::fflush(stdout);
  return failed;
}

}  // namespace

int main(int argc, char** argv) try {
  setenv("WEFT_CACHE", "off", 0), setenv("WEFT_PLATFORM", "cpu", 0);
  for (const int signal : {SIGABRT, SIGSEGV, SIGFPE, SIGBUS}) std::signal(signal, on_crash);
  const std::vector<std::string_view> args(argv + 1, argv + argc);
  if (args.size() == 3 && args[0] == "--seeds") {
    const auto seeds = input_reader(args[1]).seeds();
    fs::create_directories(args[2]);
    for (std::size_t i = 0; i < seeds.size(); ++i) write_contents(fs::path(args[2]) / fmt::format("seed-{}", i), seeds[i]);
    return 0;
  }
  int passed = 0, failed = 0;
  for (const InputReader& r : input_readers()) {
    if (!args.empty() && std::find(args.begin(), args.end(), r.name) == args.end()) continue;
    ++(replay(r) ? failed : passed);
  }
  fmt::print("{} passed, {} failed\n", passed, failed);
  return failed != 0 || passed == 0;
} catch (const std::exception& e) {
  fmt::print(stderr, "{}\n", e.what());
  return 1;
}
