// Reads the notation that printing writes, and what JAX 0.10 prints:
//
//     text     := ("let" name "=" program "in")* program
//     program  := "{" "lambda" binder* ";" binder* "." "let" equation* "in" "(" operands ")" "}"
//     equation := binder* "=" primitive ("[" (name "=" value)* "]")? operand*
//     binder   := name ":" type            operand := name | value ":" type
//
// An equation ends at `;`, at a line that is indented no more than its own, at the next binder, or at the program's end. A program sees
// its own names only. Definitions may be in any order; each is read once, so that what shares a program still does after reading.
#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "weft/core/array/array_impl.h"
#include "weft/core/array/rank.h"
#include "weft/core/base/counted.h"
#include "weft/core/base/float_environment.h"
#include "weft/core/base/nesting.h"
#include "weft/core/ir/named.h"
#include "weft/core/ir/primitive.h"
#include "weft/core/text/known_constants.h"
#include "weft/core/text/text.h"
#include "weft/core/text/text_rules.h"
#include "weft/core/text/text_tables.h"
#include "weft/core/trace/trace.h"

namespace weft::detail {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

/// The position after the closing bracket of the bracketed text that begins at `at`; npos if there is none. Brackets in quoted strings
/// don't count.
std::size_t skip_brackets(std::string_view s, std::size_t at, std::size_t end) {
  std::string open;
  for (; at < end; ++at) switch (const char c = s[at]) {
      case '(': open += ')'; break;
      case '[': open += ']'; break;
      case '{': open += '}'; break;
      case ')':
      case ']':
      case '}':
        if (open.empty() || open.back() != c) return std::string_view::npos;
        open.pop_back();
        if (open.empty()) return at + 1;
        break;
      case '\'':
      case '"':
        while (++at < end && s[at] != c)
          if (s[at] == '\\') ++at;
        break;
      default: break;
    }
  return std::string_view::npos;
}

/// The end of a parameter's value: the white space or bracket that is outside of all brackets.
std::size_t skip_value(std::string_view s, std::size_t at, std::size_t end) {
  int angles = 0;
  while (at < end) {
    const char c = s[at];
    if (c == '(' || c == '[' || c == '{') {
      at = skip_brackets(s, at, end);
      if (at == std::string_view::npos) return at;
      continue;
    }
    if (c == '\'' || c == '"') {
      while (++at < end && s[at] != c)
        if (s[at] == '\\') ++at;
      if (at >= end) return std::string_view::npos;
    }
    if (c == '<') ++angles;
    if (c == '>') --angles;
    if (c == ']' || ((is_space(c) || c == ',') && angles <= 0)) return at;
    ++at;
  }
  return at;
}

/// Interned names are never freed, since source locations keep pointers to them.
const char* interned(const std::string& name) {
  static std::mutex mutex;
  static std::set<std::string>& names = *new std::set<std::string>;
  const std::lock_guard lock(mutex);
  return names.insert(name).first->c_str();
}

struct TextParam {
  std::string name;
  std::size_t name_at, begin, end;
  bool used = false;
};

}  // namespace

class ProgramReader {
 public:
  ProgramReader(std::string_view text, std::span<const Array> consts, const char* file) : text_(text), consts_(consts), file_(file) {
    for (std::size_t i = 0; i < text.size(); ++i)
      if (text[i] == '\n') line_begins_.push_back(i + 1);
  }

  Jaxpr read_text() {
    ParamReader r(text_, 0, text_.size(), this);
    const Jaxpr j = read_value(r, true);
    if (!r.at_end()) r.fail("unexpected text after the program");
    return j;
  }

