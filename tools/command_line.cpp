#include "tools/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

namespace weft::tools {
namespace {

/// The edit distance: how many letters must be inserted, removed or replaced to turn one word into the other (Levenshtein).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::string meant(std::string_view word, std::span<const std::string_view> names, std::string_view before = {}) {
  const std::string_view near = nearest(word, names);
  return near.empty() ? std::string() : fmt::format("; did you mean {}{}?", before, near);
}

template <class T>
std::optional<T> number_of(std::string_view text) {
  T value{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

/// Throws UsageError where the value, or a member of a list of them, is not one of the option's choices.
void check_choice(const Command& command, const Option& option, std::string_view value) {
  if (option.choices.empty()) return;
  for (bool more = true; more;) {
    const std::size_t end = option.value.ends_with(",...") ? value.find(',') : value.npos;
    const std::string_view member = value.substr(0, end);
    if (std::find(option.choices.begin(), option.choices.end(), member) == option.choices.end()) {
      const std::string_view near = nearest(member, option.choices);
      throw UsageError(fmt::format(
          "{}: unknown value '{}' of --{}; {}", command.name, member, option.name,
          near.empty() ? fmt::format("available: {}", fmt::join(option.choices, ", ")) : fmt::format("did you mean {}?", near)));
    }
    more = end != value.npos;
    if (more) value.remove_prefix(end + 1);
  }
}

std::string usage(std::string_view tool, const Command& c) {
  std::string text = fmt::format("{} {}", tool, c.name);
  if (!c.word.empty()) text += fmt::format(" {}", c.word);
  for (const Option& o : c.options)
    if (o.is_required) text += fmt::format(" --{} {}", o.name, o.value);
  if (std::any_of(c.options.begin(), c.options.end(), [](const Option& o) { return !o.is_required; })) text += " [options]";
  return text;
}

}  // namespace

std::string Arguments::get(std::string_view option, std::string_view otherwise) const {
  const auto at = options.find(option);
  return at == options.end() ? std::string(otherwise) : at->second;
}

double Arguments::number(std::string_view option, double otherwise, double low, double high) const {
  const auto at = options.find(option);
  if (at == options.end()) return otherwise;
  const std::optional<double> value = number_of<double>(at->second);
  if (!value || !(*value >= low && *value <= high))
    throw UsageError(fmt::format("--{} is '{}', but must be a number from {} to {}", option, at->second, low, high));
  return *value;
}

int Arguments::integer(std::string_view option, int otherwise, int low, int high) const {
  const auto at = options.find(option);
  if (at == options.end()) return otherwise;
  const std::optional<int> value = number_of<int>(at->second);
  if (!value || *value < low || *value > high)
    throw UsageError(fmt::format("--{} is '{}', but must be an integer from {} to {}", option, at->second, low, high));
  return *value;
}

std::optional<std::vector<int>> Arguments::integers(std::string_view option) const {
  const auto at = options.find(option);
  if (at == options.end()) return {};
  std::vector<int> values;
  std::string_view rest = at->second;
  for (bool more = true; more;) {
    const std::size_t comma = rest.find(',');
    const std::optional<int> value = number_of<int>(rest.substr(0, comma));
    if (!value) throw UsageError(fmt::format("--{} is '{}', but must be integers separated by commas", option, at->second));
    values.push_back(*value);
    more = comma != std::string_view::npos;
    if (more) rest.remove_prefix(comma + 1);
  }
  return values;
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> names) {
  const auto continues = [&](std::string_view name) { return !word.empty() && name.starts_with(word); };
  if (std::count_if(names.begin(), names.end(), continues) == 1) return *std::find_if(names.begin(), names.end(), continues);
  std::string_view best;
  std::size_t least = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string_view name : names)
    // A name that shares no letter with the word is no suggestion.
    if (const std::size_t d = distance(word, name); d < least && d < name.size()) best = name, least = d;
  return best;
}

std::string help(std::string_view tool, std::string_view about, std::span<const Command> commands) {
  std::string text = fmt::format("{0}: {1}\n\nusage: {0} COMMAND [options]\n\nCommands:\n", tool, about);
  for (const Command& c : commands) text += fmt::format("  {:<10}{}\n", c.name, c.about);
  return text + fmt::format(
                    "\n`{0} COMMAND --help` describes a command and its options; `{0} --version` prints the version.\n"
                    "Exit status: 0 for success, 1 for a failure, 2 for a wrong command line.\n",
                    tool);
}

std::string help(std::string_view tool, const Command& c) {
  std::string text = fmt::format("usage: {}\n\n{}.\n", usage(tool, c), c.about);
  if (!c.details.empty()) text += fmt::format("{}\n", c.details);
  if (!c.options.empty()) text += "\nOptions:\n";
  for (const Option& o : c.options) {
    const std::string name = fmt::format("--{}{}{}", o.name, o.value.empty() ? "" : " ", o.value);
    text += fmt::format("  {:<24}{}\n", name, o.about);
  }
  return text;
}

const Command& command_named(std::string_view name, std::span<const Command> commands) {
  std::vector<std::string_view> names;
  for (const Command& c : commands) {
    if (c.name == name) return c;
    names.push_back(c.name);
  }
  throw UsageError(fmt::format("unknown command '{}'{}", name, meant(name, names)));
}

Arguments read_arguments(const Command& command, std::span<const char* const> given) {
  Arguments a;
  std::vector<std::string_view> names;
  for (const Option& o : command.options) names.push_back(o.name);
  bool only_words = false;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const std::string_view word = given[i];
    if (only_words || !word.starts_with("-") || word == "-") {
      a.words.emplace_back(word);
      continue;
    }
    if (word == "--") {
      only_words = true;
      continue;
    }
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals).substr(std::min(word.find_first_not_of('-'), word.size()));
    const auto option = std::find_if(command.options.begin(), command.options.end(), [&](const Option& o) { return o.name == name; });
    if (option == command.options.end() || !word.starts_with("--")) {
      std::string instead = meant(name, names, "--");
      if (instead.empty()) instead = names.empty() ? "; it takes none" : fmt::format("; available: --{}", fmt::join(names, ", --"));
      throw UsageError(fmt::format("{}: unknown option {}{}", command.name, word.substr(0, equals), instead));
    }
    if (a.has(name)) throw UsageError(fmt::format("{}: --{} is given twice", command.name, name));
    std::string& value = a.options[std::string(name)];
    if (option->value.empty()) {
      if (equals != std::string_view::npos) throw UsageError(fmt::format("{}: --{} does not take a value", command.name, name));
    } else if (equals != std::string_view::npos) {
      value = word.substr(equals + 1);
    } else if (++i < given.size()) {
      value = given[i];
    } else {
      throw UsageError(fmt::format("{}: --{} needs a value: {}", command.name, name, option->value));
    }
    check_choice(command, *option, value);
  }
  for (const Option& o : command.options)
    if (o.is_required && !a.has(o.name)) throw UsageError(fmt::format("{}: --{} {} is required", command.name, o.name, o.value));
  if (command.word.empty() && !a.words.empty()) throw UsageError(fmt::format("{}: unexpected argument '{}'", command.name, a.words[0]));
  if (!command.word.empty() && a.words.empty()) throw UsageError(fmt::format("{}: {} is required", command.name, command.word));
  if (a.words.size() > 1 && !command.word.ends_with("..."))
    throw UsageError(fmt::format("{}: unexpected argument '{}'; it takes one {}", command.name, a.words[1], command.word));
  return a;
}

}  // namespace weft::tools
