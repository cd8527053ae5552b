// Objects that threads use without counting references while others may drop them: hazard pointers.
//
// A reader pins what a shared pointer refers to for a scope: two plain stores of its own thread. Who takes an object from where readers
// find it retires it: it lives on until no thread has it pinned.
#pragma once
#include <atomic>

#include "weft/core/base/ref.h"

namespace weft::detail {

/// The object that the pointer refers to, kept for this scope; null where the pointer is, or where the thread has pinned too many already.
class [[nodiscard]] PinnedObject {
 public:
  explicit PinnedObject(const std::atomic<RefCounted*>& pointer);
  ~PinnedObject();
  PinnedObject(const PinnedObject&) = delete;
  PinnedObject& operator=(const PinnedObject&) = delete;
  RefCounted* get() const { return object_; }

 private:
  std::atomic<RefCounted*>* slot_ = nullptr;
  RefCounted* object_ = nullptr;
};

/// Drops it once it is pinned by nobody: at once, or when something is retired later. No shared pointer may refer to it any more.
void retire(Ref<RefCounted> object);
/// Drops what was retired and is pinned by nobody any more: for an owner's end, behind which nothing may come that retires.
void drop_retired();

}  // namespace weft::detail
