// A folder for the time of a test, and what is in files and folders.
#pragma once
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

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

inline std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
inline void put(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }
/// What is in a folder, sorted.
inline std::vector<std::string> names(const std::string& folder) {
  std::vector<std::string> all;
  for (const auto& e : std::filesystem::directory_iterator(folder)) all.push_back(e.path().filename());
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace weft::test
