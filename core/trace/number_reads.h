// Numbers that a function reads out of arrays while it is differentiated. They are constants of its program, without derivatives.
#pragma once
#include "weft/core/errors/source_loc.h"

namespace weft::detail {

/// Listens, while it lives, for floating and complex numbers that this thread reads out of traced arrays. The innermost listener hears.
class [[nodiscard]] NumberReads {
 public:
  NumberReads();
  ~NumberReads();
  NumberReads(const NumberReads&) = delete;
  NumberReads& operator=(const NumberReads&) = delete;

  /// The function that read the first number, or null.
  const char* reader() const { return reader_; }
  SourceLoc where() const { return where_; }

 private:
  friend void note_number_read(const char* reader, SourceLoc where);
  NumberReads* const outer_;
  const char* reader_ = nullptr;
  SourceLoc where_;
};
/// Tells the innermost listener, if there is one.
void note_number_read(const char* reader, SourceLoc where);

}  // namespace weft::detail
