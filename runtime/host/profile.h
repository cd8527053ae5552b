// Where a program's time goes.
#pragma once
#include <string>

#include "weft/core/errors/source_loc.h"

namespace weft {

/// Records what weft does from when it is made until stop() or its end: tracing, compiling, calls of compiled programs and in them each
/// kernel and library routine, loops, collectives, transfers, and the ranges that ProfileRange names; of all threads. One at a time: a
/// second one throws Error. WEFT_TRACE=file.json in the environment records a whole process, and writes it when that ends.
///
/// Kernels on GPUs show as the programs that hold them; NVIDIA's tools tell more of these.
class [[nodiscard]] Profile {
 public:
  explicit Profile(SourceLoc loc = SourceLoc::here());
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;
  ~Profile();
  /// Nothing is recorded from here on.
  void stop();
  /// Writes it in Chrome's trace format, which ui.perfetto.dev and chrome://tracing show: a row for each thread. Throws IoError where it
  /// can't be written.
  void save(const std::string& path, SourceLoc loc = SourceLoc::here()) const;
  /// The costliest kernels, routines, loops and collectives: how often each ran, its time in all and for one run, and its share of the time
  /// of all of them. What runs inside of another counts for both.
  std::string table(int rows = 20) const;
};

/// A name for what the calling thread does as long as the variable lives, in the profile: `const ProfileRange range("epoch 1");`.
class [[nodiscard]] ProfileRange {
 public:
  explicit ProfileRange(const std::string& name);
  ProfileRange(const ProfileRange&) = delete;
  ProfileRange& operator=(const ProfileRange&) = delete;
  ~ProfileRange();

 private:
  void* range_ = nullptr;
};

}  // namespace weft
