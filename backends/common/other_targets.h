// The code of other targets for a program compiled for the host, as text. Defined in backends/registry.cpp, which knows all targets.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/ir/jaxpr.h"

namespace weft::detail {

struct TargetText {
  std::string_view form;  ///< as `as_text` is given it
  std::string (*text)(const Jaxpr& program, const std::vector<bool>& donated);
};
std::span<const TargetText> other_target_texts();

}  // namespace weft::detail
