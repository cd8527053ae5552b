// What the tests of transforms share.
#pragma once
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/messages.h"

namespace weft::test {

inline bool near(const Array& x, const std::vector<double>& want, double tolerance = 1e-5) {
  const std::vector<double> got = x.to_vector<double>();
  bool same = got.size() == want.size();
  for (std::size_t i = 0; same && i < got.size(); ++i) same = std::abs(got[i] - want[i]) <= tolerance * (1 + std::abs(want[i]));
  return same;
}

}  // namespace weft::test
