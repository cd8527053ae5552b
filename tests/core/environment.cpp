// Variables of the environment hold what their table says, or are refused.
#include "weft/core/base/environment.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>

#include "tests/messages.h"
#include "weft/core/errors/error.h"

using namespace weft;
using namespace weft::detail;
using test::has, test::message_of;

namespace {

/// Sets a variable while it lives.
class Setting {
 public:
  Setting(const char* name, const char* value) : name_(name) {
    if (const char* const old = std::getenv(name)) before_ = old;
    ::setenv(name, value, 1);
  }
  ~Setting() {
    if (before_)
      ::setenv(name_, before_->c_str(), 1);
    else
      ::unsetenv(name_);
  }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace

TEST_CASE("variables of the environment: the table is in order, and every value that may not be is refused") {
  const auto all = environment_variables();
  CHECK(std::is_sorted(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; }));
  for (const EnvironmentVariable& v : all) {
    CAPTURE(v.name);
    const auto may_be = [&](const std::string& value) { return !problem_of(v, value); };
    CHECK(may_be(""));
    switch (v.kind) {
      case VariableKind::flag:
        for (const char* value : {"0", "off", "false", "no", "1", "on", "true", "yes"}) CHECK(may_be(value));
        for (const char* value : {"2", "-1", "maybe", "ON", "00", " 1", "1 "}) CHECK_FALSE(may_be(value));
        break;
      case VariableKind::word:
        for (const std::string_view word : v.words) CHECK(may_be(std::string(word)));
        for (const char* value : {"foo", "baselin", "fulll", "2"}) CHECK_FALSE(may_be(value));
        CHECK(has(*problem_of(v, "foo"), v.words[0].data()));
        break;
      case VariableKind::integer:
        CHECK((may_be(std::to_string(v.low)) && may_be(std::to_string(v.high))));
        for (const std::string& value : {std::to_string(v.low - 1), std::to_string(v.high + 1), std::string("1x"), std::string("1.5"),
                                         std::string("99999999999999999999")})
          CHECK_FALSE(may_be(value));
        break;
      case VariableKind::number:
        CHECK(may_be("2.5"));
        for (const char* value : {"-1", "nan", "inf", "1e300", "1x", "foo"}) CHECK_FALSE(may_be(value));
        break;
      case VariableKind::text: break;
    }
  }
}

TEST_CASE("variables of the environment: what is read") {
  {
    const Setting off("WEFT_OVERLAP", "off");
    CHECK_FALSE(is_switched_on("WEFT_OVERLAP", true));
  }
  {
    const Setting on("WEFT_OVERLAP", "yes");
    CHECK(is_switched_on("WEFT_OVERLAP"));
  }
  {
    const Setting nothing("WEFT_OVERLAP", "");
    CHECK((is_switched_on("WEFT_OVERLAP", true) && !is_switched_on("WEFT_OVERLAP", false)));
  }
  const Setting wrong("WEFT_OVERLAP", "foo");
  CHECK(has(message_of<Error>([] { is_switched_on("WEFT_OVERLAP"); }), "WEFT_OVERLAP is `foo`; it may be 0 or off, 1 or on"));
  const Setting few("WEFT_CACHE_MB", "7"), seconds("WEFT_COLLECTIVE_TIMEOUT", "2.5"), word("WEFT_CODE", "optimized");
  CHECK(integer_in_environment("WEFT_CACHE_MB") == 7);
  CHECK(number_in_environment("WEFT_COLLECTIVE_TIMEOUT") == 2.5);
  CHECK(word_in_environment("WEFT_CODE") == "optimized");
  CHECK(has(message_of<Error>([] { is_switched_on("WEFT_NO_SUCH_VARIABLE"); }), "not in the table"));
}
