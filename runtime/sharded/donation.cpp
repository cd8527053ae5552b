#include "weft/runtime/sharded/donation.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "weft/core/array/array_reads.h"
#include "weft/core/base/process_wide.h"
#include "weft/core/base/thread_object.h"
#include "weft/runtime/host/buffer.h"
#include "weft/runtime/host/process_end.h"

namespace weft::detail {
namespace {

struct CallLine {
  SourceLoc loc;
};

struct Told {
  std::mutex mutex;
  std::set<std::string> lines;
};

}  // namespace

DonatingCall::DonatingCall(SourceLoc loc) : saved_(of_thread<CallLine>().loc) {
  if (loc) of_thread<CallLine>().loc = loc;
}
DonatingCall::~DonatingCall() { of_thread<CallLine>().loc = saved_; }

namespace {

constexpr std::chrono::milliseconds kReaders{250};

/// While one lives, no other thread changes what arrays hold, and none begins to read one.
class Taking {
 public:
  bool is_read(const Array& x) const { return held_.is_read(*x.impl()); }
  /// Whether a call has the array already, which holds its memory still as somebody reads it.
  bool is_claimed(const Array& x) const { return std::find(claimed().begin(), claimed().end(), x.impl().get()) != claimed().end(); }
  void claim(const Array& x) const { claimed().push_back(x.impl().get()); }
  void release(const Array& x) const { std::erase(claimed(), x.impl().get()); }

