// Programs that call functions of the host, as Python's are called.
#include <algorithm>
#include <atomic>

#include "plugin.h"

using namespace pjrt_test;

namespace {

using HostCaller = int (*)(std::int64_t, const void* const*, void* const*, char*, std::size_t);

std::atomic<int> num_calls{0};
std::vector<std::int64_t> order;
std::vector<std::string> told;

/// Function 7 doubles three numbers, 8 notes a number, 9 gives its operand's four bytes in reverse order, 10 gives four fours without an
/// operand, 11 notes a text; any other one fails.
int call_host(std::int64_t function, const void* const* operands, void* const* results, char* problem, std::size_t size) {
  ++num_calls;
  if (function == 7) {
    const auto* x = static_cast<const float*>(operands[0]);
    for (int i = 0; i < 3; ++i) static_cast<float*>(results[0])[i] = 2 * x[i];
    return 0;
  }
  if (function == 8) {
    order.push_back(*static_cast<const std::int32_t*>(operands[0]));
    return 0;
  }
  if (function == 9) {
    const auto* x = static_cast<const unsigned char*>(operands[0]);
    for (int i = 0; i < 4; ++i) static_cast<unsigned char*>(results[0])[i] = x[3 - i];
    return 0;
  }
  if (function == 11) {
    told.emplace_back(static_cast<const char*>(operands[0]));
    return 0;
  }
  if (function == 10) {
    for (int i = 0; i < 4; ++i) static_cast<float*>(results[0])[i] = 4;
    return 0;
  }
  std::snprintf(problem, size, "there is no function %d", static_cast<int>(function));
  return 1;
}

void set_caller(std::int64_t process) {
  void* library = dlopen(std::getenv("WEFT_PJRT_LIBRARY"), RTLD_NOW | RTLD_LOCAL);
  REQUIRE_MESSAGE(library, dlerror());
  auto set = reinterpret_cast<void (*)(HostCaller, std::int64_t)>(dlsym(library, "weft_pjrt_set_host_caller"));
  REQUIRE((set ? true : false));
  set(call_host, process);
}

std::string program(const char* function, const char* process) {
  return std::string(R"(func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
    %0 = stablehlo.custom_call @weft.host_callback(%x) {mhlo.backend_config = {function = )") +
         function + " : i64, process = " + process + R"( : i64}} : (tensor<3xf32>) -> tensor<3xf32>
    %1 = stablehlo.add %0, %x : tensor<3xf32>
    return %1 : tensor<3xf32>
  })";
}

}  // namespace

TEST_CASE("pjrt: a program calls a function of the host, and gets its results or its failure") {
  const TestClient c;
  const Api& t = plugin();
  set_caller(42);
  Buffer* x = c.put({1, 2, 3}, {3});
  LoadedExecutable* e = c.compile(program("7", "42"));
  for (int k = 0; k < 2; ++k) {
    num_calls = 0;
    std::vector<std::vector<Buffer*>> out;
    const Outcome done = run(e, {{x}}, 1, out);
    REQUIRE_MESSAGE(done.code == Code::ok, done.message);
    CHECK(get(out[0][0]) == std::vector<float>{3, 6, 9});
    CHECK(num_calls == 1);
    destroy(t.Buffer_Destroy, out[0][0]);
  }
  destroy(t.LoadedExecutable_Destroy, e);

  LoadedExecutable* failing = c.compile(program("99", "42"));
  std::vector<std::vector<Buffer*>> out;
  const Outcome failed = run(failing, {{x}}, 1, out);
  CHECK(failed.code == Code::internal);
  CHECK_MESSAGE(failed.message.find("a callback failed: there is no function 99") != std::string::npos, failed.message);
  destroy(t.LoadedExecutable_Destroy, failing);

  LoadedExecutable* none = nullptr;
  const Outcome other = c.try_compile(program("7", "41"), &none);
  CHECK(other.code == Code::invalid_argument);
  CHECK_MESSAGE(other.message.find("a host function of another process") != std::string::npos, other.message);
  destroy(t.Buffer_Destroy, x);
}

