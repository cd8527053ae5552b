#include "tools/fuzz/mutate.h"

#include <fmt/format.h>

#include <cctype>
#include <string>
#include <vector>

#include "tools/fuzz/check.h"
#include "weft/core/errors/error.h"

namespace weft::fuzz {

namespace {

const std::vector<std::string>& pieces() {
  // clang-format off
  static const std::vector<std::string> all = {
      "{", "}", "(", ")", "[", "]", ",", ";", ":", ".", "=", " ", "\n", "-", "0", "1", "-1", "2", "65", "99999999999", "9223372036854775807", "-9223372036854775808",
      "1e400", "nan", "inf", "None", "True", "False", "lambda", "let", "in", "f32[]", "f32[0]", "f32[-1]", "i32[2,3]", "bf16[3]", "c64[2]", "bool[]", "key<fry>[]",
      "f32[1000000000000]", "f32[4294967296,4294967296]", "1.0:f32[]", "axes=(0,)", "axes=()", "shape=(3,)", "dimension=1", "sin", "add", "reduce_sum", "dot_general",
      "jaxpr={ lambda ; . let  in () }", "'", "\"", "\\", "\x80", std::string(1, '\0'), "#", "_", "a", "b", "frozenset(", "np.float32(", "limit_indices=(1,)"};
  // clang-format on
  return all;
}

std::string mutated(std::string s, const std::vector<std::string>& others, Random& r) {
  for (int n = r.between(1, 4); n > 0 && !s.empty(); --n) {
    const auto at = static_cast<std::size_t>(r.below(static_cast<std::int64_t>(s.size())));
    switch (r.below(8)) {
      case 0: s.erase(at, static_cast<std::size_t>(r.between(1, 12))); break;
      case 1: s.insert(at, r.pick(pieces())); break;
      case 2: s[at] = static_cast<char>(r.below(128)); break;
      case 3: {  // a number becomes another one
        std::size_t i = at;
        while (i < s.size() && !std::isdigit(static_cast<unsigned char>(s[i]))) ++i;
        std::size_t n2 = 0;
        while (i + n2 < s.size() && std::isdigit(static_cast<unsigned char>(s[i + n2]))) ++n2;
        if (n2)
          s.replace(i, n2, r.pick({"0", "1", "2", "3", "4", "7", "17", "64", "-1", "-3", "1000000", "2147483648", "9223372036854775807"}));
        break;
      }
      case 4: {
        const std::string& other = r.pick(others);
        const auto from = static_cast<std::size_t>(r.below(static_cast<std::int64_t>(other.size())));
        s.insert(at, other.substr(from, static_cast<std::size_t>(r.between(1, 60))));
        break;
      }
      case 5: s.resize(at); break;
      case 6: {  // a word becomes another one of the text
        const auto from = static_cast<std::size_t>(r.below(static_cast<std::int64_t>(s.size())));
        s.replace(at, static_cast<std::size_t>(r.between(1, 6)), s.substr(from, static_cast<std::size_t>(r.between(1, 6))));
        break;
      }
      default: s.insert(at, s.substr(at, static_cast<std::size_t>(r.between(1, 40))));
    }
  }
  return s;
}

}  // namespace

long mutate_texts(std::uint64_t seed, long count) {
  fmt::print("seed {}\n", seed);
  Random random(seed);
  std::vector<std::string> texts;
  for (std::uint64_t i = 0; texts.size() < 60; ++i) {
    try {
      const Case c = random_case(seed * 1000 + i);
      if (c.program.eqns().size() < 40) texts.push_back(c.program.to_string());
    } catch (const Error&) {
    }
  }
  long wrong = 0, accepted = 0;
  for (long i = 0; i < count; ++i) {
    const std::string text = mutated(random.pick(texts), texts, random);
    std::string what;
    try {
      const Jaxpr j = parse(text);
      ++accepted;
      try {
        j.check();
        const std::string printed = j.to_string();
        if (parse(printed).to_string() != printed) what = "what is parsed prints as something else";
      } catch (const std::exception& e) {
        what = std::string("parsed, but: ") + e.what();
      }
    } catch (const Error& e) {
      if (std::string_view(e.what()).find("parse: line") == std::string_view::npos &&
          std::string_view(e.what()).find(".cpp:") == std::string_view::npos)
        what = std::string("the error has no place: ") + e.what();
    } catch (const std::exception& e) {
      what = std::string("an error that is not weft's: ") + e.what();
    }
    if (what.empty()) continue;
    ++wrong;
    fmt::print("text {}: {}\n{}\n\n", i, what, text);
  }
  fmt::print("{} texts, {} of them read as programs, {} failed\n", count, accepted, wrong);
  return wrong;
}

}  // namespace weft::fuzz