  /// A program in braces, with or without definitions before it, or the name of a defined program.
  Jaxpr read_value(ParamReader& r, bool outermost = false) {
    check_nesting("programs inside programs", depth_);
    if (++depth_ > 500) r.fail("programs are nested too deeply");
    Scope scope{{}, scope_};
    Scope* const saved = scope_;
    std::size_t definitions_at = r.offset();
    while (begins_definition(r)) {
      scope_ = &scope;
      read_definition(r);
    }
    Jaxpr j = r.peek() == '{' ? read_program(r, outermost) : read_reference(r);
    const std::size_t end = r.offset();
    for (auto& [name, definition] : scope.definitions) {
      r.seek(definitions_at);
      resolve(r, name, definition, scope);
    }
    r.seek(end);
    scope_ = saved;
    --depth_;
    return j;
  }

 private:
  struct Definition {
    std::size_t begin, end;
    std::optional<Jaxpr> program;
    bool being_read = false;
  };
  struct Scope {
    std::map<std::string, Definition> definitions;
    Scope* outer;
  };
  /// A program's variables, and the equations so far.
  struct Body {
    JaxprBuilder builder;
    std::map<std::string, Atom> names;
    std::vector<Atom> unnamed;  // bound as `_`
  };
  struct Binder {
    std::string name;
    std::size_t at;
    Aval aval;
    bool is_unnamed() const { return name == "_"; }
  };

  [[noreturn]] void fail_at(ParamReader& r, std::size_t at, const std::string& message) const {
    r.seek(at);
    r.fail(message);
  }

  // Definitions.

  static bool begins_definition(ParamReader& r) {
    if (!r.looking_at("let")) return false;
    const std::size_t begin = r.offset();
    r.expect("let");
    const bool yes = is_letter(r.peek()) && (r.read_identifier(), r.peek() == '=');
    r.seek(begin);
    return yes;
  }
  void read_definition(ParamReader& r) {
    r.expect("let");
    r.peek();
    const std::size_t name_at = r.offset();
    const std::string name = r.read_identifier();
    r.expect("=");
    if (r.peek() != '{') r.fail("expected a program in braces");
    const std::size_t begin = r.offset(), end = skip_brackets(text_, begin, r.end());
    if (end == std::string_view::npos) r.fail("the brace is not closed");
    r.seek(end);
    r.expect("in");
    if (!scope_->definitions.emplace(name, Definition{begin, end, {}}).second) fail_at(r, name_at, "'" + name + "' is defined twice");
  }
  Jaxpr read_reference(ParamReader& r) {
    r.peek();
    const std::size_t at = r.offset();
    if (!is_letter(r.peek())) r.fail("expected a program: '{ lambda ...' or the name of a definition");
    const std::string name = r.read_identifier();
    for (Scope* s = scope_; s; s = s->outer)
      if (const auto found = s->definitions.find(name); found != s->definitions.end()) {
        const std::size_t end = r.offset();
        r.seek(at);
        resolve(r, name, found->second, *s);
        r.seek(end);
        return *found->second.program;
      }
    fail_at(r, at, "there is no definition '" + name + "'");
  }
  void resolve(ParamReader& r, const std::string& name, Definition& d, Scope& scope) {
    if (d.program) return;
    if (d.being_read) r.fail("the definition of '" + name + "' contains itself");
    d.being_read = true;
    Scope* const saved = std::exchange(scope_, &scope);
    ParamReader inner(text_, d.begin, d.end, this);
    if (++depth_ > 500) r.fail("programs are nested too deeply");
    d.program = read_program(inner, false, name);
    --depth_;
    scope_ = saved;
    d.being_read = false;
  }

  // Programs.

