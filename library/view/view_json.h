// The data of a page, as JSON. Internal.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/ir/jaxpr.h"
#include "weft/runtime/profile/step_report.h"

namespace weft::detail {

/// A JSON string that is also safe inside a script element.
std::string json_text(std::string_view s);
/// A JSON number; null if it is not finite.
std::string json_number(double v);

/// The files that equations come from, numbered in the order in which they are met.
class SourceFiles {
 public:
  /// `[file, line]`, or null.
  std::string json(SourceLoc loc);
  /// The files, with the lines asked for and their surroundings: `[{path, lines: {number: text}}, ...]`. A file that can't be read has no
  /// lines. `read`: whether to read any; relative paths begin in the folder.
  std::string json_of_all(bool read, const std::string& folder) const;

 private:
  std::map<std::string, std::size_t> numbers_;
  std::vector<std::pair<std::string, std::vector<int>>> files_;
};

/// A program and those within it. `step_of_eqn`: which steps compute each equation, where that is known.
std::string json_of_program(const Jaxpr& j, SourceFiles& files, const std::vector<std::vector<std::size_t>>& steps_of_eqn = {});
/// Steps with their times in seconds, where they are known.
std::string json_of_steps(const std::vector<StepReport>& steps, const std::vector<double>& times);
/// Texts of code, cut into one for each kernel: `{kernel0: text, ...}`.
std::string json_of_kernels(std::string_view text, std::string_view form);

/// The page's parts that are the same for all programs.
extern const std::string_view kViewStyle, kViewScript, kViewBody;

}  // namespace weft::detail
