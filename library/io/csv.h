// Tables of numbers in text files.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "weft/core/array/array.h"

namespace weft {

/// Options of load_csv.
struct CsvOptions {
  char delimiter = ',';                   ///< the character between fields; '\t' for tab-separated values
  std::optional<bool> header = {};        ///< whether the first line names the columns; absent: inferred from text and quotes in its fields
  std::vector<std::string> columns = {};  ///< which columns, in this order; empty: all of them
  DType dtype = float32;                  ///< of the values
  std::optional<double> missing = {};     ///< the value of an empty field; absent: an empty field is an IoError
  int skip_lines = 0;                     ///< lines before the table
};
/// A table of numbers.
struct Csv {
  std::vector<std::string> names;  ///< of the columns; empty if there is no header
  Array values;                    ///< [rows, columns]
  /// One column as a vector. Throws IoError if no column has that name.
  Array column(const std::string& name, SourceLoc loc = SourceLoc::here()) const;
  Array operator[](TextArg name) const { return column(name.str(), name.where()); }
};
/// Reads a table of numbers (RFC 4180: fields may be quoted; lines end in \n, \r\n or \r; empty lines are passed over). Numbers are written
/// as in C++, beside `nan`, `inf`, `true` and `false`; spaces around them don't count. Throws IoError, with path, line and column, for a
/// field that is not a number of the dtype (not an integer, or beyond its range), for a line with more or fewer fields than the first one,
/// and for columns that aren't there or whose name is there twice.
Csv load_csv(const std::string& path, CsvOptions options = {}, SourceLoc loc = SourceLoc::here());
/// The same of text in memory; `name` is what errors call it.
Csv parse_csv(const std::string& text, CsvOptions options = {}, const std::string& name = "text", SourceLoc loc = SourceLoc::here());
/// Writes a matrix, or a vector as one column, with as many digits as its numbers need; with names, they are the first line.
void save_csv(const std::string& path, const Array& values, const std::vector<std::string>& names = {}, SourceLoc loc = SourceLoc::here());

}  // namespace weft
