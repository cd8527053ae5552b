#include "weft/core/array/array_reads.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <string>

#include "weft/core/array/array_impl.h"
#include "weft/core/base/thread_object.h"

namespace weft::detail {
namespace {

constexpr std::size_t kSlots = 256;
struct Block {
  std::array<std::atomic<const ArrayImpl*>, kSlots> slots{};
  std::atomic<Block*> next{nullptr};
};

constinit std::atomic<bool> held{false};

}  // namespace

/// The arrays that one thread reads: the first `used` slots. Never deleted, since a thread that donates may look at it; the next thread
/// that begins has it.
struct ArrayReads::OfThread {
  std::atomic<std::size_t> used{0};
  Block first;
  std::atomic<bool> owned{true};
  OfThread* older = nullptr;
};

namespace {

using OfThread = ArrayReads::OfThread;
constinit std::atomic<OfThread*> all_threads{nullptr};

OfThread& take() {
  for (OfThread* t = all_threads.load(std::memory_order_acquire); t; t = t->older) {
    bool owned = false;
    if (!t->owned.load(std::memory_order_relaxed) && t->owned.compare_exchange_strong(owned, true)) return *t;
  }
  auto* t = new OfThread;
  t->older = all_threads.load(std::memory_order_relaxed);
  while (!all_threads.compare_exchange_weak(t->older, t)) {
  }
  return *t;
}

struct Own {
  Own() { std::atomic_thread_fence(std::memory_order_seq_cst); }  // ArraysHeld sees the thread, or the thread sees `held`
  OfThread& reads = take();
  ~Own() {
    reads.used.store(0, std::memory_order_release);
    reads.owned.store(false, std::memory_order_release);
  }
};

/// The slots from number `n` on, block by block.
class Slots {
 public:
  Slots(OfThread& t, std::size_t n) : block_(&t.first), at_(n) {
    while (at_ >= kSlots) go_on();
  }
  void put(const ArrayImpl* x) {
    if (at_ == kSlots) go_on();
    block_->slots[at_++].store(x, std::memory_order_release);
  }

 private:
  void go_on() {
    Block* next = block_->next.load(std::memory_order_relaxed);
    if (!next) block_->next.store(next = new Block, std::memory_order_release);
    block_ = next;
    at_ -= kSlots;
  }
  Block* block_;
  std::size_t at_;
};

}  // namespace

ArrayReads::ArrayReads(std::span<const Array> arrays, Unchecked)
    : own_(of_thread<Own>().reads), before_(own_.used.load(std::memory_order_relaxed)) {
  for (;;) {
    if (before_ + arrays.size() <= kSlots) [[likely]] {
      std::atomic<const ArrayImpl*>* at = &own_.first.slots[before_];
      for (const Array& x : arrays) (at++)->store(x.impl().get(), std::memory_order_release);
    } else {
      Slots slots(own_, before_);
      for (const Array& x : arrays) slots.put(x.impl().get());
    }
    own_.used.store(before_ + arrays.size(), std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst);  // the other half is `synchronise` of ArraysHeld
    if (!held.load(std::memory_order_acquire)) [[likely]]
      break;
    own_.used.store(before_, std::memory_order_release);
    while (held.load(std::memory_order_acquire)) sched_yield();
  }
}
ArrayReads::ArrayReads(std::span<const Array> arrays) : ArrayReads(arrays, Unchecked()) {
  for (const Array& x : arrays)
    if (is_donated(x)) [[unlikely]] {
      donated_ = &x;
      break;
    }
}
ArrayReads::ArrayReads(std::span<const Array> arrays, std::string_view operation, SourceLoc loc) : ArrayReads(arrays) {
  if (donated_) [[unlikely]]
    throw_donated(*donated_, std::string(operation).c_str(), loc);
}
ArrayReads::~ArrayReads() { own_.used.store(before_, std::memory_order_release); }

ArraysHeld::ArraysHeld(void (*synchronise)()) {
  held.store(true, std::memory_order_seq_cst);
  const OfThread* const own = &of_thread<Own>().reads;
  for (const OfThread* t = all_threads.load(std::memory_order_seq_cst); t; t = t->older)
    if (t != own && t->owned.load(std::memory_order_seq_cst)) {
      synchronise();
      break;
    }
}
ArraysHeld::~ArraysHeld() { held.store(false, std::memory_order_release); }

bool ArraysHeld::is_read(const ArrayImpl& x) const {
  for (const OfThread* t = all_threads.load(std::memory_order_acquire); t; t = t->older) {
    std::size_t used = t->used.load(std::memory_order_acquire);
    for (const Block* b = &t->first; b && used > 0; b = b->next.load(std::memory_order_acquire)) {
      const std::size_t here = std::min(used, kSlots);
      for (std::size_t i = 0; i < here; ++i)
        if (b->slots[i].load(std::memory_order_acquire) == &x) return true;
      used -= here;
    }
  }
  return false;
}

void forget_reads_of_others() {
  const OfThread* const own = &of_thread<Own>().reads;
  for (OfThread* t = all_threads.load(std::memory_order_acquire); t; t = t->older)
    if (t != own) {
      t->used.store(0, std::memory_order_release);
      t->owned.store(false, std::memory_order_release);
    }
}

}  // namespace weft::detail
