// A thread's call stack, for messages. Taking the addresses is cheap (microseconds); names are looked up when a message is read.
#pragma once
#include <span>
#include <string>
#include <vector>

namespace weft::detail {

/// How much of the call stack messages show: WEFT_TRACEBACK=0, =1 (the user's functions) or =full (the library's too).
enum class TracebackDetail { none, users, full };
TracebackDetail traceback_detail();

/// The return addresses of this thread's calls, innermost first, without the caller's own; at most some hundreds.
std::vector<void*> return_addresses();

/// The function that contains an address.
struct CodeFrame {
  std::string symbol;  ///< as the linker names it; empty: unknown
  std::string file;    ///< as it was compiled; empty: there is no debug information
  int line = 0;
  std::string object;        ///< the name of the program's or library's file
  bool of_library = false;   ///< a function of weft
  bool of_standard = false;  ///< of the C++ or C library
};
/// The functions that contain these return addresses, inlined ones before those that they were inlined into. The first call is slow: it
/// reads the debug information. Thread-safe. Defined in backends/code_frames.cpp.
std::vector<CodeFrame> code_frames(std::span<void* const> addresses);

/// A function's name as its author wrote it, from a linker's symbol: `net::layer`, `a lambda in main`. Without arguments.
std::string readable_function(const std::string& symbol);
/// The name of a public function of weft without `weft::`; empty for any other function.
std::string public_function(const std::string& symbol);

}  // namespace weft::detail
