#include "weft/core/base/decimal.h"

#include <locale.h>
#include <stdlib.h>

namespace weft::detail {
namespace {

locale_t c_locale() {
  static const locale_t locale = newlocale(LC_ALL_MASK, "C", nullptr);
  return locale;
}

}  // namespace

double decimal_double(const std::string& text) { return strtod_l(text.c_str(), nullptr, c_locale()); }
float decimal_float(const std::string& text) { return strtof_l(text.c_str(), nullptr, c_locale()); }

}  // namespace weft::detail
