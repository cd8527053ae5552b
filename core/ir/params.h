// Parameters of equations, of any type, as values that are compared, hashed, written and read.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/ir/jaxpr.h"
#include "weft/core/trees/reflect.h"

namespace weft::detail {

class ParamReader;  // core/parse: the value of one parameter, being read

// How a parameter's value is written in a Jaxpr's text, read back, and hashed: one overload a type, here for all types that parameters
// have. A new parameter type adds its three overloads in core/text/param_types.cpp (or beside the type, found by argument-dependent
// lookup).
std::string print_param(bool v);
std::string print_param(int v);
std::string print_param(std::int64_t v);
std::string print_param(double v);
std::string print_param(DType v);
std::string print_param(const std::string& v);
std::string print_param(const Shape& v);
std::string print_param(const std::vector<int>& v);
std::string print_param(const std::vector<std::int64_t>& v);
std::string print_param(const std::vector<bool>& v);
std::string print_param(const std::vector<std::string>& v);
std::string print_param(const std::vector<std::vector<int>>& v);
std::string print_param(const std::vector<std::pair<int, int>>& v);
std::string print_param(const std::vector<std::pair<std::int64_t, std::int64_t>>& v);
template <class T>
std::string print_param(const std::optional<T>& v) {
  return v ? print_param(*v) : "None";
}
void read_param(ParamReader& r, bool& v);
void read_param(ParamReader& r, int& v);
void read_param(ParamReader& r, std::int64_t& v);
void read_param(ParamReader& r, double& v);
void read_param(ParamReader& r, DType& v);
void read_param(ParamReader& r, std::string& v);
void read_param(ParamReader& r, Shape& v);
void read_param(ParamReader& r, std::vector<int>& v);
void read_param(ParamReader& r, std::vector<std::int64_t>& v);
void read_param(ParamReader& r, std::vector<bool>& v);
void read_param(ParamReader& r, std::vector<std::string>& v);
void read_param(ParamReader& r, std::vector<std::vector<int>>& v);
void read_param(ParamReader& r, std::vector<std::pair<int, int>>& v);
void read_param(ParamReader& r, std::vector<std::pair<std::int64_t, std::int64_t>>& v);
bool read_none(ParamReader& r);  // consumes `None` if it is there
template <class T>
void read_param(ParamReader& r, std::optional<T>& v) {
  if (read_none(r))
    v.reset();
  else if constexpr (std::is_same_v<T, DType>)
    read_param(r, v.emplace(float32));
  else
    read_param(r, v.emplace());
}

/// An equation's parameters of type P, an aggregate with ==. Its fields' names are the parameters' names in the text.
template <class P>
struct ParamsOf final : ParamsBase {
  explicit ParamsOf(P v) : value(std::move(v)) {}
  const P value;
};
template <class P>
const P& params_as(const ParamsBase& p) {
  return static_cast<const ParamsOf<P>&>(p).value;
}
template <class P>
ParamsRef make_params(P p) {
  return ParamsRef(new ParamsOf<P>(std::move(p)));
}

/// Parameters of a primitive that has none.
struct NoParams {
  friend bool operator==(const NoParams&, const NoParams&) = default;
};

/// One parameter: its name, and its text or, for a sub-program, the program.
struct ParamText {
  std::string_view name;
  std::string text;
  const Jaxpr* jaxpr = nullptr;
  const std::vector<Jaxpr>* jaxprs = nullptr;  ///< a list of sub-programs (branches)
};

// The functions on type-erased parameters that a Primitive's table entry holds.
template <class P>
struct ParamFunctions {
  /// Whether a field is a sub-program or a list of them.
  static consteval bool holds_programs() {
    bool any = false;
    if constexpr (field_count<P> > 0)
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        ((any = any || is_program<std::remove_cvref_t<std::tuple_element_t<I, decltype(fields_of(std::declval<P&>()))>>>), ...);
      }(std::make_index_sequence<field_count<P>>{});
    return any;
  }
  static bool equal(const ParamsBase& a, const ParamsBase& b) { return params_as<P>(a) == params_as<P>(b); }
  /// Each field in order of declaration.
  static std::vector<ParamText> list(const ParamsBase& p) {
    std::vector<ParamText> out;
    const P& value = params_as<P>(p);
    each_field(value, [&](std::string_view name, const auto& field) {
      using F = std::remove_cvref_t<decltype(field)>;
      if constexpr (std::is_same_v<F, Jaxpr>)
        out.push_back({name, {}, &field});
      else if constexpr (std::is_same_v<F, std::vector<Jaxpr>>)
        out.push_back({name, {}, nullptr, &field});
      else
        out.push_back({name, print_param(field)});
    });
    return out;
  }
  /// The same parameters with each sub-program replaced by `f` applied to it.
  static ParamsRef map_jaxprs(const ParamsBase& p, Jaxpr (*f)(const Jaxpr&, void*), void* context) {
    P copy = params_as<P>(p);
    each_field(copy, [&](std::string_view, auto& field) {
      using F = std::remove_cvref_t<decltype(field)>;
      if constexpr (std::is_same_v<F, Jaxpr>) field = f(field, context);
      if constexpr (std::is_same_v<F, std::vector<Jaxpr>>)
        for (Jaxpr& j : field) j = f(j, context);
    });
    return make_params<P>(std::move(copy));
  }
  /// Reads fields by name: `next(name)` returns a reader positioned at the named parameter's value, or null where the text leaves it out
  /// (then it keeps its default).
  static ParamsRef read(ParamReader* (*next)(std::string_view name, void* context), void* context);

 private:
  template <class F>
  static constexpr bool is_program = std::is_same_v<F, Jaxpr> || std::is_same_v<F, std::vector<Jaxpr>>;
  template <class V, class F>
  static void each_field(V& value, F&& f) {
    if constexpr (field_count<std::remove_const_t<V>> > 0)
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        auto fields = fields_of(value);
        (f(field_name<std::remove_const_t<V>, I>, std::get<I>(fields)), ...);
      }(std::make_index_sequence<field_count<std::remove_const_t<V>>>{});
  }
};

void read_param(ParamReader& r, Jaxpr& v);
void read_param(ParamReader& r, std::vector<Jaxpr>& v);

template <class P>
ParamsRef ParamFunctions<P>::read(ParamReader* (*next)(std::string_view, void*), void* context) {
  P value{};
  each_field(value, [&](std::string_view name, auto& field) {
    if (ParamReader* r = next(name, context)) read_param(*r, field);
  });
  return make_params<P>(std::move(value));
}

}  // namespace weft::detail
