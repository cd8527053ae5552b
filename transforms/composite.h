// A function as one named equation of a program, which a backend may implement by its name.
#pragma once
#include <string>

#include "weft/core/ir/attributes.h"
#include "weft/transforms/flat.h"

namespace weft {

namespace detail {
std::vector<Array> flat_composite(FlatFunction& f, const std::string& name, const Attributes& attributes, int version);

template <class F>
class CompositeCall : public Callable<CompositeCall<F>> {
 public:
  using weft_inner = F;
  CompositeCall(F f, std::string name, Attributes attributes, int version)
      : f_(std::move(f)), name_(std::move(name)), attributes_(std::move(attributes)), version_(version) {}
  template <class... A>
  out_t<F, A...> call(SourceLoc loc, const A&... args) const {
    FlatCall<F, A...> flat(f_, loc, args...);
    const std::vector<Array> results = flat_composite(flat, name_, attributes_, version_);
    return flat.make_result(results);
  }

 private:
  mutable F f_;
  std::string name_;
  Attributes attributes_;
  int version_;
};
}  // namespace detail

/// f as one equation with a name and attributes (jax.lax.composite, StableHLO's composite). The equation holds f's own program; transforms
/// and backends use it unless they have an implementation for the name. Names should begin with their owner's: `composite(f, "my.gelu",
/// {{"approximate", true}})`. Derivatives and vmap are those of f.
template <class F>
detail::CompositeCall<F> composite(F f, std::string name, Attributes attributes = {}, int version = 0) {
  return {std::move(f), std::move(name), std::move(attributes), version};
}

}  // namespace weft
