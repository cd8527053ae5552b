// The other file of the program: the same templates and inline functions once more.
#include <fmt/core.h>
#include <weft/array.h>
#include <weft/transforms.h>

std::string described(const weft::Array& x) {
  struct Pair {
    weft::Array a, b;
  };
  const auto twice = weft::jit([](const Pair& p) { return Pair{p.a * 2, p.b + p.a}; });
  return fmt::format("{}", twice(Pair{x, x}).b);
}
