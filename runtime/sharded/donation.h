// Donation (donate_argnums): whether results may take an argument's memory, and the warning if they
// can't.
#pragma once
#include <span>
#include <vector>

#include "weft/core/array/array_impl.h"

namespace weft::detail {

/// A scope that holds the line of a donating call, which warnings name.
class [[nodiscard]] DonatingCall {
 public:
  explicit DonatingCall(SourceLoc loc);
  ~DonatingCall();
  DonatingCall(const DonatingCall&) = delete;
  DonatingCall& operator=(const DonatingCall&) = delete;

 private:
  SourceLoc saved_;
};

/// For each buffer the reason why results can't take its memory; null if they can. They can if this is the only handle to the buffer and,
/// for a view, only buffers of the list refer to its owner.
std::vector<const char*> why_not_taken(std::span<Ref<Buffer>> buffers);
/// Warns on stderr that a donated argument is copied, and why: once for each line and reason.
void warn_copied(const Aval& aval, const char* why, SourceLoc loc);

}  // namespace weft::detail
