// A folder for the time of a test.
#pragma once
#include <cstdlib>
#include <filesystem>
#include <string>

namespace weft::test {

struct Folder {
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "weft-test-").string() + std::string(6, 'X');
    path = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  std::string path;
};

}  // namespace weft::test
