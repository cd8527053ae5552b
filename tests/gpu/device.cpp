// What holds on every GPU, the emulated one and real ones: transfers, memory, replayed steps, threads, errors.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <atomic>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "tests/folder.h"
#include "tests/ops/checks.h"
#include "weft/core/array/array_impl.h"
#include "weft/core/errors/error.h"
#include "weft/runtime/host/accelerator.h"
#include "weft/runtime/host/device.h"

namespace weft::test {
using sharding::P;
namespace {

Device gpu() { return devices("cuda")[0]; }
std::vector<float> numbers(std::size_t n, int seed) {
  std::vector<float> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<float>((i * 2654435761u + static_cast<unsigned>(seed)) % 1000003u);
  return v;
}

}  // namespace

TEST_CASE("gpu device: what is copied there may change at once") {
  using namespace detail;
  // Sizes around those of the pieces in which memory is copied.
  for (const std::size_t n : {1u, 4u, 16384u, 16385u, 1048576u, 1048577u, 3145731u}) {
    std::vector<float> own = numbers(n, 1);
    const std::vector<float> was = own;
    std::vector<Ref<Buffer>> copies;
    for (int i = 0; i < 20; ++i) {
      copies.push_back(accelerators().upload(own.data(), n * sizeof(float), gpu().id()));
      own = numbers(n, i + 2);
    }
    for (int i = 0; i < 20; ++i) {
      std::vector<float> back(n);
      accelerators().download(copies[static_cast<std::size_t>(i)], back.data());
      CHECK((back == (i == 0 ? was : numbers(n, i + 1))));
    }
  }
}

TEST_CASE("gpu device: copies between devices, and what is computed from them") {
  const Array x = samples({1000}, 1, float32);
  const std::vector<Device> all = devices("cuda");
  const auto f = jit([](Array a) { return sum(a * a) + cumsum(a); });
  const Array want = f(x);
  for (const Device& from : all)
    for (const Device& to : all) {
      const Array there = device_put(device_put(x, from) + 0.f, to);
      CHECK(close(device_get(f(there)), want, 1e-5));
    }
  // Arguments that lie elsewhere come to the device; nothing else is on the way.
  const auto on_last = jit([](Array a) { return a + 1.f; }, {.device = all.back(), .donate_argnums = {0}});
  CHECK(close(device_get(on_last(x)), x + 1.f));
}

TEST_CASE("gpu device: a step with state that is given back and forth is what it is on the host") {
  const auto step = [](Array w, Array m, Array x) {
    const auto loss = [x](Array v) { return mean(square(tanh(matmul(x, v)) - 0.1f * sum(x, 1, {.keepdims = true}))); };
    const Array g = grad(loss)(w);
    m = 0.9f * m + g;
    return std::tuple{w - 0.1f * m, m, loss(w)};
  };
  const auto on_host = jit(step), there = jit(step, {.donate_argnums = {0, 1}});
  const Array x = samples({64, 48}, 1, float32);
  Array w = samples({48, 32}, 2, float32), m = zeros({48, 32}), w2 = device_put(w, gpu()), m2 = device_put(m, gpu());
  const Array x2 = device_put(x, gpu());
  for (int i = 0; i < 12; ++i) {
    Array loss, loss2;
    std::tie(w, m, loss) = on_host(w, m, x);
    std::tie(w2, m2, loss2) = there(w2, m2, x2);
    CHECK(loss2.item<float>() == doctest::Approx(loss.item<float>()).epsilon(1e-4));
  }
  CHECK(close(device_get(w2), w, 1e-4));
}

TEST_CASE("gpu device: more memory than there is") {
  const Array x = device_put(samples({1000}, 1, float32), gpu());
  const auto f = jit([](Array a) { return broadcast_to(a, {1000, 1000, 1000, 1000}) + 1.f; });
  for (int i = 0; i < 3; ++i) {
    CHECK_THROWS_WITH_AS(f(x), doctest::Contains("out of memory"), DeviceError);
    CHECK(close(device_get(x * 2.f), device_get(x) * 2.f));
  }
}

TEST_CASE("gpu device: several threads at once") {
  const auto f = jit([](Array a, Array b) { return sum(a * b, 0) + max(a, 0); });
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const Array a = samples({50, 60}, t + 1, float32), b = samples({50, 60}, t + 9, float32), want = f(a, b);
      for (int i = 0; i < 10; ++i) wrong += !close(device_get(f(device_put(a, gpu()), device_put(b, gpu()))), want, 1e-5);
    });
  for (std::thread& t : threads) t.join();
  CHECK(wrong == 0);
}

TEST_CASE("gpu device: checkpoints of arrays that lie there") {
  const Folder folder;
  const Array x = device_put(samples({40, 6}, 1, float32), gpu());
  const std::vector<Device> all = devices("cuda");
  const Mesh mesh(all, {std::ssize(all)}, {"x"});
  const Array rows = device_put(samples({4 * std::ssize(all), 3}, 2, float32), NamedSharding{mesh, P("x")});
  save_checkpoint(folder.path, std::pair{x, rows});
  const auto scope = default_device(gpu());
  const auto [a, b] = load_checkpoint(folder.path, std::pair{x * 0.f, rows});
  CHECK(a.devices() == std::vector{gpu()});
  CHECK(close(device_get(a), device_get(x)));
  CHECK(b.sharding() == rows.sharding());
  CHECK(close(device_get(b), device_get(rows)));
}

TEST_CASE("gpu device: the interpreter as the default device's backend") {
  const auto scope = default_device(gpu());
  const auto step_by_step = disable_jit();
  const auto f = jit([](Array x) { return sum(tanh(x) * x, 0) + linalg::det(x[0]); });
  const Array x = samples({2, 3, 3}, 1, float32);
  const Array y = f(x);
  CHECK(y.devices() == std::vector{gpu()});
  CHECK(close(device_get(y), sum(tanh(device_get(x)) * device_get(x), 0) + linalg::det(device_get(x)[0]), 1e-5));
  CHECK(close(device_get(linalg::inv(x + 3.f * eye(3))), device_get(linalg::inv(device_put(x + 3.f * eye(3), devices("cpu")[0]))), 1e-4));
}

TEST_CASE("gpu device: what control flow reads back") {
  const auto f = jit([](Array x) {
    const Array y = while_loop([](Array v) { return sum(abs(v)) > 1.f; }, [](Array v) { return v * 0.7f + 1e-5f * sum(v); }, x);
    return cond(sum(y) > 0.2f, [](Array v) { return sort(v); }, [](Array v) { return cumsum(v); }, y);
  });
  for (int seed = 1; seed < 5; ++seed) {
    const Array x = samples({3000}, seed, float32);
    for (int i = 0; i < 3; ++i) CHECK(close(device_get(f(device_put(x, gpu()))), f(x), 1e-3));
  }
}

}  // namespace weft::test