  /// `name`: of a definition. Its program's text reaches to the reader's end.
  Jaxpr read_program(ParamReader& r, bool outermost, std::string_view name = {}) {
    Body body;
    const std::vector<Aval> wanted = std::exchange(wanted_, {});
    const std::size_t program_at = r.offset();
    r.expect("{");
    r.expect("lambda");
    const std::size_t consts_at = r.offset();
    std::size_t num_consts = 0;
    std::vector<std::pair<Binder, std::span<const double>>> known;
    for (; !r.accept(";"); ++num_consts) {
      const Binder b = read_binder(r);
      if (!outermost) {
        const auto values = known_constant(name, text_.substr(program_at, r.end() - program_at), b.aval);
        if (values.empty())
          fail_at(r, b.at, "a program inside another one has no constants (the text does not hold their values); make it an input");
        known.emplace_back(b, values);
        continue;
      }
      Array value = make_abstract(b.aval);
      if (!consts_.empty()) {
        if (num_consts >= consts_.size())
          fail_at(r, b.at, "there must be a value for each of the constants, not " + std::to_string(consts_.size()));
        value = consts_[num_consts];
        if (value.shape() != b.aval.shape || value.dtype() != b.aval.dtype)
          fail_at(r, b.at, "the constant " + b.name + " is " + to_string(b.aval) + ", its value is " + to_string(value.aval()));
      }
      bind(r, body, b, body.builder.add_const(value));
    }
    if (outermost && num_consts < consts_.size())
      fail_at(r, consts_at,
              "the program has " + counted(num_consts, "constant") + ", the values given for them are " + std::to_string(consts_.size()));
    while (!r.accept(".")) {
      const Binder b = read_binder(r);
      bind(r, body, b, body.builder.add_input(b.aval));
    }
    for (const auto& [b, values] : known)
      bind(r, body, b, add_vector(body.builder, values, b.aval.dtype, SourceLoc::at(file_, static_cast<int>(line_of(b.at)))));
    r.expect("let");
    while (!at_outputs(r)) {
      if (r.accept(";")) continue;
      read_equation(r, body);
    }
    return std::move(body.builder).finish(read_outputs(r, body, wanted));
  }

  /// Whether `in (...)` comes next. A variable may be called `in` as well.
  static bool at_outputs(ParamReader& r) {
    if (r.at_end()) r.fail("the program has no end: expected 'in (...) }'");
    if (!r.looking_at("in")) return false;
    const std::string_view s = r.text();
    std::size_t at = r.offset() + 2;
    while (at < r.end() && is_space(s[at])) ++at;
    if (at >= r.end() || s[at] != '(') return false;
    // A complex literal is in parentheses too, but a colon follows it.
    at = skip_brackets(s, at, r.end());
    return at == std::string_view::npos || at >= r.end() || s[at] != ':';
  }

  std::vector<Atom> read_outputs(ParamReader& r, Body& body, const std::vector<Aval>& wanted) {
    r.expect("in");
    r.expect("(");
    std::vector<Atom> out;
    while (!r.accept(")")) {
      if (r.looking_at("_") && !body.unnamed.empty()) {
        r.expect("_");
        out.push_back(take_unnamed(body, out.size() < wanted.size() ? &wanted[out.size()] : nullptr));
      } else {
        out.push_back(read_operand(r, body));
      }
      if (r.peek() != ')') r.expect(",");
    }
    r.expect("}");
    return out;
  }

  /// JAX prints unused results of a jitted function as `_`: any of them that has the wanted type may be taken.
  static Atom take_unnamed(Body& body, const Aval* wanted) {
    auto fits = [&](Atom a) {
      return !wanted || (body.builder.aval(a).shape == wanted->shape && body.builder.aval(a).dtype == wanted->dtype);
    };
    auto found = std::find_if(body.unnamed.begin(), body.unnamed.end(), fits);
    if (found == body.unnamed.end()) found = body.unnamed.begin();
    const Atom a = *found;
    if (body.unnamed.size() > 1) body.unnamed.erase(found);
    return a;
  }

  void bind(ParamReader& r, Body& body, const Binder& b, Atom atom) {
    if (b.is_unnamed())
      body.unnamed.push_back(atom);
    else if (!body.names.emplace(b.name, atom).second)
      fail_at(r, b.at, "the variable '" + b.name + "' is bound twice");
  }

  Binder read_binder(ParamReader& r) {
    r.peek();
    const std::size_t at = r.offset();
    if (!is_letter(r.peek())) r.fail("expected a variable with its type");
    std::string name = r.read_identifier();
    r.expect(":");
    return {std::move(name), at, read_type(r)};
  }

