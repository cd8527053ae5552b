// Shardings as XLA writes them (`mhlo.sharding`): the same programs as with Shardy's.
#include <utility>

#include "tests/messages.h"
#include "tests/runtime/devices.h"
#include "tests/stablehlo/run.h"
#include "weft/frontends/stablehlo/program.h"

using namespace weft;
using sharding::P;
using test::refuses;

namespace {

/// The program of an argument with that sharding, and of a result with another.
detail::ImportedProgram with_shardings(const std::string& argument, const std::string& result, int devices = 8) {
  const std::string type = "tensor<8x16xf32>";
  return detail::import_program("module @m attributes {mhlo.num_partitions = " + std::to_string(devices) +
                                    " : i32} {\nfunc.func @main(%arg0: " + type + " {mhlo.sharding = \"" + argument + "\"}) -> (" + type +
                                    " {mhlo.sharding = \"" + result + "\"}) {\nreturn %arg0 : " + type + "\n}\n}\n",
                                "m", {});
}
/// The devices of each block of an argument or a result, the last dimension's fastest: of those that hold the same, all.
std::vector<std::vector<std::int64_t>> blocks(const detail::ProgramValue& v) {
  const detail::MeshAxes& mesh = v.sharding->mesh.axes;
  std::vector<std::vector<std::int64_t>> out;
  for (std::int64_t device = 0; device < mesh.num_devices(); ++device) {
    std::int64_t block = 0, left = device;
    std::map<std::string, std::int64_t> at;
    for (std::size_t k = mesh.sizes.size(); k-- > 0;) at[mesh.names[k]] = left % mesh.sizes[k], left /= mesh.sizes[k];
    for (int d = 0; d < v.type.shape.size(); ++d)
      for (const std::string& axis : v.sharding->spec.axes_of(d)) block = block * mesh.size_of({axis}) + at[axis];
    if (static_cast<std::size_t>(block) >= out.size()) out.resize(static_cast<std::size_t>(block) + 1);
    out[static_cast<std::size_t>(block)].push_back(device);
  }
  return out;
}
using Blocks = std::vector<std::vector<std::int64_t>>;

/// A map of two matrices over 4 x 2 devices, as JAX writes it with jax_use_shardy_partitioner off.
const char* const kMap = R"(module @jit_f attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8x8xf32>, %arg1: tensor<8x6xf32>) -> (tensor<8x6xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.custom_call @Sharding(%arg0) {backend_config = "", mhlo.sharding = "{devices=[2,4]<=[4,2]T(1,0)}"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {backend_config = "", mhlo.sharding = "{manual}"} : (tensor<8x8xf32>) -> tensor<4x2xf32>
    %2 = stablehlo.custom_call @Sharding(%arg1) {backend_config = "", mhlo.sharding = "{devices=[4,1,2]<=[8] last_tile_dim_replicate}"} : (tensor<8x6xf32>) -> tensor<8x6xf32>
    %3 = stablehlo.custom_call @SPMDFullToShardShape(%2) {backend_config = "", mhlo.sharding = "{manual}"} : (tensor<8x6xf32>) -> tensor<2x6xf32>
    %4 = call @shmap_body(%1, %3) : (tensor<4x2xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
    %5 = stablehlo.custom_call @Sharding(%4) {backend_config = "", mhlo.sharding = "{manual}"} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %6 = stablehlo.custom_call @SPMDShardToFullShape(%5) {backend_config = "", mhlo.sharding = "{devices=[2,1,4]<=[4,2]T(1,0) last_tile_dim_replicate}"} : (tensor<4x6xf32>) -> tensor<8x6xf32>
    return %6 : tensor<8x6xf32>
  }
  func.func private @shmap_body(%arg0: tensor<4x2xf32>, %arg1: tensor<2x6xf32>) -> (tensor<4x6xf32>) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x2xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
    %1 = "stablehlo.all_reduce"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 2, 4, 6], [1, 3, 5, 7]]> : tensor<2x4xi64>, use_global_device_ids}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %9 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %9 : tensor<f32>
    }) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %c = stablehlo.constant dense<2> : tensor<ui32>
    %2 = stablehlo.partition_id : tensor<ui32>
    %4 = stablehlo.remainder %2, %c : tensor<ui32>
    %6 = stablehlo.convert %4 : (tensor<ui32>) -> tensor<f32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<f32>) -> tensor<4x6xf32>
    %8 = stablehlo.add %1, %7 : tensor<4x6xf32>
    return %8 : tensor<4x6xf32>
  }
})";

}  // namespace

