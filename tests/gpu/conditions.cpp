// Loops and branches whose conditions stay on the device: parts of graphs, replayed without a look at them.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/gpu/failures.h"
#include "tests/gpu/fake.h"
#include "tests/ops/checks.h"
#include "weft/backends/cuda/conditions.h"
#include "weft/backends/cuda/device.h"
#include "weft/core/array/array_impl.h"
#include "weft/core/errors/error.h"

namespace weft::test {
namespace {

Device gpu() { return devices("cuda")[0]; }

/// Without what they are, if not.
bool near(const Array& got, const Array& want, double tolerance) {
  return max(abs(got - want)).item<float>() <= tolerance * (1 + max(abs(want)).item<float>());
}

/// The same on the device as on the host, for each of the inputs again and again; and no value is read back by the last calls.
template <class F>
void replayed(F f, const std::vector<Array>& inputs, double tolerance = 1e-5) {
  const auto on_host = jit(f), there = jit(f);
  std::vector<Array> want, x;
  for (const Array& i : inputs) want.push_back(on_host(i)), x.push_back(device_put(i, gpu()));
  for (int round = 0; round < 4; ++round)
    for (std::size_t k = 0; k < x.size(); ++k) CHECK(near(device_get(there(x[k])), want[k], tolerance));
  if (!std::getenv("WEFT_LIBCUDA")) return;
  fake_driver().reset();
  std::vector<Array> last;
  for (const Array& v : x) there(v).block_until_ready();
  CHECK(fake_driver().calls("cuMemcpyDtoHAsync_v2") == 0);
  CHECK(fake_driver().calls("cuLaunchKernel") == 0);
  CHECK(fake_driver().calls("cuGraphLaunch") == static_cast<int>(x.size()));
}

/// Too much for one kernel.
Array heavy(const Array& v) { return v - 1e-5f * sum(v, 0) + 1e-6f * cumsum(v); }
std::vector<Array> vectors(int count) {
  std::vector<Array> out;
  for (int i = 0; i < count; ++i) out.push_back(samples({3000}, i + 1, float32) * (1.f + static_cast<float>(i)));
  return out;
}

}  // namespace

TEST_CASE("gpu conditions: while loops of other lengths, also of none") {
  auto inputs = vectors(2);
  inputs.push_back(inputs[0] * 1e-6f);  // nothing to do
  replayed([](Array x) { return while_loop([](Array v) { return sum(abs(v)) > 1.f; }, [](Array v) { return heavy(v) * 0.7f; }, x); },
           {inputs[0], inputs[1], inputs[2]}, 1e-4);
}

TEST_CASE("gpu conditions: loops that carry several values, some of which change places or stay") {
  replayed(
      [](Array x) {
        using Carry = std::tuple<Array, Array, Array, Array>;
        const auto [a, b, n, kept] = while_loop([](const Carry& c) { return std::get<2>(c) < 7; },
                                                [](const Carry& c) {
                                                  const auto& [p, q, i, k] = c;
                                                  return Carry{q, heavy(p) + 0.1f * k, i + 1, k};
                                                },
                                                Carry{x, x * 0.5f, Array(0), x + 1.f});
        return a - 2.f * b + convert(n, float32) + kept;
      },
      vectors(2), 1e-4);
}

TEST_CASE("gpu conditions: branches, out of range too") {
  const auto f = [](Array x) {
    const Array which = convert(floor(x[0] * 2.f), int32);
    return switch_(which, std::tuple{[](Array v) { return heavy(v); }, [](Array v) { return sort(v); }, [](Array v) { return v; }}, x);
  };
  replayed(f, vectors(3), 1e-4);
  replayed([](Array x) { return cond(sum(x) > 0.f, [](Array v) { return sort(v); }, [](Array v) { return heavy(v); }, x); },
           {vectors(1)[0], -vectors(1)[0]}, 1e-4);
}

TEST_CASE("gpu conditions: loops within loops and branches, scans around them") {
  replayed(
      [](Array x) {
        const auto inner = [](Array v) {
          return while_loop(
              [](Array u) { return max(abs(u)) > 0.3f; },
              [](Array u) { return cond(sum(u) > 0.f, [](Array w) { return heavy(w) * 0.6f; }, [](Array w) { return -w * 0.5f; }, u); }, v);
        };
        using Carry = std::pair<Array, Array>;
        const Array y = while_loop([](const Carry& c) { return c.second < 3; },
                                   [&](const Carry& c) { return Carry{inner(c.first) * 3.f + 0.1f, c.second + 1}; }, Carry{x, Array(0)})
                            .first;
        return scan([&](Array c, Array) { return std::pair{inner(c * 2.f), sum(c)}; }, y, zeros({3})).first;
      },
      vectors(2), 1e-3);
}

TEST_CASE("gpu conditions: matmuls by the library in loops") {
  const auto f =
      jit([](Array x) { return while_loop([](Array v) { return max(abs(v)) > 0.1f; }, [](Array v) { return matmul(v, v) * 0.01f; }, x); });
  const Array x = samples({180, 180}, 1, float32), want = f(x);
  const Array there = device_put(x, gpu());
  for (int i = 0; i < 4; ++i) CHECK(near(device_get(f(there)), want, 1e-4));
}

TEST_CASE("gpu conditions: every call that fails is an error that names it, and all works afterwards") {
  if (!std::getenv("WEFT_LIBCUDA")) return;
  float shift = 0;
  int failures = 0;
  for (const char* call : {"cuStreamGetCaptureInfo_v3", "cuStreamUpdateCaptureDependencies_v2", "cuStreamBeginCaptureToGraph",
                           "cuGraphConditionalHandleCreate", "cuGraphAddNode_v2", "cuStreamEndCapture", "cuGraphInstantiateWithFlags",
                           "cuGraphLaunch", "cuLaunchKernel", "cuStreamBeginCapture_v2"})
    for (int n : {1, 2, 3, 8}) {
      shift += 1e-3f;
      const Array x = device_put(samples({3000}, 1, float32), gpu());
      {
        const auto f = jit([=](Array v) {
          return while_loop(
              [](Array u) { return sum(abs(u)) > 1.f; },
              [=](Array u) { return cond(sum(u) > shift, [](Array w) { return heavy(w) * 0.5f; }, [](Array w) { return -w * 0.5f; }, u); },
              v);
        });
        const Alive before;
        const Array want = device_get(f(x));
        const Alive compiled;
        if (fails_and_says_so(call, n, [&] { f(x).block_until_ready(); })) ++failures;
        for (int i = 0; i < 4; ++i) CHECK(near(device_get(f(x)), want, 1e-5));
        CHECK(Alive().memory == compiled.memory);
      }
    }
  CHECK(failures > 20);
}

TEST_CASE("gpu conditions: a driver that has none or refuses them is asked for the values") {
  const char* here = "gpu conditions: a driver that has none or refuses them is asked for the values";
  if (!std::getenv("WEFT_LIBCUDA")) return;
  const bool old = std::getenv("WEFT_TEST_CHILD") != nullptr;
  const auto f =
      jit([](Array v) { return while_loop([](Array u) { return sum(abs(u)) > 2.f; }, [](Array u) { return heavy(u) * 0.5f; }, v); });
  const Array x = device_put(samples({3000}, 1, float32), gpu()), want = device_get(f(x));
  const int graphs = live("graph");
  if (!old) fake_driver().fail("cuGraphInstantiateWithFlags", 1, 801);
  for (int i = 0; i < 4; ++i) CHECK(near(device_get(f(x)), want, 1e-5));
  fake_driver().fail(nullptr, 0, 0);
  fake_driver().reset();
  CHECK(near(device_get(f(x)), want, 1e-5));
  CHECK(fake_driver().calls("cuGraphLaunch") == 0);
  CHECK(fake_driver().calls("cuMemcpyDtoHAsync_v2") > 3);
  CHECK(live("graph") == graphs);
  if (!old) CHECK(run_again(here, "FAKE_CUDA_VERSION", "12030") == 0);
}

TEST_CASE("gpu conditions: the kernels that set them assemble") {
  const std::string code = detail::cuda::condition_code({90, false});
  CHECK(code.find(".entry weft_go_on") != std::string::npos);
  CHECK(code.find(".entry weft_chosen") != std::string::npos);
  const char* given = std::getenv("WEFT_PTXAS");
  const std::string ptxas = given ? given : "/usr/local/cuda/bin/ptxas";
  if (!std::filesystem::exists(ptxas)) {
    MESSAGE("there is no ptxas: not assembled");
    return;
  }
  const std::filesystem::path file = std::filesystem::temp_directory_path() / fmt::format("weft-conditions-{}.ptx", getpid());
  std::ofstream(file) << code;
  for (const char* arch : {"sm_80", "sm_90"})
    CHECK(std::system(fmt::format("{} -arch={} -o /dev/null {}", ptxas, arch, file.string()).c_str()) == 0);
  std::filesystem::remove(file);
}

TEST_CASE("gpu conditions: branches in the memory of operands that nothing else needs") {
  const Array x = samples({64, 48}, 5, float32);
  const auto step = [](Array i, Array v) {
    return switch_(i, std::tuple{[](Array u) { return u.at(3).set(u(4)); }, [](Array u) { return u; }, [](Array u) { return u * 2 + 1; }},
                   v);
  };
  const auto sorted = [](Array i, Array v) { return cond(i > 0, [](Array u) { return sort(u, 0); }, [](Array u) { return u - 1; }, v); };
  const auto swapped = [](Array i, Array v) {
    using Two = std::pair<Array, Array>;
    const auto [a, b] = cond(i > 0, [](Array u, Array w) { return Two{w, u}; }, [](Array u, Array w) { return Two{u, w}; }, v * 2, v + 1);
    return a * 3 + b;
  };
  const auto looped = [=](Array i, Array v) { return fori_loop(0, 4, [&](Array k, Array c) { return step((k + i) % 3, c); }, v); };
  const auto check = [&](auto f, bool in_place) {
    const auto on_host = jit(f), there = jit(f), donating = jit(f, {.donate_argnums = {1}});
    const Array v = device_put(x, gpu());
    const MemoryAnalysis memory = donating.lower(device_put(array(0), gpu()), v).compile().memory_analysis();
    if (in_place) CHECK(memory.alias_size_in_bytes == x.aval().bytes());
    if (in_place) CHECK(memory.temp_size_in_bytes * 4 < x.aval().bytes());
    for (int round = 0; round < 3; ++round)
      for (const int i : {0, 1, 2}) {
        CAPTURE(i);
        const Array at = device_put(array(i), gpu()), want = on_host(array(i), x);
        CHECK(near(device_get(there(at, v)), want, 1e-5));
        CHECK(near(device_get(donating(at, device_put(x, gpu()))), want, 1e-5));
      }
    CHECK(near(device_get(v), x, 0));
  };
  check(step, true);
  check(looped, true);
  check(sorted, false);
  check(swapped, false);
}

}  // namespace weft::test
