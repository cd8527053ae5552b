// The calls that a thread is in, for messages. Taking them is cheap (microseconds); their names are looked up when a message is read.
#pragma once
#include <span>
#include <string>
#include <vector>

namespace weft::detail {

/// What messages tell of the calls that were running: WEFT_TRACEBACK=0, =1 (the user's functions) or =full (the library's too).
enum class TracebackDetail { none, users, full };
TracebackDetail traceback_detail();

/// The return addresses of this thread's calls, innermost first, without the caller's own; at most some hundreds.
std::vector<void*> return_addresses();

/// A function that an address stands in.
struct CodeFrame {
  std::string symbol;  ///< as the linker names it; empty: unknown
  std::string file;    ///< as it was compiled; empty: there is no debug information
  int line = 0;
  std::string object;        ///< the name of the program's or library's file
  bool of_library = false;   ///< a function of weft
  bool of_standard = false;  ///< of the C++ or C library
};
/// The functions that these return addresses stand in, inlined ones before those that they were inlined into. Slow at first (it reads the
/// debug information); any thread may call it. Defined in backends/code_frames.cpp.
std::vector<CodeFrame> code_frames(std::span<void* const> addresses);

/// A function's name as its author wrote it, from a linker's symbol: `net::layer`, `a lambda in main`. Without arguments.
std::string readable_function(const std::string& symbol);
/// Of a public function of weft, its name without `weft::`; else empty.
std::string public_function(const std::string& symbol);

}  // namespace weft::detail
