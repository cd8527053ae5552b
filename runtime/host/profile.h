// A profiler: where a program's time and memory go.
#pragma once
#include <string>

#include "weft/core/errors/source_loc.h"

namespace weft {

/// Records the work of weft in all threads, from the constructor to stop() or the destructor: tracing, compiling, calls of compiled
/// programs with each kernel and library routine, loops, collectives, transfers, the memory in use on host devices, and the ranges named by
/// ProfileRange and named_scope. One at a time: a second one throws Error. WEFT_TRACE=file.json in the environment records a whole process
/// and writes the file at its end. A range takes 0.2 to 0.5 us (docs/looking.md).
///
/// Of GPUs only whole programs are shown; NVIDIA's tools show their kernels.
class [[nodiscard]] Profile {
 public:
  explicit Profile(SourceLoc loc = SourceLoc::here());
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;
  ~Profile();
  /// Ends the recording.
  void stop();
  /// Writes it in Chrome's trace format, which ui.perfetto.dev and chrome://tracing show: a row for each thread, and a curve of the memory
  /// in use for each device. Throws IoError where it can't be written.
  void save(const std::string& path, SourceLoc loc = SourceLoc::here()) const;
  /// A table of the costliest kernels, routines, loops and collectives: the number of runs, the total time, the time of one run, and the
  /// share of the total (work inside a loop counts for both). For kernels and matmuls it gives the rates of operations and bytes, and their
  /// share of the roofline: the peak rates are those of a large float32 matmul and of a large sum, measured when the first table is made. A
  /// kernel is listed with its program, the user's named scopes, and the source lines that it comes from. The last line gives the peak
  /// memory in use.
  std::string table(int rows = 20) const;
};

/// Names the work of the calling thread in the profile for as long as the variable lives: `const ProfileRange range("epoch 1");`.
class [[nodiscard]] ProfileRange {
 public:
  explicit ProfileRange(const std::string& name);
  ProfileRange(const ProfileRange&) = delete;
  ProfileRange& operator=(const ProfileRange&) = delete;
  ~ProfileRange();

 protected:
  /// For the library. `traced`: the name is attached to equations too.
  ProfileRange(const std::string& name, bool traced);

 private:
  void* range_ = nullptr;
  void* scope_ = nullptr;
};
/// The scope that named_scope returns.
class [[nodiscard]] NamedScope : public ProfileRange {
 public:
  explicit NamedScope(const std::string& name) : ProfileRange(name, true) {}
};
/// A name for a part of a program (jax.named_scope): `auto scope = named_scope("attention");`. Equations traced while the variable lives
/// carry the name, also in derivatives and under vmap: profiles and to_html show it beside the kernels. Scopes nest:
/// `decoder/attention`.
inline NamedScope named_scope(const std::string& name) { return NamedScope(name); }

}  // namespace weft
