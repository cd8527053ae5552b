// A record of what passes do to programs. A caller that wants one holds a PassNotes, to which the passes on the same thread report. A pass
// costs one test of a pointer where there is none.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/ir/jaxpr.h"

namespace weft::detail {

/// One pass over one program.
struct PassNote {
  std::string pass;
  Jaxpr before, after;
};

/// Hears of the passes of the calling thread as long as it lives, innermost listener first. Passes that other passes call for programs
/// within a program (a loop's body) are not told of: they show in what the outer ones make.
class [[nodiscard]] PassNotes {
 public:
  PassNotes();
  ~PassNotes();
  PassNotes(const PassNotes&) = delete;
  PassNotes& operator=(const PassNotes&) = delete;
  const std::vector<PassNote>& notes() const { return notes_; }

 private:
  friend class NotedPass;
  std::vector<PassNote> notes_;
  int depth_ = 0;
  PassNotes* outer_;
};

/// A pass over a program, from its beginning to its end: `NotedPass noted("transpose", j); ...; noted.made(result);`
class [[nodiscard]] NotedPass {
 public:
  NotedPass(std::string_view pass, const Jaxpr& before);
  ~NotedPass();
  NotedPass(const NotedPass&) = delete;
  NotedPass& operator=(const NotedPass&) = delete;
  /// A program that it made of the one before; `part` says which, where it makes several. One that is the same is not noted.
  void made(const Jaxpr& after, std::string_view part = {}) const;

 private:
  PassNotes* listener_;
  std::string_view pass_;
  std::optional<Jaxpr> before_;
};

}  // namespace weft::detail
