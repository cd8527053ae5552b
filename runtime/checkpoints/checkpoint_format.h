// The files of a checkpoint, and the checks of what is read from them. A checkpoint is a folder:
//     current                 one line: the name of the subfolder that holds the last whole checkpoint; replaced in one step
//     save-000003/manifest    the leaves, and how many processes wrote parts; until the rest is written, only that this is weft's
//     save-000003/parts-0     where the parts that process 0 wrote are in data-0, with their checksums
//     save-000003/data-0
// Whoever reads one trusts nothing in it: whatever does not fit is an IoError that names the file and what is wrong with it.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/array/array.h"
#include "weft/core/base/own_folder.h"

namespace weft::detail {

/// The subfolders.
extern const OwnKind kCheckpointFolder;
inline constexpr std::string_view kUnfinishedManifest = "weft checkpoint 1, unfinished\n";

/// 3 for save-000003; none: it is no such name.
std::optional<std::int64_t> save_number(std::string_view name);
std::string save_name(std::int64_t number);
/// The subfolder that `current` names; empty if there is none.
std::string current_of(const std::string& folder, SourceLoc loc);

std::uint32_t checksum(const void* data, std::size_t bytes);
/// A text with the checksum of it in one more line.
std::string sealed(const std::string& text);

/// Part of a leaf as it is in a file.
struct StoredPart {
  std::vector<std::int64_t> start;
  Shape block;
  int process = 0;
  std::int64_t offset = 0, bytes = 0;
  std::uint32_t crc = 0;
};
/// A line of parts-N.
std::string part_line(std::size_t leaf, const StoredPart& p);
std::string manifest_text(const std::vector<std::string>& paths, const std::vector<Array>& leaves, int processes);
/// The parts of each leaf, which are those of the tree that is to be filled: blocks of one size, which cover it, each place once.
std::vector<std::vector<StoredPart>> read_parts(const std::string& source, const std::vector<std::string>& paths,
                                                const std::vector<Array>& like, SourceLoc loc);

[[noreturn]] void fail_checkpoint(const std::string& path, const std::string& problem, SourceLoc loc);

}  // namespace weft::detail
