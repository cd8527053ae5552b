// Where a program's time and memory go.
#pragma once
#include <string>

#include "weft/core/errors/source_loc.h"

namespace weft {

/// Records what weft does from when it is made until stop() or its end: tracing, compiling, calls of compiled programs and in them each
/// kernel and library routine, loops, collectives, transfers, how much memory of the host's devices is in use, and the ranges that
/// ProfileRange and named_scope name; of all threads. One at a time: a second one throws Error. WEFT_TRACE=file.json in the environment
/// records a whole process, and writes it when that ends. A range takes 0.2 to 0.5 us (docs/looking.md).
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
  /// Writes it in Chrome's trace format, which ui.perfetto.dev and chrome://tracing show: a row for each thread, and a curve of the memory
  /// in use for each device. Throws IoError where it can't be written.
  void save(const std::string& path, SourceLoc loc = SourceLoc::here()) const;
  /// The costliest kernels, routines, loops and collectives: how often each ran, its time in all and for one run, and its share of the time
  /// of all of them (what runs inside of another counts for both); of kernels and products the rate of operations and of bytes, and how
  /// near that is to what this machine can do (the roofline: the faster of a large float32 product's rate of operations, and of a large
  /// sum's rate of bytes, both measured when the table is first asked for). Kernels have the name of their program, the user's names for
  /// what they compute, and the lines that it comes from. A last line tells the most memory in use.
  std::string table(int rows = 20) const;
};

/// A name for what the calling thread does as long as the variable lives, in the profile: `const ProfileRange range("epoch 1");`.
class [[nodiscard]] ProfileRange {
 public:
  explicit ProfileRange(const std::string& name);
  ProfileRange(const ProfileRange&) = delete;
  ProfileRange& operator=(const ProfileRange&) = delete;
  ~ProfileRange();

 protected:
  /// For the library. `traced`: equations get the name too.
  ProfileRange(const std::string& name, bool traced);

 private:
  void* range_ = nullptr;
  void* scope_ = nullptr;
};
/// What named_scope gives.
class [[nodiscard]] NamedScope : public ProfileRange {
 public:
  explicit NamedScope(const std::string& name) : ProfileRange(name, true) {}
};
/// A name for a part of a program (jax.named_scope): `auto scope = named_scope("attention");`. What is traced as long as the variable lives
/// has the name, also in its derivatives and in batches: profiles and to_html show it beside the kernels. Scopes nest:
/// `decoder/attention`.
inline NamedScope named_scope(const std::string& name) { return NamedScope(name); }

}  // namespace weft
