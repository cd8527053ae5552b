// Files: whatever weft writes goes through NewFile, and what it removes through OwnFolder (core/base/own_folder.h); scripts/check-files
// holds the rest of the tree to that.
//
// A new file is written beside its target, in the same folder, and takes the target's place by a rename once it is whole and on the disk.
// At every moment, and after every failure, the target is the old file or the new one, whole; nothing else stays behind. Where the file
// system can (O_TMPFILE), the new file has no name until then, so that a process that is killed while it writes leaves none. A process that
// is killed later leaves the new file beside the target, as `.weft-PID-N-N.new`, if that happens between the two system calls by which it
// takes an old file's place (linkat, renameat), or, where the file system has no such files, before the second of them. OwnFolder removes
// those in folders of weft's own; in the user's they can be deleted.
//   * A link to a file stays, and what it points to is replaced. Other hard links of the old file keep the old contents.
//   * The permissions of the old file are kept, its owner and group where the process may give them. What may not be written is not
//   replaced.
//   * What is not a regular file (a device, a pipe, a terminal) is never removed nor replaced: bytes are written into it as they come, or,
//     where its user says so (Target::regular), it is an IoError. A folder or a socket is an IoError.
#pragma once
#include <sys/stat.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/errors/source_loc.h"

namespace weft::detail {

/// An open file, closed with it. Negative: none.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor();
  Descriptor(Descriptor&& o) noexcept : fd_(o.release()) {}
  Descriptor& operator=(Descriptor&& o) noexcept;
  explicit operator bool() const { return fd_ >= 0; }
  int get() const { return fd_; }
  int release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }

 private:
  int fd_;
};

/// IoError: "who: path: what the system says of `error`".
[[noreturn]] void throw_io(std::string_view who, const std::string& path, int error, SourceLoc loc);

/// How far contents must have reached the disk before the file takes its place: not at all (what is checked when it is read), the file, or
/// the file and the folder that names it.
enum class Sync { none, file, folder };
/// What may stand where the file is to be: anything that takes bytes, or a regular file only.
enum class Target { any, regular };
/// Permissions and owner: those of the file that it replaces, or those of one that wasn't there.
enum class Attributes { kept, fresh };
struct NewFileOptions {
  Sync sync = Sync::folder;
  Target target = Target::any;
  Attributes attributes = Attributes::kept;
  mode_t mode = 0666;  ///< of a file that wasn't there, less the process's mask
};

/// A file on its way. One that is destroyed before place() leaves everything as it was.
class NewFile {
 public:
  /// `who` begins the messages of its IoErrors.
  NewFile(std::string who, std::string path, SourceLoc loc, NewFileOptions options = {});
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  void write(std::string_view bytes);
  /// All has been written: brings it to the disk, beside the target still. Several files that belong together are first all finished.
  void finish();
  /// Puts it in the target's place. Only where the folder then can't be brought to the disk is the new file there although this throws.
  void place();

 private:
  [[noreturn]] void fail(int error) const;
  void find_target();
  void open_beside();
  void open_named();
  void take_over_attributes(const struct ::stat& old);
  void give_name();
  void copy_to_named();

  std::string who_, path_;
  SourceLoc loc_;
  NewFileOptions options_;
  bool through_ = false, finished_ = false, replaces_ = false;
  Descriptor folder_, file_;
  std::string name_;  ///< of the target in the folder
  /// The new file's own name in the folder, which goes with it, also where the constructor fails; empty: it has none.
  struct Aside {
    const Descriptor& folder;
    std::string name = {};
    ~Aside();
  } aside_{folder_};
};

/// Writes the pieces one behind the other.
void write_file(const std::string& path, std::initializer_list<std::string_view> pieces, SourceLoc loc, std::string who = "save",
                NewFileOptions options = {});

/// The whole contents of a file; of a pipe or a terminal, all that comes. Other devices are an IoError, as they may have no end.
std::string read_file(const std::string& path, SourceLoc loc, std::string_view who = "load");
/// The whole contents of a file of weft's own: what is not a regular file is an IoError, never waited for.
std::string read_regular_file(const std::string& path, SourceLoc loc, std::string_view who);
/// Opens a regular file for reading. None, with errno set, where it can't be or is something else (EISDIR, EINVAL), which is never waited
/// for.
/// `follow`: a link to one, too.
enum class Links { follow, refuse };
Descriptor open_regular(const std::string& path, Links links);
/// The same, following links; an IoError where there is none.
Descriptor open_regular(const std::string& path, SourceLoc loc, std::string_view who);
/// Fills the buffer from this place in the file; how much there was, or -1, with errno set.
ssize_t read_at(const Descriptor& file, void* to, std::size_t bytes, std::int64_t offset);

/// All names in a folder; none, with errno set, where it can't be read.
std::optional<std::vector<std::string>> names_in(const Descriptor& folder);
/// The same; an IoError where it can't be read.
std::vector<std::string> names_in(const std::string& folder, SourceLoc loc, std::string_view who);
/// Makes a folder and those above it. Gives those that were not there, outermost first.
std::vector<std::string> make_folders(const std::string& path, SourceLoc loc, std::string_view who, mode_t mode = 0777);
/// Removes folders that make_folders made, as far as nothing is in them.
void remove_empty_folders(const std::vector<std::string>& made);
/// Whether the name is one that a file of NewFile's has until it takes its place.
bool is_name_aside(std::string_view name);

}  // namespace weft::detail
