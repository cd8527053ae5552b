#include "weft/runtime/sharded/donation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <set>
#include <string>

#include "weft/core/base/process_wide.h"
#include "weft/core/base/thread_object.h"
#include "weft/runtime/host/buffer.h"

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
