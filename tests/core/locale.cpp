// Numbers in text have a point whatever the program's locale is: what weft prints and reads doesn't depend on setlocale.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <clocale>
#include <cstdlib>
#include <limits>

#include "tests/folder.h"
#include "weft/core/base/decimal.h"

using namespace weft;
using namespace weft::test;

namespace {

/// A locale with a decimal comma: one of the system's, or one that localedef makes where it and its sources are installed.
class CommaLocale {
 public:
  CommaLocale() {
    for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8"})
      if (std::setlocale(LC_ALL, name)) return;
    const std::string made = "localedef -i de_DE -f UTF-8 '" + folder_.path + "/de_DE.UTF-8' >/dev/null 2>&1";
    static_cast<void>(std::system(made.c_str()));
    setenv("LOCPATH", folder_.path.c_str(), 1);
    std::setlocale(LC_ALL, "de_DE.UTF-8");
  }
  ~CommaLocale() {
    std::setlocale(LC_ALL, "C");
    unsetenv("LOCPATH");
  }
  bool found() const { return *std::localeconv()->decimal_point == ','; }

 private:
  Folder folder_;
};

}  // namespace

TEST_CASE("decimal text is read with a point, rounded once, to zero or infinity beyond the range") {
  CHECK(detail::decimal_double("1.5e3") == 1500);
  CHECK(detail::decimal_double("2.5e-400") == 0);
  CHECK(detail::decimal_double("2.5e400") == std::numeric_limits<double>::infinity());
  CHECK(detail::decimal_float("1.5e-60") == 0);
  CHECK(detail::decimal_float("1.4e-45") == std::numeric_limits<float>::denorm_min());
}

TEST_CASE("printing and reading in a locale with a decimal comma") {
  const auto texts = [] {
    std::vector<std::string> out;
    for (const DType dtype : {float16, bfloat16, float32, float64}) out.push_back(tree::to_string(array({1.5, 0.25, 1e-3, 3e4}, dtype)));
    return out;
  };
  const std::vector<std::string> expected = texts();
  const CommaLocale locale;
  if (!locale.found()) MESSAGE("there is no locale with a decimal comma; the C locale is tested");
  CHECK(detail::decimal_double("1.5") == 1.5);
  CHECK(texts() == expected);
  const Jaxpr f = parse("{ lambda ; a:f32[]. let b:f32[] = mul a 1.5:f32[]; c:f32[] = add b 2.5e-400:f32[] in (c,) }");
  CHECK(f(1.f)[0].item<float>() == 1.5f);
  CHECK(parse_csv("1.5\n2.5e-60\n").values.to_vector<float>() == std::vector<float>{1.5f, 0.f});
}
