// A terminal as far as progress bars use one: what is on its screen after some text was written to it.
#pragma once
#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

namespace weft::test {

class Terminal {
 public:
  explicit Terminal(std::size_t columns) : columns_(columns) {}
  void write(const std::string& text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (c == '\r') {
        column_ = 0;
      } else if (c == '\n') {
        ++row_;
        column_ = 0;
      } else if (c == '\x1b' && i + 1 < text.size() && text[i + 1] == '[') {
        std::size_t end = i + 2;
        while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
        const int n = end > i + 2 ? std::atoi(text.c_str() + i + 2) : 0;
        if (text[end] == 'A') row_ -= std::min(row_, static_cast<std::size_t>(std::max(n, 1)));
        if (text[end] == 'J') {
          cells_.resize(std::min(cells_.size(), row_ + 1));
          if (row_ < cells_.size()) cells_[row_].resize(std::min(cells_[row_].size(), column_));
        }
        i = end;
      } else {
        if ((static_cast<unsigned char>(c) & 0xc0) == 0x80) {  // within a character
          cells_[row_][column_ - 1] += c;
          continue;
        }
        if (column_ == columns_) ++row_, column_ = 0;
        if (cells_.size() <= row_) cells_.resize(row_ + 1);
        if (cells_[row_].size() <= column_) cells_[row_].resize(column_ + 1, " ");
        cells_[row_][column_++] = std::string(1, c);
      }
    }
  }
  /// Without empty ones at the end.
  std::vector<std::string> lines() const {
    std::vector<std::string> out;
    for (const auto& row : cells_) {
      out.emplace_back();
      for (const std::string& cell : row) out.back() += cell;
    }
    while (!out.empty() && out.back().find_first_not_of(' ') == std::string::npos) out.pop_back();
    return out;
  }
  std::size_t column() const { return column_; }

 private:
  std::size_t columns_, row_ = 0, column_ = 0;
  std::vector<std::vector<std::string>> cells_;
};

}  // namespace weft::test
