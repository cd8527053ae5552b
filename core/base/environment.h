// Variables of the environment: switches and numbers. A text that is not what it should be is an error, never a value nearby.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace weft::detail {

/// Whether the variable is set, and neither empty nor begins with 0.
inline bool is_switched_on(const char* variable) {
  const char* v = std::getenv(variable);
  return v && *v && *v != '0';
}

/// The number that the whole text is; nothing if it is none, or not one from `low` to `high`.
std::optional<std::int64_t> integer_of(std::string_view text, std::int64_t low, std::int64_t high);
std::optional<double> number_of(std::string_view text, double low, double high);

/// The number that a variable holds, nothing if it isn't set. Throws Error where it holds something else than a number from `low` to
/// `high`.
std::optional<std::int64_t> integer_in_environment(const char* variable, std::int64_t low, std::int64_t high);
std::optional<double> number_in_environment(const char* variable, double low, double high);

/// A time in seconds is no longer than this: clocks count nanoseconds in 64 bits.
inline constexpr double kLongestTime = 1e9;

}  // namespace weft::detail
