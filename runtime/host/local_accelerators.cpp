#include "weft/runtime/host/local_accelerators.h"
#include "weft/core/base/environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "weft/core/errors/error.h"

namespace weft::detail {
namespace {

/// A whole number; nothing if the text is none.
std::optional<int> number_of(std::string_view text) {
  int n = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (problem != std::errc() || end != text.data() + text.size() || n < 0) return {};
  return n;
}

/// Which of the machine's processes this one is, as launchers say it: Open MPI, MPICH and Intel's MPI, Slurm.
std::optional<int> place_on_machine() {
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"})
    if (const char* text = std::getenv(name))
      if (const std::optional<int> n = number_of(text)) return n;
  return {};
}

}  // namespace

std::vector<int> local_accelerators(int found, bool launched, SourceLoc loc) {
  std::vector<int> list;
  if (const std::string_view text = word_in_environment("WEFT_LOCAL_DEVICE_IDS"); !text.empty()) {
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t comma = std::min(text.find(',', at), text.size());
      const std::optional<int> n = number_of(text.substr(at, comma - at));
      if (!n || *n >= found || std::count(list.begin(), list.end(), *n) > 0)
        throw DeviceError(fmt::format("WEFT_LOCAL_DEVICE_IDS is `{}`; it must list different numbers of GPUs of this machine, which are 0 "
                                      "to {}, with commas between them",
                                      text, found - 1),
                          loc);
      list.push_back(*n);
      at = comma + 1;
    }
    return list;
  }
  const std::optional<int> place = launched ? place_on_machine() : std::nullopt;
  if (!place) {
    for (int i = 0; i < found; ++i) list.push_back(i);
    return list;
  }
  if (found == 1) return {0};
  if (*place >= found)
    throw DeviceError(fmt::format("this is process {} of those on its machine, counted from 0, which has {} GPUs: a process drives the one "
                                  "of its number. Start no more processes than GPUs, give each its own with WEFT_LOCAL_DEVICE_IDS, or "
                                  "leave the GPUs alone with WEFT_PLATFORM=cpu",
                                  *place, found),
                      loc);
  return {*place};
}

}  // namespace weft::detail
