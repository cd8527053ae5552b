// The CUDA runtime against a driver that fails when it is told to: devices, memory, transfers, graphs, and what is left after each failure.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <cstdlib>
#include <functional>
#include <string>

#include "core/array_impl.h"
#include "runtime/device.h"
#include "runtime/executable.h"
#include "tests/fake_cuda/control.h"
#include "tests/ops/checks.h"

namespace weft::test {
namespace {

struct Fake {
  decltype(&fake_cuda_fail) fail;
  decltype(&fake_cuda_calls) calls;
  decltype(&fake_cuda_reset_calls) reset;
  decltype(&fake_cuda_live) live;
  decltype(&fake_cuda_name) name;
};
const Fake& fake() {
  static const Fake f = [] {
    void* library = dlopen(std::getenv("WEFT_LIBCUDA"), RTLD_NOW);
    REQUIRE(library);
    const auto find = [&](const char* name) { return dlsym(library, name); };
    return Fake{reinterpret_cast<decltype(&fake_cuda_fail)>(find("fake_cuda_fail")), reinterpret_cast<decltype(&fake_cuda_calls)>(find("fake_cuda_calls")),
                reinterpret_cast<decltype(&fake_cuda_reset_calls)>(find("fake_cuda_reset_calls")),
                reinterpret_cast<decltype(&fake_cuda_live)>(find("fake_cuda_live")), reinterpret_cast<decltype(&fake_cuda_name)>(find("fake_cuda_name"))};
  }();
  return f;
}

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const DeviceError& e) {
    return e.what();
  }
  return {};
}
bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

Device gpu(int k = 0) { return devices("cuda")[static_cast<std::size_t>(k)]; }

/// Arrays and code of the device that are alive.
struct Alive {
  int memory = fake().live("memory"), modules = fake().live("module"), events = fake().live("event"), graphs = fake().live("graph"),
      execs = fake().live("exec");
  friend bool operator==(const Alive&, const Alive&) = default;
};

}  // namespace

TEST_CASE("gpu runtime: devices") {
  const std::vector<Device> all = devices("cuda");
  REQUIRE(all.size() == 2);
  CHECK(all[0].platform() == "cuda");
  CHECK(all[0].kind() == "Fake GPU");
  CHECK(fmt::format("{} {}", all[0], all[1]) == "cuda:0 cuda:1");
  CHECK(all[1].id() == all[0].id() + 1);
  CHECK(all[0].memory_stats().bytes_limit == 1 << 30);
  CHECK(devices().size() == devices("cpu").size() + 2);
}

TEST_CASE("gpu runtime: arrays go there and come back") {
  for (const int n : {0, 1, 5, 1000, 3'000'000}) {
    const Array x = samples({n}, 1, float32);
    const Array there = device_put(x, gpu());
    CHECK(there.devices() == std::vector<Device>{gpu()});
    CHECK(there.to_vector<float>() == x.to_vector<float>());
    const Array beside = device_put(there, gpu(1));
    CHECK(beside.devices() == std::vector<Device>{gpu(1)});
    CHECK(beside.to_vector<float>() == x.to_vector<float>());
    CHECK(device_get(beside).to_vector<float>() == x.to_vector<float>());
    there.block_until_ready();
  }
}

TEST_CASE("gpu runtime: operations follow their operands") {
  const Array x = device_put(samples({1000}, 1, float32), gpu(1));
  const Array y = tanh(x) * 2.f;
  CHECK(y.devices() == std::vector<Device>{gpu(1)});
  CHECK(close(device_get(y), tanh(device_get(x)) * 2.f));
  const auto f = jit([](Array a, Array b) { return sum(a * b); });
  const Array s = f(x, y);
  CHECK(s.devices() == std::vector<Device>{gpu(1)});
  CHECK(s.item<float>() == doctest::Approx(sum(device_get(x) * device_get(y)).item<float>()).epsilon(1e-5));
  CHECK(f(device_get(x), device_get(y)).devices()[0].platform() == "cpu");
  const auto there = jit([](Array a) { return cumsum(a); }, {.device = gpu()});
  CHECK(there(device_get(x)).devices() == std::vector<Device>{gpu()});
  CHECK_THROWS_AS(f(x, device_put(y, gpu(0))), DeviceError);
  auto scope = default_device(gpu());
  CHECK(close(device_get(f(device_get(x), device_get(x))), sum(square(device_get(x))), 1e-5));
}

TEST_CASE("gpu runtime: sorting and factorisations go by the host") {
  const Array x = device_put(samples({100}, 1, float32), gpu());
  CHECK(device_get(sort(x)).to_vector<float>() == sort(device_get(x)).to_vector<float>());
}

TEST_CASE("gpu runtime: donated memory is used again") {
  const auto f = jit([](Array x) { return x * 2.f + 1.f; }, {.donate_argnums = {0}});
  Array x = device_put(samples({1000}, 1, float32), gpu());
  x = f(x);  // compiles
  const int before = fake().live("memory");
  fake().reset();
  for (int i = 0; i < 5; ++i) x = f(x);
  CHECK(fake().calls("cuMemAllocAsync") == 0);
  CHECK(fake().live("memory") == before);
}

