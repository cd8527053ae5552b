// Reverse mode step by step, as the transforms do it: linearized, then transposed. Each program on the way is checked.
#pragma once
#include <span>
#include <vector>

#include "weft/core/ir/rewrite.h"

namespace weft::tools {

class Reverse {
 public:
  /// By the inputs where `wrt`. Throws what the transforms throw.
  Reverse(const Jaxpr& program, const std::vector<bool>& wrt);

  /// Whether result k has a derivative; and the types of those results' cotangents.
  const std::vector<bool>& active() const { return forward_.nonzero_out; }
  const std::vector<detail::Aval>& cotangent_types() const { return cotangent_types_; }

  // Within a trace:
  struct Pushed {
    std::vector<Array> results, residuals;
  };
  Pushed push(std::span<const Array> inputs) const;
  /// The cotangents of the inputs where `wrt`, from those of the active results.
  std::vector<Array> pull(const std::vector<Array>& residuals, std::span<const Array> cotangents) const;

 private:
  detail::LinearizedProgram forward_;
  detail::TransposedProgram backward_;
  std::vector<detail::Aval> linear_types_, cotangent_types_;
};

}  // namespace weft::tools
