// The files of a checkpoint, and the checks of what is read from them. A checkpoint is a folder:
//     current                 one line: the name of the subfolder that holds the last whole checkpoint; replaced in one step
//     save-000003/manifest    the leaves, and how many processes wrote parts; until the rest is written, only that this is weft's
//     save-000003/parts-0     where the parts that process 0 wrote are in data-0, with their checksums
// save-000003/data-0 Readers validate everything: whatever does not fit is an IoError that names the file and what is wrong with
// it.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/array/array.h"
#include "weft/core/base/own_folder.h"

namespace weft::detail {

/// The kind of the subfolders, for the helper that deletes folders.
extern const OwnKind kCheckpointFolder;
inline constexpr std::string_view kUnfinishedManifest = "weft checkpoint 1, unfinished\n";

/// The number in a subfolder's name: 3 for save-000003; nothing for any other name.
std::optional<std::int64_t> save_number(std::string_view name);
std::string save_name(std::int64_t number);
/// The subfolder that `current` names; empty if there is none.
std::string current_of(const std::string& folder, SourceLoc loc);

std::uint32_t checksum(const void* data, std::size_t bytes);
/// The text, followed by a line with its checksum.
std::string sealed(const std::string& text);

/// Where a part of a leaf is: its box in the array, and its place in a data file.
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
/// The stored parts of each leaf of the tree to be loaded, checked to be blocks of one size that cover the leaf, each element once.
std::vector<std::vector<StoredPart>> read_parts(const std::string& source, const std::vector<std::string>& paths,
                                                const std::vector<Array>& like, SourceLoc loc);

[[noreturn]] void fail_checkpoint(const std::string& path, const std::string& problem, SourceLoc loc);

}  // namespace weft::detail