TEST_CASE("stablehlo: shardings in tiles are along axes of one mesh") {
  const Blocks in_order{{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}}, pairs{{0, 1}, {2, 3}, {4, 5}, {6, 7}}, halves{{0, 1, 2, 3}, {4, 5, 6, 7}};
  const Blocks transposed{{0}, {2}, {4}, {6}, {1}, {3}, {5}, {7}};
  const std::vector<std::pair<std::string, Blocks>> table{
      {"{devices=[8,1]<=[8]}", in_order},
      {"{devices=[1,8]0,1,2,3,4,5,6,7}", in_order},
      {"{devices=[2,4]<=[8]}", in_order},
      {"{devices=[4,1,2]<=[8] last_tile_dim_replicate}", pairs},
      {"{devices=[4,1,2]0,1,2,3,4,5,6,7 last_tile_dims={replicated}}", pairs},
      {"{devices=[1,2,2,2]<=[8] last_tile_dims={replicated, replicated}}", halves},
      {"{devices=[2,4]<=[4,2]T(1,0)}", transposed},
      {"{devices=[2,4]0,2,4,6,1,3,5,7}", transposed},
      {"{devices=[1,8]<=[2,2,2]T(2,0,1)}", transposed},
      {"{devices=[2,1,4]<=[4,2]T(1,0) last_tile_dim_replicate metadata={op_name=\\\"a{b}\\\"}}", {{0, 2, 4, 6}, {1, 3, 5, 7}}},
      {"{replicated}", {{0, 1, 2, 3, 4, 5, 6, 7}}}};
  for (const auto& [text, expected] : table)
    for (const auto& [other, of_other] : table) {
      CAPTURE(text);
      CAPTURE(other);
      const detail::ImportedProgram p = with_shardings(text, other);
      CHECK(blocks(p.arguments[0]) == expected);
      CHECK(blocks(p.results[0]) == of_other);
      CHECK(p.arguments[0].sharding->mesh.axes == p.results[0].sharding->mesh.axes);
    }
  const detail::ImportedProgram sum = with_shardings("{devices=[1,2,4]<=[8] last_tile_dims={unreduced}}", "{replicated}");
  CHECK(sum.arguments[0].sharding->mesh.axes.size_of(sum.arguments[0].sharding->unreduced) == 4);
  CHECK(!with_shardings("{unknown}", "{devices=[8,1]<=[8]}").arguments[0].sharding);
  CHECK(with_shardings("{maximal device=3}", "{devices=[8,1]<=[8]}").arguments[0].sharding->is_maximal);
}

