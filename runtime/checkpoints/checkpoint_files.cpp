// Writes checkpoints, in the format described in runtime/checkpoints/checkpoint_format.h.
#include "weft/runtime/checkpoints/checkpoint_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <optional>

#include "weft/core/array/array_impl.h"
#include "weft/core/array/array_reads.h"
#include "weft/core/errors/boundary.h"
#include "weft/core/ir/mesh_axes.h"
#include "weft/core/trace/trace.h"
#include "weft/runtime/checkpoints/checkpoint_format.h"
#include "weft/runtime/host/accelerator.h"
#include "weft/runtime/host/blocks.h"
#include "weft/runtime/host/buffer.h"
#include "weft/runtime/processes/process_world.h"
#include "weft/runtime/processes/processes.h"

namespace weft::detail {
namespace {

/// The messages between processes that save, over the control plane, so that saving works without MPI too.
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
  /// The message of process `whom`. A process that is writing may take any time; one that has not come to the save in time is reported as
  /// missing.
  std::string hear(const std::string& what, int whom) {
    const auto begin = std::chrono::steady_clock::now();
    for (;;) {
      if (auto value = world_->control().get(key(number_, what), std::min(Seconds(1), world_->timeout()))) return *value;
      if (world_->has_failed() || std::chrono::steady_clock::now() - begin > world_->timeout()) together_->expect(whom);
    }
  }
  /// Process 0, when all have answered: the key is not read again.
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

constexpr NewFileOptions options(Sync sync) { return {sync, Target::regular}; }

void write_parts(const std::string& folder, int rank, const std::vector<PartToWrite>& parts, SourceLoc loc) {
  NewFile data("checkpoint", fmt::format("{}/data-{}", folder, rank), loc, options(Sync::file));
  std::string index;
  std::int64_t offset = 0;
  for (const PartToWrite& p : parts) {
    const std::size_t bytes = p.data->bytes();
    data.write({static_cast<const char*>(p.data->data()), bytes});
    const auto size = static_cast<std::int64_t>(bytes);
    index += part_line(p.leaf, {p.start, Shape(p.block), rank, offset, size, checksum(p.data->data(), bytes)});
    offset += size;
  }
  data.place();
  write_file(fmt::format("{}/parts-{}", folder, rank), {sealed(index)}, loc, "checkpoint", options(Sync::folder));
}

/// The files that this process has written for a checkpoint; removed if saving fails.
class Attempt {
 public:
  Attempt() = default;
  ~Attempt() { remove(); }
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;
  /// Process 0: a subfolder that wasn't there, marked as weft's, which no other process removes meanwhile. Its name.
  std::string begin(const std::string& folder, SourceLoc loc) {
    rank_ = 0, folder_ = folder;
    folders_ = make_folders(folder, loc, "checkpoint");
    std::int64_t number = 0;
    for (const std::string& name : names_in(folder, loc, "checkpoint")) number = std::max(number, save_number(name).value_or(0));
    for (;;) {
      std::string name;
      do {
        if (number == std::numeric_limits<std::int64_t>::max())
          fail_checkpoint(folder, "all numbers of subfolders are used; save to another folder", loc);
        name = save_name(++number);
      } while (!add_folder(folder + "/" + name, loc));
      const std::string path = folder + "/" + name;
      own_ = OwnFolder::mark(path, kCheckpointFolder, kUnfinishedManifest, options(Sync::none));
      if (!own_) fail_checkpoint(path, "another process writes to it", loc);
      // Before it was locked, another save may have taken it for an abandoned one.
      if (own_->lock_alone() && OwnFolder::open(path, kCheckpointFolder)) return name;
      own_.reset();
    }
  }
  /// Another process: it writes its parts there.
  void join(const std::string& path, int rank) {
    rank_ = rank;
    own_ = OwnFolder::open(path, kCheckpointFolder);
  }
  /// With a shared lock, others may read the checkpoint but not remove it.
  void finish() { own_->lock_shared(); }
  void keep() { own_.reset(), folders_.clear(); }
  void remove() noexcept try {
    // Where it became the current one and only that this has reached the disk isn't known, it stays, and so do the earlier ones.
    if (own_ && rank_ == 0 && folder_ + "/" + current_of(folder_, {}) == own_->path()) return keep();
    if (own_ && rank_ != 0)
      for (const char* name : {"data", "parts"}) own_->remove(fmt::format("{}-{}", name, rank_));
    if (own_ && rank_ == 0) own_->remove_all();
    remove_empty_folders(folders_);
    keep();
  } catch (const std::exception&) {  // no memory: a later checkpoint removes it
  }

