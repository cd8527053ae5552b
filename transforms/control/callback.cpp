#include "weft/transforms/control/callback.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "weft/core/base/nesting.h"
#include "weft/core/errors/error.h"
#include "weft/core/errors/error_context.h"
#include "weft/core/ops/control/callback.h"
#include "weft/core/trace/trace.h"
#include "weft/transforms/numbers.h"

namespace weft {
namespace detail {
namespace {

struct Adapter final : CallbackFunction {
  explicit Adapter(Ref<const FlatCallback> f) : function(std::move(f)) {}
  const Ref<const FlatCallback> function;
  std::vector<Array> call(std::span<const Array> leaves) const override {
    check_nesting("callbacks inside callbacks");
    return calling_user([&] { return function->call(leaves); });
  }
};
CallbackParam param_of(const CallbackCall& c) { return {c.name, make_ref<Adapter>(c.function)}; }

TypeList types_of(std::span<const Array> shapes) {
  TypeList types;
  for (const Array& x : shapes) {
    Aval a = x.aval();
    a.weak = false;
    types.avals.push_back(std::move(a));
  }
  return types;
}

std::string escaped(const std::string& s) {
  std::string out;
  for (const char c : s) out += (c == '{' || c == '}') ? std::string(2, c) : std::string(1, c);
  return out;
}

/// The tree as text with `{}` for each leaf: `[{}, {}]`, `(w={}, b={})`, `{{"a": {}}}`.
std::string pattern_of(const Skeleton& s) {
  if (s.kind == Skeleton::Kind::leaf) return "{}";
  if (s.kind == Skeleton::Kind::fixed) return escaped(s.text.empty() ? "?" : s.text);
  if (!s.text.empty()) return escaped(s.text);
  std::string out;
  char kind = '[';
  for (const Skeleton& child : s.children) {
    const std::string& label = child.label;
    if (!out.empty()) out += ", ";
    if (!label.empty() && label[0] == '.')
      kind = '(', out += escaped(label.substr(1)) + "=";
    else if (label.size() > 2 && label[1] == '"')
      kind = '{', out += escaped(label.substr(1, label.size() - 2)) + ": ";
    out += pattern_of(child);
  }
  return kind == '(' ? "(" + out + ")" : kind == '{' ? "{{" + out + "}}" : "[" + out + "]";
}

/// The operands of a callback. What it does with them is not seen here, so that a number beside arrays of 64 bits, or for a result of 64
/// bits, is given with all its digits.
std::vector<Array> operands_of(const CallbackCall& c, std::span<const Array> shapes) {
  const auto wide = [](const Array& x) { return !x.aval().weak && x.dtype().real_part() == float64; };
  if (std::none_of(c.leaves.begin(), c.leaves.end(), wide) && std::none_of(shapes.begin(), shapes.end(), wide)) return c.leaves;
  std::vector<Aval> types;
  for (const Array& x : c.leaves) types.push_back(x.aval());
  widen_numbers(types);
  return as_widened(c.leaves, types);
}

/// One argument of debug::print.
struct PrintArg {
  const Skeleton& tree;
  std::span<const Array> leaves;
};

}  // namespace

std::vector<Array> flat_pure_callback(const CallbackCall& c, std::span<const Array> shapes, const PureCallbackOptions& options) {
  return bind_pure_callback({param_of(c), {}, types_of(shapes), options.vmap_method}, operands_of(c, shapes), c.loc);
}
std::vector<Array> flat_io_callback(const CallbackCall& c, std::span<const Array> shapes, const CallbackOptions& options) {
  return bind_io_callback({param_of(c), {}, options.ordered, types_of(shapes)}, operands_of(c, shapes), c.loc);
}
void flat_debug_callback(const CallbackCall& c) { bind_debug_callback({param_of(c), {}}, c.leaves, c.loc); }

// The equation's text has a plain field for each leaf, in order: numbered fields are put in order, trees and static values written out.
void flat_debug_print(const TextArg& format, std::span<const Skeleton> trees, std::span<const Array> leaves) {
  std::vector<PrintArg> args;
  for (const Skeleton& tree : trees) {
    args.push_back({tree, leaves.first(tree.num_leaves())});
    leaves = leaves.subspan(tree.num_leaves());
  }
  const std::string& text = format.str();
  const auto fail = [&](const std::string& what) { throw Error(fmt::format("debug::print: {} in \"{}\"", what, text), format.where()); };
  std::string out;
  std::vector<Array> operands;
  std::vector<bool> used(args.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool twice = i + 1 < text.size() && text[i + 1] == c;
    if (c == '}' && !twice) fail("a `}` without a `{` (write `}}` for the character)");
    if (c != '{' || twice) {
      out += c;
      if ((c == '{' || c == '}') && twice) out += c, ++i;
      continue;
    }
    const std::size_t end = text.find('}', i);
    if (end == std::string::npos) fail("a `{` without a `}` (write `{{` for the character)");
    const std::string field = text.substr(i + 1, end - i - 1);
    const std::size_t colon = std::min(field.find(':'), field.size());
    const std::string number = field.substr(0, colon), spec = field.substr(colon);
    std::size_t index = next;
    if (number.empty())
      ++next;
    else if (std::all_of(number.begin(), number.end(), [](char d) { return d >= '0' && d <= '9'; }) && number.size() < 6)
      index = static_cast<std::size_t>(std::stoi(number));
    else
      fail(fmt::format("the field `{{{}}}` is neither `{{}}` nor a number", field));
    if (index >= args.size())
      fail(fmt::format("field {} has no argument; {} {} given", index, args.size(), args.size() == 1 ? "is" : "are"));
    used[index] = true;
    const PrintArg& arg = args[index];
    if (arg.tree.kind == Skeleton::Kind::leaf) {
      out += "{" + spec + "}";
    } else {
      if (spec.size() > 1) fail(fmt::format("`{}` can format an array only; use {{}}", spec));
      const std::string& word = arg.tree.text;
      const bool quoted = arg.tree.kind == Skeleton::Kind::fixed && word.size() >= 2 && word.front() == '"';
      out += quoted ? escaped(word.substr(1, word.size() - 2)) : pattern_of(arg.tree);
    }
    operands.insert(operands.end(), arg.leaves.begin(), arg.leaves.end());
    i = end;
  }
  for (std::size_t k = 0; k < used.size(); ++k)
    if (!used[k]) fail(fmt::format("no field for argument {}", k));
  bind_debug_print(std::move(out), operands, format.where());
}

}  // namespace detail

namespace debug {
std::string label() { return detail::callback_label(); }
}  // namespace debug

void effects_barrier(SourceLoc) {
  // Programs have run when their call returns; only the output stream may still be buffered.
  std::fflush(stdout);
}

}  // namespace weft
