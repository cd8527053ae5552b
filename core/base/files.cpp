#include "weft/core/base/files.h"

#include <pthread.h>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <utility>

#include "weft/core/base/cancellation.h"
#include "weft/core/errors/error.h"

namespace weft::detail {
namespace {

constexpr std::size_t kAtOnce = std::size_t{1} << 30;  // Linux moves at most 2 GiB in one call
constexpr int kMaxLinks = 40;                          // as the kernel's own
constexpr std::string_view kAsideBegin = ".weft-", kAsideEnd = ".new";

std::pair<std::string, std::string> folder_and_name(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

/// The target of a symbolic link in a folder; empty, with errno set, if it is not one.
std::string link_text(int folder, const std::string& name) {
  char text[PATH_MAX];
  const ssize_t n = readlinkat(folder, name.c_str(), text, sizeof text);
  return n > 0 ? std::string(text, static_cast<std::size_t>(n)) : std::string();
}

/// The links in /proc lead to open files, which may have no name.
bool is_in_proc(int folder) {
  struct statfs s{};
  return fstatfs(folder, &s) == 0 && s.f_type == PROC_SUPER_MAGIC;
}

bool has_nul(const std::string& path) { return path.find('\0') != std::string::npos; }
/// The system would ignore the part of a path after a NUL.
void refuse_nul(std::string_view who, const std::string& path, SourceLoc loc) {
  if (has_nul(path)) throw IoError(fmt::format("{}: {}: a path can't have a zero byte in it", who, path), loc);
}

Descriptor opened(const std::string& path, int flags) {
  int fd;
  do fd = open(path.c_str(), flags | O_CLOEXEC | O_NOCTTY);
  while (fd < 0 && errno == EINTR);
  return Descriptor(fd);
}
Descriptor open_folder(const std::string& path) {
  Descriptor d = opened(path, O_RDONLY | O_DIRECTORY);
  // A folder without read permission can still be opened with O_PATH.
  return d || errno != EACCES ? std::move(d) : opened(path, O_PATH | O_DIRECTORY);
}

/// Whether the error means that the file system doesn't support fsync.
bool has_no_sync(int error) { return error == EINVAL || error == ENOTSUP || error == ENOSYS || error == EROFS || error == EBADF; }
int sync_of(int fd) {
  int result;
  do result = fsync(fd);
  while (result != 0 && errno == EINTR);
  return result == 0 || has_no_sync(errno) ? 0 : errno;
}

/// Blocks SIGPIPE and SIGXFSZ, so that a pipe without a reader and a file beyond the process's limit are ordinary errors.
class WriteSignalsHeld {
 public:
  WriteSignalsHeld() {
    sigset_t pending;
    sigpending(&pending);
    sigemptyset(&held_);
    for (const int signal : {SIGPIPE, SIGXFSZ})
      if (sigismember(&pending, signal) == 0) sigaddset(&held_, signal);
    pthread_sigmask(SIG_BLOCK, &held_, &before_);
  }
  ~WriteSignalsHeld() {
    const int error = errno;
    const timespec none{};
    while (sigtimedwait(&held_, nullptr, &none) > 0 || errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }
  WriteSignalsHeld(const WriteSignalsHeld&) = delete;
  WriteSignalsHeld& operator=(const WriteSignalsHeld&) = delete;

 private:
  sigset_t held_, before_;
};

/// Returns 0 or errno.
int write_all(int fd, std::string_view bytes) {
  const WriteSignalsHeld held;
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), std::min(bytes.size(), kAtOnce));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n < 0 ? errno : EIO;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ < 0) return;
  const CancellationHeld held;  // to close is to wait, and destructors must not throw
  const int error = errno;
  close(fd_);
  errno = error;
}
Descriptor& Descriptor::operator=(Descriptor&& o) noexcept {
  Descriptor old(std::exchange(fd_, o.release()));
  return *this;
}

void throw_io(std::string_view who, const std::string& path, int error, SourceLoc loc) {
  throw IoError(fmt::format("{}: {}: {}", who, path, std::strerror(error)), loc);
}

NewFile::NewFile(std::string who, std::string path, SourceLoc loc, NewFileOptions options)
    : who_(std::move(who)), path_(std::move(path)), loc_(loc), options_(options) {
  find_target();
}

NewFile::Aside::~Aside() {
  if (!name.empty()) unlinkat(folder.get(), name.c_str(), 0);
}

void NewFile::fail(int error) const { throw_io(who_, path_, error, loc_); }

void NewFile::find_target() {
  if (path_.empty()) fail(ENOENT);
  refuse_nul(who_, path_, loc_);
  struct stat old{};
  const bool there = stat(path_.c_str(), &old) == 0;
  if (!there && errno != ENOENT) fail(errno);
  if (there && S_ISDIR(old.st_mode)) fail(EISDIR);
  if (there && !S_ISREG(old.st_mode)) {
    if (options_.target == Target::regular)
      throw IoError(fmt::format("{}: {}: it is not a regular file, which must not be replaced", who_, path_), loc_);
    through_ = true;
    file_ = opened(path_, O_WRONLY);
    if (!file_) fail(errno);
    return;
  }
  // The target of the links, which need not exist yet.
  std::string target = path_;
  for (int links = 0;; ++links) {
    auto [folder, name] = folder_and_name(target);
    if (name.empty()) fail(EISDIR);
    folder_ = open_folder(folder);
    if (!folder_) fail(errno);
    name_ = name;
    const std::string text = link_text(folder_.get(), name);
    if (text.empty()) break;
    if (links == kMaxLinks) fail(ELOOP);
    if (there && is_in_proc(folder_.get())) {
      // An open file descriptor, such as /dev/stdout, which other code continues to use.
      through_ = true;
      struct stat out{};
      if (fstat(STDOUT_FILENO, &out) == 0 && out.st_dev == old.st_dev && out.st_ino == old.st_ino) {
        std::fflush(stdout);
        file_ = Descriptor(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
      } else {
        file_ = opened(path_, O_WRONLY | O_APPEND);
      }
      if (!file_) fail(errno);
      return;
    }
    target = text[0] == '/' ? text : folder + "/" + text;
  }
  replaces_ = there;
  const bool keep = there && options_.attributes == Attributes::kept;
  if (keep && faccessat(folder_.get(), name_.c_str(), W_OK, AT_EACCESS) != 0) fail(errno);
  open_beside();
  if (keep) take_over_attributes(old);
}

void NewFile::open_beside() {
  file_ = Descriptor(openat(folder_.get(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, options_.mode));
  // The file will be linked to its name through /proc.
  if (!file_ || access(fmt::format("/proc/self/fd/{}", file_.get()).c_str(), F_OK) != 0) return open_named();
  flock(file_.get(), LOCK_EX | LOCK_NB);  // for OwnFolder: its process lives
}

void NewFile::open_named() {
  static std::atomic<unsigned> counter{0};
  for (int tries = 0; tries < 100; ++tries) {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    std::string name = fmt::format("{}{}-{}-{:x}{}", kAsideBegin, getpid(), counter++, now.tv_nsec, kAsideEnd);
    file_ = Descriptor(openat(folder_.get(), name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, options_.mode));
    if (file_) {
      aside_.name = std::move(name);  // nothing between its creation and this line can fail
      flock(file_.get(), LOCK_EX | LOCK_NB);
      return;
    }
    if (errno != EEXIST) break;
  }
  fail(errno);
}

void NewFile::take_over_attributes(const struct ::stat& old) {
  struct stat s{};
  if (fstat(file_.get(), &s) != 0) fail(errno);
  if (s.st_uid != old.st_uid || s.st_gid != old.st_gid) {
    if (fchown(file_.get(), old.st_uid, old.st_gid) != 0) [[maybe_unused]]
      const int only_the_group = fchown(file_.get(), static_cast<uid_t>(-1), old.st_gid);
  }
  // The setuid and setgid bits are not copied to a data file.
  const mode_t mode = old.st_mode & 01777;
  if (mode != (s.st_mode & 07777) && fchmod(file_.get(), mode) != 0) fail(errno);
}

void NewFile::write(std::string_view bytes) {
  if (const int error = write_all(file_.get(), bytes)) fail(error);
}

void NewFile::finish() {
  if (std::exchange(finished_, true)) return;
  if (options_.sync == Sync::none) return;
  if (const int error = sync_of(file_.get())) fail(error);
}

void NewFile::give_name() {
  static std::atomic<unsigned> counter{0};
  const std::string from = fmt::format("/proc/self/fd/{}", file_.get());
  if (!replaces_ && linkat(AT_FDCWD, from.c_str(), folder_.get(), name_.c_str(), AT_SYMLINK_FOLLOW) == 0) return;
  for (int tries = 0; tries < 100; ++tries) {
    std::string name = fmt::format("{}{}-{}-{:x}{}", kAsideBegin, getpid(), counter++, tries, kAsideEnd);
    if (linkat(AT_FDCWD, from.c_str(), folder_.get(), name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      aside_.name = std::move(name);
      return;
    }
    if (errno != EEXIST) break;
  }
  copy_to_named();
}

/// For a file system that creates unnamed files (O_TMPFILE) but can't link them.
void NewFile::copy_to_named() {
  struct stat s{};
  if (fstat(file_.get(), &s) != 0) fail(errno);
  const Descriptor from = std::move(file_);
  open_named();
  take_over_attributes(s);
  std::string piece(std::size_t{1} << 20, '\0');
  for (std::int64_t at = 0; at < s.st_size;) {
    const ssize_t n = read_at(from, piece.data(), piece.size(), at);
    if (n <= 0) fail(n < 0 ? errno : EIO);
    write({piece.data(), static_cast<std::size_t>(n)});
    at += n;
  }
  finished_ = false;
  finish();
}

void NewFile::place() {
  finish();
  if (through_) {
    // Some file systems report write errors only at close.
    if (close(file_.release()) != 0 && errno != EINTR) fail(errno);
    return;
  }
  if (aside_.name.empty()) give_name();
  if (!aside_.name.empty()) {
    if (renameat(folder_.get(), aside_.name.c_str(), folder_.get(), name_.c_str()) != 0) fail(errno);
    aside_.name.clear();
  }
  if (options_.sync != Sync::folder) return;
  if (const int error = sync_of(folder_.get()))
    throw IoError(fmt::format("{}: {}: it is written, but its folder has not reached the disk: {}", who_, path_, std::strerror(error)),
                  loc_);
}

void write_file(const std::string& path, std::initializer_list<std::string_view> pieces, SourceLoc loc, std::string who,
                NewFileOptions options) {
  NewFile file(std::move(who), path, loc, options);
  for (const std::string_view p : pieces) file.write(p);
  file.place();
}

ssize_t read_at(const Descriptor& file, void* to, std::size_t bytes, std::int64_t offset) {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t n =
        pread(file.get(), static_cast<char*>(to) + done, std::min(bytes - done, kAtOnce), offset + static_cast<std::int64_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -1;
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return static_cast<ssize_t>(done);
}

namespace {
/// /dev/zero and its like never end. Of devices, only terminals do, and /dev/null, which is empty.
void refuse_endless(const Descriptor& file, const struct stat& s, const std::string& path, SourceLoc loc, std::string_view who) {
  if (!S_ISCHR(s.st_mode) || isatty(file.get()) == 1) return;
  if (struct stat null{}; stat("/dev/null", &null) == 0 && S_ISCHR(null.st_mode) && null.st_rdev == s.st_rdev) return;
  throw IoError(fmt::format("{}: {}: it is a device, which need not end; give a file, a pipe or a terminal", who, path), loc);
}

std::string read_all(const Descriptor& file, const std::string& path, SourceLoc loc, std::string_view who) try {
  struct stat s{};
  if (fstat(file.get(), &s) != 0) throw_io(who, path, errno, loc);
  if (S_ISDIR(s.st_mode)) throw_io(who, path, EISDIR, loc);
  refuse_endless(file, s, path, loc, who);
  // A known size saves copies; pipes and devices have none, and files in /proc report 0.
  std::string text(S_ISREG(s.st_mode) && s.st_size > 0 ? static_cast<std::size_t>(s.st_size) + 1 : 4096, '\0');
  std::size_t used = 0;
  for (;;) {
    if (used == text.size()) text.resize(2 * text.size());
    const ssize_t n = read(file.get(), text.data() + used, std::min(text.size() - used, kAtOnce));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw_io(who, path, errno, loc);
    if (n == 0) break;
    used += static_cast<std::size_t>(n);
  }
  text.resize(used);
  return text;
} catch (const std::bad_alloc&) {
  throw MemoryError(fmt::format("{}: {}: there is not enough memory for what the file holds", who, path), loc);
} catch (const std::length_error&) {
  throw MemoryError(fmt::format("{}: {}: the file is too large", who, path), loc);
}
}  // namespace

std::string read_file(const std::string& path, SourceLoc loc, std::string_view who) {
  refuse_nul(who, path, loc);
  const Descriptor file = opened(path, O_RDONLY);
  if (!file) throw_io(who, path, errno, loc);
  return read_all(file, path, loc, who);
}

std::string read_regular_file(const std::string& path, SourceLoc loc, std::string_view who) {
  return read_all(open_regular(path, loc, who), path, loc, who);
}

Descriptor open_regular(const std::string& path, SourceLoc loc, std::string_view who) {
  refuse_nul(who, path, loc);
  Descriptor file = open_regular(path, Links::follow);
  if (!file && errno == EINVAL) throw IoError(fmt::format("{}: {}: it is not a regular file", who, path), loc);
  if (!file) throw_io(who, path, errno, loc);
  return file;
}

Descriptor open_regular(const std::string& path, Links links) {
  if (has_nul(path)) return errno = ENOENT, Descriptor();
  Descriptor file = opened(path, O_RDONLY | O_NONBLOCK | (links == Links::refuse ? O_NOFOLLOW : 0));
  struct stat s{};
  if (!file || (fstat(file.get(), &s) == 0 && S_ISREG(s.st_mode))) return file;
  file = Descriptor();
  errno = S_ISDIR(s.st_mode) ? EISDIR : EINVAL;
  return file;
}

std::optional<std::vector<std::string>> names_in(const Descriptor& folder) {
  struct Listing {
    DIR* of;
    ~Listing() {
      const CancellationHeld held;
      if (const int error = errno; of) closedir(of), errno = error;
    }
  };
  Descriptor again(openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const Listing listing{again ? fdopendir(again.get()) : nullptr};
  if (!listing.of) return {};
  again.release();
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* e = readdir(listing.of)) {
    if (const std::string_view name = e->d_name; name != "." && name != "..") names.emplace_back(name);
    errno = 0;
  }
  if (errno != 0) return {};
  return names;
}
std::vector<std::string> names_in(const std::string& folder, SourceLoc loc, std::string_view who) {
  refuse_nul(who, folder, loc);
  const Descriptor d = opened(folder, O_RDONLY | O_DIRECTORY);
  auto names = d ? names_in(d) : std::nullopt;
  if (!names) throw_io(who, folder, errno, loc);
  return std::move(*names);
}

std::vector<std::string> make_folders(const std::string& path, SourceLoc loc, std::string_view who, mode_t mode) {
  refuse_nul(who, path, loc);
  std::vector<std::string> made;
  try {
    for (std::size_t end = 0; end != std::string::npos;) {
      end = path.find('/', end + 1);
      const std::string& folder = made.emplace_back(path.substr(0, end));
      if (mkdir(folder.c_str(), mode) == 0) continue;
      const int error = errno;
      struct stat s{};
      const bool there = stat(folder.c_str(), &s) == 0 && S_ISDIR(s.st_mode);
      made.pop_back();
      if (!there) throw_io(who, path, error == EEXIST ? ENOTDIR : error, loc);
    }
  } catch (...) {
    remove_empty_folders(made);
    throw;
  }
  return made;
}

void remove_empty_folders(const std::vector<std::string>& made) {
  for (auto f = made.rbegin(); f != made.rend(); ++f) rmdir(f->c_str());
}

bool is_name_aside(std::string_view name) {
  if (!name.starts_with(kAsideBegin) || !name.ends_with(kAsideEnd) || name.size() < kAsideBegin.size() + kAsideEnd.size()) return false;
  name.remove_prefix(kAsideBegin.size()), name.remove_suffix(kAsideEnd.size());
  return std::count(name.begin(), name.end(), '-') == 2 && name.find_first_not_of("0123456789abcdef-") == std::string_view::npos;
}

}  // namespace weft::detail
