#include "weft/core/trace/number_reads.h"

namespace weft::detail {

namespace {
thread_local NumberReads* innermost = nullptr;
}  // namespace

NumberReads::NumberReads() : outer_(innermost) { innermost = this; }
NumberReads::~NumberReads() { innermost = outer_; }

void note_number_read(const char* reader, SourceLoc where) {
  if (!innermost || innermost->reader_) return;
  innermost->reader_ = reader;
  innermost->where_ = where;
}

}  // namespace weft::detail
