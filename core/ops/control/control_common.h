// Functions that the rules of cond, while and scan share.
#pragma once
#include <functional>

#include "weft/core/array/array_impl.h"
#include "weft/core/array/array_lists.h"
#include "weft/core/ir/rewrite.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/control/control.h"
#include "weft/core/trace/trace.h"

namespace weft::detail {

inline std::vector<bool> nonzero_of(std::span<const Tangent> ts) {
  std::vector<bool> out;
  for (const Tangent& t : ts) out.push_back(t.has_value());
  return out;
}
inline bool same_type(const Aval& a, const Aval& b) { return a.shape == b.shape && a.dtype == b.dtype; }

/// A program of the given inputs, traced from operations on arrays.
inline Jaxpr make_program(const char* what, std::vector<Aval> inputs,
                          const std::function<std::vector<Array>(std::span<const Array>)>& body) {
  return trace_jaxpr({what, std::move(inputs), {}}, body);
}

/// The jvp of j with an output tangent wherever `wanted`, zeros where there is none: (inputs, nonzero tangents) -> (outputs, wanted
/// tangents).
Jaxpr with_outputs_wanted(const Jaxpr& j, const JvpProgram& jvp, const std::vector<bool>& wanted);

/// Applies a branch or a loop whose sub-programs may have constants, such as arrays that a custom rule made: they become operands.
std::vector<Array> bind_cond(Cond::Params params, std::span<const Array> in, SourceLoc loc);
std::vector<Array> bind_while(While::Params params, std::span<const Array> in, SourceLoc loc);
std::vector<Array> bind_scan(Scan::Params params, std::span<const Array> in, SourceLoc loc);

inline void append(std::vector<Array>& to, std::span<const Array> from) { to.insert(to.end(), from.begin(), from.end()); }
inline std::vector<Array> nonzero_tangents(std::span<const Tangent> ts) {
  std::vector<Array> out;
  for (const Tangent& t : ts)
    if (t) out.push_back(*t);
  return out;
}
/// The indices of the true entries.
inline std::vector<std::size_t> where_true(const std::vector<bool>& mask) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < mask.size(); ++i)
    if (mask[i]) out.push_back(i);
  return out;
}

}  // namespace weft::detail
