// Errors: the context that is captured when one is created, and the message that is composed when it is read.
#include "weft/core/errors/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "weft/core/errors/called_name.h"
#include "weft/core/errors/error_context.h"
#include "weft/core/errors/given_text.h"
#include "weft/core/errors/stack_trace.h"
#include "weft/core/ir/primitive.h"

namespace weft {
namespace detail {

const char* called_name(CalledAs function, const char* operation) {
  switch (function) {
    case CalledAs::fori_loop: return "fori_loop";
    case CalledAs::map: return "map";
    case CalledAs::psum_scatter: return "psum_scatter";
    case CalledAs::pshuffle: return "pshuffle";
    case CalledAs::pswapaxes: return "pswapaxes";
    case CalledAs::operation: break;
  }
  return operation;
}

namespace {

constexpr std::size_t kTransforms = 12;  // of a deeper nest the innermost are told
constexpr std::size_t kFrames = 24;

/// The message with the name of the function that the user called, beside that of the primitive operation. `noted`: with the equation,
/// whose operation the message names.
std::string under_name(const std::string& message, const std::string& called, bool noted) {
  if (called.empty()) return message;
  const std::size_t end = message.find(':');
  const std::string_view first = std::string_view(message).substr(0, end);
  const std::size_t space = called.rfind(':');
  const std::string_view plain = space == std::string::npos ? std::string_view(called) : std::string_view(called).substr(space + 1);
  if (message == kEmptyArray) return fmt::format("{}: {}", called, message);
  if (first == called || first == plain || plain.starts_with("operator")) return message;
  if (end != std::string::npos && (noted || find_primitive(first))) return fmt::format("{} ({}){}", called, first, message.substr(end));
  return message;
}

/// The function of the library that the user's innermost function called, from the calls, innermost first.
std::string function_called(const std::vector<CodeFrame>& frames) {
  const auto user =
      std::find_if(frames.begin(), frames.end(), [](const CodeFrame& f) { return !f.of_library && !f.of_standard && !f.symbol.empty(); });
  if (user == frames.end()) return {};
  for (auto f = user; f != frames.begin();) {
    --f;
    if (f->of_standard) continue;
    return public_function(f->symbol);
  }
  return {};
}

void append_calls(std::string& text, const std::vector<CodeFrame>& frames, bool all) {
  const char* lead = "\n  called from ";
  std::size_t told = 0;
  for (const CodeFrame& f : frames) {
    if (!all && (f.of_library || f.of_standard)) continue;
    const std::string name = readable_function(f.symbol);
    if (name.empty() || (!all && f.symbol.starts_with("_start"))) continue;
    if (told++ == kFrames && !all) {
      text += "\n              ...";
      return;
    }
    text += lead + name;
    if (f.line > 0)
      text += fmt::format(" ({}:{})", f.file, f.line);
    else if (!f.object.empty())
      text += fmt::format(" in {}", f.object);
    lead = "\n              ";
  }
}

}  // namespace

ErrorContext::ErrorContext(SourceLoc given) : where(given ? given : effective_loc({})) {
  transforms = transforms_in_progress();
  if (traceback_detail() != TracebackDetail::none) calls = return_addresses();
}

void ErrorContext::locate(Error& e, SourceLoc where) {
  if (e.context_ && !e.context()->where) e.context()->where = effective_loc(where);
}

void ErrorContext::name_operands(Error& e, std::span<const Array> operands) {
  if (!e.context_ || !e.context()->operands.empty()) return;
  try {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const TracedArray* t = as_traced(operands[i]);
      if (!t) continue;
      const std::string from = t->trace->provenance(t->var);
      if (!from.empty()) e.context()->operands.push_back(fmt::format("operand {}, {}, {}", i + 1, to_string(t->aval), from));
    }
  } catch (const std::bad_alloc&) {
    // The message is composed without them.
  }
}

void ErrorContext::name_place(Error& e, std::string place) {
  if (!e.context_) return;
  try {
    e.context()->operands.push_back(std::move(place));
  } catch (const std::bad_alloc&) {
    // The error is told without it.
  }
}

void ErrorContext::add_transform(Error& e, const char* what, const std::string& function, SourceLoc where) {
  if (!e.context_ || !where) return;
  try {
    std::vector<TransformCall>& all = e.context()->transforms;
    // Those that were being traced inside it when the error was made are over.
    const std::size_t inner = all.size() - std::min(all.size(), transforms_in_progress().size());
    all.insert(all.begin() + static_cast<std::ptrdiff_t>(inner), {fmt::format("{} of {}", what, function), where});
    if (inner == 0) e.context()->is_tracing = false;
  } catch (const std::bad_alloc&) {
    // The message is written without it.
  }
}

void ErrorContext::concern_equation(Error& e) {
  if (e.context_) e.context()->concerns_equation = true;
}

const char* ErrorContext::text(const char* message) {
  const std::lock_guard lock(mutex_);
  if (text_) return text_->c_str();
  const TracebackDetail detail = traceback_detail();
  const std::vector<CodeFrame> frames = detail == TracebackDetail::none ? std::vector<CodeFrame>() : code_frames(calls);
  const bool noted = where.called() != CalledAs::operation;
  const std::string called = concerns_equation ? std::string() : noted ? called_name(where.called(), "") : function_called(frames);
  std::string out = under_name(message, called, noted);
  if (where) out += fmt::format("\n  at {}:{}", where.file(), where.line());
  for (const std::string& operand : operands) out += "\n  " + operand;
  for (std::size_t i = 0; i < transforms.size(); ++i) {
    if (i == kTransforms) {
      out += fmt::format("\n  inside {} more transforms", transforms.size() - i);
      break;
    }
    const TransformCall& t = transforms[i];
    out += fmt::format("\n  {} {}, called at {}:{}", i == 0 && is_tracing ? "while tracing" : "inside", t.what, t.where.file(),
                       t.where.line());
  }
  append_calls(out, frames, detail == TracebackDetail::full);
  text_ = std::make_unique<const std::string>(std::move(out));
  return text_->c_str();
}

}  // namespace detail

/// Messages are read as C strings, which end at the first zero byte, so zero bytes are escaped.
static std::string without_nul(const std::string& message) {
  std::string out;
  for (const char c : message) out += c == '\0' ? std::string("\\0") : std::string(1, c);
  return out;
}

Error::Error(const std::string& message, SourceLoc where)
    : std::runtime_error(message.find('\0') == std::string::npos ? message : without_nul(message)) {
  try {
    context_ = detail::Ref<detail::RefCounted>(new detail::ErrorContext(where));
  } catch (const std::bad_alloc&) {
    // The text is the message only.
  }
}

detail::ErrorContext* Error::context() const { return static_cast<detail::ErrorContext*>(context_.get()); }

SourceLoc Error::where() const noexcept { return context_ ? context()->where : SourceLoc(); }

const char* Error::what() const noexcept {
  try {
    if (context_) return context()->text(std::runtime_error::what());
  } catch (...) {
    // Without memory for the rest.
  }
  return std::runtime_error::what();
}

std::string detail::given_text(const char* text, const char* what, SourceLoc loc) {
  if (!text) throw Error(fmt::format("{} is a null pointer; give a text", what), loc);
  return text;
}

}  // namespace weft
