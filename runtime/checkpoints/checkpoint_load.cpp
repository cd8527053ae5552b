// Reads checkpoints: the parts that this process's arrays need, each checked against its checksum.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "weft/core/array/array_impl.h"
#include "weft/core/errors/boundary.h"
#include "weft/core/ir/mesh_axes.h"
#include "weft/core/trace/trace.h"
#include "weft/runtime/checkpoints/checkpoint_files.h"
#include "weft/runtime/checkpoints/checkpoint_format.h"
#include "weft/runtime/host/accelerator.h"
#include "weft/runtime/host/blocks.h"
#include "weft/runtime/host/buffer.h"
#include "weft/runtime/processes/processes.h"

namespace weft::detail {
namespace {

/// A part of an array: where it begins, and its shape.
struct Box {
  const std::vector<std::int64_t>& start;
  const Shape& shape;
};

/// Reads parts, each once: the last few are kept.
class Reader {
 public:
  Reader(std::string folder, SourceLoc loc) : folder_(std::move(folder)), loc_(loc) {}
  Ref<Buffer> read(const StoredPart& p) {
    for (const auto& [part, data] : kept_)
      if (part == &p) return data;
    const std::string path = fmt::format("{}/data-{}", folder_, p.process);
    Ref<Buffer> data(new HostBuffer(static_cast<std::size_t>(p.bytes), processes().first_local()));
    const Descriptor file = open_regular(path, Links::follow);
    if (!file) fail_checkpoint(path, errno == EINVAL ? "it is not a regular file" : std::strerror(errno), loc_);
    const ssize_t n = read_at(file, data->data(), data->bytes(), p.offset);
    if (n < 0) fail_checkpoint(path, std::strerror(errno), loc_);
    if (n < p.bytes) fail_checkpoint(path, "it is cut short", loc_);
    if (checksum(data->data(), data->bytes()) != p.crc)
      fail_checkpoint(path, fmt::format("the bytes from {} on are not those that were written: their checksum is wrong", p.offset), loc_);
    if (kept_.size() >= 16) kept_.erase(kept_.begin());
    kept_.emplace_back(&p, data);
    return data;
  }

  /// The elements of a box of the array that is stored at `path` of the tree in these parts.
  Ref<Buffer> read_box(const std::vector<StoredPart>& parts, const std::string& path, const Box& box, std::int64_t itemsize, int device) {
    const Ref<Buffer> out(new HostBuffer(static_cast<std::size_t>(box.shape.num_elements() * itemsize), device));
    std::int64_t found = 0;
    for (const StoredPart& p : parts) {
      Shape common = box.shape;
      std::vector<std::int64_t> from(box.start.size()), to(box.start.size());
      bool any = true;
      for (int d = 0; d < box.shape.size(); ++d) {
        const auto i = static_cast<std::size_t>(d);
        const std::int64_t low = std::max(box.start[i], p.start[i]), high = std::min(box.start[i] + box.shape[d], p.start[i] + p.block[d]);
        any &= low < high;
        common[d] = high - low, from[i] = low - p.start[i], to[i] = low - box.start[i];
      }
      if (!any) continue;
      copy_box({read(p)->data(), p.block, from}, {out->data(), box.shape, to}, common, itemsize);
      found += common.num_elements();
    }
    if (found != box.shape.num_elements()) fail_checkpoint(folder_, fmt::format("parts of {} are missing", path), loc_);
    return out;
  }

 private:
  std::string folder_;
  SourceLoc loc_;
  std::vector<std::pair<const StoredPart*, Ref<Buffer>>> kept_;
};

/// The subfolder to be read, locked so that no concurrent save removes it.
struct Source {
  std::string path;
  std::optional<OwnFolder> held;
};
Source open_source(const std::string& folder, SourceLoc loc) {
  for (int tries = 0;; ++tries) {
    const std::string name = current_of(folder, loc);
    if (name.empty()) fail_checkpoint(folder, "there is no whole checkpoint; give the folder that save_checkpoint wrote to", loc);
    Source s{folder + "/" + name, OwnFolder::open(folder + "/" + name, kCheckpointFolder)};
    if (s.held) s.held->lock_shared();
    // It may have been replaced before it was locked.
    if (tries == 100 || current_of(folder, loc) == name) return s;
  }
}

}  // namespace

std::vector<Array> load_leaves(const std::string& folder, const std::vector<std::string>& paths, const std::vector<Array>& like,
                               SourceLoc given) try {
  const SourceLoc loc = effective_loc(given);
  const Source from = open_source(folder, loc);
  const std::vector<std::vector<StoredPart>> parts = read_parts(from.path, paths, like, loc);
  Reader reader(from.path, loc);
  std::vector<Array> out;
  for (std::size_t i = 0; i < like.size(); ++i) {
    const Aval aval{like[i].shape(), like[i].dtype(), false};
    const std::int64_t itemsize = aval.dtype.itemsize();
    const ConcreteArray* c = as_concrete(like[i]);
    const std::vector<std::int64_t> zero(static_cast<std::size_t>(aval.ndim()), 0);
    const auto read = [&](const std::vector<std::int64_t>& start, const Shape& shape, int device) {
      const bool beyond = is_accelerator(device);
      const Ref<Buffer> here = reader.read_box(parts[i], paths[i], {start, shape}, itemsize, beyond ? processes().first_local() : device);
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
} catch (...) {
  rethrow_as_error("load_checkpoint", given);
}

}  // namespace weft::detail
