#include "weft/core/base/float_environment.h"

#include "weft/core/base/config.h"
#include "weft/core/base/environment.h"

namespace weft::detail {

bool flush_subnormals() {
  static const bool by_environment = is_switched_on("WEFT_FLUSH_SUBNORMALS");
  return config.flush_subnormals || by_environment;
}

}  // namespace weft::detail
