#include "weft/library/view/view_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "weft/core/base/files.h"
#include "weft/core/base/nesting.h"
#include "weft/core/errors/error.h"
#include "weft/core/ir/primitive.h"
#include "weft/core/text/json.h"
#include "weft/core/text/text.h"
#include "weft/core/trace/named_scope.h"

namespace weft::detail {
namespace {

constexpr int kAround = 400;               // lines before and behind those that equations come from
constexpr std::size_t kLargest = 4 << 20;  // bytes of a file that is read

std::string nth_name(std::size_t n) {
  std::string s;
  do s.insert(s.begin(), static_cast<char>('a' + n % 26)), n /= 26;
  while (n);
  return s;
}

const char* family_of(Kind kind) {
  switch (kind) {
    case Kind::elementwise: return "elementwise";
    case Kind::movement:
    case Kind::concatenate:
    case Kind::iota: return "movement";
    case Kind::reduce:
    case Kind::arg_reduce:
    case Kind::cumulative:
    case Kind::reduce_window: return "reduction";
    case Kind::dot:
    case Kind::convolution: return "product";
    case Kind::gather:
    case Kind::scatter:
    case Kind::dynamic_slice:
    case Kind::dynamic_update_slice:
    case Kind::sort: return "indexing";
    case Kind::random: return "random";
    case Kind::call:
    case Kind::control: return "control";
    case Kind::spmd:
    case Kind::collective: return "devices";
    case Kind::library:
    case Kind::effect: return "external";
  }
  return "";
}

class ProgramText {
 public:
  explicit ProgramText(SourceFiles& files) : files_(files) {}

  std::string program(const Jaxpr& j, const std::vector<std::vector<std::size_t>>& steps) {
    check_nesting("programs inside programs");
    const JaxprData& d = j.data();
    std::vector<std::string> names(d.avals.size());
    for (std::string& n : names) n = nth_name(next_++);
    const auto variables = [&](Var first, Var last) {
      std::string s;
      for (Var v = first; v < last; ++v)
        s += fmt::format("{}[{},{}]", v == first ? "" : ",", json_text(names[v]), json_text(to_string(d.avals[v])));
      return "[" + s + "]";
    };
    const auto atom = [&](Atom a) {
      return json_text(a.is_literal() ? print_literal(d.literals[a.literal()]) + ":" + to_string(d.literals[a.literal()].aval)
                                      : names[a.var()]);
    };
    std::string eqns;
    for (std::size_t i = 0; i < d.eqns.size(); ++i) {
      const Eqn& e = d.eqns[i];
      std::string outs, ins, params, inner, of_steps;
      double bytes = 0;
      for (const Var v : e.outputs) {
        outs += fmt::format("{}[{},{}]", outs.empty() ? "" : ",", json_text(names[v]), json_text(to_string(d.avals[v])));
        bytes += static_cast<double>(d.avals[v].bytes());
      }
      for (const Atom a : e.inputs) ins += (ins.empty() ? "" : ",") + atom(a);
      const auto add_program = [&](std::string_view name, const Jaxpr& p) {
        inner += fmt::format("{}[{},{}]", inner.empty() ? "" : ",", json_text(name), program(p, {}));
      };
      for (const ParamText& p : e.op->params_list(*e.params)) {
        if (p.jaxpr) add_program(p.name, *p.jaxpr);
        if (p.jaxprs)
          for (std::size_t k = 0; k < p.jaxprs->size(); ++k) add_program(fmt::format("{}[{}]", p.name, k), (*p.jaxprs)[k]);
        if (!p.jaxpr && !p.jaxprs && p.text != "None")
          params += fmt::format("{}[{},{}]", params.empty() ? "" : ",", json_text(p.name), json_text(p.text));
      }
      if (i < steps.size())
        for (const std::size_t k : steps[i]) of_steps += (of_steps.empty() ? "" : ",") + std::to_string(k);
      const std::string_view scope = name_scope_of(e.loc);
      eqns += fmt::format("{}{{\"o\":[{}],\"p\":{},\"f\":\"{}\",\"i\":[{}],\"a\":[{}],\"l\":{},\"b\":{:.0f}{}{}{}}}", i ? ",\n" : "", outs,
                          json_text(e.op->name), family_of(e.op->kind), ins, params, files_.json(e.loc), bytes,
                          scope.empty() ? "" : ",\"s\":" + json_text(scope), of_steps.empty() ? "" : ",\"k\":[" + of_steps + "]",
                          inner.empty() ? "" : ",\"sub\":[" + inner + "]");
    }
    std::string outs;
    for (const Atom a : d.outputs) outs += (outs.empty() ? "" : ",") + atom(a);
    return fmt::format("{{\"consts\":{},\"ins\":{},\"outs\":[{}],\"eqns\":[{}]}}", variables(0, d.first_input()),
                       variables(d.first_input(), d.first_result()), outs, eqns);
  }

