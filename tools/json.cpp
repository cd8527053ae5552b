#include "tools/json.h"

#include <charconv>
#include <cstdlib>

#include "weft/core/errors/error.h"
#include "weft/core/text/json.h"

namespace weft::tools {
namespace {

class Reader : detail::JsonCursor {
 public:
  explicit Reader(std::string_view text) : JsonCursor(text, "json: ") {}

  Json read_all() {
    Json value = read();
    if (!rest().empty()) fail("unexpected text after the value");
    return value;
  }

 private:
  static constexpr int kDeepest = 100;

  bool accept_word(std::string_view word) {
    if (!rest().starts_with(word)) return false;
    skip(word.size());
    return true;
  }

  Json read() {
    if (++depth_ > kDeepest) fail("nested too deep");
    Json value;
    const std::string_view text = rest();
    if (text.starts_with('{')) {
      value.kind = Json::Kind::object;
      read_object([&](const std::string& name) { value.object.insert_or_assign(name, read()); });
    } else if (text.starts_with('[')) {
      value.kind = Json::Kind::list;
      read_list([&] { value.list.push_back(read()); });
    } else if (text.starts_with('"')) {
      value.kind = Json::Kind::string;
      value.string = read_string();
    } else {
      read_plain(value);
    }
    --depth_;
    return value;
  }
  void read_plain(Json& value) {
    if (accept_word("null")) return;
    const bool yes = accept_word("true");
    if (yes || accept_word("false")) {
      value.kind = Json::Kind::boolean;
      value.boolean = yes;
      return;
    }
    const std::string_view text = rest();
    const std::string_view number = text.substr(0, text.find_first_not_of("0123456789+-.eE"));
    if (number.empty()) fail("expected a value");
    value.kind = Json::Kind::number;
    const auto [stop, problem] = std::from_chars(number.begin(), number.end(), value.number);
    if (problem == std::errc::invalid_argument || stop != number.end()) fail("expected a number");
    // C's function says whether a number out of range is too large or too small.
    if (problem == std::errc::result_out_of_range) value.number = std::strtod(std::string(number).c_str(), nullptr);
    skip(number.size());
  }

  int depth_ = 0;
};

}  // namespace

const Json* Json::find(const std::string& name) const {
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &found->second;
}
const Json& Json::at(const std::string& name) const {
  if (const Json* found = find(name)) return *found;
  throw Error("json: there is no member `" + name + "`");
}

Json parse_json(std::string_view text) { return Reader(text).read_all(); }

}  // namespace weft::tools
