#include "weft/runtime/host/pinned.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <iterator>
#include <mutex>
#include <new>
#include <vector>

#include "weft/core/base/process_wide.h"
#include "weft/core/base/thread_object.h"
#include "weft/runtime/host/process_end.h"

namespace weft::detail {
namespace {

/// What one thread has pinned; calls within callbacks of calls take the next slot each.
struct Slots {
  Slots();
  ~Slots();
  std::array<std::atomic<RefCounted*>, 8> pinned{};
  std::size_t used = 0;
};
struct Threads {
  ProcessMutex mutex{LockRank::pinned_memory};
  std::vector<Slots*> list;
  std::vector<Ref<RefCounted>> retired;
};
/// The number of retired objects, kept outside of the table so that destructors can read it without allocating the table.
constinit std::atomic<std::size_t> num_retired{0};
Threads& threads() {
  static auto& t = process_wide<Threads>();
  return t;
}
Slots::Slots() {
  const std::lock_guard lock(threads().mutex);
  threads().list.push_back(this);
}
Slots::~Slots() {
  const std::lock_guard lock(threads().mutex);
  std::erase(threads().list, this);
}

}  // namespace

PinnedObject::PinnedObject(const std::atomic<RefCounted*>& pointer) {
  RefCounted* found = pointer.load(std::memory_order_acquire);
  if (!found) return;
  Slots& own = of_thread<Slots>();
  if (own.used == own.pinned.size()) return;
  slot_ = &own.pinned[own.used];
  slot_->store(found, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);  // the other half is synchronise_threads, in retire
  if (pointer.load(std::memory_order_acquire) != found) {
    slot_->store(nullptr, std::memory_order_relaxed);
    slot_ = nullptr;
    return;
  }
  ++own.used;
  object_ = found;
}
PinnedObject::~PinnedObject() {
  if (!slot_) return;
  slot_->store(nullptr, std::memory_order_release);
  --of_thread<Slots>().used;
}

namespace {
/// Removes the retired objects that no thread has pinned. Called with the lock held, after synchronise_threads.
std::vector<Ref<RefCounted>> take_unpinned(Threads& all) {
  const auto pinned = [&](const Ref<RefCounted>& r) {
    return std::any_of(all.list.begin(), all.list.end(), [&](const Slots* s) {
      return std::any_of(s->pinned.begin(), s->pinned.end(), [&](const auto& p) { return p.load(std::memory_order_acquire) == r.get(); });
    });
  };
  const auto keep = std::partition(all.retired.begin(), all.retired.end(), pinned);
  std::vector<Ref<RefCounted>> unused(std::make_move_iterator(keep), std::make_move_iterator(all.retired.end()));
  all.retired.erase(keep, all.retired.end());
  num_retired = all.retired.size();
  return unused;
}
}  // namespace

void retire(Ref<RefCounted> object) {
  std::vector<Ref<RefCounted>> unused;  // dropped without the lock: their destructors are anybody's
  synchronise_threads();
  Threads& all = threads();
  const std::lock_guard lock(all.mutex);
  try {
    all.retired.push_back(object);
  } catch (const std::bad_alloc&) {
    alignas(Ref<RefCounted>) std::byte room[sizeof(Ref<RefCounted>)];
    new (room) Ref<RefCounted>(std::move(object));  // lost, as it may be pinned
    return;
  }
  object = {};
  num_retired = all.retired.size();
  unused = take_unpinned(all);
}

void drop_retired() {
  if (num_retired == 0) return;
  std::vector<Ref<RefCounted>> unused;
  Threads& all = threads();
  synchronise_threads();
  const std::lock_guard lock(all.mutex);
  try {
    unused = take_unpinned(all);
  } catch (const std::bad_alloc&) {
    // They go when something else is retired.
  }
}

}  // namespace weft::detail