 private:
  bool add_folder(const std::string& path, SourceLoc loc) {
    folders_.reserve(folders_.size() + 1);
    std::vector<std::string> made = make_folders(path, loc, "checkpoint");
    if (made.empty()) return false;
    folders_.push_back(std::move(made.back()));
    return true;
  }

  int rank_ = 0;
  std::string folder_;
  std::vector<std::string> folders_;
  std::optional<OwnFolder> own_;
};

/// Removes earlier and unfinished checkpoints, but not one that another process has made the current one meanwhile: it holds its lock until
/// then, so that whoever has the lock sees it.
void remove_others(const std::string& folder, const std::string& name, SourceLoc loc) {
  for (const std::string& other : names_in(folder, loc, "checkpoint")) {
    if (other == name || !save_number(other)) continue;
    const auto own = OwnFolder::open(folder + "/" + other, kCheckpointFolder);
    if (own && own->lock_alone() && current_of(folder, loc) != other) own->remove_all();
  }
}

}  // namespace

void save_leaves(const std::string& folder, const std::vector<std::string>& paths, const std::vector<Array>& leaves, SourceLoc given) try {
  const SourceLoc loc = effective_loc(given);
  for (std::size_t i = 0; i < leaves.size(); ++i)
    if (!as_concrete(leaves[i]) && !as_literal(leaves[i]))
      throw ConcretizationError(
          fmt::format("save_checkpoint: {} is {} and has no elements to write", paths[i], to_string(leaves[i].aval())), loc);
  const ArrayReads reads(leaves, "save_checkpoint", loc);
  Talk talk(loc);
  const auto problem_of = [](auto f) -> std::string {
    try {
      f();
    } catch (const Error& e) {
      return e.message();  // the line is that of the call, which is told once
    } catch (const std::exception& e) {
      return e.what();
    }
    return {};
  };
  // Process 0 says where to; all write; process 0 makes it the current one. Each step's problem is sent to all.
  Attempt attempt;
  std::string name, problem;
  if (talk.rank() == 0) {
    problem = problem_of([&] {
      current_of(folder, loc);  // a file of this name that is none of weft's is not replaced
      name = attempt.begin(folder, loc);
    });
    if (!problem.empty()) attempt.remove();
    talk.say("name", problem.empty() ? name : "!" + problem);
  } else {
    name = talk.hear("name", 0);
    if (!name.empty() && name[0] == '!') problem = name.substr(1);
  }
  if (!problem.empty()) throw IoError("save_checkpoint: " + problem, loc);
  const std::string target = folder + "/" + name;
  std::string local;  // checksums of what each process has for itself
  problem = problem_of([&] {
    if (talk.rank() != 0) attempt.join(target, talk.rank());
    std::vector<PartToWrite> parts;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      add_parts(i, leaves[i], talk.rank(), parts);
      if (talk.size() > 1) local += is_each_ones_own(leaves[i]) ? fmt::format("{:08x} ", checksum_of(leaves[i])) : "- ";
    }
    write_parts(target, talk.rank(), parts, loc);
  });
  if (talk.rank() != 0 && !problem.empty()) attempt.remove();
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
        write_file(target + "/manifest", {manifest_text(paths, leaves, talk.size())}, loc, "checkpoint", options(Sync::folder));
        attempt.finish();
        write_file(folder + "/current", {name, "\n"}, loc, "checkpoint", options(Sync::folder));
        attempt.keep();
      });
    // Folders that could not be removed stay until a later checkpoint is saved.
    if (problem.empty()) problem_of([&] { remove_others(folder, name, loc); });
    attempt.remove();
    talk.say("done", problem);
  } else {
    // What it has written is process 0's from here on: it may be part of a whole checkpoint.
    if (problem.empty()) attempt.keep();
    problem = talk.hear("done", 0);
  }
  if (!problem.empty()) throw IoError("save_checkpoint: " + problem, loc);
} catch (...) {
  rethrow_as_error("save_checkpoint", given);
}

}  // namespace weft::detail
