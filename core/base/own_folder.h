// Removing files. Weft removes only what is in a folder that it made and marked, has a name of the form that its own files there have,
// and begins with what they begin with; whatever else is there stays, and the folder with it.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/base/files.h"

namespace weft::detail {

/// How weft knows its folders of one kind, and its files in them.
struct OwnKind {
  std::string_view marker;                ///< the file that marks such a folder
  std::string_view marker_begins;         ///< what its contents begin with
  bool (*is_own_name)(std::string_view);  ///< of the other files
  std::string_view begins;                ///< what the contents of each begin with; empty: anything
};

class OwnFolder {
 public:
  /// The folder, if it is marked as one of this kind; a link is not followed.
  static std::optional<OwnFolder> open(const std::string& path, const OwnKind& kind);
  /// Marks a folder with this text, which begins as the kind says. One that is marked already is left as it is; one that holds anything
  /// but files of this kind is not taken: then, or where it can't be written, there is none.
  static std::optional<OwnFolder> mark(const std::string& path, const OwnKind& kind, std::string_view text, NewFileOptions options);

  const std::string& path() const { return path_; }
  const Descriptor& descriptor() const { return folder_; }
  /// Removes one of its own files; whether it did.
  bool remove(const std::string& name) const;
  /// Removes what a process left of a file that it was writing when it died, if this is the name of one.
  bool remove_abandoned(const std::string& name) const;
  /// Removes all of its own files, the marker last, and the folder itself, if nothing else is in it. Does nothing where another process
  /// uses it, see lock().
  bool remove_all() const;
  /// Keeps others from removing it as long as this lives. Whether no other does.
  bool lock_alone() const;
  bool lock_shared() const;

 private:
  OwnFolder(std::string path, const OwnKind& kind, Descriptor folder) : path_(std::move(path)), kind_(kind), folder_(std::move(folder)) {}
  bool is_marked() const;
  bool begins_with(const std::string& name, std::string_view text) const;

  std::string path_;
  OwnKind kind_;
  Descriptor folder_;
};

}  // namespace weft::detail