TEST_CASE("pjrt: calls with a token keep their order, in a loop that counts between constants too") {
  const TestClient c;
  const Api& t = plugin();
  set_caller(42);
  LoadedExecutable* e = c.compile(R"(func.func @main(%k: !stablehlo.token, %n: tensor<f32>) -> (!stablehlo.token, tensor<i32>) {
    %i = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %end = stablehlo.convert %n : (tensor<f32>) -> tensor<i32>
    %0:2 = stablehlo.while(%t = %k, %j = %i) : !stablehlo.token, tensor<i32>
    cond {
      %three = stablehlo.constant dense<3> : tensor<i32>
      %c = stablehlo.compare LT, %j, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %1 = stablehlo.custom_call @weft.host_callback(%t, %j) {has_side_effect = true, mhlo.backend_config = {function = 8 : i64, process = 42 : i64}} : (!stablehlo.token, tensor<i32>) -> !stablehlo.token
      %next = stablehlo.add %j, %one : tensor<i32>
      %2 = stablehlo.custom_call @weft.host_callback(%1, %end) {has_side_effect = true, mhlo.backend_config = {function = 8 : i64, process = 42 : i64}} : (!stablehlo.token, tensor<i32>) -> !stablehlo.token
      stablehlo.return %2, %next : !stablehlo.token, tensor<i32>
    }
    return %0#0, %0#1 : !stablehlo.token, tensor<i32>
  })");
  auto token = args<FromHostArgs>();
  const std::int64_t none[] = {0};
  token.client = c.client, token.data = none, token.type = ElementType::pred, token.dims = none, token.num_dims = 1;
  token.semantics = HostSemantics::only_during_call, token.device = c.devices[0];
  CALL(Client_BufferFromHostBuffer, token);
  destroy(t.Event_Destroy, token.done_with_host);
  Buffer* n = c.put({9}, {});
  order.clear();
  std::vector<std::vector<Buffer*>> out;
  const Outcome done = run(e, {{token.buffer, n}}, 2, out);
  REQUIRE_MESSAGE(done.code == Code::ok, done.message);
  CHECK(order == std::vector<std::int64_t>{0, 9, 1, 9, 2, 9});
  for (Buffer* b : {token.buffer, n, out[0][0], out[0][1]}) destroy(t.Buffer_Destroy, b);
  destroy(t.LoadedExecutable_Destroy, e);
}

TEST_CASE("pjrt: functions of the host get small floats and integers as their bits, and need no operands") {
  const TestClient c;
  const Api& t = plugin();
  set_caller(42);
  for (const char* type : {"f8E4M3FN", "f8E5M2", "f4E2M1FN", "i4", "ui4", "i2"}) {
    INFO(type);
    const auto of = [&](const std::string& element) { return "tensor<4x" + element + ">"; };
    LoadedExecutable* e = c.compile(
        "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n%0 = stablehlo.convert %x : (tensor<4xf32>) -> " + of(type) +
        "\n%1 = stablehlo.custom_call @weft.host_callback(%0) {mhlo.backend_config = {function = 9 : i64, process = 42 : i64}} : (" +
        of(type) + ") -> " + of(type) + "\n%2 = stablehlo.convert %1 : (" + of(type) +
        ") -> tensor<4xf32>\n%3 = stablehlo.custom_call @weft.host_callback() {mhlo.backend_config = {function = 10 : i64, process = 42 : "
        "i64}} "
        ": () -> tensor<4xf32>\n%4 = stablehlo.add %2, %3 : tensor<4xf32>\nreturn %4 : tensor<4xf32>\n}");
    Buffer* x = c.put({0, 1, 1, 1}, {4});
    std::vector<std::vector<Buffer*>> out;
    const Outcome done = run(e, {{x}}, 1, out);
    REQUIRE_MESSAGE(done.code == Code::ok, done.message);
    CHECK(get(out[0][0]) == std::vector<float>{5, 5, 5, 4});
    destroy(t.Buffer_Destroy, x), destroy(t.Buffer_Destroy, out[0][0]);
    destroy(t.LoadedExecutable_Destroy, e);
  }
}

TEST_CASE("pjrt: a function of the host is told how a program's values are divided") {
  const TestClient c;
  set_caller(42);
  const auto inspect = [](const char* value, const char* type, const char* function = "11") {
    return std::string("stablehlo.custom_call @weft.inspect_sharding(") + value +
           ") {has_side_effect = true, mhlo.backend_config = {function = " + function + " : i64, process = 42 : i64}} : (" + type +
           ") -> ()\n";
  };
  const auto program = [](const std::string& operations) {
    return R"(module @jit_f attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["i"=2, "j"=2]>
  func.func private @inner(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
    )" + operations.substr(0, operations.find('|')) +
           R"(
    return %x : tensor<4x8xf32>
  }
  func.func public @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"i"}, {}]>}, %w: tensor<2xf32>) -> (tensor<4x8xf32>) {
    )" + operations.substr(operations.find('|') + 1) +
           R"(
    %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<8x4xf32>) -> tensor<4x8xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{}, {"i", "j"}]> : tensor<4x8xf32>
    %2 = call @inner(%1) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %2 : tensor<4x8xf32>
  }
})";
  };
  told.clear();
  LoadedExecutable* e =
      c.compile(program(inspect("%x", "tensor<4x8xf32>") + "|" + inspect("%x", "tensor<8x4xf32>") + inspect("%w", "tensor<2xf32>")),
                partitions({0, 1, 2, 3}));
  const std::string mesh = R"({"axes": [["i", 2], ["j", 2]], "devices": [0, 1, 2, 3], "dims": )";
  REQUIRE(told.size() == 3);
  std::sort(told.begin(), told.end());
  CHECK(told[0] == mesh + R"([["i"], []]})");
  CHECK(told[1] == mesh + R"([[], ["i", "j"]]})");
  CHECK(told[2] == mesh + R"([[]]})");
  destroy(plugin().LoadedExecutable_Destroy, e);

  LoadedExecutable* none = nullptr;
  const Outcome failed = c.try_compile(program("|" + inspect("%x", "tensor<8x4xf32>", "99")), &none, partitions({0, 1, 2, 3}));
  CHECK(failed.code == Code::internal);
  CHECK_MESSAGE(failed.message.find("a callback failed: there is no function 99") != std::string::npos, failed.message);
}
