#include "weft/library/io/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "weft/core/array/constructors.h"
#include "weft/core/array/storage.h"
#include "weft/core/base/counted.h"
#include "weft/core/base/decimal.h"
#include "weft/core/base/files.h"
#include "weft/core/errors/boundary.h"
#include "weft/core/errors/error.h"
#include "weft/library/io/missing_values.h"

namespace weft {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

struct Field {
  std::string text;
  bool quoted = false;
};
struct Line {
  std::vector<Field> fields;
  std::size_t number = 0;  ///< in the file, from 1
};

/// Cuts a text into lines of fields.
class CsvReader {
 public:
  CsvReader(const std::string& text, const CsvOptions& options, std::string origin, SourceLoc loc)
      : text_(text), options_(options), origin_(std::move(origin)), loc_(loc) {
    if (text_.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
    for (int i = 0; i < options.skip_lines && at_ < text_.size(); ++i, ++number_) {
      at_ = std::min(text_.find_first_of("\r\n", at_), text_.size());
      end_line();
    }
  }
  [[noreturn]] void fail(const std::string& where, const std::string& problem) const {
    throw IoError(fmt::format("{}: {}: {}", origin_, where, problem), loc_);
  }
  /// The next line that is not empty; false at the end.
  bool next(Line& line) {
    while (at_ < text_.size()) {
      line = {{}, ++number_};
      do line.fields.push_back(field());
      while (at_ < text_.size() && text_[at_] == options_.delimiter && ++at_);
      end_line();
      if (line.fields.size() > 1 || !line.fields[0].text.empty() || line.fields[0].quoted) return true;
    }
    return false;
  }

 private:
  bool at_line_end() const { return at_ >= text_.size() || text_[at_] == '\n' || text_[at_] == '\r'; }
  /// Passes over the end of a line: \n, \r\n or \r.
  void end_line() {
    if (at_ >= text_.size()) return;
    if (text_.substr(at_, 2) == "\r\n")
      at_ += 2;
    else if (at_line_end())
      ++at_;
  }
  Field field() {
    const auto is_space = [&](char c) { return (c == ' ' || c == '\t') && c != options_.delimiter; };
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
    Field f;
    if (at_ < text_.size() && text_[at_] == '"') {
      f.quoted = true;
      const std::size_t begun = number_;
      for (++at_;; ++at_) {
        if (at_ >= text_.size()) fail(fmt::format("line {}", begun), "a quoted field is not closed");
        if (text_[at_] == '\n') ++number_;
        if (text_[at_] == '"' && (++at_ >= text_.size() || text_[at_] != '"')) break;
        f.text += text_[at_];
      }
      while (!at_line_end() && is_space(text_[at_])) ++at_;
      if (!at_line_end() && text_[at_] != options_.delimiter) fail(fmt::format("line {}", number_), "text after a quoted field");
      return f;
    }
    const std::size_t begin = at_;
    while (!at_line_end() && text_[at_] != options_.delimiter) ++at_;
    f.text = text_.substr(begin, at_ - begin);
    while (!f.text.empty() && is_space(f.text.back())) f.text.pop_back();
    return f;
  }

  const std::string_view text_;
  const CsvOptions& options_;
  std::string origin_;  ///< how messages begin: the operation and what is read
  const SourceLoc loc_;
  std::size_t at_ = 0, number_ = 0;
};

enum class Read { number, too_large, no_number };

/// The number that the whole text is; rounded, if it is floating, also to zero.
template <class T>
Read read_number(std::string_view text, T& out) {
  if (text == "true" || text == "false" || text == "True" || text == "False") {
    out = static_cast<T>(text[0] == 't' || text[0] == 'T');
    return Read::number;
  }
  if (text.substr(0, 1) == "+" && text.substr(1, 1) != "-") text.remove_prefix(1);
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (text.empty() || end != text.data() + text.size() || problem == std::errc::invalid_argument) return Read::no_number;
  if (problem == std::errc()) return Read::number;
  if constexpr (std::is_floating_point_v<T>) {
    // Too large or too small; the function leaves open which.
    if constexpr (std::is_same_v<T, float>)
      out = detail::decimal_float(std::string(text));
    else
      out = detail::decimal_double(std::string(text));
    if (std::isfinite(out)) return Read::number;
  }
  return Read::too_large;
}

/// Whether a number is in the dtype's range.
template <class T>
bool fits(T value, DType dtype) {
  if constexpr (std::is_floating_point_v<T>) return !detail::rounds_to_infinity(value, dtype);
  return detail::with_storage(dtype, [&]<class S>() {
    if constexpr (std::is_integral_v<T> && std::is_integral_v<S> && !std::is_same_v<S, bool>)
      return value >= static_cast<T>(std::numeric_limits<S>::min()) && value <= static_cast<T>(std::numeric_limits<S>::max());
    else
      return true;
  });
}

/// A field as messages quote it.
std::string quoted(const std::string& text) {
  constexpr std::size_t most = 60;
  return text.size() <= most ? "'" + text + "'" : "'" + text.substr(0, most) + "...'";
}

/// Whether the first line names the columns, as far as that can be seen.
bool looks_like_names(const std::vector<Line>& lines) {
  const std::vector<Field>& first = lines[0].fields;
  for (std::size_t c = 0; c < first.size(); ++c) {
    double number = 0;
    if (!first[c].text.empty() && read_number(first[c].text, number) == Read::no_number) return true;
    if (first[c].quoted && lines.size() > 1 && !lines[1].fields[c].quoted) return true;
  }
  return false;
}
/// Whether a name must be written in quotes to be read back as this name.
bool needs_quotes(const std::string& name) {
  double number = 0;
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  return name.empty() || is_blank(name.front()) || is_blank(name.back()) || name.find_first_of(",\"\r\n") != name.npos ||
         name.starts_with(kByteOrderMark) || read_number(name, number) != Read::no_number;
}

/// Reads the values as T, and gives them as an array of the dtype that is wanted.
template <class T>
Array values_of(const std::vector<Line>& lines, const std::vector<std::size_t>& columns, const CsvReader& reader, const CsvOptions& options,
                SourceLoc loc) {
  std::vector<T> values;
  values.reserve(lines.size() * columns.size());
  for (const Line& line : lines)
    for (const std::size_t c : columns) {
      const std::string& text = line.fields[c].text;
      const std::string where = fmt::format("line {}, column {}", line.number, c + 1);
      T value{};
      if (text.empty()) {
        if (!options.missing) reader.fail(where, "the field is empty, and CsvOptions.missing is not set");
        value = static_cast<T>(*options.missing);
      } else if (read_number(text, value) != Read::number) {
        reader.fail(where, fmt::format("{} is not a {} number", quoted(text), options.dtype.name()));
      }
      if (!fits(value, options.dtype)) reader.fail(where, fmt::format("{} is not a {} number", quoted(text), options.dtype.name()));
      values.push_back(value);
    }
  const Shape shape{lines.size(), columns.size()};
  return array(values, shape, options.dtype, loc);
}

}  // namespace

static Csv read_csv(const std::string& text, const CsvOptions& options, const char* operation, const std::string& name, SourceLoc loc) try {
  if (options.dtype.is_complex() || options.dtype.is_key())
    throw DTypeError(fmt::format("{}: tables of {} are not supported", operation, options.dtype.name()), loc);
  if (options.delimiter == '"' || options.delimiter == '\n' || options.delimiter == '\r')
    throw Error(fmt::format("{}: the delimiter can't be a quote or an end of line", operation), loc);
  if (options.missing) detail::check_stand_in(*options.missing, options.dtype, operation, "CsvOptions.missing", loc);
  CsvReader reader(text, options, fmt::format("{}: {}", operation, name), loc);
  std::vector<Line> lines;
  for (Line line; reader.next(line);) {
    if (!lines.empty() && line.fields.size() != lines[0].fields.size())
      reader.fail(fmt::format("line {}", line.number),
                  fmt::format("{}, where the first line has {}", detail::counted(line.fields.size(), "field"), lines[0].fields.size()));
    lines.push_back(std::move(line));
  }
  if (lines.empty()) reader.fail("line 1", "there is no table");
  const bool header = options.header ? *options.header : looks_like_names(lines);
  Csv out;
  std::vector<std::string> all;
  if (header)
    for (const Field& f : lines[0].fields) all.push_back(f.text);
  std::vector<std::size_t> columns;
  if (options.columns.empty()) {
    for (std::size_t c = 0; c < lines[0].fields.size(); ++c) columns.push_back(c);
    out.names = all;
  }
  for (const std::string& wanted : options.columns) {
    const auto found = std::find(all.begin(), all.end(), wanted);
    if (found == all.end())
      reader.fail(fmt::format("line {}", lines[0].number),
                  fmt::format("there is no column '{}'; {}", wanted,
                              all.empty() ? "the columns have no names" : fmt::format("there are {}", fmt::join(all, ", "))));
    if (std::find(found + 1, all.end(), wanted) != all.end())
      reader.fail(fmt::format("line {}", lines[0].number), fmt::format("the name {} is there twice", quoted(wanted)));
    columns.push_back(static_cast<std::size_t>(found - all.begin()));
    out.names.push_back(wanted);
  }
  if (header) lines.erase(lines.begin());
  if (options.dtype.is_unsigned())
    out.values = values_of<std::uint64_t>(lines, columns, reader, options, loc);
  else if (options.dtype.is_signed())
    out.values = values_of<std::int64_t>(lines, columns, reader, options, loc);
  else if (options.dtype == float32)
    out.values = values_of<float>(lines, columns, reader, options, loc);  // rounded once
  else
    out.values = values_of<double>(lines, columns, reader, options, loc);
  return out;
} catch (...) {
  detail::rethrow_as_error(operation, loc);
}

Csv parse_csv(const std::string& text, CsvOptions options, const std::string& name, SourceLoc loc) {
  return read_csv(text, options, "parse_csv", name, loc);
}
Csv load_csv(const std::string& path, CsvOptions options, SourceLoc loc) {
  return read_csv(detail::read_file(path, loc, "load_csv"), options, "load_csv", path, loc);
}

Array Csv::column(const std::string& name, SourceLoc loc) const {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    throw IoError(fmt::format("Csv::column: there is no column '{}'; there are {}", name, fmt::join(names, ", ")), loc);
  if (std::find(found + 1, names.end(), name) != names.end())
    throw IoError(fmt::format("Csv::column: there are two columns '{}'; take one of `values` by its number", name), loc);
  return values(slice(), found - names.begin());
}

void save_csv(const std::string& path, const Array& values, const std::vector<std::string>& names, SourceLoc loc) try {
  if (values.ndim() != 1 && values.ndim() != 2)
    throw ShapeError(fmt::format("save_csv: {} is neither a vector nor a matrix", detail::to_string(values.aval())), loc);
  if (values.dtype().is_complex() || values.dtype().is_key())
    throw DTypeError(fmt::format("save_csv: {} can't be written as numbers", detail::to_string(values.aval())), loc);
  const std::int64_t columns = values.ndim() == 2 ? values.shape()[1] : 1;
  if (!names.empty() && static_cast<std::int64_t>(names.size()) != columns)
    throw ShapeError(fmt::format("save_csv: {} for {}", detail::counted(names.size(), "name"), detail::counted(columns, "column")), loc);
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += i ? "," : "";
    if (!needs_quotes(names[i])) {
      text += names[i];
      continue;
    }
    text += '"';
    for (const char c : names[i]) text += c == '"' ? "\"\"" : std::string(1, c);
    text += '"';
  }
  if (!names.empty()) text += "\n";
  detail::with_storage(values.dtype(), [&]<class T>() {
    if constexpr (detail::is_complex_storage<T>)
      return;
    else {
      std::vector<char> bytes(static_cast<std::size_t>(values.aval().bytes()));
      detail::read_elements(values, values.dtype(), bytes.data(), "save_csv", loc);
      const T* const elements = reinterpret_cast<const T*>(bytes.data());
      for (std::int64_t i = 0; i < values.size(); ++i) {
        if constexpr (std::is_same_v<T, detail::Float16> || std::is_same_v<T, detail::BFloat16>)
          text += fmt::format("{}", static_cast<float>(elements[i]));
        else if constexpr (std::is_same_v<T, bool>)
          text += elements[i] ? "1" : "0";
        else
          text += fmt::format("{}", +elements[i]);
        text += (i + 1) % columns == 0 ? '\n' : ',';
      }
    }
  });
  detail::write_file(path, {text}, loc, "save_csv");
} catch (...) {
  detail::rethrow_as_error("save_csv", loc);
}

}  // namespace weft