 private:
  static std::vector<const ArrayImpl*>& claimed() {
    static auto& arrays = process_wide<std::vector<const ArrayImpl*>>();
    return arrays;
  }
  static std::mutex& mutex() {
    static auto& m = process_wide<ProcessMutex>(LockRank::donation);
    return m;
  }
  const std::lock_guard<std::mutex> lock_{mutex()};
  const ArraysHeld held_{synchronise_threads};
};
ConcreteArray& concrete(const Array& x) { return *static_cast<ConcreteArray*>(x.impl().get()); }
/// What `from` holds, which is empty then.
void move_contents(ConcreteArray& from, ConcreteArray& to) {
  to.buffer = std::exchange(from.buffer, {});
  to.shards = std::exchange(from.shards, {});
  to.placement = std::exchange(from.placement, {});
}
void share_contents(ConcreteArray& from, ConcreteArray& to) {
  to.buffer = from.buffer, to.shards = from.shards, to.placement = from.placement;
}

}  // namespace

DonatedArguments::DonatedArguments(std::span<const Array> given, const std::vector<bool>& donated, const std::string& what, SourceLoc loc)
    : arguments_(given.begin(), given.end()) {
  std::vector<Array> own(given.size());
  for (std::size_t i = 0; i < std::min(donated.size(), given.size()); ++i)
    if (const ConcreteArray* c = donated[i] ? as_concrete(given[i]) : nullptr) {
      own[i] = Array(Ref<ArrayImpl>(new ConcreteArray(c->aval, Ref<Buffer>())));
      taken_.reserve(given.size());
    }
  const Taking taking;
  for (std::size_t i = 0; i < given.size(); ++i)
    if (is_donated(given[i]) || (!own[i].is_empty_handle() && taking.is_claimed(given[i]))) throw_donated(given[i], what.c_str(), loc);
  for (std::size_t i = 0; i < own.size(); ++i)
    if (!own[i].is_empty_handle()) {
      const bool shared = taking.is_read(given[i]);
      (shared ? share_contents : move_contents)(concrete(given[i]), concrete(own[i]));
      arguments_[i] = std::move(own[i]);
      if (shared) taking.claim(given[i]);
      taken_.push_back({given[i], i, shared});
    }
}
DonatedArguments::~DonatedArguments() {
  if (taken_.empty()) return;
  const Taking taking;
  for (const Taken& t : taken_) {
    if (t.shared) {
      taking.release(t.from);
      continue;
    }
    while (taking.is_read(t.from)) std::this_thread::yield();  // a thread that finds it empty, and is about to throw
    move_contents(concrete(arguments_[t.at]), concrete(t.from));
  }
}

void DonatedArguments::keep() {
  std::vector<Array> contents;  // freed when nobody waits any more
  std::erase_if(taken_, [](const Taken& t) { return !t.shared; });
  if (!taken_.empty()) {
    contents.reserve(taken_.size());
    for (const Taken& t : taken_) contents.push_back(Array(Ref<ArrayImpl>(new ConcreteArray(t.from.aval(), Ref<Buffer>()))));
    // Readers are waited for, with nothing held that they might wait for; not for ever, as one may wait for what this thread does next.
    const auto end = std::chrono::steady_clock::now() + kReaders;
    for (std::size_t k = 0; k < taken_.size(); std::this_thread::yield()) {
      const Taking taking;
      const bool is_late = std::chrono::steady_clock::now() >= end;
      for (; k < taken_.size() && (is_late || !taking.is_read(taken_[k].from)); ++k) {
        if (!taking.is_read(taken_[k].from)) move_contents(concrete(taken_[k].from), concrete(contents[k]));
        taking.release(taken_[k].from);
      }
    }
  }
  taken_.clear();
}

namespace {

constexpr const char* kShared = "another array shares its memory";

std::vector<const char*> why_not_alone(std::span<Ref<Buffer>> buffers) {
  std::vector<const char*> why(buffers.size(), kShared);
  // Views release their owners for the moment, so that an owner has one handle if there are no other views.
  std::vector<Ref<Buffer>> owners;
  std::vector<std::vector<std::size_t>> views;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (!buffers[i]->unique()) continue;
    auto* const view = dynamic_cast<BorrowedBuffer*>(buffers[i].get());
    if (!view) {
      if (buffers[i]->exclusive()) why[i] = nullptr;
      continue;
    }
    Ref<Buffer> owner = view->take_owner();
    if (!owner) {
      why[i] = "its memory is the caller's";
      continue;
    }
    const auto k = static_cast<std::size_t>(std::find(owners.begin(), owners.end(), owner) - owners.begin());
    if (k == owners.size()) {
      owners.push_back(std::move(owner));
      views.emplace_back();
    }
    owner = {};
    views[k].push_back(i);
  }
  if (owners.empty()) return why;
  const std::vector<const char*> of_owners = why_not_alone(owners);
  for (std::size_t k = 0; k < owners.size(); ++k)
    for (std::size_t i : views[k]) {
      why[i] = of_owners[k];
      static_cast<BorrowedBuffer*>(buffers[i].get())->put_owner(owners[k]);
    }
  return why;
}

}  // namespace

std::vector<const char*> why_not_taken(std::span<Ref<Buffer>> buffers) {
  constexpr std::uintptr_t kVector = 64;  // what kernels store may go past the caches, in whole vectors
  std::vector<const char*> why = why_not_alone(buffers);
  for (std::size_t i = 0; i < buffers.size(); ++i)
    if (!why[i] && reinterpret_cast<std::uintptr_t>(buffers[i]->data()) % kVector != 0)
      why[i] = "a part of it doesn't begin at a multiple of 64 bytes";
  return why;
}

void warn_copied(const Aval& aval, const char* why, SourceLoc loc) {
  if (of_thread<CallLine>().loc) loc = of_thread<CallLine>().loc;
  const std::string where = loc ? fmt::format(" ({}:{})", loc.file(), loc.line()) : std::string();
  const std::string text =
      fmt::format("weft: warning: the donated argument {} of a mapped function is copied: {}{}\n", to_string(aval), why, where);
  static auto& told = process_wide<Told>();
  {
    const std::lock_guard lock(told.mutex);
    if (!told.lines.insert(loc ? where : text).second) return;
  }
  std::fputs(text.c_str(), stderr);
}

}  // namespace weft::detail
