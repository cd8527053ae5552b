// Errors and events (see status.h), and the calls on them.
#include "weft/frontends/pjrt/status.h"

#include <fmt/format.h>
#include <unistd.h>

#include <new>

#include "weft/core/errors/error.h"
#include "weft/frontends/pjrt/entries.h"

namespace weft::pjrt {

namespace {

/// The message and the line that it is about; the rest of a weft error is about frames that the caller doesn't know.
Error told(Code code, const weft::Error& e) {
  const SourceLoc at = e.where();
  std::string text = e.message();
  if (at.line() > 0 && text.find(at.file()) == std::string::npos) text += fmt::format("\n  at {}:{}", at.file(), at.line());
  return {code, std::move(text)};
}

}  // namespace

Error current_error() {
  try {
    throw;
  } catch (const Failure& e) {
    return {e.code(), e.what()};
  } catch (const MemoryError& e) {
    return told(Code::resource_exhausted, e);
  } catch (const std::bad_alloc&) {
    return {Code::resource_exhausted, "weft: out of memory"};
  } catch (const DistributedError& e) {
    return told(Code::unavailable, e);
  } catch (const weft::SystemError& e) {
    return told(Code::resource_exhausted, e);
  } catch (const CompileError& e) {
    return told(Code::not_supported, e);
  } catch (const weft::Error& e) {
    return told(Code::invalid_argument, e);
  } catch (const std::exception& e) {
    return {Code::internal, std::string("weft: ") + e.what()};
  } catch (...) {
    return {Code::internal, "weft: an exception of an unknown type"};
  }
}

Error* new_error(const Error& e) { return new Error(e); }

void not_supported(const std::string& what) { throw Failure(Code::not_supported, "weft: " + what + " is not supported"); }
void invalid(const std::string& problem) { throw Failure(Code::invalid_argument, "weft: " + problem); }

Progress::Progress() : process_(getpid()) {}

bool Progress::has_ended() const { return ready_ || process_ != getpid(); }

std::optional<Error> Progress::outcome() const {
  if (ready_) return error_;
  return Error{Code::aborted,
               "weft: an array was still being computed when the process was forked, and is computed in the parent only; wait for arrays "
               "(block_until_ready) before the fork"};
}

void Progress::finish(std::optional<Error> error) {
  std::vector<std::function<void(const std::optional<Error>&)>> waiting;
  {
    const std::lock_guard lock(mutex_);
    if (ready_) return;
    error_ = std::move(error);
    ready_ = true;
    waiting.swap(waiting_);
    // Under the lock: a waiting thread may drop this object as soon as it has the lock.
    ended_.notify_all();
  }
  for (const auto& f : waiting) f(error_);
}

bool Progress::is_ready() const {
  const std::lock_guard lock(mutex_);
  return has_ended();
}

std::optional<Error> Progress::wait() const {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [&] { return has_ended(); });
  return outcome();
}

void Progress::then(std::function<void(const std::optional<Error>&)> f) {
  {
    const std::lock_guard lock(mutex_);
    if (!has_ended()) {
      waiting_.push_back(std::move(f));
      return;
    }
  }
  f(outcome());
}

namespace calls {

void Error_GetCode(ValueArgs<const Error, Code>& a) { a.value = a.object->code; }

void Event_Destroy(ObjectArgs<Event>& a) { delete a.object; }

void Event_IsReady(ValueArgs<Event, bool>& a) { a.value = !a.object->progress || a.object->progress->is_ready(); }

void Event_Await(ObjectArgs<Event>& a) {
  if (!a.object->progress) return;
  if (const std::optional<Error> e = a.object->progress->wait()) throw Failure(e->code, e->message);
}

void Event_Error(ObjectArgs<Event>& a) {
  if (a.object->progress && !a.object->progress->is_ready()) invalid("the error of an event was requested before the event was ready");
  Event_Await(a);
}

void Event_OnReady(EventOnReadyArgs& a) {
  const auto call = [callback = a.callback, user = a.user](const std::optional<Error>& e) { callback(e ? new_error(*e) : nullptr, user); };
  if (a.event->progress)
    a.event->progress->then(call);
  else
    call({});
}

void Event_Create(MadeArgs<Event>& a) { a.made = new Event{std::make_shared<Progress>()}; }

void Event_Set(EventSetArgs& a) {
  if (!a.event->progress) invalid("an event was set that Event_Create has not made");
  std::optional<Error> error;
  if (a.code != Code::ok) error = Error{a.code, std::string(a.message ? a.message : "", a.message ? a.message_size : 0)};
  a.event->progress->finish(std::move(error));
}

}  // namespace calls
}  // namespace weft::pjrt
