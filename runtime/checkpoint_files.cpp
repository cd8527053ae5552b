// A checkpoint is a folder:
//     current                 one line: the name of the subfolder that holds the last whole checkpoint; replaced by a rename
//     save-000003/manifest    the leaves, and which processes wrote parts
//     save-000003/parts-0     where the parts that process 0 wrote lie in data-0, with their checksums
//     save-000003/data-0
#include "runtime/checkpoint_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <optional>

#include "core/array_impl.h"
#include "core/error.h"
#include "core/mesh_axes.h"
#include "core/npy.h"
#include "core/trace.h"
#include "runtime/accelerator.h"
#include "runtime/blocks.h"
#include "runtime/buffer.h"
#include "runtime/process_world.h"
#include "runtime/processes.h"

namespace weft::detail {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kFormat = "weft checkpoint 1";

[[noreturn]] void fail(const std::string& path, const std::string& problem, SourceLoc loc) {
  throw IoError(fmt::format("checkpoint: {}: {}", path, problem), loc);
}

std::uint32_t checksum(const void* data, std::size_t bytes) {
  uLong crc = crc32_z(0, nullptr, 0);
  return static_cast<std::uint32_t>(crc32_z(crc, static_cast<const Bytef*>(data), bytes));
}

/// A file that is written through to the disk before it is closed.
class Output {
 public:
  Output(std::string path, SourceLoc loc)
      : path_(std::move(path)), loc_(loc), fd_(open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
    if (fd_ < 0) fail(path_, std::strerror(errno), loc_);
  }
  ~Output() {
    if (fd_ >= 0) close(fd_);
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  void write(const void* data, std::size_t bytes) {
    for (const char* p = static_cast<const char*>(data); bytes > 0;) {
      const ssize_t n = ::write(fd_, p, std::min(bytes, std::size_t{1} << 30));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) fail(path_, std::strerror(errno), loc_);
      p += n, bytes -= static_cast<std::size_t>(n);
    }
  }
  void finish() {
    if (fsync(fd_) != 0) fail(path_, std::strerror(errno), loc_);
    const int fd = fd_;
    fd_ = -1;
    if (close(fd) != 0) fail(path_, std::strerror(errno), loc_);
  }

 private:
  std::string path_;
  SourceLoc loc_;
  int fd_;
};

void write_text(const std::string& path, const std::string& text, SourceLoc loc) {
  Output out(path, loc);
  out.write(text.data(), text.size());
  out.finish();
}

void sync_folder(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  fsync(fd);
  close(fd);
}

/// A text whose last line is the checksum of the rest.
std::string sealed(const std::string& text) { return text + fmt::format("checksum {:08x}\n", checksum(text.data(), text.size())); }
std::vector<std::string> read_sealed(const std::string& path, SourceLoc loc) {
  const std::string text = read_file(path, loc);
  const std::size_t at = text.rfind("checksum ");
  if (at == std::string::npos || sealed(text.substr(0, at)) != text) fail(path, "it is damaged or cut short: its checksum is wrong", loc);
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < at;) {
    const std::size_t end = text.find('\n', begin);
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}
std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find(' ', begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}
std::string joined(std::span<const std::int64_t> numbers) { return numbers.empty() ? "-" : fmt::format("{}", fmt::join(numbers, ",")); }
std::vector<std::int64_t> numbers_of(const std::string& text) {
  std::vector<std::int64_t> list;
  if (text == "-") return list;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    list.push_back(std::strtoll(text.c_str() + begin, nullptr, 10));
    begin = end + 1;
  }
  return list;
}

