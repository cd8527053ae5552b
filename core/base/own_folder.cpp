#include "weft/core/base/own_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <utility>

#include "weft/core/errors/error.h"

namespace weft::detail {
namespace {

constexpr std::time_t kAbandoned = 3600;  // seconds, where the file system knows no locks

Descriptor open_at(const Descriptor& folder, const std::string& name, int flags) {
  return Descriptor(openat(folder.get(), name.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
}

}  // namespace

std::optional<OwnFolder> OwnFolder::open(const std::string& path, const OwnKind& kind) {
  OwnFolder f(path, kind, Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)));
  if (!f.folder_ || !f.is_marked()) return {};
  return f;
}

std::optional<OwnFolder> OwnFolder::mark(const std::string& path, const OwnKind& kind, std::string_view text, NewFileOptions options) {
  OwnFolder f(path, kind, Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)));
  if (!f.folder_) return {};
  if (f.is_marked()) return f;
  const auto there = names_in(f.folder_);
  if (!there) return {};
  for (const std::string& name : *there)
    if (!kind.is_own_name(name) && !is_name_aside(name)) return {};
  options.target = Target::regular;
  write_file(path + "/" + std::string(kind.marker), {text}, {}, "mark", options);
  return f;
}

bool OwnFolder::begins_with(const std::string& name, std::string_view text) const {
  const Descriptor file = open_at(folder_, name, O_RDONLY);
  struct stat s{};
  if (!file || fstat(file.get(), &s) != 0 || !S_ISREG(s.st_mode)) return false;
  std::string begin(text.size(), '\0');
  return read_at(file, begin.data(), begin.size(), 0) == static_cast<ssize_t>(begin.size()) && begin == text;
}

bool OwnFolder::is_marked() const { return begins_with(std::string(kind_.marker), kind_.marker_begins); }

bool OwnFolder::remove(const std::string& name) const {
  return kind_.is_own_name(name) && begins_with(name, kind_.begins) && unlinkat(folder_.get(), name.c_str(), 0) == 0;
}

bool OwnFolder::remove_abandoned(const std::string& name) const {
  if (!is_name_aside(name)) return false;
  const Descriptor file = open_at(folder_, name, O_RDONLY);
  struct stat s{};
  if (!file || fstat(file.get(), &s) != 0 || !S_ISREG(s.st_mode)) return false;
  // Its writer holds a lock, which goes with the process.
  const bool over = flock(file.get(), LOCK_EX | LOCK_NB) == 0 || (errno != EWOULDBLOCK && std::time(nullptr) - s.st_mtime > kAbandoned);
  return over && unlinkat(folder_.get(), name.c_str(), 0) == 0;
}

bool OwnFolder::remove_all() const {
  if (!lock_alone() || !is_marked()) return false;
  const auto all = names_in(folder_);
  if (!all) return false;
  for (const std::string& name : *all)
    if (name != kind_.marker && !remove(name)) remove_abandoned(name);
  const auto left = names_in(folder_);
  // Files that another process has put there since stay, with the marker, by which the next process finds and removes them.
  const std::string marker(kind_.marker);
  const auto is_ours = [&](const std::string& n) { return n != marker && (kind_.is_own_name(n) || is_name_aside(n)); };
  if (!left || std::any_of(left->begin(), left->end(), is_ours)) return false;
  return unlinkat(folder_.get(), marker.c_str(), 0) == 0 && rmdir(path_.c_str()) == 0;
}

bool OwnFolder::lock_alone() const { return flock(folder_.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK; }
bool OwnFolder::lock_shared() const { return flock(folder_.get(), LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK; }

}  // namespace weft::detail
