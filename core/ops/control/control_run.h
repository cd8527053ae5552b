// Control flow run step by step on arrays that have values: what backends without code for it do.
#pragma once
#include <functional>
#include <vector>

#include "weft/core/ir/rules.h"

namespace weft::detail {

/// Runs one sub-program on concrete arrays.
using ProgramRunner = std::function<std::vector<Array>(const Jaxpr&, std::span<const Array>)>;

/// The results of an operation of kind control for concrete arrays, its sub-programs run by `run`.
struct RunTransform {
  static constexpr std::string_view name = "run", doc = "Runs step by step.";
  static constexpr Kind every = Kind::control;
  using Function = std::vector<Array>(const ParamsBase& params, std::span<const Array> in, const ProgramRunner& run);
};
template <class Op>
using RunRule = Rule<RunTransform, Op>;

/// Runs an operation of kind control by its rule; throws Error where it has none.
std::vector<Array> run_control(const Primitive& op, const ParamsBase& params, std::span<const Array> in, const ProgramRunner& run);

/// The elements in one piece of host memory; `storage` keeps them if they had to be gathered.
const std::byte* bytes_of(const Array& x, std::vector<std::byte>& storage);

}  // namespace weft::detail
