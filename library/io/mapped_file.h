// A file's bytes in memory, read only.
#pragma once
#include <string>
#include <string_view>

#include "weft/core/base/ref.h"
#include "weft/core/errors/source_loc.h"

namespace weft::detail {

/// A file that is mapped for as long as there is a handle to this object.
class MappedFile final : public RefCounted {
 public:
  /// Throws IoError if the file can't be mapped. Never blocks on pipes and devices.
  MappedFile(const std::string& path, const char* operation, SourceLoc loc);
  ~MappedFile() override;
  std::string_view bytes() const { return {static_cast<const char*>(data_), size_}; }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace weft::detail
