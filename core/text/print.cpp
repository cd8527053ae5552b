// A Jaxpr in JAX's notation. Variables have no names: the printer gives them a, b, ..., z, ba, bb, ... in order of appearance.
#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <ostream>
#include <set>

#include "weft/core/array/format.h"
#include "weft/core/base/nesting.h"
#include "weft/core/ir/named.h"
#include "weft/core/ir/primitive.h"
#include "weft/core/ir/sealed_program.h"
#include "weft/core/text/layout.h"
#include "weft/core/text/text.h"
#include "weft/core/text/text_rules.h"
#include "weft/core/text/text_tables.h"
#include "weft/core/trace/trace.h"

namespace weft::detail {
namespace {

using Names = std::vector<std::string>;

std::string nth_name(std::size_t n) {
  std::string s;
  do s.insert(s.begin(), static_cast<char>('a' + n % 26)), n /= 26;
  while (n);
  return s;
}

/// The name under which a shared program is defined, from the name of the function that it was.
std::string definition_name(std::string_view function) {
  while (!function.empty() && (function.front() == '<' || function.front() == '>')) function.remove_prefix(1);
  while (!function.empty() && (function.back() == '<' || function.back() == '>')) function.remove_suffix(1);
  std::string s;
  for (const char c : function) s += (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ? c : '_';
  return s.empty() || (s[0] >= '0' && s[0] <= '9') ? "_" + s : s;
}

ParamsRef default_params(const Primitive& op) {
  return op.params_read([](std::string_view, void*) -> ParamReader* { return nullptr; }, nullptr);
}

std::vector<const Jaxpr*> programs_in(const ParamText& p) {
  std::vector<const Jaxpr*> out;
  if (p.jaxpr) out.push_back(p.jaxpr);
  if (p.jaxprs)
    for (const Jaxpr& j : *p.jaxprs) out.push_back(&j);
  return out;
}

/// The program `{ lambda ; a b. let c = operation a b in (c,) }` on scalars; one object for all of a dtype.
const Jaxpr* scalar_program(std::string_view operation, DType dtype) {
  static std::mutex mutex;
  static auto& programs = *new std::map<std::pair<std::string_view, int>, Jaxpr>;
  const std::lock_guard lock(mutex);
  const auto [at, is_new] = programs.try_emplace({operation, dtype.id()});
  if (is_new) {
    const Aval scalar{{}, dtype};
    const Primitive* op = find_primitive(operation);
    JaxprBuilder b;
    const std::vector<Atom> operands{b.add_input(scalar), b.add_input(scalar)};
    if (op) at->second = std::move(b).finish(b.add_eqn(*op, default_params(*op), operands, std::span(&scalar, 1), {}));
  }
  return &at->second;
}

/// `frozenset({'x', 'y'})`, of a mesh's text.
std::string axis_names_text(std::string_view mesh) {
  std::set<std::string> names;
  for (const AxisFrame& a : axes_of_mesh(mesh)) names.insert(quoted(a.name));
  std::string s;
  for (const std::string& n : names) s += (s.empty() ? "" : ", ") + n;
  return "frozenset({" + s + "})";
}

/// The parameters of an equation as JAX prints them: without those that follow from the results' types, with those that JAX has and weft
/// does not.
std::vector<ParamText> printed_params(const JaxprData& d, const Eqn& e) {
  std::vector<ParamText> list = e.op->params_list(*e.params);
  const TextTraits traits = text_traits(*e.op);
  std::erase_if(list, [&](const ParamText& p) { return !p.jaxpr && !p.jaxprs && is_left_out(traits, p.name, p.text); });
  for (const ParamValue& p : traits.added)
    if (!find_named(list, p.name)) list.push_back({p.name, std::string(p.text)});
  // A shard_map that doesn't say which of its mesh's axes are its own has all.
  ParamText* const manual = find_named(list, "newly_manual_axes");
  const ParamText* const mesh = find_named(list, "mesh");
  if (manual && mesh && manual->text == "frozenset({})") manual->text = axis_names_text(mesh->text);
  if (!traits.update.empty() && !find_named(list, "update_jaxpr") && !e.inputs.empty())
    list.push_back({"update_jaxpr", {}, scalar_program(traits.update, d.aval(e.inputs[0]).dtype)});
  // Sorted, but a function's name is first.
  std::sort(list.begin(), list.end(), [](const ParamText& a, const ParamText& b) { return a.name < b.name; });
  if (const ParamText* const first = find_named(list, "name")) {
    const auto at = list.begin() + (first - list.data());
    std::rotate(list.begin(), at, at + 1);
  }
  return list;
}

/// Which results of equations are used later.
std::vector<bool> used_variables(const JaxprData& d) {
  std::vector<bool> used(d.avals.size());
  auto use = [&](Atom a) {
    if (!a.is_literal()) used[a.var()] = true;
  };
  for (const Eqn& e : d.eqns)
    for (Atom a : e.inputs) use(a);
  for (Atom a : d.outputs) use(a);
  return used;
}

class Printer {
 public:
  explicit Printer(const Jaxpr& j) : top_(j) { find_shared(); }

  std::string whole() {
    define_shared();
    Names names(top_.data().avals.size());
    program(top_, names, nullptr);
    return out_.format();
  }
  std::string range(const EqnRange& range) {
    Names names(top_.data().avals.size());
    program(top_, names, &range);
    return out_.format();
  }
  std::string equation(std::size_t index) {
    // The equations before it are laid out too, since they consume variable names.
    Names names(top_.data().avals.size());
    name_inputs(top_.data(), names);
    const std::vector<bool> used = used_variables(top_.data());
    for (std::size_t i = 0; i < index; ++i) eqn(top_.data(), i, names, used);
    out_ = Layout();
    eqn(top_.data(), index, names, used);
    std::string s = out_.format();
    while (!s.empty() && s.back() == ' ') s.pop_back();
    return s;
  }

 private:
  /// Programs that occur more than once, or have more than ten equations, are defined in front, outer ones first.
  void find_shared() {
    struct Use {
      const Jaxpr* jaxpr;
      std::string name;
      int count = 0, visits = 0;
    };
    std::vector<Use> uses;
    std::map<const JaxprData*, std::size_t> index;
    std::deque<std::pair<const Jaxpr*, std::string>> queue{{&top_, ""}};
    while (!queue.empty()) {
      const auto [j, name] = queue.front();
      queue.pop_front();
      const auto [at, is_new] = index.try_emplace(&j->data(), uses.size());
      if (is_new) uses.push_back({j, name});
      Use& use = uses[at->second];
      if (use.name.empty()) use.name = name;
      use.count += j != &top_ && j->eqns().size() > 10 ? 2 : 1;
      // Two visits give all that is needed about the programs inside.
      if (++use.visits > 2) continue;
      for (const Eqn& e : j->eqns()) {
        const std::vector<ParamText> params = printed_params(j->data(), e);
        const bool is_function = text_traits(*e.op).is_function;
        const ParamText* const named = is_function ? find_named(params, "name") : nullptr;
        const std::string function = named ? named->text : std::string();
        for (const ParamText& p : params)
          for (const Jaxpr* inner : programs_in(p)) queue.emplace_back(inner, function);
      }
    }
    std::map<std::string, int> counts;
    for (const Use& u : uses) {
      if (u.count < 2 || u.jaxpr == &top_) continue;
      const std::string base = u.name.empty() ? "jaxpr" : definition_name(u.name);
      std::string name;
      do {
        const int n = counts[base]++;
        name = n ? base + std::to_string(n) : base;
      } while (shared_names_.count(name));
      if (name != base) ++counts[name];
      shared_names_.insert(name);
      shared_.emplace(&u.jaxpr->data(), name);
      definitions_.emplace_back(name, u.jaxpr);
    }
  }

  void define_shared() {
    for (const auto& [name, j] : definitions_) {
      Names names(j->data().avals.size());
      out_.text("let ");
      out_.text(name);
      out_.text(" = ");
      program(*j, names, nullptr);
      out_.text(" in");
      out_.brk();
    }
  }

  std::string fresh() {
    std::string s;
    do s = nth_name(next_name_++);
    while (shared_names_.count(s));
    return s;
  }

  void name_inputs(const JaxprData& d, Names& names) {
    for (std::size_t v = 0; v < static_cast<std::size_t>(d.first_result()); ++v)
      if (names[v].empty()) names[v] = fresh();
  }

  void program(const Jaxpr& j, Names& names, const EqnRange* range) {
    check_nesting("programs inside programs", nesting_depth(j));
    const JaxprData& d = j.data();
    name_inputs(d, names);
    // Only the outermost program's unused results are called `_`.
    const std::vector<bool> used = &d == &top_.data() ? used_variables(d) : std::vector<bool>(d.avals.size(), true);
    out_.begin_group(range != nullptr);
    out_.begin_nest(2);
    out_.text("{ lambda ");
    binders(d, 0, d.first_input(), names);
    out_.text("; ");
    binders(d, d.first_input(), d.first_result(), names);
    out_.text(". let");
    out_.begin_nest(2);
    out_.brk();
    const std::size_t first = range ? range->first : 0, last = range ? range->last : d.eqns.size();
    if (first > 0) {
      // Lays the equations out to consume variable names; their text is discarded.
      Layout saved = std::move(out_);
      out_ = Layout();
      for (std::size_t i = 0; i < first; ++i) eqn(d, i, names, used);
      out_ = std::move(saved);
      out_.text("...");
      out_.brk("; ");
    }
    for (std::size_t i = first; i < last; ++i) {
      if (i > first) out_.brk("; ");
      if (range && i == range->marked) out_.mark();
      eqn(d, i, names, used);
    }
    if (last < d.eqns.size()) {
      out_.brk("; ");
      out_.text("...");
      Layout saved = std::move(out_);
      out_ = Layout();
      for (std::size_t i = last; i < d.eqns.size(); ++i) eqn(d, i, names, used);
      out_ = std::move(saved);
    }
    out_.end_nest();
    out_.brk();
    out_.text("in (");
    atoms(d, d.outputs, names, ",");
    out_.text(d.outputs.size() == 1 ? ",)" : ")");
    out_.end_nest();
    out_.text(" }");
    out_.end_group();
  }

  void binders(const JaxprData& d, Var begin, Var end, const Names& names) {
    out_.begin_nest(2);
    out_.begin_group();
    for (Var v = begin; v < end; ++v) {
      if (v > begin) separator("");
      out_.text(names[v] + ":" + to_string(d.avals[v]));
    }
    out_.end_group();
    out_.end_nest();
  }

  void atoms(const JaxprData& d, const std::vector<Atom>& list, const Names& names, std::string_view comma) {
    out_.begin_nest(2);
    out_.begin_group();
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (i) separator(comma);
      if (!list[i].is_literal()) {
        out_.text(names[list[i].var()]);
        continue;
      }
      const Literal& literal = d.literals[list[i].literal()];
      out_.text(print_literal(literal) + ":" + to_string(literal.aval));
    }
    out_.end_group();
    out_.end_nest();
  }

  void separator(std::string_view comma) {
    out_.text(comma);
    out_.begin_group();
    out_.brk();
    out_.end_group();
  }

  void eqn(const JaxprData& d, std::size_t index, Names& names, const std::vector<bool>& used) {
    const Eqn& e = d.eqns[index];
    for (const Var v : e.outputs)
      if (names[v].empty()) names[v] = used[v] ? fresh() : "_";
    if (!e.outputs.empty()) {
      binders(d, e.outputs.front(), e.outputs.back() + 1, names);
      out_.text(" = ");
    }
    const std::string_view name = text_traits(*e.op).name;
    out_.text(name.empty() ? e.op->name : name);
    params(d, e, names);
    out_.text(" ");
    atoms(d, e.inputs, names, "");
  }

  void params(const JaxprData& d, const Eqn& e, const Names& names) {
    const std::vector<ParamText> list = printed_params(d, e);
    if (list.empty()) return;
    out_.begin_group();
    out_.begin_nest(2);
    out_.text("[");
    out_.brk("");
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (i) out_.brk();
      out_.text(std::string(list[i].name) + "=");
      if (list[i].jaxpr)
        inner(*list[i].jaxpr, e, names);
      else if (list[i].jaxprs)
        inner_list(*list[i].jaxprs, e, names);
      else
        out_.text(list[i].text);
    }
    out_.end_nest();
    out_.brk("");
    out_.text("]");
    out_.end_group();
  }

