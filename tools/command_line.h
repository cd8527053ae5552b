// The commands of a tool with their options: read from its arguments, explained by --help. Takes what main() is given; gives the command's
// words and options, or says what is wrong, with the name that was probably meant.
#pragma once
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace weft::tools {

/// A command line that is not as it should be.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Option {
  std::string_view name;   ///< without the two dashes
  std::string_view value;  ///< what stands for its value in help; empty: it has none
  std::string_view about;
  bool is_required = false;
};

class Arguments {
 public:
  std::vector<std::string> words;
  std::map<std::string, std::string, std::less<>> options;

  bool has(std::string_view option) const { return options.find(option) != options.end(); }
  std::string get(std::string_view option, std::string_view otherwise = {}) const;
  /// Throws UsageError where the value is not a number from `low` to `high`.
  double number(std::string_view option, double otherwise, double low, double high) const;
  /// Numbers with commas between them.
  std::optional<std::vector<int>> integers(std::string_view option) const;
};

struct Command {
  std::string_view name;
  std::string_view word;     ///< what stands for its one word in help, or, ending with ..., for several; empty: it has none
  std::string_view about;    ///< one line
  std::string_view details;  ///< lines for its own help
  std::vector<Option> options;
  int (*run)(const Arguments&);  ///< gives the exit status
};

/// The name of the list that a word was probably meant to be, or an empty one.
std::string_view nearest(std::string_view word, std::span<const std::string_view> names);

/// The text of `tool --help`, and of `tool COMMAND --help`.
std::string help(std::string_view tool, std::string_view about, std::span<const Command> commands);
std::string help(std::string_view tool, const Command& command);

/// The command of that name. Throws UsageError.
const Command& command_named(std::string_view name, std::span<const Command> commands);
/// What stands behind the command. Throws UsageError for options that it doesn't have, and for words that are too many or too few.
Arguments read_arguments(const Command& command, std::span<const char* const> given);

}  // namespace weft::tools