  /// `f32[3,4]`. Marks of memory spaces, varying axes and weak types are ignored.
  static Aval read_type(ParamReader& r) {
    Aval aval;
    r.peek();
    const std::size_t at = r.offset();
    const std::string name = r.read_identifier();
    if (name == "key") {
      r.expect("<");
      if (const std::string generator = r.read_identifier(); generator != "fry") {
        r.seek(at);
        r.fail("there are no keys of the generator '" + generator + "', only key<fry>, of threefry2x32");
      }
      r.expect(">");
      aval.dtype = key_dtype;
    } else if (!find_dtype(name, aval.dtype)) {
      r.seek(at);
      r.fail("there is no dtype '" + name + "'");
    }
    if (r.accept("<")) {
      r.read_identifier();
      r.expect(">");
    }
    r.expect("[");
    std::int64_t bytes = aval.dtype.itemsize();
    while (!r.accept("]")) {
      const std::int64_t n = r.read_int();
      if (n < 0 || __builtin_mul_overflow(bytes, n ? n : 1, &bytes)) r.fail("the size " + std::to_string(n) + " is not possible");
      if (aval.shape.size() == kMaxRank) r.fail("an array has at most " + std::to_string(kMaxRank) + " dimensions");
      aval.shape.push_back(n);
      if (r.peek() != ']') r.expect(",");
    }
    auto next = [&] { return r.offset() < r.end() ? r.text()[r.offset()] : '\0'; };
    if (next() == '*') r.expect("*");
    if (next() == '{') {
      const std::size_t end = skip_brackets(r.text(), r.offset(), r.end());
      if (end == std::string_view::npos) r.fail("the brace is not closed");
      r.seek(end);
    }
    return aval;
  }

  // Equations.

  /// The line, counted from 1, and the column, counted from 0.
  std::size_t line_of(std::size_t at) const {
    return static_cast<std::size_t>(std::upper_bound(line_begins_.begin(), line_begins_.end(), at) - line_begins_.begin());
  }
  std::size_t column_of(std::size_t at) const { return at - line_begins_[line_of(at) - 1]; }
  /// Whether a name and a colon come next, at a place where a literal such as `inf:f32[]` is not allowed.
  static bool at_binder(ParamReader& r, bool literals) {
    if (!is_letter(r.peek())) return false;
    std::size_t end = r.offset();
    while (end < r.end() && (is_letter(r.text()[end]) || is_digit(r.text()[end]))) ++end;
    const std::string_view word = r.text().substr(r.offset(), end - r.offset());
    if (literals && (word == "inf" || word == "nan" || word == "True" || word == "False")) return false;
    return end < r.end() && r.text()[end] == ':';
  }
  bool at_equation_end(ParamReader& r, std::size_t column) {
    const std::size_t before = r.offset();
    if (r.at_end() || r.peek() == ';' || r.peek() == '}' || at_outputs(r)) return true;
    const bool new_line = text_.substr(before, r.offset() - before).find('\n') != std::string_view::npos;
    return (new_line && column_of(r.offset()) <= column) || at_binder(r, true);
  }

