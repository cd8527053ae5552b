// Options of jit.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "weft/runtime/sharded/sharding.h"

namespace weft {

/// A tree prefix of shardings or devices; `none` leaves the placement to weft.
class Shardings {
 public:
  Shardings() : kind_(Kind::open) {}
  Shardings(NamedSharding sharding) : kind_(Kind::placed), where_(Placement(std::move(sharding))) {}
  Shardings(Device device) : kind_(Kind::placed), where_(Placement(device)) {}
  Shardings(detail::NoneValue auto) : kind_(Kind::open) {}
  Shardings(std::initializer_list<Shardings> children) : kind_(Kind::list), children_(children) {}

  bool is_list() const { return kind_ == Kind::list; }
  bool is_none() const { return kind_ == Kind::open; }
  const Placement& where() const { return *where_; }
  const std::vector<Shardings>& children() const { return children_; }

 private:
  enum class Kind { open, placed, list } kind_;
  std::optional<Placement> where_;
  std::vector<Shardings> children_;
};

namespace detail {
/// A field that jax.jit has and jit doesn't need, for the sentence that says why.
struct NoStaticArguments {
  constexpr NoStaticArguments() = default;
  template <class... T>
  NoStaticArguments(T...) {
    static_assert(sizeof...(T) == 0, "weft: a parameter that is declared int, bool, float, std::string, an enum, ... is static already");
  }
};
}  // namespace detail
/// Numbers of arguments, which count from 0: one, or a list.
struct ArgumentNumbers : std::vector<int> {
  using std::vector<int>::vector;
  ArgumentNumbers(int one) : std::vector<int>{one} {}
  ArgumentNumbers(std::vector<int> several) : std::vector<int>(std::move(several)) {}
};
/// Options of jit (jax.jit).
struct JitOptions {
  detail::NoStaticArguments static_argnums = {},
                            static_argnames = {};  ///< not needed: a parameter's declared type says whether it is static
  Shardings in_shardings = {};                     ///< where arguments are put before the call; committed ones must be there already
  Shardings out_shardings = {};                    ///< where results are put
  std::optional<Device> device = {};               ///< where it runs; results are committed to it
  ArgumentNumbers donate_argnums = {};             ///< arguments whose memory results may take; their arrays can't be used afterwards
  std::string name = {};                           ///< for printed programs, profiles and messages; the function's own if empty
};

}  // namespace weft
