// doctest cases that are made at start-up, one for each entry of a table.
#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <list>
#include <string>

namespace weft::test {

struct NamedCase {
  std::string name;
  std::function<void()> body;
};
/// A list, as doctest keeps pointers to the names.
inline std::list<NamedCase>& named_cases() {
  static std::list<NamedCase> all;
  return all;
}

/// Adds a case, before main. Names within a binary must differ.
inline void add_case(std::string name, std::function<void()> body, const char* file, unsigned line) {
  named_cases().push_back({std::move(name), std::move(body)});
  // doctest takes plain functions: which case it is, it says itself.
  doctest::detail::funcType run = [] {
    const std::string current = doctest::getContextOptions()->currentTest->m_name;
    const auto& all = named_cases();
    std::find_if(all.begin(), all.end(), [&](const NamedCase& c) { return c.name == current; })->body();
  };
  doctest::detail::regTest(doctest::detail::TestCase(run, file, line, doctest::detail::TestSuite()) * named_cases().back().name.c_str());
}

}  // namespace weft::test
