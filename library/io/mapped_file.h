// A file's bytes in memory, read only.
#pragma once
#include <string>
#include <string_view>

#include "weft/core/base/ref.h"
#include "weft/core/errors/source_loc.h"

namespace weft::detail {

/// The mapping lasts as long as a handle to it.
class MappedFile final : public RefCounted {
 public:
  /// Throws IoError where the file can't be mapped; what is not a regular file is never waited for.
  MappedFile(const std::string& path, const char* operation, SourceLoc loc);
  ~MappedFile() override;
  std::string_view bytes() const { return {static_cast<const char*>(data_), size_}; }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace weft::detail
