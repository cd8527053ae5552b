// Donation (donate_argnums): whether results may take an argument's memory, and the warning if they
// can't.
#pragma once
#include <span>
#include <string>
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

/// The donated arguments of one call: their memory is taken from them at once, so that of several threads that donate an array one has it
/// and the others an Error. An array that a thread reads at this moment (ArrayReads) keeps its memory until that thread is done, if that is
/// soon after the call, and the call has a copy.
/// A call that fails gives back what it has not used.
class [[nodiscard]] DonatedArguments {
 public:
  /// `what` for the message: "jit of step".
  DonatedArguments(std::span<const Array> given, const std::vector<bool>& donated, const std::string& what, SourceLoc loc);
  ~DonatedArguments();
  DonatedArguments(const DonatedArguments&) = delete;
  DonatedArguments& operator=(const DonatedArguments&) = delete;
  /// The arguments, those that are donated as arrays of this call's own.
  std::span<const Array> arguments() const { return arguments_; }
  /// The call has succeeded: the arrays that were given hold nothing any more.
  void keep();

 private:
  struct Taken {
    Array from;
    std::size_t at;
    bool shared;  // somebody reads it: it has its memory still
  };
  std::vector<Array> arguments_;
  std::vector<Taken> taken_;
};

/// For each buffer the reason why results can't take its memory; null if they can. They can if this is the only handle to the buffer and,
/// for a view, only buffers of the list refer to its owner.
std::vector<const char*> why_not_taken(std::span<Ref<Buffer>> buffers);
/// Warns on stderr that a donated argument is copied, and why: once for each line and reason.
void warn_copied(const Aval& aval, const char* why, SourceLoc loc);

}  // namespace weft::detail
