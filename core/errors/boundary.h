// The boundary between the library and its user: calls into the library, and calls of the user's functions by it. Exceptions of other
// libraries that would leave weft become Errors; exceptions of the user's functions pass through.
#pragma once
#include <utility>

#include "weft/core/errors/error.h"

namespace weft::detail {

/// Rethrows the exception that is being handled. One that is neither an Error nor the user's own becomes an Error of the fitting kind
/// (MemoryError, SystemError, IoError, ...). `operation` names the function that was called. An Error without a line is given `where`. Must
/// be called within a handler.
[[noreturn]] void rethrow_as_error(const char* operation, SourceLoc where);
/// Records, within a handler, that the exception comes from a function of the user's, so that it reaches the caller unchanged.
void note_users_exception();

/// Calls f, the body of a public function; exceptions that leave it go through rethrow_as_error.
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
