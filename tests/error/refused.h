// Faulty programs: each must be refused with an error of its class, whose message says what went wrong, and the library works afterwards.
#pragma once
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <functional>
#include <set>
#include <string>
#include <typeinfo>
#include <vector>

namespace weft::test {

/// The names of the programs of golden/data/errors.json that tests here stand for.
std::set<std::string>& covered_errors();

/// Runs a program that must throw just an E whose message holds each part.
void refused(const std::type_info& type, const std::string& name, const std::function<void()>& program,
             const std::vector<std::string>& parts);

/// Says at start-up that a test stands for the program of errors.json of this name.
struct Covers {
  explicit Covers(const char* name) { covered_errors().insert(name); }
};

}  // namespace weft::test

/// One faulty program of errors.json, in one line, as the message must name it: REFUSED(name, ShapeError, program, "add", "f32[3,4]").
#define REFUSED(name, E, program, ...)                                                                     \
  static const weft::test::Covers covers_##name(#name);                                                    \
  TEST_CASE(#name) {                                                                                       \
    const std::string file = __FILE__;                                                                     \
    weft::test::refused(typeid(weft::E), #name, [] { (void)(program); },                                   \
                        {__VA_ARGS__, file.substr(file.rfind('/') + 1) + ":" + std::to_string(__LINE__)}); \
  }
