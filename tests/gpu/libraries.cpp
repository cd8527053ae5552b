// Products and collectives on the emulated devices, by libraries that are none: that weft asks them for the right thing.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <cstdlib>

#include "core/array_impl.h"
#include "runtime/device.h"
#include "runtime/executable.h"
#include "tests/ops/checks.h"
#include "tests/ops/program_checks.h"

namespace weft::test {
namespace {

using Xs = const std::vector<Array>&;

template <class F>
F* find(const char* library, const char* name) {
  if (!std::getenv(library)) return nullptr;  // the real one
  void* file = dlopen(std::getenv(library), RTLD_NOW);
  REQUIRE(file);
  return reinterpret_cast<F*>(dlsym(file, name));
}

template <class F>
void same_product(F f, const std::vector<Array>& args, double tolerance) {
  const Jaxpr j = make_jaxpr([&](const std::vector<Array>& xs) { return f(xs); })(args);
  const auto want = detail::backend("interp").compile(j, {"f"})->call(args, 0);
  const auto exe = detail::backend("cuda").compile(j, {"f"});
  INFO(exe->as_text("kernels"));
  CHECK(exe->as_text("kernels").find("product m=") != std::string::npos);
  const auto got = exe->call(args, devices("cuda")[0].id());
  const std::string wrong = wrong_in(got[0], want[0], tolerance);
  CHECK_MESSAGE(wrong.empty(), wrong);
}

std::vector<Device> two() {
  const std::vector<Device> all = devices("cuda");
  REQUIRE(all.size() >= 2);
  return {all[0], all[1]};
}

template <class F>
void same_collective(F f, const Array& x) {
  const Array want = vmap(f, {.axis_name = "i"})(x);
  const Array got = pmap(f, {.axis_name = "i", .devices = two()})(x);
  CHECK(got.devices() == two());
  const std::string wrong = wrong_in(device_get(got), want, 1e-5);
  CHECK_MESSAGE(wrong.empty(), wrong);
}

}  // namespace

TEST_CASE("gpu products: layouts and batches") {
  int (*live)() = find<int()>("WEFT_LIBCUBLASLT", "fake_cublaslt_live");
  {
    const Array a = samples({170, 180}, 1, float32), b = samples({180, 190}, 2, float32);
    same_product([](Xs x) { return matmul(x[0], x[1]); }, {a, b}, 1e-5);
    same_product([](Xs x) { return matmul(transpose(x[0]), x[1]); }, {samples({180, 170}, 1, float32), b}, 1e-5);
    same_product([](Xs x) { return matmul(x[0], transpose(x[1])); }, {a, samples({190, 180}, 2, float32)}, 1e-5);
    same_product([](Xs x) { return matmul(transpose(x[0]), transpose(x[1])); }, {samples({180, 170}, 1, float32), samples({190, 180}, 2, float32)}, 1e-5);
    same_product([](Xs x) { return matmul(x[0], x[1]); }, {samples({3, 170, 180}, 1, float32), samples({3, 180, 190}, 2, float32)}, 1e-5);
    same_product([](Xs x) { return matmul(x[0], x[1]); }, {samples({2, 3, 170, 180}, 1, float32), samples({2, 1, 180, 190}, 2, float32)}, 1e-5);
    same_product([](Xs x) { return tanh(matmul(x[0], x[1]) + 1.f); }, {a, b}, 1e-5);
  }
  if (live) CHECK(live() == 0);
}

TEST_CASE("gpu collectives: each over two devices, and what they transpose to") {
  const Array x = samples({2, 4, 6}, 1, float32);
  same_collective([](Array a) { return psum(a * a, "i"); }, x);
  same_collective([](Array a) { return a - pmean(a, "i"); }, x);
  same_collective([](Array a) { return a * pmax(a, "i") + pmin(a, "i"); }, x);
  same_collective([](Array a) { return all_gather(a * a, "i"); }, x);
  same_collective([](Array a) { return all_gather(a * a, "i", {.axis = 1}); }, x);
  same_collective([](Array a) { return all_gather(a * a, "i", {.axis = 1, .tiled = true}); }, x);
  same_collective([](Array a) { return psum_scatter(a * a, "i", {.tiled = true}); }, x);
  same_collective([](Array a) { return psum_scatter(a * a, "i", {.scatter_dimension = 1, .tiled = true}); }, x);
  same_collective([](Array a) { return all_to_all(a, "i", 0, 1, {.tiled = true}); }, x);
  same_collective([](Array a) { return all_to_all(a, "i", 1, 0, {.tiled = true}); }, x);
  same_collective([](Array a) { return ppermute(a, "i", {{0, 1}}); }, x);
  same_collective([](Array a) { return ppermute(a, "i", {{0, 1}, {1, 0}}); }, x);
  same_collective([](Array a) { return pbroadcast(a, "i", 1); }, x);
  same_collective([](Array a) { return psum(convert(a * 10.f, int32), "i"); }, x);
  same_collective([](Array a) { return psum(convert(a, bfloat16), "i"); }, x);
  same_collective([](Array a) { return a * sum(psum(a, "i")) / all_gather(a, "i")[0]; }, x);
  const auto loss = [](auto mapped) { return [=](Array a) { return sum(square(mapped(a))); }; };
  const auto f = [](Array a) { return a * psum(a, "i"); };
  const Array want = grad(loss(vmap(f, {.axis_name = "i"})))(x);
  CHECK(wrong_in(device_get(grad(loss(pmap(f, {.axis_name = "i", .devices = devices("cuda")})))(x)), want, 1e-4) == "");
}

TEST_CASE("gpu collectives: failures are DistributedErrors, and the next collective works") {
  auto* fail = find<void(const char*, int)>("WEFT_LIBNCCL", "fake_nccl_fail");
  auto* async = find<void(int)>("WEFT_LIBNCCL", "fake_nccl_async_error");
  const auto f = pmap([](Array a) { return psum(a, "i"); }, {.axis_name = "i", .devices = devices("cuda")});
  const Array x = samples({2, 5}, 1, float32);
  const std::vector<double> want = device_get(f(x)).to_vector<double>();
  for (const char* call : {"ncclAllReduce", "ncclGroupEnd"}) {
    fail(call, 6);
    std::string message;
    try {
      f(x);
    } catch (const DistributedError& e) {
      message = e.what();
    }
    INFO(message);
    CHECK(message.find(call) != std::string::npos);
    CHECK(message.find("remote error") != std::string::npos);
    CHECK(device_get(f(x)).to_vector<double>() == want);
  }
  // While a device works on a collective, and when it does not end.
  auto* busy = find<void(int)>("WEFT_LIBCUDA", "fake_cuda_busy");
  const auto waits = [&](const Array& result) {
    std::string message;
    try {
      result.block_until_ready();
    } catch (const DistributedError& e) {
      message = e.what();
    }
    busy(0), async(0);
    return message;
  };
  Array result = f(x);
  busy(1'000'000), async(6);
  CHECK(waits(result).find("NCCL reports status 6 (remote error)") != std::string::npos);
  result = f(x);
  busy(1'000'000'000);
  setenv("WEFT_COLLECTIVE_TIMEOUT", "0.01", 1);
  CHECK(waits(result).find("has not ended after 0.01 seconds") != std::string::npos);
  unsetenv("WEFT_COLLECTIVE_TIMEOUT");
  CHECK(device_get(f(x)).to_vector<double>() == want);
  CHECK_THROWS_AS(pmap([](Array a) { return psum(a, "i"); }, {.axis_name = "i", .devices = devices("cuda")})(convert(x, int16)), DistributedError);
}

}  // namespace weft::test
