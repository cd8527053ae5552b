// A thread's calls, and functions' names as messages write them.
#include "weft/core/errors/stack_trace.h"

#include <cxxabi.h>
#include <unwind.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "weft/core/base/environment.h"

namespace weft::detail {
namespace {

struct Walk {
  std::array<void*, 320> addresses;
  std::size_t count = 0;
};

_Unwind_Reason_Code next_frame(_Unwind_Context* context, void* data) {
  auto& walk = *static_cast<Walk*>(data);
  int before = 0;  // whether the address is that of an instruction that was interrupted, and not of one to return to
  const auto address = static_cast<std::uintptr_t>(_Unwind_GetIPInfo(context, &before));
  if (address == 0) return _URC_END_OF_STACK;
  walk.addresses[walk.count++] = reinterpret_cast<void*>(before ? address + 1 : address);
  return walk.count == walk.addresses.size() ? _URC_END_OF_STACK : _URC_NO_REASON;
}

std::string demangled(const std::string& symbol) {
  int status = 0;
  char* text = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
  std::string out = text ? text : symbol;
  std::free(text);
  return out;
}

/// Where the bracket that opens at `from` is closed; the end where it isn't.
std::size_t closing(std::string_view s, std::size_t from) {
  int depth = 0;
  for (std::size_t i = from; i < s.size(); ++i) {
    if (s[i] == '(' || s[i] == '<' || s[i] == '{' || s[i] == '[') ++depth;
    if ((s[i] == ')' || s[i] == '>' || s[i] == '}' || s[i] == ']') && --depth == 0) return i;
  }
  return s.size();
}

// The parts of a qualified name that are between `::` outside of all brackets, what the brackets hold left out. A result type ends
// at a space.
std::vector<std::string> parts_of(std::string_view s) {
  std::vector<std::string> parts(1);
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (s.substr(i).starts_with("operator")) {
      std::size_t end = i + 8;
      if (s.substr(end).starts_with("()"))
        end += 2;
      else
        while (end < s.size() && s[end] != '(' && s[end] != ' ') ++end;
      parts.back() += s.substr(i, end - i);
      i = end - 1;
    } else if (s.substr(i).starts_with("{lambda(")) {
      parts.back() = "{lambda}";
      i = closing(s, i);
    } else if (s.substr(i).starts_with("(anonymous namespace)")) {
      i += std::string_view("(anonymous namespace)").size() - 1;
    } else if (s[i] == '(' || s[i] == '<' || s[i] == '[') {
      i = closing(s, i);
    } else if (s.substr(i).starts_with("::")) {
      parts.emplace_back();
      ++i;
    } else if (s[i] == ' ') {
      if (const std::string_view rest = s.substr(i + 1); rest.starts_with("const") || rest.starts_with("[clone")) break;
      parts.assign(1, "");
    } else {
      parts.back() += s[i];
    }
  }
  std::erase(parts, "");
  return parts;
}

}  // namespace

TracebackDetail traceback_detail() {
  static const TracebackDetail detail = [] {
    // The caller is composing an error, so a bad value of the variable is ignored rather than reported.
    if (const auto problem = problem_in_environment("WEFT_TRACEBACK")) {
      std::fprintf(stderr, "weft: %s\n", problem->c_str());
      return TracebackDetail::users;
    }
    const std::string_view v = word_in_environment("WEFT_TRACEBACK");
    return v == "full" ? TracebackDetail::full : v == "0" ? TracebackDetail::none : TracebackDetail::users;
  }();
  return detail;
}

std::vector<void*> return_addresses() {
  Walk walk;
  _Unwind_Backtrace(next_frame, &walk);
  const auto end = walk.addresses.begin() + static_cast<std::ptrdiff_t>(walk.count);
  return std::vector<void*>(std::min(walk.addresses.begin() + 1, end), end);  // not braces: pointers to pointers are pointers, too
}

std::string readable_function(const std::string& symbol) {
  if (symbol.empty()) return {};
  std::string out;
  bool in_lambda = false;
  for (const std::string& part : parts_of(demangled(symbol))) {
    if (in_lambda && (part == "operator()" || part == "_FUN")) continue;
    if (part == "{lambda}") {
      if (!in_lambda) out = out.empty() ? "a lambda" : "a lambda in " + out;
      in_lambda = true;
      continue;
    }
    out += (out.empty() ? "" : "::") + part;
  }
  return out;
}

std::string public_function(const std::string& symbol) {
  const std::vector<std::string> parts = parts_of(demangled(symbol));
  if (parts.size() < 2 || parts[0] != "weft" || parts[1] == "detail") return {};
  std::string out = parts[1];
  for (std::size_t i = 2; i < parts.size(); ++i) {
    if (parts[i] == "{lambda}" || parts[i] == "operator()") return {};
    out += "::" + parts[i];
  }
  return out;
}

}  // namespace weft::detail