  void read_equation(ParamReader& r, Body& body) {
    r.peek();
    const std::size_t begin = r.offset(), column = column_of(begin);
    std::vector<Binder> binders;
    while (at_binder(r, false)) binders.push_back(read_binder(r));
    if (!binders.empty()) r.expect("=");
    r.peek();
    const std::size_t name_at = r.offset();
    const std::string name = read_primitive_name(r);
    const Primitive* op = find_primitive(name);
    if (!op && is_identity(name)) return read_identity(r, body, binders, column);
    if (!op) fail_at(r, name_at, "unknown primitive '" + name + "'");
    ParamsRef params = read_params(r, *op, binders);
    std::vector<Atom> inputs;
    while (!at_equation_end(r, column)) inputs.push_back(read_operand(r, body));
    std::vector<Aval> in, out;
    for (Atom a : inputs) in.push_back(body.builder.aval(a));
    if (ReadTransform::Function* const rule = find_rule<ReadTransform>(*op)) {
      TextEquation e{op, std::move(params), std::move(inputs), std::move(in)};
      rule(e);
      op = e.op, params = std::move(e.params), inputs = std::move(e.inputs), in = std::move(e.avals);
    }
    const std::size_t end = r.offset();
    try {
      out = infer(*op, *params, in, {});
    } catch (const Error& e) {
      fail_at(r, begin, e.message());
    }
    if (out.size() != binders.size())
      fail_at(r, begin, name + " has " + std::to_string(out.size()) + " results, " + std::to_string(binders.size()) + " are declared");
    for (std::size_t i = 0; i < out.size(); ++i) check_type(r, binders[i], out[i], name);
    const SourceLoc loc = SourceLoc::at(file_, static_cast<int>(line_of(begin)));
    const std::vector<Atom> results = body.builder.add_eqn(*op, params, std::move(inputs), out, loc);
    for (std::size_t i = 0; i < results.size(); ++i) bind(r, body, binders[i], results[i]);
    r.seek(end);
  }

  /// An equation whose results are its operands: it only gives them other names.
  void read_identity(ParamReader& r, Body& body, const std::vector<Binder>& binders, std::size_t column) {
    if (r.peek() == '[') {
      const std::size_t end = skip_brackets(text_, r.offset(), r.end());
      if (end == std::string_view::npos) r.fail("the bracket is not closed");
      r.seek(end);
    }
    std::vector<Atom> operands;
    while (!at_equation_end(r, column)) operands.push_back(read_operand(r, body));
    if (operands.size() != binders.size())
      r.fail("there are " + std::to_string(operands.size()) + " operands for " + std::to_string(binders.size()) + " results");
    const std::size_t end = r.offset();
    for (std::size_t i = 0; i < binders.size(); ++i) {
      check_type(r, binders[i], body.builder.aval(operands[i]), "the operand");
      bind(r, body, binders[i], operands[i]);
    }
    r.seek(end);
  }

  void check_type(ParamReader& r, const Binder& b, const Aval& given, const std::string& by) const {
    if (given.shape != b.aval.shape || given.dtype != b.aval.dtype)
      fail_at(r, b.at, "the variable '" + b.name + "' is declared as " + to_string(b.aval) + ", but " + by + " gives " + to_string(given));
  }

  static std::string read_primitive_name(ParamReader& r) {
    std::string name = r.read_identifier();
    while (r.offset() < r.end() && r.text()[r.offset()] == '-') {
      r.expect("-");
      name += "-" + r.read_identifier();
    }
    return name;
  }

  /// What a Params struct's fields are read from.
  struct ParamSource {
    ProgramReader& program;
    std::string_view text;
    std::vector<TextParam>& params;
    const std::vector<Binder>& binders;
    std::optional<ParamReader> reader = {};
    std::string implied = {};

    void check_consumed() {
      if (reader && !reader->at_end()) reader->fail("the parameter's value ends before this");
      reader.reset();
    }
    ParamReader* next(std::string_view name) {
      check_consumed();
      for (TextParam& p : params)
        if (p.name == name) {
          p.used = true;
          return &reader.emplace(text, p.begin, p.end, &program);
        }
      // Parameters that the text omits because they follow from the result's type.
      if (binders.empty() || (name != "shape" && name != "dtype")) return nullptr;
      implied = name == "shape" ? print_param(binders[0].aval.shape) : print_param(binders[0].aval.dtype);
      return &reader.emplace(implied, 0, implied.size());
    }
  };

