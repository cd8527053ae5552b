// Matmuls and collectives on the emulated devices, with emulated libraries: that weft passes them the right arguments.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <cstdlib>

#include "tests/folder.h"
#include "tests/gpu/fake.h"
#include "tests/ops/checks.h"
#include "tests/ops/program_checks.h"
#include "weft/core/array/array_impl.h"
#include "weft/runtime/host/device.h"
#include "weft/runtime/host/executable.h"

namespace weft::test {
using sharding::P;
namespace {

using Xs = const std::vector<Array>&;

template <class F>
void same_matmul(F f, const std::vector<Array>& args, double tolerance) {
  const Jaxpr j = make_jaxpr([&](const std::vector<Array>& xs) { return f(xs); })(args);
  const auto want = detail::backend("interp").compile(j, {"f"})->call(args, 0);
  const auto exe = detail::backend("cuda").compile(j, {"f"});
  INFO(exe->as_text("kernels"));
  CHECK(exe->as_text("kernels").find("matmul m=") != std::string::npos);
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

TEST_CASE("gpu matmuls: layouts and batches") {
  int (*live)() = function_of<int()>("WEFT_LIBCUBLASLT", "fake_cublaslt_live");
  const int before = live ? live() : 0;
  {
    const Array a = samples({170, 180}, 1, float32), b = samples({180, 190}, 2, float32);
    same_matmul([](Xs x) { return matmul(x[0], x[1]); }, {a, b}, 1e-5);
    same_matmul([](Xs x) { return matmul(transpose(x[0]), x[1]); }, {samples({180, 170}, 1, float32), b}, 1e-5);
    same_matmul([](Xs x) { return matmul(x[0], transpose(x[1])); }, {a, samples({190, 180}, 2, float32)}, 1e-5);
    same_matmul([](Xs x) { return matmul(transpose(x[0]), transpose(x[1])); },
                {samples({180, 170}, 1, float32), samples({190, 180}, 2, float32)}, 1e-5);
    same_matmul([](Xs x) { return matmul(x[0], x[1]); }, {samples({3, 170, 180}, 1, float32), samples({3, 180, 190}, 2, float32)}, 1e-5);
    same_matmul([](Xs x) { return matmul(x[0], x[1]); }, {samples({2, 3, 170, 180}, 1, float32), samples({2, 1, 180, 190}, 2, float32)},
                1e-5);
    same_matmul([](Xs x) { return tanh(matmul(x[0], x[1]) + 1.f); }, {a, b}, 1e-5);
  }
  if (live) CHECK(live() == before);
}

TEST_CASE("gpu matmuls: rows of 16-bit floats that begin between vectors are padded") {
  const auto product = [](Xs x) { return matmul(x[0], x[1]); };
  for (const DType t : {bfloat16, float16}) {
    const auto uneven = [&](int m, int k, int n) { return std::vector{samples({m, k}, 1, t), samples({k, n}, 2, t)}; };
    for (const auto& [m, k, n] : {std::array{520, 512, 403}, std::array{515, 513, 408}, std::array{516, 517, 511}}) {
      const std::vector<Array> args = uneven(m, k, n);
      same_matmul(product, args, 4 * epsilon(t));
      same_matmul([](Xs x) { return nn::relu(matmul(x[0], x[1])) * 2; }, args, 4 * epsilon(t));
      same_matmul([](Xs x) { return matmul(transpose(x[1]), transpose(x[0])); }, args, 4 * epsilon(t));
      const auto exe = detail::backend("cuda").compile(make_jaxpr([&](const std::vector<Array>& xs) { return product(xs); })(args), {"f"});
      CHECK(exe->as_text("kernels").find(fmt::format("n={}", (n + 7) / 8 * 8)) != std::string::npos);
    }
    same_matmul([](Xs x) { return einsum("bij,bkj->bik", x[0], x[1]); }, {samples({3, 129, 517}, 1, t), samples({3, 200, 517}, 2, t)},
                4 * epsilon(t));
  }
}

TEST_CASE("gpu matmuls: dtypes, biases and activations") {
  int (*compute)() = function_of<int()>("WEFT_LIBCUBLASLT", "fake_cublaslt_last_compute");
  int (*epilogue)() = function_of<int()>("WEFT_LIBCUBLASLT", "fake_cublaslt_last_epilogue");
  const auto plain = [](Xs x) { return matmul(x[0], x[1]); };
  const auto operands = [](DType t) { return std::vector{samples({170, 180}, 1, t), samples({180, 192}, 2, t), samples({192}, 3, t)}; };
  const auto with_bias = [](Xs x) { return matmul(x[0], x[1]) + x[2]; };
  same_matmul(plain, operands(float32), 1e-5);
  if (compute) CHECK(compute() == 68);
  same_matmul(plain, operands(float64), 1e-13);
  if (compute) CHECK(compute() == 70);
  for (const DType t : {float16, bfloat16}) {
    same_matmul(plain, operands(t), 2 * epsilon(t));
    if (compute) CHECK(compute() == 68);
    same_matmul([](Xs x) { return dot_general(x[0], x[1], {.contracting = {{{1}, {0}}}}, {.preferred_element_type = float32}); },
                operands(t), 1e-5);
    same_matmul([](Xs x) { return nn::gelu(matmul(x[0], x[1]) + x[2]); }, operands(t), 8 * epsilon(t));
    if (epilogue) CHECK(epilogue() == 36);
  }
  for (const DType t : {float32, float64, bfloat16}) {
    same_matmul(with_bias, operands(t), t == float32 ? 1e-5 : 2 * epsilon(t) + 1e-13);
    if (epilogue) CHECK(epilogue() == 4);
  }
  // What reads the sums before the bias, or what is not a bias of the columns, stays outside.
  same_matmul(
      [](Xs x) {
        const Array y = matmul(x[0], x[1]);
        return (y + x[2]) * y;
      },
      operands(float32), 1e-5);
  if (epilogue) CHECK(epilogue() == 1);
  same_matmul([](Xs x) { return matmul(x[0], x[1]) + x[2]; },
              {samples({170, 180}, 1, float32), samples({180, 192}, 2, float32), samples({170, 1}, 3, float32)}, 1e-5);
  if (epilogue) CHECK(epilogue() == 1);
  same_matmul([](Xs x) { return nn::gelu(matmul(x[0], x[1]) + x[2]); }, operands(float32), 1e-5);
  if (epilogue) CHECK(epilogue() == 4);  // in float32 the library's gelu is not accurate enough
  same_matmul([](Xs x) { return nn::relu(matmul(x[0], x[1]) + 2.f * x[2]); }, operands(float32), 1e-5);
  if (epilogue) CHECK(epilogue() == 4);  // the library's relu makes 0 of NaN
  setenv("WEFT_CUDA_RELU_EPILOGUE", "1", 1);
  same_matmul([](Xs x) { return nn::relu(matmul(x[0], x[1]) + 2.f * x[2]); }, operands(float32), 1e-5);
  if (epilogue) CHECK(epilogue() == 6);
  same_matmul([](Xs x) { return maximum(matmul(x[0], x[1]), 0.f); }, operands(float32), 1e-5);
  if (epilogue) CHECK(epilogue() == 2);
  unsetenv("WEFT_CUDA_RELU_EPILOGUE");
  setenv("WEFT_CUDA_TF32", "1", 1);
  same_matmul(plain, {samples({170, 184}, 1, float32), samples({184, 192}, 2, float32)}, compute ? 1e-5 : 1e-2);
  if (compute) CHECK(compute() == 77);
  unsetenv("WEFT_CUDA_TF32");
}

TEST_CASE("gpu matmuls: convolutions of large batches go in pieces") {
  setenv("WEFT_CUDA_WINDOW_BYTES", "1000000", 1);
  const Array x = samples({5, 16, 40, 41}, 1, float32), w = samples({32, 16, 3, 3}, 2, float32);
  same_matmul([](Xs v) { return conv(v[0], v[1], {1, 1}, "SAME"); }, {x, w}, 1e-5);
  same_matmul([](Xs v) { return grad([&](const Array& k) { return sum(square(conv(v[0], k, {2, 2}, "SAME"))); })(v[1]); }, {x, w}, 1e-4);
  unsetenv("WEFT_CUDA_WINDOW_BYTES");
  // All windows at once would take 462 MB, and the padded images 55 MB.
  const auto f = jit([](Array a, Array b) { return conv(a, b, {1, 1}, "SAME"); }, {.device = devices("cuda")[0]});
  const auto memory = f.lower(zeros({64, 64, 56, 56}), zeros({64, 64, 3, 3})).compile().memory_analysis();
  CHECK(memory.temp_size_in_bytes < 400'000'000);
}

TEST_CASE("gpu matmuls: convolutions are matmuls of their windows") {
  const Array x = samples({4, 16, 40, 41}, 1, float32), w = samples({32, 16, 3, 3}, 2, float32);
  same_matmul([](Xs v) { return conv(v[0], v[1], {1, 1}, "SAME"); }, {x, w}, 1e-5);
  same_matmul([](Xs v) { return conv(v[0], v[1], {2, 1}, "VALID"); }, {x, w}, 1e-5);
  same_matmul([](Xs v) { return grad([&](const Array& k) { return sum(square(conv(v[0], k, {2, 2}, "SAME"))); })(v[1]); }, {x, w}, 1e-4);
  same_matmul([](Xs v) { return grad([&](const Array& y) { return sum(square(conv(y, v[1], {2, 2}, "SAME"))); })(v[0]); }, {x, w}, 1e-4);
}

TEST_CASE("gpu matmuls: the same question is asked of the library once") {
  if (!std::getenv("WEFT_LIBCUBLASLT")) return;
  const auto run = [](float shift) {
    const auto f = jit([=](Array x) { return matmul(x, x + shift); });
    f(device_put(samples({190, 190}, 1, float32), devices("cuda")[0]));
  };
  run(1);
  fake_cublaslt().reset();
  run(2);
  CHECK(fake_cublaslt().calls("cublasLtMatmul") == 1);
  CHECK(fake_cublaslt().calls("cublasLtMatmulAlgoGetHeuristic") == 0);
}

TEST_CASE("gpu matmuls: of several algorithms the fastest is taken, once for all devices of a kind") {
  auto* candidates = function_of<void(int, int, int)>("WEFT_LIBCUBLASLT", "fake_cublaslt_candidates");
  if (!candidates) return;
  auto* last = function_of<int()>("WEFT_LIBCUBLASLT", "fake_cublaslt_last_candidate");
  std::int64_t n = 161;
  float shift = 0;
  // How many matmuls run when a program is compiled and called for the first time.
  const auto matmuls = [&](const Device& device) {
    shift += 1;
    const auto f = jit([shift](Array x) { return tanh(matmul(x, x)) + shift; });
    const Array x = samples({n, n}, 1, float32), there = device_put(x, device);
    fake_cublaslt().reset();
    const Array y = f(there);
    const int calls = fake_cublaslt().calls("cublasLtMatmul");
    CHECK(close(device_get(y), tanh(matmul(x, x)) + shift, 1e-5));
    return calls;
  };
  for (const int best : {0, 7}) {
    candidates(20, best, -1), ++n;
    CHECK(matmuls(two()[0]) == 8 * 4 + 1);
    CHECK(last() == best);
    candidates(20, 5, -1);
    for (const Device& device : two()) {
      CHECK(matmuls(device) == 1);
      CHECK(last() == best);
    }
  }
  candidates(3, 0, 0), ++n;
  CHECK(matmuls(two()[0]) == 1 + 2 * 4 + 1);  // the first one does not run
  CHECK(last() == 1);
  candidates(3, 2, -1);
  for (const auto& [variable, value] : {std::pair{"WEFT_CUDA_TUNE", "0"}, std::pair{"WEFT_CUDA_DETERMINISTIC", "1"}}) {
    ++n;
    setenv(variable, value, 1);
    CHECK(matmuls(two()[0]) == 1);
    CHECK(last() == 0);
    unsetenv(variable);
  }
  // Layouts, epilogues and batches: what is timed lies within memory.
  const auto f =
      jit([](Array a, Array b, Array c) { return nn::gelu(matmul(transpose(a, {0, 1, 3, 2}), transpose(b, {0, 1, 3, 2})) + c); });
  std::vector<Array> xs{samples({2, 3, 180, 170}, 1, float16), samples({2, 3, 190, 180}, 2, float16), samples({190}, 3, float16)};
  const Array want = f(xs[0], xs[1], xs[2]);
  for (Array& x : xs) x = device_put(x, two()[0]);
  CHECK(close(device_get(f(xs[0], xs[1], xs[2])), want, 2e-2));
  CHECK(last() == 2);
  candidates(1, 0, -1);
}

TEST_CASE("gpu matmuls: calls that fail while algorithms are timed") {
  auto* candidates = function_of<void(int, int, int)>("WEFT_LIBCUBLASLT", "fake_cublaslt_candidates");
  if (!candidates) return;
  auto* last = function_of<int()>("WEFT_LIBCUBLASLT", "fake_cublaslt_last_candidate");
  candidates(2, 1, -1);
  const Device gpu = devices("cuda")[0];
  // All pinned memory has been used, with its events.
  for (const std::int64_t bytes : {std::int64_t{4}, std::int64_t{1} << 22})
    for (int i = 0; i < 20; ++i) device_put(zeros({bytes / 4}), gpu).block_until_ready();
  std::int64_t n = 171;
  for (const std::string call : {"cuEventCreate", "cuEventRecord", "cuEventSynchronize", "cuEventElapsedTime"}) {
    INFO(call);
    ++n;
    const Array x = device_put(samples({n, n}, 1, float32), gpu);
    const auto f = jit([](Array a) { return matmul(a, a); });
    x.block_until_ready();
    const Alive before;
    fake_driver().fail(call.c_str(), 1, 719);
    CHECK(has(message_of<DeviceError>([&] { f(x).block_until_ready(); }), {call + " gives", "719", "a matmul of"}));
    fake_driver().fail(nullptr, 0, 0);
    CHECK_MESSAGE(Alive() == before, before.text() << "; then " << Alive().text());
    CHECK(close(device_get(f(x)), matmul(device_get(x), device_get(x)), 1e-5));
    CHECK(last() == 1);
  }
  // Without memory for operands, or when matmuls fail, the first algorithm that works is taken.
  const auto first_of = [&](auto fail) {
    ++n;
    const Array x = device_put(samples({n, n}, 1, float32), gpu);
    const auto f = jit([](Array a) { return matmul(a, a); });
    x.block_until_ready();
    fail();
    f(x).block_until_ready();
    fake_driver().fail(nullptr, 0, 0), fake_cublaslt().fail(nullptr, 0, 0);
    return last();
  };
  CHECK(first_of([] { fake_driver().fail("cuMemAllocAsync", 1, 719); }) == 0);
  CHECK(first_of([] { fake_cublaslt().fail("cublasLtMatmul", 4 + 3, 15); }) == 0);  // the fastest, while it is timed
  candidates(1, 0, -1);
}

TEST_CASE("gpu matmuls: the choice of an algorithm is kept in files") {
  const std::string here = "gpu matmuls: the choice of an algorithm is kept in files";
  auto* candidates = function_of<void(int, int, int)>("WEFT_LIBCUBLASLT", "fake_cublaslt_candidates");
  if (!candidates) return;
  if (!std::getenv("WEFT_TEST_CHILD")) {
    const Folder folder;
    setenv("WEFT_CACHE", "1", 1), setenv("WEFT_CACHE_DIR", folder.path.c_str(), 1);
    for (const char* round : {"first", "second"}) CHECK(run_again(here, "WEFT_TEST_ROUND", round) == 0);
    unsetenv("WEFT_CACHE_DIR"), setenv("WEFT_CACHE", "0", 1);
    return;
  }
  const bool again = std::string(std::getenv("WEFT_TEST_ROUND")) == "second";
  candidates(4, again ? 1 : 3, -1);
  const Array x = device_put(samples({180, 190}, 1, float32), devices("cuda")[0]),
              y = device_put(samples({190, 200}, 1, float32), devices("cuda")[0]);
  jit([](Array a, Array b) { return matmul(a, b); })(x, y).block_until_ready();
  CHECK(fake_cublaslt().calls("cublasLtMatmul") == (again ? 1 : 4 * 4 + 1));
  CHECK(function_of<int()>("WEFT_LIBCUBLASLT", "fake_cublaslt_last_candidate")() == 3);
}

TEST_CASE("gpu matmuls: a library that fails while it is asked") {
  if (!std::getenv("WEFT_LIBCUBLASLT")) return;
  std::int64_t n = 200;
  for (const char* call : {"cublasLtMatmulPreferenceCreate", "cublasLtMatmulPreferenceSetAttribute", "cublasLtMatmulAlgoGetHeuristic",
                           "cublasLtMatmulPreferenceDestroy", "cublasLtMatrixLayoutSetAttribute", "cublasLtMatmulDescDestroy",
                           "cublasLtMatrixLayoutDestroy"}) {
    ++n;
    const Array x = samples({2, n, n}, 1, float32);
    const auto f = [&] {
      const auto g = jit([](Array a) { return matmul(a, a); });
      return device_get(g(device_put(x, devices("cuda")[0]))).to_vector<float>();
    };
    const Alive before;
    fake_cublaslt().fail(call, 1, 15);
    const std::string message = message_of<DeviceError>(f);
    fake_cublaslt().fail(nullptr, 0, 0);
    INFO(call << ": " << message);
    if (std::string(call).find("Destroy") == std::string::npos)
      CHECK(has(message, {std::string(call) + " gives CUBLAS_STATUS_NOT_SUPPORTED (15)"}));
    CHECK(f().size() == static_cast<std::size_t>(2 * n * n));
    CHECK(Alive().products == before.products + 4);  // of the program that works, which is kept
  }
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

TEST_CASE("gpu collectives: integers of 16 bits, which NCCL has not, are reduced in 32 and wrap around") {
  const Array x = samples({2, 4, 6}, 1, float32) * 30000.f;
  for (const DType t : {int16, uint16}) {
    const Array y = convert(x, int32), narrow = convert(t == int16 ? y : abs(y) + 20000, t);
    same_collective([](Array a) { return psum(a, "i"); }, narrow);
    same_collective([](Array a) { return psum(sum(a, 0), "i") + pmax(a, "i") * pmin(a, "i"); }, narrow);
    same_collective([](Array a) { return psum_scatter(a, "i", {.tiled = true}); }, narrow);
    same_collective([](Array a) { return all_gather(a, "i"); }, narrow);
    same_collective([](Array a) { return all_to_all(a, "i", 0, 1, {.tiled = true}); }, narrow);
    same_collective([](Array a) { return ppermute(a, "i", {{0, 1}}); }, narrow);
    same_collective([](Array a) { return fori_loop(0, 3, [](Array, Array b) { return psum(b, "i"); }, a); }, narrow);
  }
}

TEST_CASE("gpu collectives: groups of a mesh's axis have communicators split from the mesh's") {
  const std::string here = "gpu collectives: groups of a mesh's axis have communicators split from the mesh's";
  if (!std::getenv("WEFT_LIBNCCL")) return;
  if (!std::getenv("WEFT_TEST_CHILD")) {
    CHECK(run_again(here, "FAKE_CUDA_DEVICES", "4") == 0);
    return;
  }
  const Array x = samples({4, 6}, 1, float32);
  const auto f = [](const Mesh& mesh) {
    return jit(shard_map([](Array a) { return psum(a * a, "j") - pmax(a, "i"); },
                         {.mesh = mesh, .in_specs = {P("i", "j")}, .out_specs = P("i", "j"), .check_vma = false}));
  };
  std::vector<Device> hosts = devices("cpu");
  REQUIRE(hosts.size() >= 4);
  hosts.erase(hosts.begin() + 4, hosts.end());
  const Array want = f(Mesh(hosts, {2, 2}, {"i", "j"}))(x);
  const auto g = f(Mesh(devices("cuda"), {2, 2}, {"i", "j"}));
  fake_nccl().reset();
  CHECK(close(device_get(g(x)), device_get(want), 1e-6));
  // Two groups along each axis, split from the mesh's at once by its four devices.
  CHECK(fake_nccl().calls("ncclCommInitAll") == 1);
  CHECK(fake_nccl().calls("ncclCommSplit") == 2 * 4);
  g(x).block_until_ready();
  CHECK(fake_nccl().calls("ncclCommSplit") == 2 * 4);
  // A split that fails.
  for (const char* call : {"ncclCommSplit", "ncclGroupEnd", "ncclGroupStart", "ncclCommInitAll"}) {
    const auto mesh = Mesh({devices("cuda")[3], devices("cuda")[2], devices("cuda")[1], devices("cuda")[0]}, {2, 2}, {"i", "j"});
    fake_nccl().fail(call, 1, 6);
    CHECK(has(message_of<DistributedError>([&] { f(mesh)(x).block_until_ready(); }), call));
    fake_nccl().fail(nullptr, 0, 0);
    CHECK(close(device_get(g(x)), device_get(want), 1e-6));
  }
}

TEST_CASE("gpu collectives: failures are DistributedErrors, and the next collective works") {
  auto* async = function_of<void(int)>("WEFT_LIBNCCL", "fake_nccl_async_error");
  if (!async) return;
  const auto f = pmap([](Array a) { return psum(a, "i"); }, {.axis_name = "i", .devices = devices("cuda")});
  const Array x = samples({2, 5}, 1, float32);
  const std::vector<double> want = device_get(f(x)).to_vector<double>();
  // While a device works on a collective, and when it does not end.
  auto* busy = function_of<void(int)>("WEFT_LIBCUDA", "fake_cuda_busy");
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
  CHECK(waits(result).find("NCCL reports ncclRemoteError (6): remote error") != std::string::npos);
  result = f(x);
  busy(1'000'000'000);
  setenv("WEFT_COLLECTIVE_TIMEOUT", "0.01", 1);
  CHECK(waits(result).find("has not ended after 0.01 seconds") != std::string::npos);
  unsetenv("WEFT_COLLECTIVE_TIMEOUT");
  CHECK(device_get(f(x)).to_vector<double>() == want);
}

}  // namespace weft::test