TEST_CASE("stablehlo: devices in another order are along axes in that order") {
  const detail::ImportedProgram p =
      with_shardings("{devices=[2,4]0,1,3,2,6,7,5,4}", "{devices=[4,1,2]0,6,1,7,3,5,2,4 last_tile_dim_replicate}");
  const detail::MeshAxes& mesh = p.arguments[0].sharding->mesh.axes;
  CHECK(mesh.device_ids == std::vector<int>{0, 1, 3, 2, 6, 7, 5, 4});
  CHECK(mesh.size_of(p.arguments[0].sharding->spec.axes_of(0)) == 2);
  CHECK(mesh.size_of(p.arguments[0].sharding->spec.axes_of(1)) == 4);
  // Positions 0 and 4 hold the first block, 1 and 5 the second, and so on.
  CHECK(blocks(p.results[0]) == Blocks{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
}

TEST_CASE("stablehlo: shardings in tiles that are not read, or stated by no axes of one mesh, change no value") {
  const auto stays = [](const std::string& text, const std::string& problem, const std::string& other = "{replicated}", int devices = 8) {
    CAPTURE(text);
    const detail::ImportedProgram p = with_shardings(text, other, devices);
    CHECK(!p.arguments[0].sharding);
    CHECK(p.arguments[0].other_sharding == text);
    CHECK(p.jaxpr.eqns().empty());
    // Around a program of one device they matter.
    std::string map = kMap;
    const std::string stated = "{devices=[2,4]<=[4,2]T(1,0)}";
    map.replace(map.find(stated), stated.size(), text);
    if (other == "{replicated}") CHECK(refuses<Error>([&] { parse_stablehlo(map); }, {problem}));
  };
  stays("devices=[8,1]<=[8]", "`{` is missing at character 0");
  stays("{devices=[8,1]<=[8]", "`}` is missing");
  stays("{devices=[8,1]<=[4]}", "8 tiles have 4 devices");
  stays("{devices=[8,1]0,1,2,3,4,5,6,6}", "each of them once");
  stays("{devices=[0,1]<=[0]}", "out of range");
  stays("{devices=[1048576,1048576]<=[8]}", "out of range");
  stays("{devices=[2,4]<=[2,4]T(0,0)}", "no permutation");
  stays("{devices=[8]<=[8] last_tile_dims={replicated, manual}}", "fewer tile dimensions");
  stays("{{replicated}, {replicated}}", "more than one sharding");
  stays("{elsewhere}", "no kind of sharding");
  stays("{replicated} ", "something follows");
  stays("{devices=[4,1]<=[4]}", "over 4 devices, the module is over 8");
  stays("{devices=[1,8]0,1,2,3,4,5,7,6}", "", "{devices=[8,1]<=[8]}");
  stays("{devices=[3,1,2]<=[6] last_tile_dim_replicate}", "", "{devices=[2,1,3]<=[6] last_tile_dim_replicate}", 6);
}

TEST_CASE("stablehlo: shardings in tiles that an array can't have are errors") {
  const auto wrong = [](const std::string& text, const std::string& problem) {
    CAPTURE(text);
    CHECK(refuses<Error>([&] { with_shardings(text, "{replicated}"); }, {problem}));
  };
  wrong("{devices=[8]<=[8]}", "is of 1 dimensions, its array has 2");
  wrong("{manual}", "of one device");
  wrong("{devices=[1,1,8]<=[8] last_tile_dims={manual}}", "of one device");
}

TEST_CASE("stablehlo: maps between SPMDFullToShardShape and SPMDShardToFullShape") {
  const Array a = reshape(arange(64.f), {8, 8}) / 64, b = reshape(arange(48.f), {8, 6}) / 48;
  const Array expected = matmul(a, b) + concatenate({zeros({4, 6}), ones({4, 6})});
  const Jaxpr program = parse_stablehlo(kMap);
  program.check();
  CHECK(fmt::format("{}", program).find("shard_map") != std::string::npos);
  for (const char* way : {"interp", "cpu"}) CHECK(allclose(tools::run_on(way, "main", program, {a, b})[0], expected).item<bool>());
  // Nothing is in tiles.
  const Jaxpr whole = parse_stablehlo(R"(module @m attributes {mhlo.num_partitions = 8 : i32} {
  func.func @main() -> (tensor<8xf32>) {
    %0 = call @shmap_body() : () -> tensor<8xf32>
    %1 = stablehlo.custom_call @Sharding(%0) {mhlo.sharding = "{manual}"} : (tensor<8xf32>) -> tensor<8xf32>
    %2 = stablehlo.custom_call @SPMDShardToFullShape(%1) {mhlo.sharding = "{replicated}"} : (tensor<8xf32>) -> tensor<8xf32>
    return %2 : tensor<8xf32>
  }
  func.func private @shmap_body() -> (tensor<8xf32>) {
    %c = stablehlo.constant dense<1.0> : tensor<8xf32>
    %1 = "stablehlo.all_reduce"(%c) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %9 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %9 : tensor<f32>
    }) : (tensor<8xf32>) -> tensor<8xf32>
    return %1 : tensor<8xf32>
  }
})");
  CHECK(array_equal(tools::run_on("interp", "main", whole, {})[0], full({8}, 8.f)).item<bool>());
  // Without the call there is nothing to map.
  std::string text = kMap;
  const std::string call = "%4 = call @shmap_body(%1, %3) : (tensor<4x2xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>";
  text.replace(text.find(call), call.size(), "%4 = stablehlo.dot %1, %3 : (tensor<4x2xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>");
  CHECK(refuses<Error>([&] { parse_stablehlo(text); }, {"@SPMDFullToShardShape", "around the call of a function"}));
}
