#include "weft/core/base/environment.h"

#include <fmt/format.h>

#include <charconv>
#include <string>

#include "weft/core/errors/error.h"

namespace weft::detail {
namespace {

template <class T>
std::optional<T> read(std::string_view text, T low, T high) {
  T value{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  // Not (value < low): NaN is between no numbers.
  if (problem != std::errc() || end != text.data() + text.size() || !(value >= low && value <= high)) return {};
  return value;
}

template <class T>
std::optional<T> of_variable(const char* variable, T low, T high) {
  const char* const text = std::getenv(variable);
  if (!text) return {};
  const std::optional<T> value = read<T>(text, low, high);
  if (!value) throw Error(fmt::format("{} is `{}`; it must be a number from {} to {}", variable, text, low, high));
  return value;
}

}  // namespace

std::optional<std::int64_t> integer_of(std::string_view text, std::int64_t low, std::int64_t high) { return read(text, low, high); }
std::optional<double> number_of(std::string_view text, double low, double high) { return read(text, low, high); }

std::optional<std::int64_t> integer_in_environment(const char* variable, std::int64_t low, std::int64_t high) {
  return of_variable(variable, low, high);
}
std::optional<double> number_in_environment(const char* variable, double low, double high) { return of_variable(variable, low, high); }

}  // namespace weft::detail
