// Options of vmap and grad. In all option structs the order is: inputs, outputs, the axis, devices, donation, the name.
#pragma once
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "weft/core/trees/prefix.h"

namespace weft {

/// Options of vmap (jax.vmap).
struct VmapOptions {
  detail::NamedFields named = detail::NamedFields();
  Axes in_axes = 0;                   ///< the mapped axis of each argument; none: the argument is the same for all lanes
  Axes out_axes = 0;                  ///< the mapped axis of each result; none: the result is the same for all lanes
  std::string axis_name = {};         ///< for collectives
  std::optional<Int> axis_size = {};  ///< needed only where no argument is mapped
  std::string spmd_axis_name = {};    ///< the mesh axis over which a shard_map inside shards the mapped axis
};
namespace detail {
// Fields that JAX's functions have and weft's don't, for the sentence that says what to write instead. It stands in a default argument, so
// that the compiler says it at the call, before what follows from it.
struct NoArgnums;
template <class... T>
inline constexpr bool kNoArgnums = [] {
  static_assert((std::is_same_v<T, NoArgnums> && ...), "weft: the numbers of arguments are template arguments: grad<1>(f), grad<0, 2>(f)");
  return true;
}();
struct NoArgnums {
  constexpr NoArgnums() = default;
  template <class... T, bool = kNoArgnums<T...>>
  NoArgnums(T...) {}
};
struct NoHasAux;
template <class T>
inline constexpr bool kNoHasAux = [] {
  static_assert(std::is_same_v<T, NoHasAux>, "weft: has_aux is an argument of its own: grad(f, has_aux), value_and_grad(f, has_aux)");
  return true;
}();
struct NoHasAux {
  constexpr NoHasAux() = default;
  template <class T, bool = kNoHasAux<T>>
  NoHasAux(T) {}
};
}  // namespace detail
/// Options of grad and value_and_grad (jax.grad).
struct GradOptions {
  detail::NoArgnums argnums = {};  ///< template arguments instead: `grad<0, 2>(f)`
  detail::NoHasAux has_aux = {};   ///< an argument instead: `grad(f, has_aux)`
  bool holomorphic = false;        ///< the function is complex and holomorphic: the result is its complex derivative
  bool allow_int = false;          ///< integer leaves get a gradient of zeros of dtype bool instead of an error
};
/// Options of jacfwd, jacrev and hessian (jax.jacfwd).
struct JacobianOptions {
  detail::NoArgnums argnums = {};  ///< template arguments instead: `jacrev<0, 2>(f)`
  detail::NoHasAux has_aux = {};   ///< an argument instead: `jacrev(f, has_aux)`
  bool holomorphic = false;        ///< the function is complex and holomorphic: the result holds complex derivatives
};

}  // namespace weft
