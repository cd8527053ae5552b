#include "weft/library/io/mapped_file.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>

#include "weft/core/base/files.h"

namespace weft::detail {

MappedFile::MappedFile(const std::string& path, const char* operation, SourceLoc loc) {
  const Descriptor file = open_regular(path, loc, operation);
  struct ::stat about{};
  if (::fstat(file.get(), &about) != 0) throw_io(operation, path, errno, loc);
  size_ = static_cast<std::size_t>(about.st_size);
  if (size_ == 0) return;
  data_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (data_ == MAP_FAILED) {
    data_ = nullptr;
    throw_io(operation, path, errno, loc);
  }
}
MappedFile::~MappedFile() {
  if (data_) ::munmap(data_, size_);
}

}  // namespace weft::detail
