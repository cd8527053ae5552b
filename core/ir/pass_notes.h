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

/// Records the passes of the calling thread as long as it lives; where there are several such objects, the innermost one records. Passes
/// that other passes run on sub-programs (a loop's body) are not recorded on their own.
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
  /// Records a result of the pass; `part` names it where there are several. A result equal to the input is not recorded.
  void made(const Jaxpr& after, std::string_view part = {}) const;

 private:
  PassNotes* listener_;
  std::string_view pass_;
  std::optional<Jaxpr> before_;
};

}  // namespace weft::detail
