#include "weft/core/base/environment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "weft/core/errors/error.h"

namespace weft::detail {
namespace {

using enum VariableKind;

constexpr std::int64_t kInt = INT32_MAX, kManyMegabytes = std::int64_t{1} << 40, kTime = static_cast<std::int64_t>(kLongestTime);

constexpr std::string_view kCodes[] = {"baseline", "optimized"}, kProgress[] = {"0", "off", "lines", "bars"},
                           kTracebacks[] = {"0", "1", "full"};

constexpr EnvironmentVariable kVariables[] = {
    {.name = "WEFT_AOT_LEVEL", .kind = integer, .low = 1, .high = 4},
    {.name = "WEFT_ATTENTION_KEPT_MB", .kind = integer, .low = 0, .high = 1 << 20},
    {.name = "WEFT_CACHE", .kind = flag},
    {.name = "WEFT_CACHE_DIR"},
    {.name = "WEFT_CACHE_MB", .kind = integer, .low = 0, .high = kManyMegabytes},
    {.name = "WEFT_CHECK_COLLECTIVES", .kind = flag},
    {.name = "WEFT_CODE", .kind = word, .words = kCodes},
    {.name = "WEFT_COLLECTIVE_TIMEOUT", .kind = number, .low = 0, .high = kTime},
    {.name = "WEFT_COORDINATOR"},
    {.name = "WEFT_CPU"},
    {.name = "WEFT_CUDA_ARCH"},
    {.name = "WEFT_CUDA_DETERMINISTIC", .kind = flag},
    {.name = "WEFT_CUDA_RELU_EPILOGUE", .kind = flag},
    {.name = "WEFT_CUDA_SYNC", .kind = flag},
    {.name = "WEFT_CUDA_TF32", .kind = flag},
    {.name = "WEFT_CUDA_TUNE", .kind = flag},
    {.name = "WEFT_CUDA_WINDOW_BYTES", .kind = number, .low = 1, .high = 1'000'000'000'000'000'000},
    {.name = "WEFT_DRY_RUN"},
    {.name = "WEFT_FLUSH_SUBNORMALS", .kind = flag},
    {.name = "WEFT_HEARTBEAT_TIMEOUT", .kind = number, .low = 0, .high = kTime},
    {.name = "WEFT_IMPLICIT_RESHARD", .kind = flag},
    {.name = "WEFT_JIT_CACHE_SIZE", .kind = integer, .low = 1, .high = std::int64_t{1} << 40},
    {.name = "WEFT_LIBCUBLAS"},
    {.name = "WEFT_LIBCUBLASLT"},
    {.name = "WEFT_LIBCUDA"},
    {.name = "WEFT_LIBCUSOLVER"},
    {.name = "WEFT_LIBDEVICE"},
    {.name = "WEFT_LIBNCCL"},
    {.name = "WEFT_LOCAL_DEVICE_IDS"},
    {.name = "WEFT_MPI_PLUGIN"},
    {.name = "WEFT_NUM_CPU_DEVICES", .kind = integer, .low = 1, .high = 1024},
    {.name = "WEFT_NUM_PROCESSES", .kind = integer, .low = 0, .high = kInt},
    {.name = "WEFT_NUM_THREADS", .kind = integer, .low = 1, .high = 1024},
    {.name = "WEFT_OVERLAP", .kind = flag},
    {.name = "WEFT_PLATFORM"},
    {.name = "WEFT_PROCESS_ID", .kind = integer, .low = 0, .high = kInt},
    {.name = "WEFT_PROGRESS", .kind = word, .words = kProgress},
    {.name = "WEFT_PTX_DIR"},
    {.name = "WEFT_SCHEDULE_SEARCH", .kind = flag},
    {.name = "WEFT_TOKEN"},
    {.name = "WEFT_TRACE"},
    {.name = "WEFT_TRACEBACK", .kind = word, .words = kTracebacks},
    {.name = "WEFT_WARN_AFTER_RECOMPILES", .kind = integer, .low = -1, .high = kInt},
};

constexpr std::string_view kYes[] = {"1", "on", "true", "yes"}, kNo[] = {"0", "off", "false", "no"};

bool is_among(std::string_view word, std::span<const std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

template <class T>
std::optional<T> read(std::string_view text, T low, T high) {
  T value{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  // `!(value >= low && ...)` also rejects NaN.
  if (problem != std::errc() || end != text.data() + text.size() || !(value >= low && value <= high)) return {};
  return value;
}

const EnvironmentVariable& entry(std::string_view name) {
  for (const EnvironmentVariable& v : kVariables)
    if (v.name == name) return v;
  throw Error(fmt::format("internal error: {} is not in the table of variables", name));
}

/// The variable's value, if it is an allowed one; empty if it isn't set.
std::string_view allowed(const EnvironmentVariable& variable) {
  const char* const text = std::getenv(variable.name.data());
  if (!text || !*text) return {};
  if (const auto problem = problem_of(variable, text)) throw Error(*problem);
  return text;
}

}  // namespace

std::span<const EnvironmentVariable> environment_variables() { return kVariables; }

std::optional<std::string> problem_of(const EnvironmentVariable& v, std::string_view value) {
  const auto must_be = [&](const std::string& what) { return fmt::format("{} is `{}`; it {}", v.name, value, what); };
  if (value.empty()) return {};
  switch (v.kind) {
    case flag:
      if (is_among(value, kYes) || is_among(value, kNo)) return {};
      return must_be("may be 0 or off, 1 or on");
    case word:
      if (is_among(value, v.words)) return {};
      return must_be(fmt::format("may be {}", fmt::join(v.words, ", ")));
    case integer:
      if (read(value, v.low, v.high)) return {};
      return must_be(fmt::format("must be a number from {} to {}", v.low, v.high));
    case number:
      if (read(value, static_cast<double>(v.low), static_cast<double>(v.high))) return {};
      return must_be(fmt::format("must be a number from {} to {}", static_cast<double>(v.low), static_cast<double>(v.high)));
    case VariableKind::text: break;
  }
  return {};
}
std::optional<std::string> problem_in_environment(const char* variable) {
  const char* const text = std::getenv(variable);
  return text ? problem_of(entry(variable), text) : std::nullopt;
}

bool is_switched_on(const char* variable, bool unset) {
  const std::string_view value = allowed(entry(variable));
  return value.empty() ? unset : is_among(value, kYes);
}
std::string_view word_in_environment(const char* variable) { return allowed(entry(variable)); }
std::optional<std::int64_t> integer_in_environment(const char* variable) {
  const EnvironmentVariable& v = entry(variable);
  return read(allowed(v), v.low, v.high);
}
std::optional<double> number_in_environment(const char* variable) {
  const EnvironmentVariable& v = entry(variable);
  return read(allowed(v), static_cast<double>(v.low), static_cast<double>(v.high));
}

std::optional<std::int64_t> integer_of(std::string_view text, std::int64_t low, std::int64_t high) { return read(text, low, high); }
std::optional<double> number_of(std::string_view text, double low, double high) { return read(text, low, high); }

}  // namespace weft::detail
