#include "tools/reverse.h"

#include <algorithm>

#include "weft/core/ops/common.h"
#include "weft/core/trace/trace.h"

namespace weft::tools {

using namespace detail;

Reverse::Reverse(const Jaxpr& program, const std::vector<bool>& wrt) : forward_(linearize_program(program, wrt)) {
  forward_.primal.check();
  forward_.linear.check();
  const auto types = forward_.linear.data().input_avals();
  linear_types_.assign(types.begin() + forward_.num_residuals, types.end());
  cotangent_types_ = forward_.linear.data().output_avals();
  std::vector<bool> linear(types.size(), true);
  std::fill_n(linear.begin(), forward_.num_residuals, false);
  backward_ = transpose_program(forward_.linear, linear, std::vector<bool>(cotangent_types_.size(), true));
  backward_.jaxpr.check();
}

Reverse::Pushed Reverse::push(std::span<const Array> inputs) const {
  const std::vector<Array> all = eval_jaxpr(forward_.primal, inputs);
  const auto cut = all.end() - forward_.num_residuals;
  return {{all.begin(), cut}, {cut, all.end()}};
}

std::vector<Array> Reverse::pull(const std::vector<Array>& residuals, std::span<const Array> cotangents) const {
  std::vector<Array> known = residuals;
  known.insert(known.end(), cotangents.begin(), cotangents.end());
  const std::vector<Array> some = eval_jaxpr(backward_.jaxpr, known);
  std::vector<Array> out;
  std::size_t next = 0;
  for (std::size_t i = 0; i < backward_.nonzero.size(); ++i)
    out.push_back(backward_.nonzero[i] ? some[next++] : zeros_of(linear_types_[i], {}));
  return out;
}

}  // namespace weft::tools
