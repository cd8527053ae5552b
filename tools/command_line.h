// The command line of a tool with commands: a table of commands and options, from which arguments are read and --help is printed. Takes the
// arguments of main(); gives the command's words and options, or a UsageError that suggests the name that was probably meant.
#pragma once
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace weft::tools {

/// A wrong command line.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Option {
  std::string_view name;   ///< without the two dashes
  std::string_view value;  ///< the name of its value in help, NAME,... for a list; empty: it takes none
  std::string_view about;
  bool is_required = false;
  std::vector<std::string_view> choices = {};  ///< its values, or those of each member of a list; empty: any
};

class Arguments {
 public:
  std::vector<std::string> words;
  std::map<std::string, std::string, std::less<>> options;

  bool has(std::string_view option) const { return options.find(option) != options.end(); }
  std::string get(std::string_view option, std::string_view otherwise = {}) const;
  /// Throws UsageError where the value is not a number from `low` to `high`.
  double number(std::string_view option, double otherwise, double low, double high) const;
  /// Throws UsageError where the value is not an integer from `low` to `high`.
  int integer(std::string_view option, int otherwise, int low, int high) const;
  /// Integers separated by commas.
  std::optional<std::vector<int>> integers(std::string_view option) const;
};

struct Command {
  std::string_view name;
  std::string_view word;     ///< the name of its argument in help; ending with ...: it takes several; empty: it takes none
  std::string_view about;    ///< one line
  std::string_view details;  ///< lines for its own help
  std::vector<Option> options;
  int (*run)(const Arguments&);  ///< gives the exit status
};

/// The name of the list that a word was probably meant to be, as an abbreviation or misspelt, or an empty one.
std::string_view nearest(std::string_view word, std::span<const std::string_view> names);

/// The text of `tool --help`, and of `tool COMMAND --help`.
std::string help(std::string_view tool, std::string_view about, std::span<const Command> commands);
std::string help(std::string_view tool, const Command& command);

/// The command of that name. Throws UsageError.
const Command& command_named(std::string_view name, std::span<const Command> commands);
/// The arguments after the command. Throws UsageError for unknown options, values that are no choice, and too many or too few words.
Arguments read_arguments(const Command& command, std::span<const char* const> given);

}  // namespace weft::tools
