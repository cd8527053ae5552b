// Objects that threads use without counting references while others may drop them: hazard pointers.
//
// A reader pins what a shared pointer refers to for a scope: two plain stores of its own thread. A writer that replaces the shared pointer
// retires the old object, which lives until no thread has it pinned.
#pragma once
#include <atomic>

#include "weft/core/base/ref.h"

namespace weft::detail {

/// Pins the object that the pointer refers to for this scope. Null if the pointer is null, or if the thread has too many objects pinned.
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

/// Drops the object once no thread has it pinned: at once, or when another one is retired later. No shared pointer may refer to it.
void retire(Ref<RefCounted> object);
/// Drops the retired objects that no thread has pinned: for the end of an owner after which nothing else may be retired.
void drop_retired();

}  // namespace weft::detail
