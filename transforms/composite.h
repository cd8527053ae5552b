// A function as one equation with a name: what nn and users give names to that a backend may know.
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

/// f as one equation of programs, with a name and attributes: what it computes is f's own program, which every transform and backend may
/// take in its place; one that knows the name may do better. (jax.lax.composite, StableHLO's composite.) A name of one's own should have
/// its owner's before it: `composite(f, "my.gelu", {{"approximate", true}})`. Derivatives and vmap are those of f.
template <class F>
detail::CompositeCall<F> composite(F f, std::string name, Attributes attributes = {}, int version = 0) {
  return {std::move(f), std::move(name), std::move(attributes), version};
}

}  // namespace weft
