#include "weft/runtime/checkpoints/checkpoint_format.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "weft/core/base/counted.h"
#include "weft/core/base/sizes.h"
#include "weft/core/errors/error.h"

namespace weft::detail {
namespace {

constexpr std::string_view kFormat = "weft checkpoint 1", kSave = "save-";

template <class T>
std::optional<T> number_of(std::string_view text, int base = 10) {
  T value{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (problem != std::errc() || end != text.data() + text.size()) return {};
  return value;
}
bool is_digits(std::string_view s) { return !s.empty() && s.find_first_not_of("0123456789") == std::string_view::npos; }
bool is_file_name(std::string_view name) {
  for (const std::string_view begin : {"parts-", "data-"})
    if (name.starts_with(begin)) return is_digits(name.substr(begin.size()));
  return false;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> words;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(at, begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

std::vector<std::string> read_sealed(const std::string& path, SourceLoc loc) {
  const std::string text = read_regular_file(path, loc, "checkpoint");
  const std::size_t at = text.rfind("checksum ");
  if (at == std::string::npos || sealed(text.substr(0, at)) != text)
    fail_checkpoint(path, "it is damaged or cut short: its checksum is wrong", loc);
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < at;) {
    const std::size_t end = std::min(text.find('\n', begin), at);
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

std::string joined(std::span<const std::int64_t> numbers) { return numbers.empty() ? "-" : fmt::format("{}", fmt::join(numbers, ",")); }
std::string joined(const Shape& s) { return joined(std::span<const std::int64_t>(s.begin(), s.end())); }
std::optional<std::vector<std::int64_t>> numbers_of(std::string_view text) {
  std::vector<std::int64_t> list;
  if (text == "-") return list;
  for (const std::string_view word : split(text, ',')) {
    const auto n = number_of<std::int64_t>(word);
    if (!n) return {};
    list.push_back(*n);
  }
  return list;
}

std::string manifest_line(const Array& leaf, const std::string& path) {
  return fmt::format("{} {} {}", leaf.dtype().name(), joined(leaf.shape()), path);
}

struct Line {
  std::size_t leaf;
  StoredPart part;
};
std::optional<Line> read_line(std::string_view line, int process) {
  const std::vector<std::string_view> w = split(line, ' ');
  if (w.size() != 6) return {};
  const auto leaf = number_of<std::size_t>(w[0]);
  const auto start = numbers_of(w[1]), block = numbers_of(w[2]);
  const auto offset = number_of<std::int64_t>(w[3]), bytes = number_of<std::int64_t>(w[4]);
  const auto crc = number_of<std::uint32_t>(w[5], 16);
  if (!leaf || !start || !block || !offset || !bytes || !crc) return {};
  return Line{*leaf, {*start, Shape(*block), process, *offset, *bytes, *crc}};
}

/// Whether the part is a block of the array, with the bytes that such a block has.
bool fits(const StoredPart& p, const Array& leaf) {
  const std::span<const std::int64_t> block(p.block.begin(), p.block.end()), whole(leaf.shape().begin(), leaf.shape().end());
  return p.start.size() == whole.size() && block.size() == whole.size() && box_is_inside(p.start, block, whole) &&
         checked_bytes(block, leaf.dtype().itemsize()) == p.bytes && checked_sum(p.offset, p.bytes);
}

/// What is wrong with the parts together; empty: nothing.
std::string problem_of(const std::vector<StoredPart>& parts, const Shape& whole) {
  if (whole.num_elements() == 0) return {};
  if (parts.empty()) return "all its parts are missing";
  const Shape& block = parts[0].block;
  std::int64_t want = 1;  // no more than elements
  for (int d = 0; d < whole.size(); ++d) {
    if (block[d] == 0 || whole[d] % block[d] != 0) return fmt::format("blocks of {} don't divide it", to_string(block));
    want *= whole[d] / block[d];
  }
  std::vector<const std::vector<std::int64_t>*> starts;
  for (const StoredPart& p : parts) {
    if (!(p.block == block)) return fmt::format("it has parts of {} and of {}", to_string(block), to_string(p.block));
    for (std::size_t d = 0; d < p.start.size(); ++d)
      if (p.start[d] % block[static_cast<int>(d)] != 0)
        return fmt::format("a part of {} begins at {}", to_string(block), to_string(Shape(p.start)));
    starts.push_back(&p.start);
  }
  const auto less = [](const auto* a, const auto* b) { return *a < *b; };
  std::sort(starts.begin(), starts.end(), less);
  const auto twice = std::adjacent_find(starts.begin(), starts.end(), [](const auto* a, const auto* b) { return *a == *b; });
  if (twice != starts.end()) return fmt::format("the part at {} is there twice", to_string(Shape(**twice)));
  if (static_cast<std::int64_t>(starts.size()) != want) return fmt::format("parts are missing: there are {} of {}", starts.size(), want);
  return {};
}

}  // namespace

const OwnKind kCheckpointFolder{"manifest", "weft checkpoint ", is_file_name, ""};

void fail_checkpoint(const std::string& path, const std::string& problem, SourceLoc loc) {
  throw IoError(fmt::format("checkpoint: {}: {}", path, problem), loc);
}

std::optional<std::int64_t> save_number(std::string_view name) {
  if (!name.starts_with(kSave)) return {};
  name.remove_prefix(kSave.size());
  return name.size() >= 6 && is_digits(name) ? number_of<std::int64_t>(name) : std::nullopt;
}
std::string save_name(std::int64_t number) { return fmt::format("{}{:06}", kSave, number); }

std::string current_of(const std::string& folder, SourceLoc loc) {
  const std::string path = folder + "/current";
  if (!open_regular(path, Links::follow) && (errno == ENOENT || errno == ENOTDIR)) return {};
  std::string name = read_regular_file(path, loc, "checkpoint");
  while (!name.empty() && name.back() == '\n') name.pop_back();
  if (!save_number(name)) fail_checkpoint(path, "it names no subfolder of a checkpoint", loc);
  return name;
}

std::uint32_t checksum(const void* data, std::size_t bytes) {
  return static_cast<std::uint32_t>(crc32_z(crc32_z(0, nullptr, 0), static_cast<const Bytef*>(data), bytes));
}
std::string sealed(const std::string& text) { return text + fmt::format("checksum {:08x}\n", checksum(text.data(), text.size())); }

std::string part_line(std::size_t leaf, const StoredPart& p) {
  return fmt::format("{} {} {} {} {} {:08x}\n", leaf, joined(std::span<const std::int64_t>(p.start)), joined(p.block), p.offset, p.bytes,
                     p.crc);
}

std::string manifest_text(const std::vector<std::string>& paths, const std::vector<Array>& leaves, int processes) {
  std::string text = fmt::format("{}\nprocesses {}\n", kFormat, processes);
  for (std::size_t i = 0; i < leaves.size(); ++i) text += manifest_line(leaves[i], paths[i]) + "\n";
  return sealed(text);
}

std::vector<std::vector<StoredPart>> read_parts(const std::string& source, const std::vector<std::string>& paths,
                                                const std::vector<Array>& like, SourceLoc loc) {
  constexpr std::string_view kProcesses = "processes ";
  const std::string manifest_path = source + "/manifest";
  const std::vector<std::string> manifest = read_sealed(manifest_path, loc);
  const auto count = manifest.size() >= 2 && manifest[0] == kFormat && manifest[1].starts_with(kProcesses)
                         ? number_of<int>(std::string_view(manifest[1]).substr(kProcesses.size()))
                         : std::nullopt;
  if (!count || *count < 1) fail_checkpoint(manifest_path, "it is not a manifest of this version", loc);
  if (manifest.size() - 2 != like.size())
    fail_checkpoint(source, fmt::format("it has {}, the tree to be filled has {}", counted(manifest.size() - 2, "array"), like.size()),
                    loc);
  for (std::size_t i = 0; i < like.size(); ++i)
    if (const std::string want = manifest_line(like[i], paths[i]); manifest[i + 2] != want)
      fail_checkpoint(source,
                      fmt::format("array {} is `{}`, the tree to be filled has `{}` (dtype, shape, path)", i, manifest[i + 2], want), loc);

  std::vector<std::vector<StoredPart>> parts(like.size());
  for (int r = 0; r < *count; ++r) {
    const std::string path = fmt::format("{}/parts-{}", source, r);
    for (const std::string& text : read_sealed(path, loc)) {
      std::optional<Line> line = read_line(text, r);
      if (!line || line->leaf >= like.size()) fail_checkpoint(path, fmt::format("`{}` is not part of the tree", text), loc);
      if (!fits(line->part, like[line->leaf])) fail_checkpoint(path, fmt::format("`{}` does not fit its array", text), loc);
      parts[line->leaf].push_back(std::move(line->part));
    }
  }
  for (std::size_t i = 0; i < like.size(); ++i)
    if (const std::string problem = problem_of(parts[i], like[i].shape()); !problem.empty())
      fail_checkpoint(source, fmt::format("the parts of {} ({}) don't make it up: {}", paths[i], to_string(like[i].aval()), problem), loc);
  return parts;
}

}  // namespace weft::detail
