// weft as a module of C++20: `import weft;` in place of `#include <weft/weft.h>`, with all that this declares. Macros (WEFT_PYTREE and the like)
// and fmt are still included: <weft/core/trees/pytree.h>, <fmt/core.h>. The docs say how it is compiled (docs/install.md).
module;
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <compare>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
export module weft;

// The declarations belong to no module: files that include headers and files that import share them.
export extern "C++" {
#include "weft/weft.h"
}