TEST_CASE("gpu runtime: a step that repeats itself is replayed as a graph") {
  // Several kernels: rows are folded again and again.
  const auto f = jit(
      [](Array x) {
        for (int i = 0; i < 4; ++i) x = x - 1e-3f * sum(x, 0) + 1e-3f * sum(x, 1, {.keepdims = true});
        return x;
      },
      {.donate_argnums = {0}});
  const Array start = samples({300, 300}, 1, float32);
  Array x = device_put(start, gpu()), y = start;
  const auto g = jit([](Array v) {
    for (int i = 0; i < 4; ++i) v = v - 1e-3f * sum(v, 0) + 1e-3f * sum(v, 1, {.keepdims = true});
    return v;
  });
  fake().reset();
  for (int i = 0; i < 6; ++i) x = f(x), y = g(y);
  CHECK(fake().calls("cuGraphInstantiateWithFlags") >= 1);
  CHECK(fake().calls("cuGraphLaunch") >= 2);
  const Array got = device_get(x), scale = max(abs(y));
  CHECK(max(abs(got - y) / scale).item<float>() < 1e-4);
  CHECK(fake().live("graph") == 0);
}

TEST_CASE("gpu runtime: out of memory leaves everything usable") {
  const Array x = device_put(samples({1000}, 1, float32), gpu());
  const auto f = jit([](Array a) { return broadcast_to(a, {1000, 1000, 1000}); });
  const Alive before;
  const std::string message = message_of([&] { f(x); });
  CHECK(has(message, "cuda:0: out of memory: 4000000000 bytes for an array"));
  CHECK(has(message, "in use"));
  CHECK(fake().live("memory") == before.memory);
  CHECK(close(device_get(x + 1.f), device_get(x) + 1.f));
}

TEST_CASE("gpu runtime: every call that fails is a DeviceError that names it, and nothing leaks") {
  const Array host = samples({20'000}, 1, float32), shift = samples({20'000}, 2, float32);
  const auto everything = [&] {
    // With a constant, so that nothing of it is cached: its code is loaded anew.
    const auto f = jit(
        [&](Array x) {
          Array y = x - sum(x) * 1e-4f + shift;
          for (int i = 0; i < 3; ++i) y = y * 0.5f - sum(y, 0) * 1e-4f;
          return while_loop([](Array v) { return sum(abs(v)) > 500.f; }, [](Array v) { return v * 0.5f; }, y);
        },
        {.donate_argnums = {0}});
    const auto g = jit([&](Array x) { return (x - sum(x)) * sum(x * shift) * max(x); });
    Array x = device_put(host, gpu());
    x = f(x);
    for (int i = 0; i < 4; ++i) g(x).block_until_ready();
    return device_get(device_put(x, gpu(1)));
  };
  const std::vector<float> want = everything().to_vector<float>();
  everything();
  const Alive before;
  int failures = 0;
  for (int k = 0; fake().name(k); ++k) {
    const std::string call = fake().name(k);
    if (call == "cuGetErrorName" || call == "cuGetErrorString") continue;
    fake().reset();
    everything();
    const int calls = fake().calls(call.c_str());
    for (int n = 1; n <= calls; n = n < 4 ? n + 1 : n * 2) {
      fake().fail(call.c_str(), n, 719);
      const std::string message = message_of([&] { everything(); });
      fake().fail(nullptr, 0, 0);
      INFO(call << " number " << n << ": " << message);
      // What destroys objects has nobody to tell.
      const bool silent = call == "cuMemFreeAsync" || call.find("Destroy") != std::string::npos || call == "cuModuleUnload" || call == "cuGraphDestroy";
      if (!silent && message.empty()) {
        CHECK(call == "cuStreamSynchronize");  // where something is taken down
      } else if (!silent) {
        ++failures;
        CHECK(has(message, "CUDA_ERROR_LAUNCH_FAILED"));
        CHECK(has(message, call.substr(0, call.find("_v"))));
      }
      CHECK(Alive() == before);
      CHECK(everything().to_vector<float>() == want);
    }
  }
  CHECK(failures > 20);
}

TEST_CASE("gpu runtime: a failing launch names the kernel's function and line") {
  const auto step = jit([](Array x) { return tanh(x) + 1.f; }, {.name = "step"});
  const Array x = device_put(samples({1000}, 1, float32), gpu());
  step(x);
  fake().fail("cuLaunchKernel", 1, 719);
  const std::string message = message_of([&] { step(x); });
  fake().fail(nullptr, 0, 0);
  CHECK(has(message, "cuda:0: kernel0 of step: cuLaunchKernel gives CUDA_ERROR_LAUNCH_FAILED (719)"));
  CHECK(has(message, "runtime.cpp"));
}

}  // namespace weft::test
