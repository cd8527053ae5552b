// The interface's errors, a code and a message each, and its events, on which a framework waits.
#pragma once
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "weft/frontends/pjrt/api.h"

namespace weft::pjrt {

/// A failed call, thrown within the plugin.
class Failure : public std::runtime_error {
 public:
  Failure(Code code, const std::string& message) : std::runtime_error(message), code_(code) {}
  Code code() const { return code_; }

 private:
  Code code_;
};

/// What the caller gets of it.
struct Error {
  Code code;
  std::string message;
};
/// The code and the message of the exception that is being handled.
Error current_error();
/// What went wrong in a function, or nothing.
template <class F>
std::optional<Error> error_of(const F& f) {
  try {
    f();
    return {};
  } catch (...) {
    return current_error();
  }
}
/// An error as the caller owns it.
Error* new_error(const Error& e);

/// Throws what says that the plugin has no such thing.
[[noreturn]] void not_supported(const std::string& what);
/// Throws invalid_argument.
[[noreturn]] void invalid(const std::string& problem);

/// Something that is under way, and then has succeeded or failed. Shared by the events that stand for it. In the child of a fork, where
/// nobody goes on with it, what was under way has failed.
class Progress {
 public:
  Progress();
  void finish(std::optional<Error> error);
  bool is_ready() const;
  /// Waits; what went wrong, or nothing.
  std::optional<Error> wait() const;
  /// Calls it once, now or when it ends.
  void then(std::function<void(const std::optional<Error>&)> f);

 private:
  bool has_ended() const;
  std::optional<Error> outcome() const;
  mutable std::mutex mutex_;
  mutable std::condition_variable ended_;
  const int process_;
  bool ready_ = false;
  std::optional<Error> error_;
  std::vector<std::function<void(const std::optional<Error>&)>> waiting_;
};

struct Event {
  std::shared_ptr<Progress> progress;  ///< null: it has succeeded
};
/// An event that is ready.
inline Event* ready_event() { return new Event; }

}  // namespace weft::pjrt
