// Calls of the driver that are made to fail.
#pragma once
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <string>

#include "tests/gpu/fake.h"
#include "tests/messages.h"

namespace weft::test {

/// Runs the step three times, with the n-th of these calls failing. Whether there were so many; then the error names the call and what the
/// driver gave.
template <class F>
bool fails_and_says_so(const std::string& call, int n, F&& step) {
  fake_driver().reset();
  fake_driver().fail(call.c_str(), n, 719);
  const std::string message = message_of<DeviceError>([&] {
    for (int i = 0; i < 3; ++i) step();
  });
  fake_driver().fail(nullptr, 0, 0);
  INFO(call << " number " << n << ": " << message);
  if (fake_driver().calls(call.c_str()) < n) return false;
  CHECK(has(message, {call.substr(0, call.find("_v"))}));
  CHECK(has(message, "CUDA_ERROR_LAUNCH_FAILED (719)"));
  return true;
}

}  // namespace weft::test
