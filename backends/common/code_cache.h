// The disk cache of compiled code, shared between processes.
//
// They are in a folder of the cache's own, `weft-code` below the one that the user names, which a CACHEDIR.TAG marks as weft's
// (https://bford.info/cachedir/): backup tools pass over it, and nothing outside of it is ever removed. An entry is a file named by the
// hash of all that its code depends on. It holds that hash, the code's size and the code's own hash, and is used only if all fit. Files are
// written aside and renamed, so that readers and other writers, of other versions of weft too, never see half of one. What can't be read,
// written or trusted counts as missing. Both folders must belong to the user and not be writable by others; else there is no cache.
#pragma once
#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "weft/core/base/function_ref.h"

namespace weft::detail {

class CodeCache {
 public:
  /// An empty folder switches the cache off. `limit`: bytes of all files together; beyond it the least recently used ones are removed.
  CodeCache(std::string folder, std::int64_t limit);
  /// The process's: in WEFT_CACHE_DIR, or weft/ in XDG_CACHE_HOME or ~/.cache; none if WEFT_CACHE is 0 or off. WEFT_CACHE_MB: its limit.
  static CodeCache& of_process();

  bool enabled() const { return !folder_.empty(); }
  /// The code stored under these words, or else the result of `make`, which is then stored.
  std::string get(std::initializer_list<std::string_view> words, FunctionRef<std::string()> make);
  /// Stores this code, in place of what was there.
  void put(std::initializer_list<std::string_view> words, std::string_view code);
  /// The code that was stored under these words, if there is any.
  std::optional<std::string> find(std::initializer_list<std::string_view> words);
  std::int64_t hits() const { return hits_; }
  /// The current contents of the cache.
  struct Contents {
    std::string folder;  ///< empty: nothing is kept
    std::int64_t entries = 0, bytes = 0, limit = 0;
  };
  Contents contents() const;
  /// The folder that the environment names; empty: the cache is switched off.
  static std::string wanted_folder();

 private:
  std::optional<std::string> load(const std::string& path, std::string_view key) const;
  void store(const std::string& path, std::string_view key, std::string_view code);
  void remove_old();

  std::string folder_;  ///< the cache's own
  const std::int64_t limit_;
  std::atomic<std::int64_t> hits_{0}, written_{-1};  ///< bytes since files were last counted; -1: never
};

}  // namespace weft::detail
