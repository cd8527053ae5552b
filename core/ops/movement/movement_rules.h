// What the rules of the movement families share.
#pragma once
#include <cstring>
#include <vector>

#include "weft/core/ops/common.h"
#include "weft/core/ops/movement/movement.h"

namespace weft::detail {

/// The jvp of a primitive that is linear in all its operands at once: the primitive itself, of the tangents.
inline std::vector<Tangent> jvp_linear(const JvpContext& c) {
  bool any = false;
  for (const Tangent& t : c.tangents) any |= t.has_value();
  if (!any) return std::vector<Tangent>(c.out.size());
  std::vector<Array> in;
  for (std::size_t i = 0; i < c.in.size(); ++i) in.push_back(instantiate(c.tangents[i], c.in[i].aval(), c.loc));
  std::vector<Tangent> out;
  for (Array& x : bind_primitive(c.op, c.params, in, c.loc)) out.emplace_back(std::move(x));
  return out;
}

/// A dimension's number once a mapped axis is at `dim`.
inline int shifted(int d, int dim) { return d < dim ? d : d + 1; }
inline std::vector<int> shifted(std::vector<int> dims, int dim) {
  for (int& d : dims) d = shifted(d, dim);
  return dims;
}
template <class T>
std::vector<T> with_inserted(std::vector<T> v, int at, T value) {
  v.insert(v.begin() + at, value);
  return v;
}

template <class P>
BatchResult batched(const BatchContext& c, P params, const Array& x, int out_dim) {
  return {bind_primitive(c.op, make_params(std::move(params)), {&x, 1}, c.loc), {out_dim}};
}

/// A dimension that is copied as it is.
inline MovementDim same_dim(int out_dim, std::int64_t offset = 0) { return {.out_dim = out_dim, .scale = 1, .offset = offset}; }
/// A dimension of which one position is read.
inline MovementDim fixed_dim(std::int64_t position) { return {.out_dim = -1, .offset = position}; }
inline Movement identity_movement(int ndim) {
  Movement m;
  for (int d = 0; d < ndim; ++d) m.dims.push_back(same_dim(d));
  return m;
}

using Coordinates = std::vector<std::int64_t>;

/// Calls f(coordinates, row-major position) for each element.
template <class F>
void for_each_index(const Shape& shape, F&& f) {
  Coordinates at(static_cast<std::size_t>(shape.size()), 0);
  const std::int64_t n = shape.num_elements();
  for (std::int64_t p = 0; p < n; ++p) {
    f(at, p);
    for (int d = shape.size() - 1; d >= 0; --d) {
      auto& i = at[static_cast<std::size_t>(d)];
      if (++i < shape[d]) break;
      i = 0;
    }
  }
}
inline std::int64_t position_of(const Shape& shape, const Coordinates& at) {
  std::int64_t p = 0;
  for (int d = 0; d < shape.size(); ++d) p = p * shape[d] + at[static_cast<std::size_t>(d)];
  return p;
}
inline void copy_element(const HostTensor& to, std::int64_t i, const HostTensor& from, std::int64_t j) {
  const auto size = static_cast<std::size_t>(to.aval.dtype.itemsize());
  std::memcpy(to.as<char>() + static_cast<std::size_t>(i) * size, from.as<char>() + static_cast<std::size_t>(j) * size, size);
}
/// Fills a result from one operand: `source` turns the result's coordinates (changed in place or returned anew) into the operand's.
template <class F>
void reference_read(const HostTensor& out, const HostTensor& in, F&& source) {
  for_each_index(out.aval.shape,
                 [&](const Coordinates& at, std::int64_t p) { copy_element(out, p, in, position_of(in.aval.shape, source(at))); });
}
/// Writes one operand into a result: `target` turns the operand's coordinates into the result's.
template <class F>
void reference_write(const HostTensor& out, const HostTensor& in, F&& target) {
  for_each_index(in.aval.shape,
                 [&](const Coordinates& at, std::int64_t p) { copy_element(out, position_of(out.aval.shape, target(at)), in, p); });
}

}  // namespace weft::detail
