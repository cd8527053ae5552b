// Maps over GPUs whose steps, with their collectives, are replayed as graphs.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <cstdlib>
#include <thread>

#include "tests/gpu/failures.h"
#include "tests/gpu/fake.h"
#include "tests/ops/checks.h"
#include "tests/ops/program_checks.h"
#include "weft/core/array/array_impl.h"
#include "weft/core/errors/error.h"
#include "weft/runtime/host/collectives.h"

namespace weft::test {
using sharding::P;
namespace {

constexpr int kCannotCapture = 900;

std::vector<Device> two() {
  const std::vector<Device> all = devices("cuda");
  REQUIRE(all.size() >= 2);
  return {all[0], all[1]};
}

Array step(Array w, Array x) {
  const Array shift = psum(x * w, "i");
  return w * 0.9f + 0.01f * shift - 1e-3f * pmean(sum(w, 0), "i");
}

void reset_calls() {
  if (std::getenv("WEFT_LIBCUDA")) fake_driver().reset();
  if (std::getenv("WEFT_LIBNCCL")) fake_nccl().reset();
}

}  // namespace

TEST_CASE("gpu graphs: a mapped step with collectives is replayed, one graph for each device") {
  const int graphs = std::getenv("WEFT_LIBCUDA") ? live("graph") : 0;
  const auto f = pmap(step, {.axis_name = "i", .devices = two()});
  const auto g = vmap(step, {.axis_name = "i"});
  const Array x = samples({2, 30, 40}, 1, float32), x_there = f(x, x) * 0.f + x;
  Array w = samples({2, 30, 40}, 2, float32), w_there = f(w, x_there) * 0.f + w;
  for (int i = 0; i < 8; ++i) w = g(w, x), w_there = f(w_there, x_there);
  CHECK(close(device_get(w_there), w, 1e-4));
  reset_calls();
  const auto before = detail::collective_counters();
  for (int i = 0; i < 6; ++i) w = g(w, x), w_there = f(w_there, x_there);
  const auto after = detail::collective_counters();
  CHECK(after.calls - before.calls == 12);
  CHECK(after.bytes_moved - before.bytes_moved == 6 * (30 * 40 + 40) * 4);
  CHECK(close(device_get(w_there), w, 1e-4));
  if (!std::getenv("WEFT_LIBCUDA") || !std::getenv("WEFT_LIBNCCL")) return;
  CHECK(fake_driver().calls("cuGraphLaunch") == 12);
  CHECK(fake_driver().calls("cuLaunchKernel") == 0);
  CHECK(fake_nccl().calls("ncclAllReduce") == 0);
  CHECK(fake_nccl().calls("ncclGroupEnd") == 0);
  CHECK(live("graph") == graphs);
}

TEST_CASE("gpu graphs: each collective as a part of one, also where results are kept, or are what was given") {
  const Array x = samples({2, 4, 6}, 1, float32);
  const auto replayed = [&](auto f) {
    const auto h = [f](Array a) { return std::tuple{f(a), a, f(a + 1.f), Array(ones({3}))}; };
    const auto on_gpus = pmap(h, {.axis_name = "i", .devices = two()});
    const auto there = device_put(x, NamedSharding{Mesh(two(), {2}, {"i"}), P("i")});
    const auto want = vmap(h, {.axis_name = "i"})(x);
    const auto check = [&](const auto& got) {
      const auto& [a, b, c, d] = got;
      CHECK(wrong_in(device_get(a), std::get<0>(want), 1e-5) == "");
      CHECK(wrong_in(device_get(b), std::get<1>(want), 0) == "");
      CHECK(wrong_in(device_get(c), std::get<2>(want), 1e-5) == "");
      CHECK(wrong_in(device_get(d), std::get<3>(want), 0) == "");
    };
    reset_calls();
    for (int i = 0; i < 10; ++i) check(on_gpus(there));
    if (std::getenv("WEFT_LIBCUDA")) CHECK(fake_driver().calls("cuGraphLaunch") >= 8);
    std::vector<decltype(on_gpus(there))> kept;
    for (int i = 0; i < 5; ++i) kept.push_back(on_gpus(there));
    for (const auto& k : kept) check(k);
  };
  replayed([](Array a) { return psum(a * a, "i"); });
  replayed([](Array a) { return a * pmax(a, "i") + pmin(a, "i"); });
  replayed([](Array a) { return all_gather(a * a, "i"); });
  replayed([](Array a) { return all_gather(a * a, "i", {.axis = 1}); });
  replayed([](Array a) { return psum_scatter(a * a, "i", {.scatter_dimension = 1, .tiled = true}); });
  replayed([](Array a) { return all_to_all(a, "i", 0, 1, {.tiled = true}); });
  replayed([](Array a) { return all_to_all(a, "i", 1, 0, {.tiled = true}); });
  replayed([](Array a) { return ppermute(a, "i", {{0, 1}}); });
  replayed([](Array a) { return pbroadcast(a, "i", 1); });
  replayed([](Array a) { return a * sum(psum(a, "i")) / all_gather(a, "i")[0]; });
}

TEST_CASE("gpu collectives: maps within maps, each with an axis of the same name") {
  const Array cube = reshape(arange(8, float32), {2, 2, 2});
  const auto inner = [](Array a) { return psum(a, "i"); };
  const auto maps = [&](auto map, auto f) { return map(map(map(f))); };
  const auto on_devices = [](auto f) { return pmap(f, {.axis_name = "i", .devices = two()}); };
  const auto on_lanes = [](auto f) { return vmap(f, {.axis_name = "i"}); };
  CHECK(wrong_in(device_get(maps(on_devices, inner)(cube)), maps(on_lanes, inner)(cube), 0) == "");
}

TEST_CASE("gpu graphs: what needs the host on the way is not replayed") {
  const auto f = pmap(
      [](Array a) {
        const Array b = while_loop([](Array v) { return sum(v) > 1.f; }, [](Array v) { return v * 0.5f; }, abs(a));
        return psum(abs(fft::fft(b(slice(0, 67)))), "i");  // of a prime length, by the host
      },
      {.axis_name = "i", .devices = two()});
  const Array x = samples({2, 3000}, 1, float32);
  const Array want = device_get(f(x));
  reset_calls();
  for (int i = 0; i < 4; ++i) CHECK(close(device_get(f(x)), want, 1e-6));
  if (std::getenv("WEFT_LIBNCCL")) CHECK(fake_nccl().calls("ncclAllReduce") == 8);
}

TEST_CASE("gpu graphs: several threads that map over the same devices") {
  const auto f = pmap(step, {.axis_name = "i", .devices = two()});
  const auto g = vmap(step, {.axis_name = "i"});
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      const Array x = samples({2, 30, 40}, t + 1, float32);
      Array w = samples({2, 30, 40}, t + 7, float32), w2 = w;
      for (int i = 0; i < 10; ++i) w = g(w, x), w2 = f(w2, x);
      wrong += !close(device_get(w2), w, 1e-3);
    });
  for (std::thread& t : threads) t.join();
  CHECK(wrong == 0);
}

