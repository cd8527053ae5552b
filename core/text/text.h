// The text of a Jaxpr: what printing and parsing share, and what a new parameter type needs for its print_param and read_param.
//
//     std::string print_param(const GatherDims& v) { return print_fields("GatherDimensionNumbers", v); }
//     void read_param(ParamReader& r, GatherDims& v) { read_fields(r, "GatherDimensionNumbers", v); }
//
//     std::string print_param(Mode v) { return print_enum(v, kModeNames); }      // std::string_view kModeNames[]
//     void read_param(ParamReader& r, Mode& v) { read_enum(r, v, kModeNames); }
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "weft/core/errors/error.h"
#include "weft/core/ir/params.h"

namespace weft::detail {

class ProgramReader;  // core/text/parse.cpp
struct AxisFrame;     // core/trace/trace.h
class TraceScope;

/// A place in a text, both counted from 1.
struct TextPosition {
  int line = 1, column = 1;
};
TextPosition position_in(std::string_view text, std::size_t offset);

/// Reads one value out of a text. Each function skips white space first, and throws Error with line and column where the text is not as
/// it should be.
class ParamReader {
 public:
  /// Reads `text` from `begin` to `end`; errors count lines from the text's start. `program` resolves sub-programs; without it there are
  /// none.
  ParamReader(std::string_view text, std::size_t begin, std::size_t end, ProgramReader* program = nullptr)
      : text_(text), at_(begin), end_(end), program_(program) {}

  /// The next character, 0 at the end.
  char peek();
  bool at_end() { return peek() == 0; }
  /// Whether the text goes on with `token`. A token that ends in a letter or a digit must end there in the text too.
  bool looking_at(std::string_view token);
  /// Consumes `token` if it is there.
  bool accept(std::string_view token);
  /// Consumes `token`, or throws.
  void expect(std::string_view token);
  /// An integer; `np.int64(3)` is one too.
  std::int64_t read_int();
  /// A number as Python writes it: `1.5`, `-1e-05`, `inf`, `nan`; NumPy's wrappers are left out.
  double read_double();
  /// `True` or `False`.
  bool read_bool();
  /// Letters, digits and underscores.
  std::string read_identifier();
  /// A string in quotes, or else a bare word; a word may hold `<...>` and dots: `<lambda>`, `f.<locals>.g`, `<function f at 0x7f3a>`.
  std::string read_string();
  /// `(a, b)`, `[a, b]`, `{a, b}`, `frozenset({a, b})`, or a Python tuple with names, `Name(x=a, y=b)`; calls `item()` at each.
  template <class F>
  void read_list(F&& item) {
    const char close = open_list();
    while (!accept({&close, 1})) {
      accept_label();
      item();
      if (peek() == close) continue;
      expect(",");
    }
    close_list();
  }
  /// A sub-program: a text in braces, or the name of one that is defined before.
  Jaxpr read_jaxpr();
  /// Consumes what is left.
  std::string_view rest();
  /// Throws Error: the message with line and column.
  [[noreturn]] void fail(const std::string& message) const;

  std::size_t offset() const { return at_; }
  void seek(std::size_t offset) { at_ = offset; }
  std::size_t end() const { return end_; }
  std::string_view text() const { return text_; }

 private:
  char open_list();
  void close_list();
  void accept_label();
  std::string_view number_text();

  std::string_view text_;
  std::size_t at_, end_;
  ProgramReader* program_;
  int wrappers_ = 0;  // how many `frozenset(` are open
};

/// Consumes an optional `Name(`-like wrapper of one value, e.g. `np.float32(1.5)`; returns whether a `)` must follow.
bool accept_wrapper(ParamReader& r);

/// A float as Python's repr writes it: the fewest digits that give it back, always with a point or an exponent.
std::string print_double(double v);
/// A text in single quotes, with backslashes where needed.
std::string quoted(std::string_view s);

/// A struct as Python prints a named tuple: `Name(field=value, ...)`.
template <class T>
std::string print_fields(std::string_view name, const T& value) {
  std::string s = std::string(name) + "(";
  if constexpr (field_count<T> > 0)
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      const auto fields = fields_of(value);
      ((s += std::string(I ? ", " : "") + std::string(field_name<T, I>) + "=" + print_param(std::get<I>(fields))), ...);
    }(std::make_index_sequence<field_count<T>>{});
  return s + ")";
}
/// Reads what print_fields writes; the fields may be in any order, and those left out keep their values.
template <class T>
void read_fields(ParamReader& r, std::string_view name, T& value) {
  r.expect(name);
  r.expect("(");
  while (!r.accept(")")) {
    const std::string field = r.read_identifier();
    r.expect("=");
    bool known = false;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      auto fields = fields_of(value);
      ((field_name<T, I> == field ? (known = true, read_param(r, std::get<I>(fields))) : void()), ...);
    }(std::make_index_sequence<field_count<T>>{});
    if (!known) r.fail(std::string(name) + " has no field '" + field + "'");
    if (r.peek() != ')') r.expect(",");
  }
}

/// An enum whose values 0, 1, ... are written as names[0], names[1], ...
template <class E>
std::string print_enum(E v, std::span<const std::string_view> names) {
  return std::string(names[static_cast<std::size_t>(v)]);
}
template <class E>
void read_enum(ParamReader& r, E& v, std::span<const std::string_view> names) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (r.accept(names[i])) {
      v = static_cast<E>(i);
      return;
    }
  std::string all;
  for (std::string_view n : names) all += (all.empty() ? "" : ", ") + std::string(n);
  r.fail("expected one of " + all);
}

/// An array as NumPy prints it; `Traced<f32[3]>` where it has no value.
std::string array_text(const Array& x);

/// A literal's value as JAX writes it, without its type: `2.0`, `-inf`, `True`, `(1+2j)`. Together with the type it gives back all bits.
std::string print_literal(const Literal& literal);
/// Reads a value of the aval's dtype.
Literal read_literal(ParamReader& r, const Aval& aval);

/// The program's text, as Jaxpr::to_string.
std::string print_jaxpr(const Jaxpr& j);
/// The same with the outermost equations from `first` to before `last` only (`...` stands for the others), `marked` behind a `>`.
struct EqnRange {
  std::size_t first, last, marked;
};
std::string print_jaxpr_range(const Jaxpr& j, EqnRange range);
/// One equation, its variables named as in the whole program.
std::string print_eqn(const Jaxpr& j, std::size_t index);

/// The named axes of a mesh, given by its text as in shard_map[mesh=Mesh('x': 2, 'y': 4, ...)].
std::vector<AxisFrame> axes_of_mesh(std::string_view mesh);
/// Brings them into scope, for the types of the collectives in the map's program.
void enter_axes(std::optional<TraceScope>& scope, std::string_view mesh);

/// parse() with values for the constants of the outermost program, in order; without them they are abstract arrays. `name` is what source
/// locations in errors call the text.
Jaxpr parse_program(std::string_view text, std::span<const Array> consts, const std::string& name, SourceLoc loc);

}  // namespace weft::detail
