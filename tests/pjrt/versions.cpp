// Callers of other versions: structures that end earlier, and programs of replicas, as JAX's pmap wrote them before 0.8.
#include "tests/pjrt/plugin.h"

using namespace pjrt_test;

namespace {

/// CompileOptionsProto: so many replicas, on these devices.
std::string replicas(const std::vector<int>& devices) {
  const auto n = static_cast<char>(devices.size());
  std::string assignment = {8, n, 16, 1, 26, static_cast<char>(n + 2), 10, n};
  for (int d : devices) assignment += static_cast<char>(d);
  std::string build = {32, n, 40, 1, 74, static_cast<char>(assignment.size())};
  build += assignment;
  return std::string{26, static_cast<char>(build.size())} + build;
}

}  // namespace

TEST_CASE("pjrt: of a structure that ends earlier, the caller gets what it knows, and nothing is written behind it") {
  const TestClient c;
  Buffer* const b = c.put({1, 2, 3, 4}, {2, 2});
  // A caller that knows the list of dimensions, but not their number.
  using Args = ListArgs<Buffer, const std::int64_t>;
  auto a = args<Args>();
  a.object = b, a.size = 77;
  a.head.struct_size = offsetof(Args, size);
  CALL(Buffer_Dimensions, a);
  REQUIRE(a.list != nullptr);
  CHECK(a.list[0] == 2);
  CHECK(a.size == 77);
  CHECK(a.head.struct_size == offsetof(Args, size));
  // One that states no size at all.
  a.head.struct_size = 0;
  FAILS(Buffer_Dimensions, a, Code::invalid_argument, "a structure of 0 bytes");
  // Early headers leave the last field of this one out of its size.
  auto attributes = args<PluginAttributesArgs>();
  attributes.head.struct_size = sizeof(PluginAttributesArgs) - sizeof(std::size_t);
  CALL(Plugin_Attributes, attributes);
  CHECK(attributes.size == 3);
  destroy(plugin().Buffer_Destroy, b);
}

TEST_CASE("pjrt: replicas run one program together") {
  const TestClient c;
  const Api& t = plugin();
  const std::string program = R"(module @pmap_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 4 : i32} {
  func.func public @main(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<ui32>, tensor<ui32>) {
    %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<2xf32>) -> tensor<2xf32>
    %1 = "stablehlo.cross-replica-sum"(%x) <{replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>}> : (tensor<2xf32>) -> tensor<2xf32>
    %2 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (tensor<2xf32>) -> tensor<2xf32>
    %3 = stablehlo.replica_id : tensor<ui32>
    %4 = stablehlo.partition_id : tensor<ui32>
    return %0, %1, %2, %3, %4 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<ui32>, tensor<ui32>
  }
})";
  for (const std::vector<int>& devices : {std::vector<int>{0, 1, 2, 3}, std::vector<int>{3, 1, 0, 2}}) {
    LoadedExecutable* e = c.compile(program, replicas(devices));
    Executable* described = value_of(t.LoadedExecutable_GetExecutable, e);
    CHECK(value_of(t.Executable_NumReplicas, described) == 4);
    CHECK(value_of(t.Executable_NumPartitions, described) == 1);
    const std::vector<Device*> on = list_of(t.LoadedExecutable_AddressableDevices, e);
    REQUIRE(on.size() == 4);
    std::vector<std::vector<Buffer*>> in, out;
    for (std::size_t r = 0; r < 4; ++r) {
      CHECK(on[r] == c.devices[static_cast<std::size_t>(devices[r])]);
      in.push_back({c.put({static_cast<float>(r), 10}, {2}, static_cast<std::size_t>(devices[r]))});
    }
    const Outcome done = run(e, in, 5, out);
    REQUIRE_MESSAGE(done.code == Code::ok, done.message);
    for (std::size_t r = 0; r < 4; ++r) {
      CHECK(get(out[r][0]) == std::vector<float>{6, 40});
      CHECK(get(out[r][1]) == std::vector<float>{r % 2 == 0 ? 2.f : 4.f, 20});
      CHECK(get(out[r][2]) == (r == 0 ? std::vector<float>{0, 0} : std::vector<float>{static_cast<float>(r) - 1, 10}));
      const auto bits = [](float f) {
        std::uint32_t u = 0;
        std::memcpy(&u, &f, sizeof u);
        return u;
      };
      CHECK(bits(get(out[r][3])[0]) == r);
      CHECK(bits(get(out[r][4])[0]) == 0);
      CHECK(value_of(t.Buffer_Device, out[r][0]) == on[r]);
    }
    for (auto* lists : {&in, &out})
      for (auto& list : *lists)
        for (Buffer* b : list) destroy(t.Buffer_Destroy, b);
    destroy(t.Executable_Destroy, described);
    destroy(t.LoadedExecutable_Destroy, e);
  }
}

TEST_CASE("pjrt: replicas that a module does not have, or partitions beside them, are refused") {
  const TestClient c;
  LoadedExecutable* out = nullptr;
  const std::string of_one = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n  return %x : tensor<4xf32>\n}";
  Outcome done = c.try_compile(of_one, &out, replicas({0, 1}));
  CHECK(done.code == Code::invalid_argument);
  CHECK_MESSAGE(done.message.find("written for 1 replicas, and compiled for 2") != std::string::npos, done.message);
  done = c.try_compile("module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 2 : i32} {\n" + of_one + "\n}", &out,
                       replicas({0, 1}));
  CHECK_MESSAGE(done.message.find("2 replicas of 2 partitions are not supported") != std::string::npos, done.message);
}
