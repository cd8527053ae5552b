#include "weft/runtime/host/program_cache.h"

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "weft/core/base/cancellation.h"
#include "weft/core/base/process_wide.h"
#include "weft/runtime/host/process_end.h"

namespace weft::detail {
namespace {

struct Entry {
  Entry(std::uint64_t h, std::string p, const Jaxpr& j, CompileOptions o)
      : hash(h), platform(std::move(p)), jaxpr(j), options(std::move(o)) {}
  const std::uint64_t hash;
  const std::string platform;
  const Jaxpr jaxpr;
  const CompileOptions options;
  std::once_flag compiled;
  std::atomic<bool> is_compiled{false};
  Ref<Executable> executable;
};

// The most recently used program is first.
class Cache {
 public:
  std::shared_ptr<Entry> find_or_add(std::string_view platform, const Jaxpr& j, const CompileOptions& options) {
    const std::uint64_t hash = structural_hash(j);
    const std::lock_guard lock(mutex_);
    const auto [begin, end] = index_.equal_range(hash);
    for (auto it = begin; it != end; ++it) {
      const Entry& e = **it->second;
      if (e.platform != platform || e.options.donated != options.donated || !(e.jaxpr == j)) continue;
      entries_.splice(entries_.begin(), entries_, it->second);
      return *it->second;
    }
    entries_.push_front(std::make_shared<Entry>(hash, std::string(platform), j, options));
    index_.emplace(hash, entries_.begin());
    if (entries_.size() > kCapacity) remove_last();
    return entries_.front();
  }

  Ref<Executable> find_compiled(std::string_view platform, const Jaxpr& j) {
    const std::uint64_t hash = structural_hash(j);
    const std::lock_guard lock(mutex_);
    const auto [begin, end] = index_.equal_range(hash);
    for (auto it = begin; it != end; ++it) {
      const Entry& e = **it->second;
      if (!e.is_compiled.load(std::memory_order_acquire) || e.platform != platform || !e.options.donated.empty() || !(e.jaxpr == j))
        continue;
      entries_.splice(entries_.begin(), entries_, it->second);
      return (*it->second)->executable;
    }
    return {};
  }

 private:
  void remove_last() {
    const auto last = std::prev(entries_.end());
    const auto [begin, end] = index_.equal_range((*last)->hash);
    for (auto it = begin; it != end; ++it)
      if (it->second == last) {
        index_.erase(it);
        break;
      }
    entries_.erase(last);
  }
  static constexpr std::size_t kCapacity = 1024;
  ProcessMutex mutex_{LockRank::programs};
  std::list<std::shared_ptr<Entry>> entries_;
  std::unordered_multimap<std::uint64_t, std::list<std::shared_ptr<Entry>>::iterator> index_;
};

Cache& programs() {
  static auto& cache = process_wide<Cache>();
  return cache;
}

}  // namespace

Ref<Executable> cached_executable(std::string_view platform, const Jaxpr& j, const CompileOptions& options) {
  const CancellationHeld held;
  if (j.data().num_consts > 0) return backend(platform).compile(j, options);
  const LibraryUse use;  // before the entry is locked
  const std::shared_ptr<Entry> e = programs().find_or_add(platform, j, options);
  std::call_once(e->compiled, [&] {
    e->executable = backend(platform).compile(j, options);
    e->is_compiled.store(true, std::memory_order_release);
  });
  return e->executable;
}

Ref<Executable> known_executable(std::string_view platform, const Jaxpr& j) {
  return j.data().num_consts > 0 ? Ref<Executable>() : programs().find_compiled(platform, j);
}

}  // namespace weft::detail
