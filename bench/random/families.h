// What the families of random programs share: dtypes, elementwise operations, movements.
#pragma once
#include "writer.h"

namespace bench::random_programs {

/// One of the floating dtypes; float32 is as likely as all others together.
weft::DType real_dtype(Writer& w);
/// A shape of `rank` dimensions with about 2^log2 elements, odd sizes among them.
weft::Shape shape_of(Writer& w, int rank, double log2);
/// One elementwise function of a floating value, whose results stay in a moderate range.
Value unary(Writer& w, const Value& x);
/// One of two, of one shape after broadcasting.
Value binary(Writer& w, const Value& x, const Value& y);
/// `length` operations on the values, elementwise.
Value mixed(Writer& w, Values values, int length);
/// Another view of a value: transposed, sliced with a stride, flipped, rolled, padded, joined with itself.
Value moved(Writer& w, const Value& x);
/// The gradients of a scalar function of the values.
template <class Body>
Values differentiate(Writer& w, const Values& of, Body body) {
  std::vector<std::string> parameters;
  std::vector<weft::Array> arrays;
  std::vector<int> positions;
  for (const Value& v : of) {
    parameters.push_back("p" + std::to_string(parameters.size()));
    positions.push_back(static_cast<int>(arrays.size()));
    arrays.push_back(v.array);
  }
  auto f = w.function(parameters);
  const auto gradients =
      weft::grad([&](const std::vector<weft::Array>& xs) { return f(xs, "{}", [&](Values v) { return Values{body(v)}; })[0]; })(arrays);
  std::string operands;
  for (const Value& v : of) operands += v.name + ", ";
  const Value all = w.put(arrays[0], "jax.grad({}, {})({})", f.name(), positions, operands);
  Values results;
  for (std::size_t k = 0; k < gradients.size(); ++k) results.push_back(w.put(gradients[k], "{}[{}]", all.name, k));
  return results;
}

}  // namespace bench::random_programs