  ParamsRef read_params(ParamReader& r, const Primitive& op, const std::vector<Binder>& binders) {
    std::vector<TextParam> params;
    if (r.accept("[")) {
      while (!r.accept("]")) {
        r.accept(",");
        r.peek();
        const std::size_t name_at = r.offset();
        std::string name = r.read_identifier();
        r.expect("=");
        r.peek();
        const std::size_t begin = r.offset(), end = skip_value(text_, begin, r.end());
        if (end == std::string_view::npos) r.fail("the bracket is not closed");
        if (find_named(params, name)) fail_at(r, name_at, "the parameter '" + name + "' is given twice");
        params.push_back({std::move(name), name_at, begin, end});
        r.seek(end);
      }
    }
    std::optional<TraceScope> axes;
    if (const TextParam* const mesh = find_named(params, "mesh")) enter_axes(axes, text_.substr(mesh->begin, mesh->end - mesh->begin));
    wanted_.clear();
    if (text_traits(op).is_function)
      for (const Binder& b : binders) wanted_.push_back(b.aval);
    ParamSource source{*this, text_, params, binders};
    ParamsRef out = op.params_read([](std::string_view name, void* s) { return static_cast<ParamSource*>(s)->next(name); }, &source);
    source.check_consumed();
    wanted_.clear();
    for (const TextParam& p : params)
      if (!p.used && !is_ignorable(text_traits(op), p.name, text_.substr(p.begin, p.end - p.begin)))
        fail_at(r, p.name_at,
                "the primitive '" + std::string(op.name) + "' has no parameter '" + p.name + "'" +
                    (is_ignorable(text_traits(op), p.name, "") ? " with this value" : ""));
    return out;
  }

  Atom read_operand(ParamReader& r, Body& body) {
    r.peek();
    const std::size_t at = r.offset();
    std::size_t end = at;
    const char first = r.peek();
    if (is_letter(first) && !literal_follows(r)) {
      const std::string name = r.read_identifier();
      if (const auto found = body.names.find(name); found != body.names.end()) return found->second;
      if (name != "_") fail_at(r, at, "the variable '" + name + "' is not bound");
      if (body.unnamed.size() != 1) fail_at(r, at, "there are " + std::to_string(body.unnamed.size()) + " variables '_'");
      return body.unnamed[0];
    }
    if (!is_letter(first) && !is_digit(first) && first != '-' && first != '+' && first != '(' && first != '.')
      r.fail(first == '[' ? "the values of an array are not in the text: it must be an input or a constant" : "expected an operand");
    // The type is behind the value, and says how to read it.
    while (end < r.end() && text_[end] != ':' && text_[end] != '\n') ++end;
    if (end >= r.end() || text_[end] != ':') r.fail("expected a literal with its type, as in 2.0:f32[]");
    r.seek(end + 1);
    const Aval aval = read_type(r);
    const std::size_t after = r.offset();
    ParamReader value(text_, at, end, this);
    const Literal literal = read_literal(value, aval);
    if (!value.at_end()) value.fail("expected ':' and the literal's type");
    r.seek(after);
    return body.builder.add_literal(literal);
  }
  static bool literal_follows(ParamReader& r) {
    for (const std::string_view word : {"inf", "nan", "True", "False"})
      if (r.looking_at(word)) {
        const std::size_t after = r.offset() + word.size();
        return after < r.end() && (r.text()[after] == ':' || (word == "nan" && r.text()[after] == '('));
      }
    return false;
  }

  std::string_view text_;
  std::span<const Array> consts_;
  const char* file_;
  std::vector<std::size_t> line_begins_{0};
  Scope* scope_ = nullptr;
  std::vector<Aval> wanted_;  // the types of a jitted program's results, as the equation declares them
  int depth_ = 0;
};

Jaxpr ParamReader::read_jaxpr() {
  if (!program_) fail("a program is not allowed here");
  return program_->read_value(*this);
}

Jaxpr parse_program(std::string_view text, std::span<const Array> consts, const std::string& name, SourceLoc loc) {
  const StandardFloats floats;
  try {
    return ProgramReader(text, consts, interned(name)).read_text();
  } catch (const Error& e) {
    throw Error(e.message(), loc);
  }
}

}  // namespace weft::detail

namespace weft {
Jaxpr parse(std::string_view text, SourceLoc loc) { return detail::parse_program(text, {}, "<jaxpr>", loc); }
}  // namespace weft
