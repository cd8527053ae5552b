// A host device is a place of its own: its work runs in program order, whatever other devices do, and its memory is counted.
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>

#include "tests/runtime/devices.h"

using namespace weft;
using namespace weft::test;

namespace {

/// What callbacks were called with, in order.
class Log {
 public:
  void add(int device, int step) {
    const std::lock_guard lock(mutex_);
    steps_[device].push_back(step);
  }
  std::vector<int> of(int device) {
    const std::lock_guard lock(mutex_);
    return steps_[device];
  }

 private:
  std::mutex mutex_;
  std::map<int, std::vector<int>> steps_;
};

std::vector<int> up_to(int n) {
  std::vector<int> all;
  for (int k = 0; k < n; ++k) all.push_back(k);
  return all;
}

bool wait_for(const std::atomic<bool>& flag) {
  for (int k = 0; k < 120000 && !flag; ++k) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return flag;
}

std::int64_t in_use(int device) { return devices()[static_cast<std::size_t>(device)].memory_stats().bytes_in_use; }

}  // namespace

TEST_CASE("the work of one device runs in program order") {
  Log log;
  // Independent calls on one device, that no value ties together.
  const Array x = device_put(ones(100), devices()[4]), y = device_put(ones(1000000), devices()[4]);
  const auto noted = [&](int step) {
    return jit([&log, step](Array v) {
      const Array w = tanh(v) * 2;
      debug::callback([&log, step](Array) { log.add(4, step); }, w(0));
      return w;
    });
  };
  for (int k = 0; k < 12; ++k) noted(k)(k % 2 ? x : y);
  effects_barrier();
  CHECK(log.of(4) == up_to(12));
  // Each device's part of a program, around its collectives, in its loops, and from call to call.
  Log parts;
  const auto note = [&](int step, Array i, Array v) {
    return pure_callback(
        [&parts, step](Array device, Array w) {
          parts.add(device.item<int>(), step);
          return w;
        },
        ShapeDtypeStruct{v.shape(), v.dtype()}, i, v);
  };
  const auto program = [&](int first) {
    return [&note, first](Array v) {
      const Array i = axis_index("i");
      v = note(first, i, v);
      v = psum(note(first + 1, i, v), "i");
      v = note(first + 2, i, v) + ppermute(v, "i", {{0, 1}, {3, 2}});
      return scan([&](Array c, None) { return std::pair{psum(note(first + 3, i, c), "i"), c}; }, v, none, {.length = 2}).first;
    };
  };
  const Array rows = ones({8, 500});
  const Array last = pmap(program(5), {.axis_name = "i"})(pmap(program(0), {.axis_name = "i"})(rows));
  last.block_until_ready();
  for (int k = 0; k < 8; ++k) CHECK(parts.of(k) == std::vector<int>{0, 1, 2, 3, 3, 5, 6, 7, 8, 8});
}

TEST_CASE("devices don't wait for each other") {
  std::atomic<bool> started = false, finished = false, saw = false;
  const auto program = jit([](Array v) { return sum(tanh(v)); });
  const auto held = jit([&](Array v) {
    return pure_callback(
        [&](Array w) {
          started = true;
          saw = wait_for(finished);
          return w;
        },
        ShapeDtypeStruct{{}, float32}, sum(v));
  });
  const Array mine = device_put(ones(300000), devices()[1]), others = device_put(ones(300000), devices()[2]);
  std::thread busy([&] { held(mine).block_until_ready(); });
  CHECK(wait_for(started));
  // Device 1 is in the middle of its program; device 2, and a map over others, go on.
  const Array total = program(others);
  CHECK(total.devices() == std::vector{devices()[2]});
  CHECK(near(total, {300000 * std::tanh(1.)}));
  const std::vector<Device> all = devices(), rest(all.begin() + 4, all.end());
  CHECK(near(pmap([](Array a) { return psum(a, "i"); }, {.axis_name = "i", .devices = rest})(arange(4, float32)), {6, 6, 6, 6}));
  finished = true;
  busy.join();
  CHECK(saw);
}

TEST_CASE("what lies on a device is counted there and nowhere else") {
  constexpr std::int64_t kRow = 1 << 20;
  std::vector<std::int64_t> before;
  for (int k = 0; k < 8; ++k) before.push_back(in_use(k));
  const auto added = [&](int k) { return in_use(k) - before[static_cast<std::size_t>(k)]; };
  const auto double_rows = pmap([](Array a) { return a * 2; });
  const auto on_three = jit([](Array a) { return a + 1; });
  {
    Array rows;
    {
      const Array whole = ones({8, kRow / 4});
      rows = double_rows(whole);
    }
    for (int k = 0; k < 8; ++k) {
      CHECK(added(k) >= kRow);
      CHECK(added(k) < 2 * kRow);
    }
    const Array here = device_put(ones(2 * kRow / 4), devices()[3]), next = on_three(here);
    CHECK(next.devices() == std::vector{devices()[3]});
    CHECK(added(3) >= 3 * kRow);
    CHECK(added(5) < 2 * kRow);
    // The peak stays when the rest goes.
    const std::int64_t peak = devices()[3].memory_stats().peak_bytes_in_use;
    CHECK(peak - before[3] >= 3 * kRow);
    CHECK(devices()[3].memory_stats().bytes_limit > peak);
    rows = {};
    CHECK(added(6) < kRow);
    CHECK(devices()[3].memory_stats().peak_bytes_in_use >= peak);
  }
  for (int k = 0; k < 8; ++k) CHECK(added(k) < kRow);
}
