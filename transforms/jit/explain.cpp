#include "weft/transforms/jit/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "weft/core/base/config.h"
#include "weft/core/base/environment.h"

namespace weft::detail {
namespace {

std::string type_text(const Aval& a) { return to_string(a) + (a.weak ? " (weak)" : ""); }

std::string tree_text(const Skeleton& s) {
  switch (s.kind) {
    case Skeleton::Kind::leaf: return "an array";
    case Skeleton::Kind::fixed: return s.text.empty() ? "a static value" : s.text;
    case Skeleton::Kind::node:
      return !s.text.empty() ? s.text : fmt::format("a tree of {} {}", s.children.size(), s.children.size() == 1 ? "element" : "elements");
  }
  return {};
}

/// Walks two trees of arguments side by side.
class Comparison {
 public:
  Comparison(const Signature& before, const Signature& now) : before_(before), now_(now) {
    compare(before.arguments, now.arguments, "");
    if (before.axes != now.axes)
      differences.push_back(fmt::format("mapped axes around the call: {} -> {}", text(before.axes), text(now.axes)));
    if (differences.empty()) differences.push_back("a static value of the arguments");
  }
  std::vector<std::string> differences;

 private:
  void compare(const Skeleton& a, const Skeleton& b, const std::string& path) {
    if (a.kind == Skeleton::Kind::leaf && b.kind == Skeleton::Kind::leaf) {
      const Aval &x = before_.avals[leaf_a_++], &y = now_.avals[leaf_b_++];
      if (!(x == y)) add(path, type_text(x), type_text(y));
      return;
    }
    const bool same_labels = std::equal(a.children.begin(), a.children.end(), b.children.begin(), b.children.end(),
                                        [](const Skeleton& x, const Skeleton& y) { return x.label == y.label; });
    if (a.kind != b.kind || a.text != b.text || !same_labels) {
      add(path, tree_text(a), tree_text(b));
      leaf_a_ += a.num_leaves(), leaf_b_ += b.num_leaves();
      return;
    }
    for (std::size_t i = 0; i < a.children.size(); ++i)
      compare(a.children[i], b.children[i], path.empty() ? fmt::format("argument {}", i) : path + a.children[i].label);
  }
  void add(const std::string& path, const std::string& a, const std::string& b) {
    differences.push_back(fmt::format("{}: {} -> {}", path.empty() ? "arguments" : path, a, b));
  }
  static std::string text(const std::vector<std::pair<std::string, int>>& axes) {
    std::string s;
    for (const auto& [name, size] : axes) s += fmt::format("{}{}={}", s.empty() ? "" : ", ", name, size);
    return "(" + s + ")";
  }

  const Signature &before_, &now_;
  std::size_t leaf_a_ = 0, leaf_b_ = 0;
};

}  // namespace

std::string changed_static_value(const Signature& before, const Signature& now) {
  if (before.axes != now.axes || before.avals != now.avals) return {};
  std::string path, from, to;
  // Walks both trees side by side; false if they differ in more than one value.
  const auto walk = [&](const auto& self, const Skeleton& a, const Skeleton& b, const std::string& at) -> bool {
    if (a.kind != b.kind || a.label != b.label || a.children.size() != b.children.size()) return false;
    if (a.text != b.text) {
      if (a.kind != Skeleton::Kind::fixed || !path.empty()) return false;
      path = at, from = a.text, to = b.text;
    }
    for (std::size_t i = 0; i < a.children.size(); ++i)
      if (!self(self, a.children[i], b.children[i], at.empty() ? fmt::format("argument {}", i) : at + b.children[i].label)) return false;
    return true;
  };
  if (!walk(walk, before.arguments, now.arguments, "") || path.empty()) return {};
  return fmt::format("{} ({}, now {})", path, from, to);
}

std::string warn_of_static_values(const std::string& what, int programs, const std::string& changed, SourceLoc loc) {
  const std::string where = loc ? fmt::format(", called at {}:{}", loc.file(), loc.line()) : std::string();
  return fmt::format(
      "weft: {}{}, was traced and compiled {} times, as {} changes: it is a C++ value and so a constant of the program. Declare it as "
      "weft::Array, or pass array(value), and one program serves all its values (config.warn_after_recompiles = -1 or "
      "WEFT_WARN_AFTER_RECOMPILES=-1 silences this)\n",
      what, where, programs, changed);
}

int recompiles_before_warning() {
  static const std::int64_t by_environment = integer_in_environment("WEFT_WARN_AFTER_RECOMPILES").value_or(0);
  if (config.warn_after_recompiles != 0) return config.warn_after_recompiles;
  return by_environment != 0 ? static_cast<int>(by_environment) : 16;
}

std::string explain_retracing(const std::string& what, const std::vector<Signature>& before, const Signature& now, SourceLoc loc) {
  std::vector<std::string> fewest;
  for (const Signature& s : before) {
    std::vector<std::string> differences = Comparison(s, now).differences;
    if (fewest.empty() || differences.size() <= fewest.size()) fewest = std::move(differences);
  }
  std::string text;
  for (const std::string& d : fewest) text += (text.empty() ? "" : "; ") + d;
  const std::string where = loc ? fmt::format(" at {}:{}", loc.file(), loc.line()) : std::string();
  return fmt::format("weft: {} is traced again{}: {}\n", what, where, text);
}

}  // namespace weft::detail
