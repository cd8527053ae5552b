// The CUDA runtime against a driver that fails when it is told to: devices, memory, transfers, graphs, and what is left after each failure.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/gpu/fake.h"
#include "tests/ops/checks.h"
#include "weft/backends/cuda/device.h"
#include "weft/core/array/array_impl.h"
#include "weft/runtime/host/device.h"
#include "weft/runtime/host/executable.h"

namespace weft::test {
using sharding::P;
namespace {

constexpr int kCannotCapture = 900;

Device gpu(int k = 0) { return devices("cuda")[static_cast<std::size_t>(k)]; }

}  // namespace

TEST_CASE("gpu runtime: devices") {
  const std::vector<Device> all = devices("cuda");
  REQUIRE(all.size() == 2);
  CHECK(all[0].platform() == "cuda");
  CHECK(all[0].kind() == "Fake GPU");
  CHECK(fmt::format("{} {}", all[0], all[1]) == "cuda:0 cuda:1");
  CHECK(all[1].id() == all[0].id() + 1);
  CHECK(all[0].memory_stats().bytes_limit == 1 << 30);
  // WEFT_PLATFORM is `cpu` in tests.
  CHECK(devices() == devices("cpu"));
  CHECK(device_count() == local_device_count("cpu"));
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

TEST_CASE("gpu runtime: device_get brings to the host what is nowhere by request, too") {
  const auto scope = default_device(gpu());
  for (const DType t : {float32, float16}) {
    const Array x = tanh(samples({1000}, 1, t));
    REQUIRE(x.devices() == std::vector<Device>{gpu()});
    const Array here = device_get(x);
    CHECK(here.devices()[0].platform() == "cpu");
    CHECK(here.to_vector<float>() == x.to_vector<float>());
    CHECK((here + 1).devices() == std::vector<Device>{gpu()});
    if (t == float32) CHECK(here.data<float>()[7] == x.to_vector<float>()[7]);
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

TEST_CASE("gpu runtime: factorisations go by the host") {
  const Array a = samples({6, 6}, 1, float32), x = device_put(matmul(a, transpose(a)) + 6.f * eye(6), gpu());
  const Array l = linalg::cholesky(x);
  CHECK(l.devices() == std::vector<Device>{gpu()});
  CHECK(close(device_get(l), linalg::cholesky(device_get(x)), 1e-5));
}

TEST_CASE("gpu runtime: donated memory is used again") {
  const auto f = jit([](Array x) { return x * 2.f + 1.f; }, {.donate_argnums = {0}});
  Array x = device_put(samples({1000}, 1, float32), gpu());
  x = f(x);  // compiles
  const int before = live("memory");
  fake_driver().reset();
  for (int i = 0; i < 5; ++i) x = f(x);
  CHECK(fake_driver().calls("cuMemAllocAsync") == 0);
  CHECK(live("memory") == before);
}

TEST_CASE("gpu runtime: a step that repeats itself is replayed as a graph") {
  const int graphs = live("graph");
  // Several kernels: rows are reduced again and again.
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
  fake_driver().reset();
  for (int i = 0; i < 6; ++i) x = f(x), y = g(y);
  CHECK(fake_driver().calls("cuGraphInstantiateWithFlags") >= 1);
  CHECK(fake_driver().calls("cuGraphLaunch") >= 2);
  const Array got = device_get(x), scale = max(abs(y));
  CHECK(max(abs(got - y) / scale).item<float>() < 1e-4);
  CHECK(live("graph") == graphs);
}

TEST_CASE("gpu runtime: out of memory leaves everything usable") {
  const Array x = device_put(samples({1000}, 1, float32), gpu());
  const auto f = jit([](Array a) { return broadcast_to(a, {1000, 1000, 1000}); });
  const Alive before;
  const std::string message = message_of<DeviceError>([&] { f(x); });
  CHECK(has(message, "cuda:0: out of memory: 4000000000 bytes for an array"));
  CHECK(has(message, "in use"));
  CHECK(live("memory") == before.memory);
  CHECK(close(device_get(x + 1.f), device_get(x) + 1.f));
}

namespace {

/// Calls of many kinds, one after the other; nothing of them is cached, since a constant of theirs is new.
struct Everything {
  Array host = samples({20'000}, 1, float32), shift = samples({20'000}, 2, float32), big = samples({170, 180}, 3, float32);

  std::vector<float> operator()() const {
    const auto f = jit(
        [&](Array x) {
          Array y = x - sum(x) * 1e-4f + shift;
          for (int i = 0; i < 3; ++i) y = y * 0.5f - sum(y, 0) * 1e-4f;
          return while_loop([](Array v) { return sum(abs(v)) > 500.f; }, [](Array v) { return v * 0.5f; }, y);
        },
        {.donate_argnums = {0}});
    const auto g = jit([&](Array x) { return (x - sum(x)) * sum(x * shift) * max(x); });
    const auto h = jit([&](Array x) { return matmul(x, transpose(big)) + shift[0]; });
    const auto mapped = pmap([](Array x) { return psum(ppermute(x, "i", {{0, 1}}), "i") + all_gather(x, "i", {.axis = 1})[0][0]; },
                             {.axis_name = "i", .devices = devices("cuda")});
    Array x = device_put(host, gpu());
    x = f(x);
    for (int i = 0; i < 4; ++i) g(x).block_until_ready();
    std::vector<float> result = device_get(device_put(x, gpu(1))).to_vector<float>();
    const std::vector<float> product = device_get(h(device_put(big, gpu()))).to_vector<float>();
    const Array halves = device_put(reshape(host, {2, 100, 100}), NamedSharding{Mesh(devices("cuda"), {2}, {"i"}), P("i")});
    for (int i = 0; i < 3; ++i) mapped(halves).block_until_ready();
    const std::vector<float> together = device_get(mapped(halves)).to_vector<float>();
    result.insert(result.end(), product.begin(), product.end());
    result.insert(result.end(), together.begin(), together.end());
    return result;
  }
};

}  // namespace

TEST_CASE("gpu runtime: every call that fails is an error that names it, nothing leaks, and all works afterwards") {
  const char* cached = std::getenv("WEFT_CACHE");
  REQUIRE((cached && std::string(cached) == "0"));  // else the driver assembles nothing
  const Everything everything;
  const std::vector<float> want = everything();
  everything();
  Alive before;
  int failures = 0;
  struct Library {
    const Fake& fake;
    int code;
    const char* said;
  };
  for (const Library& l :
       {Library{fake_driver(), 719, "CUDA_ERROR_LAUNCH_FAILED (719)"}, Library{fake_cublaslt(), 14, "CUBLAS_STATUS_INTERNAL_ERROR (14)"},
        Library{fake_nccl(), 6, "ncclRemoteError (6)"}})
    for (int k = 0; l.fake.name(k); ++k) {
      const std::string call = l.fake.name(k);
      if (call == "cuGetErrorName" || call == "cuGetErrorString") continue;
      l.fake.reset();
      everything();
      const int calls = l.fake.calls(call.c_str());
      for (int n = 1; n <= calls; n = n < 4 ? n + 1 : n * 2) {
        l.fake.reset();
        l.fake.fail(call.c_str(), n, l.code);
        const std::string message = message_of<Error>([&] { everything(); });
        const bool failed = l.fake.calls(call.c_str()) >= n;  // graphs are not launched equally often each time
        l.fake.fail(nullptr, 0, 0);
        INFO(call << " number " << n << ": " << message);
        // What destroys objects has nobody to tell.
        const bool silent =
            call == "cuMemFreeAsync" || call.find("Destroy") != std::string::npos || call == "cuModuleUnload" || call == "ncclCommAbort";
        if (!failed) {
          CHECK(has(call, "Graph"));
        } else if (!silent && message.empty()) {
          CHECK((call == "cuStreamSynchronize" || call == "cuCtxSetCurrent"));  // where something is taken down
        } else if (!silent) {
          ++failures;
          CHECK(has(message, l.said));
          CHECK(has(message, {call.substr(0, call.find("_v"))}));
        }
        CHECK(everything() == want);
        // The map is kept, with graphs for up to four sets of arrays on each device.
        Alive now;
        CHECK(now.execs <= before.execs + 8);
        now.execs = before.execs;
        // Where communicators are aborted, the maps of other tests give up their graphs.
        CHECK(now.graphs <= before.graphs);
        before.graphs = now.graphs;
        CHECK(now.text() == before.text());
      }
    }
  CHECK(failures > 60);
}

TEST_CASE("gpu start: child") {
  if (!std::getenv("WEFT_TEST_CHILD")) return;
  const auto add = jit([](Array x) { return x + 1.f; });
  if (const char* call = std::getenv("FAKE_CUDA_FAIL")) {
    const std::string name = std::string(call).substr(0, std::string(call).find("_v"));
    const std::string message = message_of<DeviceError>([&] {
      add(device_put(ones({3}), devices("cuda")[0])).block_until_ready();
      throw Error("it did not fail");
    });
    CHECK_MESSAGE(has(message, {name}), message);
    CHECK_MESSAGE(has(message, "CUDA_ERROR_LAUNCH_FAILED"), message);
    CHECK(live("stream") == 0);
    CHECK(live("context") == 0);
    // The host's devices are as they were; a driver that did start works at the next attempt.
    CHECK(sum(add(ones({3}))).item<float>() == 6);
    if (name != "cuInit") CHECK(sum(add(device_put(ones({3}), devices("cuda")[0]))).item<float>() == 6);
  } else {
    const auto product = jit([](Array x) { return matmul(x, x); });
    const Array x = device_put(ones({200, 200}), devices("cuda")[0]);
    const std::string message = message_of<DeviceError>([&] { product(x); });
    CHECK_MESSAGE(has(message, "cublasLtCreate gives CUBLAS_STATUS_INTERNAL_ERROR (14)"), message);
    CHECK(product(x)[0][0].item<float>() == 200);
  }
}

TEST_CASE("gpu start: what fails when the driver or a library starts") {
  for (const char* call :
       {"cuInit", "cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName", "cuDeviceTotalMem_v2", "cuDeviceGetAttribute",
        "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuStreamCreate", "cuDeviceGetDefaultMemPool", "cuMemPoolSetAttribute"}) {
    INFO(call);
    CHECK(run_again("gpu start: child", "FAKE_CUDA_FAIL", call) == 0);
  }
  CHECK(run_again("gpu start: child", "FAKE_CUBLASLT_FAIL", "cublasLtCreate") == 0);
}

TEST_CASE("gpu start: the first GPU is the default device, as in JAX, unless the environment says otherwise") {
  if (!std::getenv("WEFT_TEST_CHILD")) {
    for (const char* platform : {"cuda", ""})
      CHECK(run_again("gpu start: the first GPU is the default device*", "WEFT_PLATFORM", platform) == 0);
    setenv("FAKE_CUDA_DEVICES", "0", 1);
    CHECK(run_again("gpu start: without a GPU*", "WEFT_PLATFORM", "") == 0);
    unsetenv("FAKE_CUDA_DEVICES");
    setenv("WEFT_PLATFORM", "cpu", 1);
    return;
  }
  CHECK(devices() == devices("cuda"));
  CHECK(devices("cpu")[0].platform() == "cpu");
  CHECK(make_mesh({2}, {"x"}).devices() == devices("cuda"));
  CHECK(pmap([](Array a) { return a * 2.f; })(ones({2, 3})).devices() == devices("cuda"));
  CHECK(pmap([](Array a) { return a * 2.f; })(ones({1, 3})).devices() == std::vector{gpu()});
  const Array x = samples({100, 100}, 1, float32);
  const auto f = jit([](Array a) { return sum(tanh(a), 0); });
  const Array y = f(x), g = grad([](Array a) { return sum(sort(a, 1) * a); })(x);
  CHECK(y.devices() == std::vector<Device>{gpu()});
  CHECK(g.devices() == std::vector<Device>{gpu()});
  const Array there = device_put(x, devices("cpu")[0]);
  CHECK(close(device_get(y), f(there), 1e-5));
}

TEST_CASE("gpu start: without a GPU the host's devices are the default") {
  if (!std::getenv("WEFT_TEST_CHILD")) return;
  CHECK(devices() == devices("cpu"));
  CHECK(ones({3}).devices() == std::vector{devices()[0]});
  CHECK(has(message_of<DeviceError>([] { devices("cuda"); }), "the CUDA driver finds no device"));
}

TEST_CASE("gpu runtime: machine code is kept in files") {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / ("weft-gpu-cache-" + std::to_string(::getpid()));
  if (const char* given = std::getenv("WEFT_TEST_ROUND")) {
    const auto f = jit([](Array x) { return tanh(x) * 3.f; });
    f(device_put(ones({3}), gpu())).block_until_ready();
    CHECK((fake_driver().calls("cuLinkCreate_v2") == 0) == (std::string(given) == "second"));
    return;
  }
  setenv("WEFT_CACHE", "1", 1);
  setenv("WEFT_CACHE_DIR", folder.c_str(), 1);
  const std::string here = "gpu runtime: machine code is kept in files";
  CHECK(run_again(here, "WEFT_TEST_ROUND", "first") == 0);
  CHECK(run_again(here, "WEFT_TEST_ROUND", "second") == 0);
  unsetenv("WEFT_CACHE_DIR");
  setenv("WEFT_CACHE", "0", 1);
  CHECK(!std::filesystem::is_empty(folder));
  std::filesystem::remove_all(folder);
}

TEST_CASE("gpu runtime: profilers see ranges with the functions' names") {
  if (!std::getenv("WEFT_TEST_CHILD")) {
    const std::string tool = std::filesystem::path(std::getenv("WEFT_LIBCUDA")).parent_path() / "libfake_nvtx.so";
    REQUIRE(std::filesystem::exists(tool));
    CHECK(run_again("gpu runtime: profilers see ranges with the functions' names", "NVTX_INJECTION64_PATH", tool) == 0);
    return;
  }
  const auto f = jit([](Array x) { return x + 1.f; }, {.name = "training_step"});
  f(device_put(ones({3}), gpu()));
  void* tool = dlopen(std::getenv("NVTX_INJECTION64_PATH"), RTLD_NOW);
  REQUIRE((tool != nullptr));
  const std::string said = reinterpret_cast<const char* (*)()>(dlsym(tool, "fake_nvtx_said"))();
  CHECK(has(said, "(training_step)"));
}

TEST_CASE("gpu runtime: what the host does for a step that was captured") {
  auto* skip = function_of<void(bool)>("WEFT_LIBCUDA", "fake_cuda_skip_kernels");
  const auto step = jit(
      [](Array w, Array x) {
        for (int i = 0; i < 4; ++i) w = w - 1e-3f * sum(w, 0) + 1e-3f * sum(w * x, 1, {.keepdims = true});
        return w;
      },
      {.donate_argnums = {0}});
  Array w = device_put(samples({300, 300}, 1, float32), gpu()), x = device_put(samples({300, 300}, 2, float32), gpu());
  for (int i = 0; i < 4; ++i) w = step(w, x);
  skip(true);
  fake_driver().reset();
  double best = 1e9;
  constexpr int kSteps = 200;
  for (int round = 0; round < 20; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kSteps; ++i) w = step(w, x);
    best = std::min(best, std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count() / kSteps);
  }
  skip(false);
  CHECK(fake_driver().calls("cuGraphLaunch") == 20 * kSteps);
  CHECK(fake_driver().calls("cuLaunchKernel") == 0);
  MESSAGE("host time of a cached step: " << best << " us");
}

TEST_CASE("gpu start: the emulated device sees accesses of what is not there, and what a driver refuses") {
  const std::string name = "gpu start: the emulated device sees*";
  if (!std::getenv("WEFT_TEST_CHILD")) {
    CHECK(run_again(name, "FAKE_CUDA_CHECK", "1") == 0);
    return;
  }
  using namespace detail::cuda;
  gpu();
  const auto* d = &driver();
  const Stream stream = device_of(gpu().id()).stream();
  device_of(gpu().id()).enter();
  DevicePointer memory = device_of(gpu().id()).allocate(64, "a test");
  const auto launch = [&](int element, int align) {
    const std::string text = fmt::format(
        "define void @k(ptr %p) {{\n %a = load ptr, ptr %p\n %b = load ptr, ptr %a\n %c = getelementptr float, ptr %b, i64 {}\n"
        " %v = load float, ptr %c, align {}\n store float %v, ptr %b, align 4\n ret void\n}}\n",
        element, align);
    Module module = nullptr;
    Function f = nullptr;
    REQUIRE(d->cuModuleLoadDataEx(&module, text.c_str(), 0, nullptr, nullptr) == 0);
    REQUIRE(d->cuModuleGetFunction(&f, module, "k") == 0);
    void* parameters[] = {&memory, nullptr};
    return d->cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr);
  };
  CHECK(launch(15, 4) == 0);
  CHECK(launch(16, 4) == 700);
  CHECK(launch(4, 16) == 0);
  CHECK(launch(5, 16) == 700);
  // Another device's stream, or a wait while a stream is captured.
  Event event = nullptr;
  CHECK(d->cuEventCreate(&event, kEventNoTiming) == 0);
  device_of(gpu(1).id()).enter();
  CHECK(d->cuEventRecord(event, stream) == 400);
  device_of(gpu().id()).enter();
  CHECK(d->cuStreamBeginCapture_v2(stream, kCaptureThreadLocal) == 0);
  CHECK(d->cuStreamSynchronize(stream) == kCaptureUnsupported);
  Graph graph = nullptr;
  CHECK(d->cuStreamEndCapture(stream, &graph) == 901);
}

TEST_CASE("gpu runtime: what a driver does not capture is launched step by step") {
  const auto f = jit([](Array x) {
    for (int i = 0; i < 4; ++i) x = x - 1e-3f * sum(x, 0) + 1e-3f * sum(x, 1, {.keepdims = true});
    return x;
  });
  const Array x = device_put(samples({300, 300}, 3, float32), gpu());
  const Array want = device_get(f(x));
  fake_driver().reset();
  for (int i = 0; i < 6; ++i) {
    fake_driver().fail("cuStreamEndCapture", 1, kCannotCapture);
    CHECK(close(device_get(f(x)), want, 1e-6));
  }
  CHECK(fake_driver().calls("cuStreamEndCapture") == 1);
  fake_driver().fail(nullptr, 0, 0);
}

TEST_CASE("gpu runtime: a failing launch names the kernel's function and line") {
  const auto step = jit([](Array x) { return tanh(x) + 1.f; }, {.name = "step"});
  const Array x = device_put(samples({1000}, 1, float32), gpu());
  step(x);
  fake_driver().fail("cuLaunchKernel", 1, 719);
  const std::string message = message_of<DeviceError>([&] { step(x); });
  fake_driver().fail(nullptr, 0, 0);
  CHECK(has(message, "cuda:0: kernel0 of step: cuLaunchKernel gives CUDA_ERROR_LAUNCH_FAILED (719)"));
  CHECK(has(message, "runtime.cpp"));
}

}  // namespace weft::test
