// A plugin that uses weft, for programs that know nothing of it.
#include <chrono>
#include <thread>

#include "weft/weft.h"

using namespace weft;

extern "C" float compute(int number) {
  for (int i = 0; i < 20; ++i)
    jit([=](Array x) {
      return sum(sin(x) * float(number * 20 + i)) + pure_callback([](Array v) { return v; }, ShapeDtypeStruct{{}, float32}, x(0));
    })(ones(1000));
  return jit([number](Array x) { return sum(x) * float(number); })(ones(10)).item<float>();
}
/// A thread that goes on when the plugin is closed.
extern "C" void keep_computing() {
  std::thread([] {
    for (int i = 0;; ++i) jit([i](Array x) { return sum(x * float(i)); })(ones(1000));
  }).detach();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
}