/// What processes say to each other while they save: by the control plane, so that it works without MPI too.
class Talk {
 public:
  explicit Talk(SourceLoc loc) : world_(process_world() && !process_world()->is_dry() ? process_world() : nullptr) {
    static std::atomic<std::uint64_t> saves{0};
    number_ = saves.fetch_add(1) + 1;
    label_.text = "save_checkpoint";
    label_.loc = loc;
    if (world_) together_.emplace(*world_, label_, number_);
  }
  int rank() const { return world_ ? world_->rank() : 0; }
  int size() const { return world_ ? world_->size() : 1; }
  void say(const std::string& what, const std::string& value) {
    if (world_) world_->control().set(key(number_, what), value);
  }
  /// What process `whom` says. One that is writing has the time it needs; one that is elsewhere when the time is over is missing.
  std::string hear(const std::string& what, int whom) {
    const auto begin = std::chrono::steady_clock::now();
    for (;;) {
      if (auto value = world_->control().get(key(number_, what), std::min(Seconds(1), world_->timeout()))) return *value;
      if (world_->has_failed() || std::chrono::steady_clock::now() - begin > world_->timeout()) together_->expect(whom);
    }
  }
  /// Process 0, when all have answered: nobody asks for this any more.
  void forget(const std::string& what) {
    if (world_) world_->control().erase(key(number_, what));
  }
  void forget_earlier(const std::string& what) {
    if (world_) world_->control().erase(key(number_ - 1, what));
  }

 private:
  static std::string key(std::uint64_t number, const std::string& what) { return fmt::format("checkpoint/{}/{}", number, what); }
  ProcessWorld* world_;
  CollectiveLabel label_;
  std::uint64_t number_ = 0;
  std::optional<ProcessWorld::Together> together_;
};

struct PartToWrite {
  std::size_t leaf;
  std::vector<std::int64_t> start, block;
  Ref<Buffer> data;
};

/// Whether each process has one of its own, which must be the same everywhere.
bool is_each_ones_own(const Array& x) {
  const ConcreteArray* c = as_concrete(x);
  return !c || !c->placement || (several_processes() && all_local(sharding_of(*c).named().mesh().axes().device_ids));
}
std::uint32_t checksum_of(const Array& x) {
  const Ref<Buffer> whole = whole_of(x, processes().first_local());
  return checksum(whole->data(), whole->bytes());
}

/// Each part of a leaf once: by the first process that has it; process 0 writes what each has for itself.
void add_parts(std::size_t leaf, const Array& x, int rank, std::vector<PartToWrite>& out) {
  const ConcreteArray* c = as_concrete(x);
  const std::vector<std::int64_t> zero(static_cast<std::size_t>(x.ndim()), 0), whole(x.shape().begin(), x.shape().end());
  if (is_each_ones_own(x)) {
    if (rank == 0) out.push_back({leaf, zero, whole, whole_of(x, processes().first_local())});
    return;
  }
  const NamedSharding s = sharding_of(*c).named();
  const MeshAxes& mesh = s.mesh().axes();
  const Shape block = block_shape(mesh, s.spec(), x.shape());
  std::vector<std::vector<std::int64_t>> seen;
  const Processes& all = processes();
  for (std::size_t k = 0; k < mesh.device_ids.size(); ++k) {
    std::vector<std::int64_t> start = block_start(mesh, s.spec(), block, static_cast<std::int64_t>(k));
    if (std::find(seen.begin(), seen.end(), start) != seen.end()) continue;
    seen.push_back(start);
    const int id = mesh.device_ids[k];
    if (all.process_of(id) == rank) out.push_back({leaf, std::move(start), {block.begin(), block.end()}, on_host(c->shards[k])});
  }
}

void write_parts(const std::string& folder, int rank, const std::vector<PartToWrite>& parts, SourceLoc loc) {
  Output data(fmt::format("{}/data-{}", folder, rank), loc);
  std::string index;
  std::int64_t offset = 0;
  for (const PartToWrite& p : parts) {
    const std::size_t bytes = p.data->bytes();
    data.write(p.data->data(), bytes);
    index +=
        fmt::format("{} {} {} {} {} {:08x}\n", p.leaf, joined(p.start), joined(p.block), offset, bytes, checksum(p.data->data(), bytes));
    offset += static_cast<std::int64_t>(bytes);
  }
  data.finish();
  write_text(fmt::format("{}/parts-{}", folder, rank), sealed(index), loc);
}

