// Memory of arguments that is given to a program for its results (donate_argnums): whether it is nobody else's, and what the user is told
// where it can't be taken.
#pragma once
#include <span>
#include <vector>

#include "weft/core/array/array_impl.h"

namespace weft::detail {

/// The line of a call that donates, for as long as it runs: what is told names it.
class [[nodiscard]] DonatingCall {
 public:
  explicit DonatingCall(SourceLoc loc);
  ~DonatingCall();
  DonatingCall(const DonatingCall&) = delete;
  DonatingCall& operator=(const DonatingCall&) = delete;

 private:
  SourceLoc saved_;
};

/// For each buffer why results can't take its memory; null: they can. Nobody else may see it: its handle here is the only one, and a buffer
/// that it is a view of is seen by no others than buffers of the list.
std::vector<const char*> why_not_taken(std::span<Ref<Buffer>> buffers);
/// Says on stderr that a donated argument is copied, and why: once for each line and reason.
void warn_copied(const Aval& aval, const char* why, SourceLoc loc);

}  // namespace weft::detail
