// Where users' calls enter the library, and where it calls functions of theirs: foreign exceptions that leave it become Errors, and the
// users' own pass through.
#pragma once
#include <utility>

#include "weft/core/errors/error.h"

namespace weft::detail {

/// Within a handler: throws the exception on. One that is not an Error, and not the user's own, becomes one: MemoryError, SystemError,
/// IoError,
/// ... `operation` names what was called. An Error without a line is given this one.
[[noreturn]] void rethrow_as_error(const char* operation, SourceLoc where);
/// Within a handler: the exception comes from a function of the user's, and is to reach the caller as it is.
void note_users_exception();

/// Calls f, where a call of the user's enters the library.
template <class F>
decltype(auto) guarded(const char* operation, SourceLoc where, F&& f) {
  try {
    return std::forward<F>(f)();
  } catch (...) {
    rethrow_as_error(operation, where);
  }
}
/// Calls f, a function of the user's.
template <class F>
decltype(auto) calling_user(F&& f) {
  try {
    return std::forward<F>(f)();
  } catch (const Error&) {
    throw;
  } catch (...) {
    note_users_exception();
    throw;
  }
}

}  // namespace weft::detail