 private:
  SourceFiles& files_;
  std::size_t next_ = 0;
};

std::string text_of_step(const StepReport& s, double time) {
  static constexpr const char* kinds[] = {"kernel", "routine", "loop"};
  std::string eqns;
  for (const int e : s.eqns) eqns += (eqns.empty() ? "" : ",") + std::to_string(e);
  return fmt::format("{{\"kind\":\"{}\",\"name\":{},\"eqns\":[{}],\"flops\":{},\"bytes\":{},\"time\":{},\"steps\":{}}}",
                     kinds[static_cast<int>(s.kind)], json_text(s.name), eqns, json_number(s.flops), json_number(s.bytes),
                     json_number(time), json_of_steps(s.steps, {}));
}

}  // namespace

std::string json_text(std::string_view s) {
  std::string out;
  for (const char c : json_string(s))
    if (c == '<')  // no `</script>`, no `<!--`
      out += "\\u003c";
    else
      out += c;
  return out;
}
std::string json_number(double v) { return std::isfinite(v) ? fmt::format("{:.6g}", v) : "null"; }

std::string SourceFiles::json(SourceLoc loc) {
  if (!loc) return "null";
  const auto [at, is_new] = numbers_.try_emplace(loc.file(), files_.size());
  if (is_new) files_.push_back({loc.file(), {}});
  files_[at->second].second.push_back(loc.line());
  return fmt::format("[{},{}]", at->second, loc.line());
}

std::string SourceFiles::json_of_all(bool read, const std::string& folder) const {
  std::string out;
  for (const auto& [path, wanted] : files_) {
    std::string lines;
    try {
      const bool relative = !path.starts_with("/") && !folder.empty();
      const std::string text = read ? read_regular_file(relative ? folder + "/" + path : path, {}, "to_html") : std::string();
      const auto [first, last] = std::minmax_element(wanted.begin(), wanted.end());
      std::size_t begin = 0;
      for (int n = 1; begin < text.size() && text.size() <= kLargest; ++n) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        if (n >= *first - kAround && n <= *last + kAround)
          lines += fmt::format("{}\"{}\":{}", lines.empty() ? "" : ",", n, json_text(std::string_view(text).substr(begin, end - begin)));
        begin = end + 1;
      }
    } catch (const Error&) {
      lines.clear();  // the program runs where its sources aren't
    }
    out += fmt::format("{}{{\"path\":{},\"lines\":{{{}}}}}", out.empty() ? "" : ",", json_text(path), lines);
  }
  return "[" + out + "]";
}

std::string json_of_program(const Jaxpr& j, SourceFiles& files, const std::vector<std::vector<std::size_t>>& steps_of_eqn) {
  return ProgramText(files).program(j, steps_of_eqn);
}

std::string json_of_steps(const std::vector<StepReport>& steps, const std::vector<double>& times) {
  std::string out;
  for (std::size_t i = 0; i < steps.size(); ++i) out += (i ? "," : "") + text_of_step(steps[i], i < times.size() ? times[i] : std::nan(""));
  return "[" + out + "]";
}

std::string json_of_kernels(std::string_view text, std::string_view form) {
  // A kernel begins with its name: in the list of kernels and in assembly as a label, in LLVM's code after `define`. Each part of a program
  // for several devices numbers its own kernels: a name that occurs again is that of the next part with such a kernel.
  std::map<std::string, int> occurrences;
  std::string out, name;
  std::string_view rest = text;
  std::string current;
  const auto finish = [&] {
    if (!name.empty()) {
      const int occurrence = ++occurrences[name];
      const std::string key = occurrence == 1 ? name : fmt::format("{}, part {}", name, occurrence);
      out += fmt::format("{}{}:{}", out.empty() ? "" : ",", json_text(key), json_text(current));
    }
    name.clear(), current.clear();
  };
  const auto name_at = [](std::string_view s) {
    std::size_t n = 0;
    while (n < s.size() && (std::isalnum(static_cast<unsigned char>(s[n])) || s[n] == '_')) ++n;
    return std::string(s.substr(0, n));
  };
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (form == "llvm") {
      if (line.starts_with("define ")) {
        finish();
        if (const std::size_t at = line.find('@'); at != std::string_view::npos) name = name_at(line.substr(at + 1));
      }
    } else if (const std::string label = name_at(line); !label.empty() && line.substr(label.size()).starts_with(":")) {
      finish();
      name = label;
    }
    if (!name.empty()) current += std::string(line) + "\n";
    if ((form == "llvm" && line == "}") || (form == "asm" && line.starts_with(".Lfunc_end"))) finish();
  }
  finish();
  return "{" + out + "}";
}

}  // namespace weft::detail
