// Which arrays each thread reads, so that no other thread takes their memory meanwhile (donate_argnums). A reader publishes what it reads
// with plain stores of its own thread: hazard pointers. What it costs is paid by the thread that donates.
#pragma once
#include <atomic>
#include <cstddef>
#include <span>
#include <string_view>

#include "weft/core/array/array.h"

namespace weft::detail {

/// A scope in which the arrays keep their memory: a thread that donates one of them meanwhile copies it. Scopes of a thread are nested.
class [[nodiscard]] ArrayReads {
 public:
  explicit ArrayReads(std::span<const Array> arrays);
  /// Throws Error for an array that has been donated before; `operation` for the message.
  ArrayReads(std::span<const Array> arrays, std::string_view operation, SourceLoc loc);
  ArrayReads(const Array& x, std::string_view operation, SourceLoc loc) : ArrayReads(std::span(&x, 1), operation, loc) {}
  /// For callers that look whether the arrays are there themselves.
  struct Unchecked {};
  ArrayReads(std::span<const Array> arrays, Unchecked);
  ~ArrayReads();
  ArrayReads(const ArrayReads&) = delete;
  ArrayReads& operator=(const ArrayReads&) = delete;

  /// The first of the arrays that has been donated before; null if there is none.
  const Array* donated() const { return donated_; }

  struct OfThread;

 private:
  OfThread& own_;
  const std::size_t before_;
  const Array* donated_ = nullptr;
};

/// Set while a thread changes what arrays hold: nobody begins to read, and is_read tells who reads already.
class [[nodiscard]] ArraysHeld {
 public:
  /// `synchronise`: makes earlier writes of all threads visible to this one and its own to them (synchronise_threads). The caller excludes
  /// other threads that do the same.
  explicit ArraysHeld(void (*synchronise)());
  ~ArraysHeld();
  ArraysHeld(const ArraysHeld&) = delete;
  ArraysHeld& operator=(const ArraysHeld&) = delete;
  /// Whether a scope of any thread reads the array.
  bool is_read(const ArrayImpl& x) const;
};

/// In the child of a fork: the reads of the threads that are not there end.
void forget_reads_of_others();

}  // namespace weft::detail
