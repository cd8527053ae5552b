// Reads the samples' data: compressed text, and tables of comma-separated numbers.
#pragma once
#include <weft/weft.h>
#include <zlib.h>

#include <cstddef>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace files {

/// The whole text of a file, compressed by gzip or not.
inline std::string read_text(const std::string& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  if (!file) throw std::runtime_error("can't open " + path);
  std::string text;
  char block[1 << 16];
  for (int n; (n = gzread(file, block, sizeof block)) > 0;) text.append(block, static_cast<std::size_t>(n));
  gzclose(file);
  return text;
}

/// A table of numbers, one row a line, as a float64 array of shape (rows, columns).
inline weft::Array read_table(const std::string& path, int columns) {
  const std::string text = read_text(path);
  std::vector<double> numbers;
  for (const char* at = text.c_str(); *at;) {
    char* end = nullptr;
    numbers.push_back(std::strtod(at, &end));
    if (end == at) throw std::runtime_error(path + " holds something that is not a number");
    for (at = end; *at == ',' || *at == '\n' || *at == '\r';) ++at;
  }
  if (numbers.size() % static_cast<std::size_t>(columns) != 0)
    throw std::runtime_error("the rows of " + path + " don't have the expected length");
  return weft::array(numbers, {numbers.size() / static_cast<std::size_t>(columns), columns});
}

}  // namespace files
