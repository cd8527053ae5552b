// Variables of the environment. One table says of each that weft reads what it may hold; a text that is not among that is an error that
// tells what is, never a value nearby. Where a variable is set to nothing, it counts as not set.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace weft::detail {

/// What a variable may hold: yes or no (1, on, true, yes; 0, off, false, no), one of some words, a whole number, a number, or what its
/// reader checks.
enum class VariableKind { flag, word, integer, number, text };
struct EnvironmentVariable {
  std::string_view name;
  VariableKind kind = VariableKind::text;
  std::span<const std::string_view> words = {};  ///< of VariableKind::word
  std::int64_t low = 0, high = 0;                ///< of numbers
};
/// All that weft reads, in the order of their names. tests/tools/command_lines.py compares the list with the sources.
std::span<const EnvironmentVariable> environment_variables();
/// What is wrong with a value, as "WEFT_CACHE is `maybe`; it may be 0 or off, 1 or on"; nothing if it may be that.
std::optional<std::string> problem_of(const EnvironmentVariable& variable, std::string_view value);
/// The same of the value that the environment has.
std::optional<std::string> problem_in_environment(const char* variable);

/// What the variable holds. Throws Error where it holds something that its entry in the table does not allow.
bool is_switched_on(const char* variable, bool unset = false);
std::string_view word_in_environment(const char* variable);  ///< empty if it isn't set
std::optional<std::int64_t> integer_in_environment(const char* variable);
std::optional<double> number_in_environment(const char* variable);

/// The number that the whole text is; nothing if it is none, or not one from `low` to `high`.
std::optional<std::int64_t> integer_of(std::string_view text, std::int64_t low, std::int64_t high);
std::optional<double> number_of(std::string_view text, double low, double high);

/// A time in seconds is no longer than this: clocks count nanoseconds in 64 bits.
inline constexpr double kLongestTime = 1e9;

}  // namespace weft::detail
