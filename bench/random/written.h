// A fixed workload whose text for JAX is written by hand beside weft's function: takes the inputs, the body of a Python function of them
// (named a, b, c, ... in order), and a function of as many arrays; gives its results.
#pragma once
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "writer.h"

namespace bench::random_programs {

/// How an input is filled: uniform in [shift - scale / 2, shift + scale / 2), rounded down for integers.
struct Given {
  weft::Shape shape;
  weft::DType dtype = weft::float32;
  double scale = 2, shift = 0;
};

namespace detail {
template <class F, std::size_t... I>
auto applied(const F& f, const std::vector<weft::Array>& arrays, std::index_sequence<I...>) {
  return f(arrays[I]...);
}
template <std::size_t N, class F>
auto applied_to(const F& f, const std::vector<weft::Array>& arrays) {
  return applied(f, arrays, std::make_index_sequence<N>());
}
/// Defines the Python function `g` and calls it; its results are one array or several.
Values called(Writer& w, const Values& inputs, const std::string& body, const std::vector<weft::Array>& results, bool several);
}  // namespace detail

/// `f` takes N arrays and returns one, or a std::vector of several.
template <std::size_t N, class F>
Values written(Writer& w, const Given (&given)[N], const char* body, F f) {
  Values inputs;
  std::vector<weft::Array> arrays;
  for (const Given& g : given) {
    inputs.push_back(w.input(g.shape, g.dtype, g.scale, g.shift));
    arrays.push_back(inputs.back().array);
  }
  auto result = detail::applied_to<N>(f, arrays);
  if constexpr (std::is_same_v<decltype(result), weft::Array>)
    return detail::called(w, inputs, body, {result}, false);
  else
    return detail::called(w, inputs, body, result, true);
}

// What the functions are written with.
using A = const weft::Array&;
using Arrays = std::vector<weft::Array>;
inline weft::Array f(A x, weft::DType t) { return astype(x, t); }
inline const weft::Slice everything = weft::slice();

/// Gradients of a scalar function of several arrays.
template <class F>
Arrays gradients(const F& loss, const Arrays& of) {
  return weft::grad([&](const Arrays& p) { return loss(p); })(of);
}

/// `count` times: u = step(u).
template <class Step>
weft::Array times(int count, weft::Array u, Step step) {
  return weft::fori_loop(0, count, [&](const weft::Array&, const weft::Array& x) { return weft::Array(step(x)); }, u);
}

}  // namespace bench::random_programs