std::string manifest_of(const std::vector<std::string>& paths, const std::vector<Array>& leaves, int processes) {
  std::string text = fmt::format("{}\nprocesses {}\n", kFormat, processes);
  for (std::size_t i = 0; i < leaves.size(); ++i)
    text += fmt::format("{} {} {}\n", leaves[i].dtype().name(),
                        joined(std::vector<std::int64_t>(leaves[i].shape().begin(), leaves[i].shape().end())), paths[i]);
  return sealed(text);
}

/// The subfolder that `current` names; empty if there is none.
std::string current_of(const std::string& folder, SourceLoc loc) {
  if (!fs::exists(folder + "/current")) return {};
  std::string name = read_file(folder + "/current", loc);
  while (!name.empty() && name.back() == '\n') name.pop_back();
  if (name.empty() || name.find('/') != std::string::npos) fail(folder + "/current", "it names no subfolder", loc);
  return name;
}

std::string next_name(const std::string& folder) {
  int last = 0;
  for (const fs::directory_entry& e : fs::directory_iterator(folder)) {
    const std::string name = e.path().filename().string();
    if (name.rfind("save-", 0) == 0) last = std::max(last, std::atoi(name.c_str() + 5));
  }
  return fmt::format("save-{:06}", last + 1);
}

/// Part of a leaf as it lies in a file.
struct StoredPart {
  std::vector<std::int64_t> start;
  Shape block;
  int process;
  std::int64_t offset;
  std::size_t bytes;
  std::uint32_t crc;
};

/// Reads parts, each once: the last few are kept.
class Reader {
 public:
  Reader(std::string folder, SourceLoc loc) : folder_(std::move(folder)), loc_(loc) {}
  Ref<Buffer> read(const StoredPart& p) {
    for (const auto& [part, data] : kept_)
      if (part == &p) return data;
    const std::string path = fmt::format("{}/data-{}", folder_, p.process);
    Ref<Buffer> data(new HostBuffer(p.bytes, processes().first_local()));
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) fail(path, std::strerror(errno), loc_);
    std::size_t done = 0;
    while (done < p.bytes) {
      const ssize_t n = pread(fd, static_cast<char*>(data->data()) + done, std::min(p.bytes - done, std::size_t{1} << 30),
                              p.offset + static_cast<std::int64_t>(done));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      done += static_cast<std::size_t>(n);
    }
    close(fd);
    if (done < p.bytes) fail(path, "it is cut short", loc_);
    if (checksum(data->data(), p.bytes) != p.crc)
      fail(path, fmt::format("the bytes from {} on are not those that were written: their checksum is wrong", p.offset), loc_);
    if (kept_.size() >= 16) kept_.erase(kept_.begin());
    kept_.emplace_back(&p, data);
    return data;
  }

 private:
  std::string folder_;
  SourceLoc loc_;
  std::vector<std::pair<const StoredPart*, Ref<Buffer>>> kept_;
};

Ref<Buffer> read_box(const std::vector<StoredPart>& parts, const std::vector<std::int64_t>& start, const Shape& box, std::int64_t itemsize,
                     int device, Reader& reader, const std::string& folder, const std::string& path, SourceLoc loc) {
  const Ref<Buffer> out(new HostBuffer(static_cast<std::size_t>(box.num_elements() * itemsize), device));
  std::int64_t found = 0;
  for (const StoredPart& p : parts) {
    Shape common = box;
    std::vector<std::int64_t> from(start.size()), to(start.size());
    bool any = true;
    for (int d = 0; d < box.size(); ++d) {
      const auto i = static_cast<std::size_t>(d);
      const std::int64_t low = std::max(start[i], p.start[i]), high = std::min(start[i] + box[d], p.start[i] + p.block[d]);
      any &= low < high;
      common[d] = high - low, from[i] = low - p.start[i], to[i] = low - start[i];
    }
    if (!any) continue;
    copy_box(reader.read(p)->data(), p.block, from, out->data(), box, to, common, itemsize);
    found += common.num_elements();
  }
  if (found != box.num_elements()) fail(folder, fmt::format("parts of {} are missing", path), loc);
  return out;
}

}  // namespace