TEST_CASE("gpu graphs: collectives that fail while they are captured or replayed, and devices that never come") {
  if (!std::getenv("WEFT_LIBNCCL")) return;
  const Array x = device_put(samples({2, 30, 40}, 1, float32), NamedSharding{Mesh(two(), {2}, {"i"}), P("i")});
  float factor = 10;
  const int graphs = live("graph");
  for (const char* call : {"ncclAllReduce", "ncclGroupStart", "ncclGroupEnd"}) {
    int captured = 0;
    for (int n = 1; n <= 8; ++n) {
      factor += 1;
      const auto f = pmap([=](Array a) { return psum(a * factor, "i") + a; }, {.axis_name = "i", .devices = two()});
      const auto run = [&] {
        for (int i = 0; i < 6; ++i) f(x).block_until_ready();
        return device_get(f(x));
      };
      fake_driver().reset();
      fake_nccl().fail(call, n, 3);
      const std::string message = message_of<DistributedError>(run);
      fake_nccl().fail(nullptr, 0, 0);
      if (message.empty()) continue;  // it is not called so often
      CHECK_MESSAGE(has(message, {std::string(call) + " gives ncclInternalError (3)"}), message);
      captured += fake_driver().calls("cuStreamBeginCapture_v2") == 2;
      CHECK(live("graph") == graphs);
      CHECK(close(run(), device_get(vmap([=](Array a) { return psum(a * factor, "i") + a; }, {.axis_name = "i"})(device_get(x))), 1e-5));
    }
    CHECK(captured >= 1);
  }
  const auto f = pmap([](Array a) { return psum(a * 3.f, "i") + a; }, {.axis_name = "i", .devices = two()});
  const Array want = device_get(f(x));
  for (int i = 0; i < 4; ++i) f(x).block_until_ready();
  // One device's graph is launched, the other one's is not.
  for (int n : {1, 2}) {
    fake_driver().fail("cuGraphLaunch", n, 719);
    CHECK(
        has(message_of<DeviceError>([&] { f(x); }), "a mapped program over 2 devices: cuGraphLaunch gives CUDA_ERROR_LAUNCH_FAILED (719)"));
    fake_driver().fail(nullptr, 0, 0);
    for (int i = 0; i < 4; ++i) CHECK(close(device_get(f(x)), want, 1e-6));
  }
  // NCCL's errors and time limits, of collectives in graphs.
  auto* async = function_of<void(int)>("WEFT_LIBNCCL", "fake_nccl_async_error");
  auto* busy = function_of<void(int)>("WEFT_LIBCUDA", "fake_cuda_busy");
  Array result = f(x);
  busy(1'000'000), async(6);
  CHECK(has(message_of<DistributedError>([&] { result.block_until_ready(); }), "NCCL reports ncclRemoteError (6)"));
  busy(0), async(0);
  for (int i = 0; i < 4; ++i) CHECK(close(device_get(f(x)), want, 1e-6));
  result = f(x);
  busy(1'000'000'000);
  setenv("WEFT_COLLECTIVE_TIMEOUT", "0.01", 1);
  CHECK(has(message_of<DistributedError>([&] { result.block_until_ready(); }), "has not ended after 0.01 seconds"));
  unsetenv("WEFT_COLLECTIVE_TIMEOUT");
  busy(0);
  for (int i = 0; i < 4; ++i) CHECK(close(device_get(f(x)), want, 1e-6));
}

TEST_CASE("gpu graphs: a mapped step that a driver does not capture is launched step by step") {
  if (!std::getenv("WEFT_LIBCUDA")) return;
  const int graphs = live("graph");
  const auto f = pmap([](Array a) { return psum(a * 4.f, "i") + a; }, {.axis_name = "i", .devices = two()});
  const Array x = device_put(samples({2, 30, 40}, 1, float32), NamedSharding{Mesh(two(), {2}, {"i"}), P("i")});
  const Array want = device_get(f(x));
  f(x).block_until_ready();
  fake_driver().reset();
  fake_driver().fail("cuStreamEndCapture", 2, kCannotCapture);
  for (int i = 0; i < 5; ++i) CHECK(close(device_get(f(x)), want, 1e-6));
  fake_driver().fail(nullptr, 0, 0);
  CHECK(fake_driver().calls("cuStreamEndCapture") == 2);
  CHECK(fake_driver().calls("cuGraphLaunch") == 0);
  CHECK(live("graph") == graphs);
}

namespace {

/// A loop and a branch, with a collective in between; too much for one kernel each.
Array loop_and_branch(Array a) {
  const Array b = while_loop([](Array v) { return sum(v) > 7.f; }, [](Array v) { return sort(v) * 0.5f; }, abs(a));
  const Array total = psum(b, "i");
  return cond(sum(b) > 3.5f, [](Array v) { return sort(v) - 1.f; }, [](Array v) { return -v; }, total) + a;
}
Array on_two(const Array& x) { return device_put(x, NamedSharding{Mesh(two(), {2}, {"i"}), P("i")}); }
Array rows(int seed) { return stack({samples({50}, seed, float32) * 3.f, samples({50}, seed + 6, float32)}); }

}  // namespace

TEST_CASE("gpu graphs: loops and branches of a mapped step that depend on values are conditional nodes") {
  const auto mapped = pmap(loop_and_branch, {.axis_name = "i", .devices = two()});
  const auto want = vmap(loop_and_branch, {.axis_name = "i"});
  for (int turn = 0; turn < 2; ++turn) {
    const Array x = rows(1 + turn), there = on_two(x);
    for (int i = 0; i < 4; ++i) CHECK(close(device_get(mapped(there)), want(x), 1e-5));
    reset_calls();
    for (int i = 0; i < 3; ++i) CHECK(close(device_get(mapped(there)), want(x), 1e-5));
    if (!std::getenv("WEFT_LIBCUDA") || !std::getenv("WEFT_LIBNCCL")) continue;
    CHECK(fake_driver().calls("cuGraphLaunch") == 6);
    CHECK(fake_driver().calls("cuLaunchKernel") == 0);
    CHECK(fake_nccl().calls("ncclAllReduce") == 0);
  }
}

TEST_CASE("gpu graphs: a mapped step whose loop takes many turns is replayed") {
  const auto f = [](Array a) {
    const auto turn = [](const std::pair<Array, Array>& c) { return std::pair{sort(-c.first), c.second + 1}; };
    return psum(while_loop([](const std::pair<Array, Array>& c) { return c.second < 2001; }, turn, std::pair{a, Array(0)}).first, "i");
  };
  const auto mapped = pmap(f, {.axis_name = "i", .devices = two()});
  const Array x = samples({2, 5}, 1, float32), there = on_two(x), want = vmap(f, {.axis_name = "i"})(x);
  reset_calls();
  for (int i = 0; i < 4; ++i) CHECK(close(device_get(mapped(there)), want, 1e-5));
  if (!std::getenv("WEFT_LIBCUDA")) return;
  CHECK(fake_driver().calls("cuGraphLaunch") >= 2);
  CHECK(fake_driver().calls("cuLaunchKernel") > 4096);  // at first, while the host looks at each turn
}

TEST_CASE(
    "gpu graphs: each call that fails while a loop of a mapped step is captured is an error that names it, and all works afterwards") {
  if (!std::getenv("WEFT_LIBCUDA")) return;
  const auto mapped = pmap(loop_and_branch, {.axis_name = "i", .devices = two()});
  const Array x = rows(1), want = vmap(loop_and_branch, {.axis_name = "i"})(x);
  std::vector<Array> elsewhere;  // what lies at a new place is captured anew
  int failures = 0;
  for (const char* call : {"cuStreamGetCaptureInfo_v3", "cuStreamUpdateCaptureDependencies_v2", "cuStreamBeginCaptureToGraph",
                           "cuGraphConditionalHandleCreate", "cuGraphAddNode_v2", "cuStreamEndCapture", "cuGraphInstantiateWithFlags",
                           "cuStreamBeginCapture_v2"})
    for (int n = 1; n <= 6; ++n) {
      const Array& there = elsewhere.emplace_back(on_two(x));
      CHECK(close(device_get(mapped(there)), want, 1e-5));
      const int graphs = live("graph"), execs = live("exec");
      if (fails_and_says_so(call, n, [&] { mapped(there).block_until_ready(); })) {
        CHECK(live("graph") == graphs);
        CHECK(live("exec") == execs);
        ++failures;
      }
      fake_driver().reset();
      for (int i = 0; i < 4; ++i) CHECK(close(device_get(mapped(there)), want, 1e-5));
      CHECK(fake_driver().calls("cuGraphLaunch") >= 4);
    }
  CHECK(failures >= 30);
}

TEST_CASE("gpu graphs: a mapped step with loops where a driver has no conditional nodes or refuses them") {
  const char* here = "gpu graphs: a mapped step with loops where a driver has no conditional nodes or refuses them";
  if (!std::getenv("WEFT_LIBCUDA") || !std::getenv("WEFT_LIBNCCL")) return;
  const bool old = std::getenv("WEFT_TEST_CHILD") != nullptr;
  const auto f = [](Array a) { return loop_and_branch(a + 1.f); };  // another program than that above, which is captured already
  const Array x = rows(1), there = on_two(x), want = vmap(f, {.axis_name = "i"})(x);
  const auto mapped = pmap(f, {.axis_name = "i", .devices = two()});
  for (int i = 0; i < 2; ++i) CHECK(close(device_get(mapped(there)), want, 1e-5));
  reset_calls();
  if (!old) fake_driver().fail("cuGraphInstantiateWithFlags", 2, 801);
  for (int i = 0; i < 4; ++i) CHECK(close(device_get(mapped(there)), want, 1e-5));
  fake_driver().fail(nullptr, 0, 0);
  CHECK(fake_nccl().calls("ncclAllReduce") == (old ? 8 : 10));  // two of them captured in vain
  if (old)
    CHECK(fake_driver().calls("cuGraphLaunch") == 0);
  else
    CHECK(run_again(here, "FAKE_CUDA_VERSION", "12030") == 0);
}

}  // namespace weft::test
