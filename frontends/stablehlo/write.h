// Programs written down in StableHLO, for JAX, IREE, stablehlo-opt and whatever else reads it.
#pragma once
#include <string>
#include <vector>

#include "weft/transforms/flat.h"
#include "weft/transforms/jaxpr_api.h"

namespace weft {

/// How a program is written down.
struct StablehloTextOptions {
  std::string name = {};   ///< the module's is `jit_NAME`; empty: that of the function, if it is a jitted one, else main
  bool locations = false;  ///< whether operations have the user's line as their location
  std::vector<std::string> argument_names = {};  ///< of @main's arguments, as their locations; empty: none
  std::vector<std::string> result_names = {};    ///< of its results, as `jax.result_info`; empty: none
};

/// The program as a module in StableHLO's text form, with the program as its function @main. Arguments and results are those of the
/// program; keys of random numbers are their two words, of type ui32, in a last dimension. A program that is one call of a jitted function
/// gives that function's module: arguments that it may take the memory of are marked (`tf.aliasing_output`, `jax.buffer_donor`). Calls
/// become functions, composites composites; scans become `while` loops that count; maps over a mesh `sdy.manual_computation`. Values are
/// kept bit by bit. What is left out is what a program's values don't depend on: custom derivatives, checkpoint policies, names. Throws
/// Error, with the operation and the user's line, for what has no spelling in StableHLO: callbacks and prints, gamma variates, maps within
/// maps; and where the program uses an array that is being traced around it.
std::string to_stablehlo(const Jaxpr& j, const StablehloTextOptions& options = {}, SourceLoc loc = SourceLoc::here());

/// Writes that text to a file, which is the old one or the new one, whole, at every moment. Throws IoError where it can't be written.
void save_stablehlo(const std::string& path, const Jaxpr& j, const StablehloTextOptions& options = {}, SourceLoc loc = SourceLoc::here());

namespace detail {
std::string flat_to_stablehlo(FlatFunction& f, StablehloTextOptions options);

template <class F>
class ToStablehlo : public Callable<ToStablehlo<F>> {
 public:
  using weft_inner = F;
  ToStablehlo(F f, StablehloTextOptions options) : f_(std::move(f)), options_(std::move(options)) {}
  template <class... A>
  std::string call(SourceLoc loc, const A&... args) const {
    FlatCall<F, A...> flat(f_, loc, args...);
    return flat_to_stablehlo(flat, options_);
  }

 private:
  mutable F f_;
  StablehloTextOptions options_;
};
}  // namespace detail

/// `to_stablehlo(f)(x, ...)`: the module of f for arguments like x, in StableHLO's text form, as `jax.jit(f).lower(x, ...).as_text()` is in
/// JAX. Only shapes and dtypes matter. Arguments are the leaves of f's arguments in order, each named by its path.
template <class F = UnaryFunction>
  requires(!std::is_convertible_v<const F&, const Jaxpr&>)
detail::ToStablehlo<F> to_stablehlo(F f, StablehloTextOptions options = {}) {
  return {std::move(f), std::move(options)};
}

}  // namespace weft
