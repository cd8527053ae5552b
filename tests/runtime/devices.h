// Eight host devices for every test of the binary, set before main.
#pragma once
#include <doctest/doctest.h>
#include <fmt/core.h>
#include <weft/weft.h>

#include <cmath>
#include <vector>

#include "tests/messages.h"

namespace weft::test {

inline const bool eight_devices = [] {
  config.num_cpu_devices = 8;
  return true;
}();

inline bool near(const Array& x, const std::vector<double>& want, double tolerance = 1e-5) {
  const std::vector<double> got = x.to_vector<double>();
  bool same = got.size() == want.size();
  for (std::size_t i = 0; same && i < got.size(); ++i) same = std::abs(got[i] - want[i]) <= tolerance * (1 + std::abs(want[i]));
  if (!same) MESSAGE(fmt::format("{}", device_get(x)));
  return same;
}

}  // namespace weft::test
