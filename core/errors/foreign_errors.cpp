// Converts exceptions of third-party libraries to Errors that name the operation and the user's line.
#include <cxxabi.h>
#include <execinfo.h>
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cstring>
#include <exception>
#include <filesystem>
#include <new>
#include <system_error>

#include "weft/core/errors/error_context.h"

namespace weft::detail {
namespace {

// The address of the exception object that is being handled.
const void* object_of(const std::exception_ptr& e) {
  static_assert(sizeof e == sizeof(void*));
  const void* object = nullptr;
  std::memcpy(&object, &e, sizeof object);
  return object;
}

/// Exceptions in flight that users' functions threw, on several threads. (A later exception of the same type at the same address would also
/// pass as the user's.)
struct Noted {
  std::atomic<const void*> object{nullptr};
  std::atomic<const std::type_info*> type{nullptr};
};
constexpr std::string_view kOutOfMemory = "out of memory";
constexpr std::size_t kNoted = 1024;  // the largest number in flight at once
std::array<Noted, kNoted>& noted() {
  static std::array<Noted, kNoted> slots;
  return slots;
}
std::atomic<std::size_t> next_noted{0};

bool is_noted(const std::exception_ptr& e) {
  const void* object = object_of(e);
  for (const Noted& n : noted())
    if (n.object.load(std::memory_order_acquire) == object && n.type.load(std::memory_order_relaxed) == abi::__cxa_current_exception_type())
      return true;
  return false;
}

/// For when there is no memory to say more.
const MemoryError& without_memory() {
  static const MemoryError* const e = new MemoryError(std::string(kOutOfMemory));  // never destroyed: errors are thrown until the very end
  return *e;
}
[[maybe_unused]] const MemoryError& made_early = without_memory();

/// The C library looks for the unwinder when an exception first leaves one of its functions, as std::call_once's, and ends the process if
/// there is no memory to do so. Walking the stack makes it look now.
[[maybe_unused]] const bool unwinder_is_known = [] {
  void* frame = nullptr;
  return ::backtrace(&frame, 1) > 0;
}();

template <class E>
[[noreturn]] void translated(const char* operation, const std::string& problem, SourceLoc where) {
  throw E(*operation ? fmt::format("{}: {}", operation, problem) : problem, effective_loc(where));
}

/// An error that doesn't name the operation yet, and begins like this, under the operation's name. Without memory for it, nothing.
template <class E>
void retell(const Error& e, std::string_view beginning, const char* operation, SourceLoc where) {
  try {
    if (std::string_view(e.std::runtime_error::what()).starts_with(beginning)) translated<E>(operation, e.message(), where);
  } catch (const std::bad_alloc&) {
    // It goes on as it is.
  }
}

[[noreturn]] void translate(const char* operation, SourceLoc where) {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    translated<MemoryError>(operation, fmt::format("{}: the process could not be given more", kOutOfMemory), where);
  } catch (const std::filesystem::filesystem_error& e) {
    translated<IoError>(operation, e.what(), where);
  } catch (const std::system_error& e) {
    translated<SystemError>(operation, fmt::format("the operating system refused: {}", e.what()), where);
  } catch (const std::exception& e) {
    translated<Error>(operation, fmt::format("internal error: {}", e.what()), where);
  }
  // Any other exception is the user's, as weft and its libraries throw none: it goes on as it is.
}

}  // namespace

void note_users_exception() {
  const std::exception_ptr e = std::current_exception();
  if (!e || is_noted(e)) return;
  Noted& slot = noted()[next_noted.fetch_add(1, std::memory_order_relaxed) % kNoted];
  slot.type.store(abi::__cxa_current_exception_type(), std::memory_order_relaxed);
  slot.object.store(object_of(e), std::memory_order_release);
}

void rethrow_as_error(const char* operation, SourceLoc where) {
  try {
    throw;
  } catch (abi::__forced_unwind&) {
    throw;  // a thread that is being cancelled
  } catch (const MemoryError& e) {
    // The allocator does not know the operation, so it is added here.
    if (*operation) retell<MemoryError>(e, kOutOfMemory, operation, where);
    throw;
  } catch (Error& e) {
    if (*operation) retell<Error>(e, kEmptyArray, operation, where);
    ErrorContext::locate(e, where);
    throw;
  } catch (...) {
    if (is_noted(std::current_exception())) throw;
    try {
      translate(operation, where);
    } catch (const std::bad_alloc&) {
      throw without_memory();
    }
  }
}

}  // namespace weft::detail