void save_leaves(const std::string& folder, const std::vector<std::string>& paths, const std::vector<Array>& leaves, SourceLoc given) {
  const SourceLoc loc = effective_loc(given);
  for (std::size_t i = 0; i < leaves.size(); ++i)
    if (!as_concrete(leaves[i]) && !as_literal(leaves[i]))
      throw ConcretizationError(
          fmt::format("save_checkpoint: {} is {} and has no elements to write", paths[i], to_string(leaves[i].aval())), loc);
  Talk talk(loc);
  const auto problem_of = [](auto f) -> std::string {
    try {
      f();
    } catch (const std::exception& e) {
      return e.what();
    }
    return {};
  };
  // Process 0 says where to; all write; process 0 makes it the current one. Each step's problem is told to all.
  std::string name, problem;
  if (talk.rank() == 0) {
    problem = problem_of([&] {
      fs::create_directories(folder);
      name = next_name(folder);
      fs::create_directory(folder + "/" + name);
    });
    talk.say("name", problem.empty() ? name : "!" + problem);
  } else {
    name = talk.hear("name", 0);
    if (!name.empty() && name[0] == '!') problem = name.substr(1);
  }
  if (!problem.empty()) throw IoError("save_checkpoint: " + problem, loc);
  const std::string target = folder + "/" + name;
  std::string local;  // checksums of what each process has for itself
  problem = problem_of([&] {
    std::vector<PartToWrite> parts;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      add_parts(i, leaves[i], talk.rank(), parts);
      if (talk.size() > 1) local += is_each_ones_own(leaves[i]) ? fmt::format("{:08x} ", checksum_of(leaves[i])) : "- ";
    }
    write_parts(target, talk.rank(), parts, loc);
  });
  if (talk.rank() != 0) talk.say(fmt::format("written/{}", talk.rank()), problem.empty() ? local : "!" + problem);
  if (talk.rank() == 0) {
    for (int r = 1; r < talk.size(); ++r) {
      const std::string theirs = talk.hear(fmt::format("written/{}", r), r);
      talk.forget(fmt::format("written/{}", r));
      if (!problem.empty() || theirs == local) continue;
      if (!theirs.empty() && theirs[0] == '!') {
        problem = theirs.substr(1);
        continue;
      }
      const auto [at, other] = std::mismatch(local.begin(), local.end(), theirs.begin(), theirs.end());
      const auto leaf = static_cast<std::size_t>(std::count(local.begin(), at, ' '));
      problem = fmt::format(
          "{} is process {}'s own, and not what process 0 has; make it one global array first, with host_local_array_to_global_array",
          leaf < paths.size() ? paths[leaf] : std::string("an array"), r);
    }
    talk.forget_earlier("name");
    talk.forget_earlier("done");
    if (problem.empty())
      problem = problem_of([&] {
        write_text(target + "/manifest", manifest_of(paths, leaves, talk.size()), loc);
        sync_folder(target);
        write_text(folder + "/current.new", name + "\n", loc);
        fs::rename(folder + "/current.new", folder + "/current");
        sync_folder(folder);
        // What came before, and what was left unfinished, goes.
        std::error_code ignored;
        std::vector<fs::path> old;
        for (const fs::directory_entry& e : fs::directory_iterator(folder))
          if (e.path().filename().string().rfind("save-", 0) == 0 && e.path().filename() != name) old.push_back(e.path());
        for (const fs::path& p : old) fs::remove_all(p, ignored);
      });
    talk.say("done", problem);
  } else {
    problem = talk.hear("done", 0);
  }
  if (!problem.empty()) throw IoError("save_checkpoint: " + problem, loc);
}