  void inner(const Jaxpr& j, const Eqn& e, const Names& outer) {
    if (const auto at = shared_.find(&j.data()); at != shared_.end()) return out_.text(at->second);
    Names names(j.data().avals.size());
    if (text_traits(*e.op).is_function) suggest_names(j.data(), names, e, outer);
    program(j, names, nullptr);
  }

  /// Variables of a jitted function are called as what is passed for them, and its results as what they are assigned to.
  static void suggest_names(const JaxprData& d, Names& names, const Eqn& e, const Names& outer) {
    std::set<Var> taken;
    auto suggest = [&](Var v, Var like) {
      if (names[v].empty() && outer[like] != "_" && taken.insert(like).second) names[v] = outer[like];
    };
    if (e.inputs.size() == d.input_avals().size())
      for (std::size_t i = 0; i < e.inputs.size(); ++i)
        if (!e.inputs[i].is_literal()) suggest(d.first_input() + static_cast<Var>(i), e.inputs[i].var());
    if (e.outputs.size() == d.outputs.size())
      for (std::size_t i = 0; i < e.outputs.size(); ++i)
        if (!d.outputs[i].is_literal()) suggest(d.outputs[i].var(), e.outputs[i]);
  }

  void inner_list(const std::vector<Jaxpr>& list, const Eqn& e, const Names& outer) {
    const TextTraits traits = text_traits(*e.op);
    const bool named = !traits.tuple.empty();
    out_.begin_group();
    out_.begin_nest(2);
    out_.text(traits.tuple);
    out_.text("(");
    out_.brk("");
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (i && named) out_.text(",");
      if (i) out_.brk();
      if (named) out_.text(traits.fields[i]), out_.text("=");
      if (named && list[i].data().outputs.empty())
        out_.text("None");
      else
        inner(list[i], e, outer);
    }
    out_.end_nest();
    out_.brk("");
    out_.text(")");
    out_.end_group();
  }

  const Jaxpr& top_;
  Layout out_;
  std::size_t next_name_ = 0;
  std::map<const JaxprData*, std::string> shared_;
  std::set<std::string> shared_names_;
  std::vector<std::pair<std::string, const Jaxpr*>> definitions_;
};

}  // namespace

std::string print_jaxpr(const Jaxpr& j) { return Printer(j).whole(); }
std::string print_jaxpr_range(const Jaxpr& j, EqnRange range) { return Printer(j).range(range); }
std::string print_eqn(const Jaxpr& j, std::size_t index) { return Printer(j).equation(index); }

}  // namespace weft::detail

namespace weft {
std::string Jaxpr::to_string() const { return detail::print_jaxpr(*this); }
std::ostream& operator<<(std::ostream& os, const Jaxpr& j) { return os << j.to_string(); }
}  // namespace weft
