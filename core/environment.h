// Switches in the environment.
#pragma once
#include <cstdlib>

namespace weft::detail {

/// Whether the variable is set, and neither empty nor begins with 0.
inline bool is_switched_on(const char* variable) {
  const char* v = std::getenv(variable);
  return v && *v && *v != '0';
}

}  // namespace weft::detail