std::vector<Array> load_leaves(const std::string& folder, const std::vector<std::string>& paths, const std::vector<Array>& like,
                               SourceLoc given) {
  const SourceLoc loc = effective_loc(given);
  const std::string name = fs::is_directory(folder) ? current_of(folder, loc) : std::string();
  if (name.empty()) fail(folder, "there is no whole checkpoint", loc);
  const std::string source = folder + "/" + name;
  const std::vector<std::string> manifest = read_sealed(source + "/manifest", loc);
  if (manifest.size() < 2 || manifest[0] != kFormat || manifest[1].rfind("processes ", 0) != 0)
    fail(source + "/manifest", "it is no manifest of this version", loc);
  const int count = std::atoi(manifest[1].c_str() + 10);
  if (manifest.size() - 2 != like.size())
    fail(source, fmt::format("it has {} arrays, the tree to be filled has {}", manifest.size() - 2, like.size()), loc);
  for (std::size_t i = 0; i < like.size(); ++i) {
    const std::string want = fmt::format("{} {} {}", like[i].dtype().name(),
                                         joined(std::vector<std::int64_t>(like[i].shape().begin(), like[i].shape().end())), paths[i]);
    if (manifest[i + 2] != want)
      fail(source, fmt::format("array {} is `{}`, the tree to be filled has `{}` (dtype, shape, path)", i, manifest[i + 2], want), loc);
  }
  std::vector<std::vector<StoredPart>> parts(like.size());
  for (int r = 0; r < count; ++r) {
    const std::string path = fmt::format("{}/parts-{}", source, r);
    for (const std::string& line : read_sealed(path, loc)) {
      const std::vector<std::string> w = words_of(line);
      const std::size_t leaf = w.size() == 6 ? std::strtoull(w[0].c_str(), nullptr, 10) : like.size();
      if (leaf >= like.size()) fail(path, fmt::format("`{}` is no part of the tree", line), loc);
      StoredPart p{numbers_of(w[1]),
                   Shape(numbers_of(w[2])),
                   r,
                   std::strtoll(w[3].c_str(), nullptr, 10),
                   std::strtoull(w[4].c_str(), nullptr, 10),
                   static_cast<std::uint32_t>(std::strtoul(w[5].c_str(), nullptr, 16))};
      if (p.start.size() != static_cast<std::size_t>(like[leaf].ndim()) || p.block.size() != like[leaf].ndim() ||
          p.bytes != static_cast<std::size_t>(p.block.num_elements() * like[leaf].dtype().itemsize()))
        fail(path, fmt::format("`{}` does not fit its array", line), loc);
      parts[leaf].push_back(std::move(p));
    }
  }
  Reader reader(source, loc);
  std::vector<Array> out;
  for (std::size_t i = 0; i < like.size(); ++i) {
    const Aval aval{like[i].shape(), like[i].dtype(), false};
    const std::int64_t itemsize = aval.dtype.itemsize();
    const ConcreteArray* c = as_concrete(like[i]);
    const std::vector<std::int64_t> zero(static_cast<std::size_t>(aval.ndim()), 0);
    const auto read = [&](const std::vector<std::int64_t>& start, const Shape& box, int device) {
      const bool beyond = is_accelerator(device);
      const Ref<Buffer> here =
          read_box(parts[i], start, box, itemsize, beyond ? processes().first_local() : device, reader, source, paths[i], loc);
      return beyond ? moved(here, device) : here;
    };
    if (!c || !c->placement) {
      out.push_back(wrap_buffer(aval, read(zero, aval.shape, default_device_id())));
      continue;
    }
    const NamedSharding s = sharding_of(*c).named();
    const MeshAxes& mesh = s.mesh().axes();
    const Shape block = block_shape(mesh, s.spec(), aval.shape);
    std::vector<Ref<Buffer>> shards(mesh.device_ids.size());
    std::vector<std::pair<std::vector<std::int64_t>, std::size_t>> seen;
    for (std::size_t k : local_positions(mesh.device_ids)) {
      const std::vector<std::int64_t> start = block_start(mesh, s.spec(), block, static_cast<std::int64_t>(k));
      const auto same = std::find_if(seen.begin(), seen.end(), [&](const auto& e) { return e.first == start; });
      if (same != seen.end()) {
        shards[k] = shared_with(shards[same->second], mesh.device_ids[k]);
        continue;
      }
      seen.emplace_back(start, k);
      shards[k] = read(start, block, mesh.device_ids[k]);
    }
    out.push_back(Array(Ref<ArrayImpl>(new ConcreteArray(aval, std::move(shards), c->placement))));
  }
  return out;
}

}  // namespace weft::detail
