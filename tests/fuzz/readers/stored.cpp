// What the library wrote itself and reads again, which anybody may have changed meanwhile: checkpoints, the cache of code, stored programs,
// object files.
#include <fmt/format.h>
#include <weft/weft.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "tests/fuzz/readers/readers.h"
#include "weft/backends/codegen/planner/simplify.h"
#include "weft/backends/common/code_cache.h"
#include "weft/backends/cpu/object_loader.h"
#include "weft/backends/cpu/stored_program.h"

namespace weft::fuzz {
namespace {

namespace fs = std::filesystem;

/// The files below a folder by their paths, and what they hold.
std::map<std::string, std::string> files_below(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const fs::directory_entry& e : fs::recursive_directory_iterator(folder))
    if (e.is_regular_file()) files.emplace(e.path().string(), contents_of(e.path()));
  return files;
}

// All bytes of all elements are the same: whatever part of the file an element is taken from, it has this value.
constexpr char kByte = 0x3f;
struct Saved {
  Array x, y, z;
};
Saved to_save() {
  const float f = [] {
    std::uint32_t bits = 0x3f3f3f3f;
    float v;
    std::memcpy(&v, &bits, sizeof v);
    return v;
  }();
  return {full({4}, f), full({2, 3}, f), full({3}, std::int32_t{0x3f3f3f3f}, int32)};
}

struct Checkpoint {
  std::string folder = scratch_folder() + "/checkpoint";
  std::map<std::string, std::string> files;
  Checkpoint() {
    save_checkpoint(folder, to_save());
    files = files_below(folder);
  }
};
const Checkpoint& checkpoint() {
  static const Checkpoint c;
  return c;
}

/// The last line with the checksum of what stands before it, where there is such a line: so that changes are seen by the readers behind it.
std::string sealed(std::string text) {
  const std::size_t at = text.rfind("checksum ");
  if (at == std::string::npos || (at > 0 && text[at - 1] != '\n')) return text;
  return text.substr(0, at) + fmt::format("checksum {:08x}\n", crc32_z(0, reinterpret_cast<const Bytef*>(text.data()), at));
}

std::vector<Jaxpr> programs() {
  const Array x = ones({4, 3});
  return {detail::simplify(make_jaxpr([](const Array& a) { return sin(a) * 2 + sum(a); })(x), nullptr),
          detail::simplify(make_jaxpr([](const Array& a) {
                             return scan([](const Array& c, const Array& r) { return std::pair{tanh(c + r), c}; }, zeros(3), a);
                           })(x),
                           nullptr),
          detail::simplify(make_jaxpr([](const Array& a) {
                             return cond(
                                 sum(a) > 0, [](const Array& v) { return dot(v, transpose(v)); },
                                 [](const Array& v) { return zeros({4, 4}) + sum(v); }, a);
                           })(x),
                           nullptr)};
}
const std::vector<Jaxpr>& known_programs() {
  static const std::vector<Jaxpr> all = programs();
  return all;
}

}  // namespace

/// Which file of the checkpoint, and whether its checksum is made right again; then what it holds.
void read_checkpoint(std::string_view bytes) {
  if (bytes.empty()) return;
  const Checkpoint& c = checkpoint();
  const auto which = static_cast<unsigned char>(bytes[0]);
  const auto file = std::next(c.files.begin(), static_cast<std::ptrdiff_t>((which >> 1) % c.files.size()));
  const std::string contents(bytes.substr(1));
  write_contents(file->first, which & 1 ? sealed(contents) : contents);
  try {
    const Saved got = load_checkpoint(c.folder, to_save());
    for (const Array& a : {got.x, got.y, got.z}) {
      const std::string data = [&] {
        std::string s(static_cast<std::size_t>(a.aval().bytes()), '\0');
        std::memcpy(s.data(),
                    a.dtype() == int32 ? static_cast<const void*>(a.to_vector<std::int32_t>().data()) : a.to_vector<float>().data(),
                    s.size());
        return s;
      }();
      if (std::any_of(data.begin(), data.end(), [](char b) { return b != kByte; }))
        broken("a checkpoint gave elements that no file holds", contents);
    }
  } catch (const Error&) {
  }
  write_contents(file->first, file->second);
}
std::vector<std::string> checkpoint_seeds() {
  std::vector<std::string> seeds;
  std::size_t i = 0;
  for (const auto& [path, contents] : checkpoint().files) {
    for (const std::size_t seal : {0, 1}) seeds.push_back(static_cast<char>(i << 1 | seal) + contents);
    ++i;
  }
  return seeds;
}

void read_cache_entry(std::string_view bytes) {
  static const std::string folder = scratch_folder() + "/cache", code(100, 'c');
  static const std::string entry = [] {
    detail::CodeCache(folder, 1 << 20).put({"words"}, code);
    // The entry is the file that holds the code.
    for (const auto& [path, contents] : files_below(folder))
      if (contents.find(code) != std::string::npos) return path;
    throw Error("the cache holds nothing");
  }();
  write_contents(entry, bytes);
  fs::permissions(entry, fs::perms::owner_read | fs::perms::owner_write);
  detail::CodeCache cache(folder, 1 << 20);
  // A fuzzer that sees what is compared makes entries with the right hash.
  if (const std::optional<std::string> found = cache.find({"words"}); found && !bytes.ends_with(*found))
    broken("the cache gave code that its file does not hold", *found);
}
std::vector<std::string> cache_entry_seeds() {
  const std::string folder = scratch_folder() + "/cache-seeds", code(100, 'c');
  detail::CodeCache(folder, 1 << 20).put({"words"}, code);
  std::vector<std::string> seeds;
  for (const auto& [path, contents] : files_below(folder))
    if (contents.find(code) != std::string::npos) seeds.push_back(contents);
  return seeds;
}

/// Which program, then the bytes.
void read_stored_program(std::string_view bytes) {
  if (bytes.empty()) return;
  const Jaxpr& program = known_programs()[static_cast<unsigned char>(bytes[0]) % known_programs().size()];
  detail::stored_excess(bytes.substr(1));
  detail::read_program(bytes.substr(1), program);
}
std::vector<std::string> stored_program_seeds() {
  std::vector<std::string> seeds;
  for (std::size_t i = 0; i < known_programs().size(); ++i) {
    const detail::KernelProgram p = detail::form_program(known_programs()[i], {}, {});
    std::vector<detail::Schedule> schedules;
    for (const detail::Kernel& k : p.kernels) schedules.push_back(detail::make_schedule(k, 32));
    const detail::ObjectCode object{"object", {0}, {}};
    seeds.push_back(static_cast<char>(i) + detail::write_program(p, 1, 2, schedules, {&object}, {{}}));
  }
  return seeds;
}

void read_object(std::string_view bytes) {
  // A copy that ends where the bytes end, so that reading beyond them is seen.
  const std::string file(bytes);
  const auto address = [](const char* name) -> void* {
    return std::strlen(name) % 2 ? reinterpret_cast<void*>(static_cast<double (*)(double)>(&std::sin)) : nullptr;
  };
  if (const auto object = detail::LoadedObject::of(file, address)) object->find("kernel");
}
std::vector<std::string> object_seeds() {
  const Array x = ones({4, 3});
  std::vector<std::string> seeds;
  const auto add = [&](const auto& f) {
    const std::string path = scratch_folder() + "/seed";
    export_object(jit(f).lower(x).compile(), path);
    seeds.push_back(contents_of(path + ".o"));
  };
  add([](const Array& a) { return a * 2 + 1; });
  add([](const Array& a) { return sin(a) + sum(a); });
  return seeds;
}

}  // namespace weft::fuzz
