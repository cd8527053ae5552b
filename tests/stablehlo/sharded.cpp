// What programs say of devices: meshes, shardings, and programs of one device with communication in them.
#include <fstream>
#include <iterator>

#include "tests/messages.h"
#include "tests/runtime/devices.h"
#include "tests/stablehlo/run.h"
#include "weft/frontends/stablehlo/program.h"

using namespace weft;
using sharding::P;
using test::has, test::message_of;

namespace {

/// A program of one device of a mesh of 2 x 2, whose block of the argument is 1 x 2.
std::string one_of_four(const std::string& operations, const std::string& block = "tensor<1x2xf32>",
                        const std::string& whole = "tensor<2x4xf32>") {
  return "module @m attributes {mhlo.num_partitions = 4 : i32} {\nsdy.mesh @mesh = <[\"x\"=2, \"y\"=2]>\nfunc.func @main(%arg0: "
         "tensor<2x4xf32>) -> " +
         whole +
         " {\n%0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{\"x\"}, {\"y\"}]>] out_shardings=[<@mesh, [{\"x\"}, {\"y\"}]>] " +
         "manual_axes={\"x\", \"y\"} (%a: tensor<1x2xf32>) {\n" + operations + "\nsdy.return %r : " + block +
         "\n} : (tensor<2x4xf32>) -> " + whole + "\nreturn %0 : " + whole + "\n}\n}\n";
}
std::string with_add(const std::string& head, const std::string& type) {
  return head +
         " ({\n^bb0(%p: tensor<f32>, %q: tensor<f32>):\n%s = stablehlo.add %p, %q : tensor<f32>\nstablehlo.return %s : tensor<f32>\n}) : " +
         type;
}
const std::string kPartitions = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, ";

/// The results for [[0, 1, 2, 3], [4, 5, 6, 7]] as the map of a vector of devices, which needs none.
std::vector<float> run(const std::string& text) {
  CAPTURE(text);
  const Jaxpr program = parse_stablehlo(text);
  program.check();
  const Array x = reshape(arange(8.f), {2, 4});
  return tools::run_on("interp", "main", program, {x})[0].to_vector<float>();
}

}  // namespace

TEST_CASE("stablehlo: import_program gives what stands beside a program") {
  const detail::ImportedProgram p =
      detail::import_program(R"(module @jit_f attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]> {stablehlo.mesh = {axes = [{name = "x", size = 2 : i64}]}} loc(#loc)
  sdy.mesh @other = <["z"=4], device_ids=[3, 2, 1, 0]>
  func.func public @main(%arg0: tensor<4x8xf32> {jax.buffer_donor = true, sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {?}]>} loc("w"), %arg1: tensor<f32> {mhlo.memory_kind = "pinned_host", tf.aliasing_output = 0 : i32}) -> (tensor<f32> {jax.result_info = "result[0]", mhlo.sharding = "{replicated}"}) {
    return %arg1 : tensor<f32>
  }
}
#loc = loc(unknown))",
                             "f", {});
  CHECK(p.name == "jit_f");
  CHECK(p.num_partitions == 4);
  REQUIRE(p.meshes.size() == 2);
  CHECK(p.meshes[1].axes.device_ids == std::vector<int>{3, 2, 1, 0});
  REQUIRE(p.arguments.size() == 2);
  CHECK(p.arguments[0].name == "w");
  CHECK(p.arguments[0].is_donated);
  REQUIRE(p.arguments[0].sharding.has_value());
  CHECK(p.arguments[0].sharding->mesh.name == "mesh");
  CHECK(p.arguments[0].sharding->spec == P({"x", "y"}, none));
  CHECK(p.arguments[0].sharding->open == std::vector<bool>{false, true});
  CHECK(p.arguments[1].memory_kind == "pinned_host");
  CHECK(p.arguments[1].aliased_result == 0);
  CHECK(p.results[0].result_info == "result[0]");
}

TEST_CASE("stablehlo: bytecode has the same beside a program as its text") {
  const char* const root = std::getenv("WEFT_TEST_DATA");
  const std::string stem = std::string(root ? root : "tests") + "/stablehlo/data/sharded";
  std::vector<detail::ImportedProgram> programs;
  for (const char* form : {".mlirbc", ".raw.mlirbc"}) {
    std::ifstream in(stem + form, std::ios::binary);
    programs.push_back(detail::import_program(std::string(std::istreambuf_iterator<char>(in), {}), "sharded", {}));
  }
  for (const detail::ImportedProgram& p : programs) {
    CHECK(p.name == "jit_sharded");
    CHECK(p.num_partitions == 4);
    REQUIRE(p.arguments.size() == 2);
    CHECK(p.arguments[0].name == "w");
    CHECK(p.arguments[1].name == "x");
    REQUIRE(p.arguments[1].sharding.has_value());
    CHECK(p.arguments[1].sharding->spec == P("x", "y"));
    CHECK(p.results.size() == 7);
    CHECK(p.results[1].result_info == "result[1][0]");
  }
}

TEST_CASE("stablehlo: communication along the axes of a mesh") {
  using Floats = std::vector<float>;
  // Devices 0, 1, 2, 3 have [0, 1], [2, 3], [4, 5], [6, 7].
  CHECK(run(one_of_four("%r = " + with_add("\"stablehlo.all_reduce\"(%a) <{" + kPartitions +
                                               "replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, use_global_device_ids}>",
                                           "(tensor<1x2xf32>) -> tensor<1x2xf32>"))) == Floats{4, 6, 8, 10, 4, 6, 8, 10});
  CHECK(run(one_of_four("%r = " + with_add("\"stablehlo.all_reduce\"(%a) <{" + kPartitions +
                                               "replica_groups = dense<[[0, 2, 1, 3]]> : tensor<1x4xi64>, use_global_device_ids}>",
                                           "(tensor<1x2xf32>) -> tensor<1x2xf32>"))) == Floats{12, 16, 12, 16, 12, 16, 12, 16});
  CHECK(
      run(one_of_four(
          "%r = \"stablehlo.all_gather\"(%a) <{all_gather_dim = 1 : i64, " + kPartitions +
              "replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> : (tensor<1x2xf32>) -> tensor<1x4xf32>",
          "tensor<1x4xf32>", "tensor<2x8xf32>")) == Floats{0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6, 7, 4, 5, 6, 7});
  // Groups in the other order: what they gather is in that order.
  CHECK(run(one_of_four(
            "%r = \"stablehlo.all_gather\"(%a) <{all_gather_dim = 1 : i64, " + kPartitions +
                "replica_groups = dense<[[0, 2, 1, 3]]> : tensor<1x4xi64>, use_global_device_ids}> : (tensor<1x2xf32>) -> tensor<1x8xf32>",
            "tensor<1x8xf32>", "tensor<2x16xf32>")) ==
        Floats{0, 1, 4, 5, 2, 3, 6, 7, 0, 1, 4, 5, 2, 3, 6, 7, 0, 1, 4, 5, 2, 3, 6, 7, 0, 1, 4, 5, 2, 3, 6, 7});
  CHECK(run(one_of_four(
            "%r = " +
                with_add(
                    "\"stablehlo.reduce_scatter\"(%a) <{" + kPartitions +
                        "replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, scatter_dimension = 1 : i64, use_global_device_ids}>",
                    "(tensor<1x2xf32>) -> tensor<1x1xf32>"),
            "tensor<1x1xf32>", "tensor<2x2xf32>")) == Floats{2, 4, 10, 12});
  CHECK(run(one_of_four("%r = \"stablehlo.collective_permute\"(%a) <{" + kPartitions +
                        "source_target_pairs = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> : (tensor<1x2xf32>) -> tensor<1x2xf32>")) ==
        Floats{0, 0, 0, 1, 0, 0, 4, 5});
  // Pairs across both axes.
  CHECK(run(one_of_four(
            "%r = \"stablehlo.collective_permute\"(%a) <{" + kPartitions +
            "source_target_pairs = dense<[[0, 3], [3, 0], [1, 1]]> : tensor<3x2xi64>}> : (tensor<1x2xf32>) -> tensor<1x2xf32>")) ==
        Floats{6, 7, 2, 3, 0, 0, 0, 1});
  CHECK(run(one_of_four("%r = \"stablehlo.all_to_all\"(%a) <{concat_dimension = 1 : i64, " + kPartitions +
                        "replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, split_count = 2 : i64, split_dimension = 1 : i64}> : "
                        "(tensor<1x2xf32>) -> tensor<1x2xf32>")) == Floats{0, 4, 2, 6, 1, 5, 3, 7});
  CHECK(run(one_of_four("%b = stablehlo.partition_id : tensor<ui32>\n%c = stablehlo.convert %b : (tensor<ui32>) -> tensor<f32>\n%r = "
                        "stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<1x2xf32>")) == Floats{0, 0, 1, 1, 2, 2, 3, 3});
}

TEST_CASE("stablehlo: communication beside other operations gives what it gives in their order") {
  const std::string gather =
      "\"stablehlo.all_gather\"(%b) <{all_gather_dim = 1 : i64, " + kPartitions +
      "replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> : (tensor<1x2xf32>) -> tensor<1x4xf32>";
  const std::string future = "!stablehlo.future<tensor<1x4xf32>>";
  const auto program = [&](const std::string& done) {
    return one_of_four("%f = \"stablehlo.async_start\"(%a) ({\n^bb0(%b: tensor<1x2xf32>):\n%g = " + gather +
                           "\nstablehlo.return %g : tensor<1x4xf32>\n}) : (tensor<1x2xf32>) -> " + future +
                           "\n%c = stablehlo.negate %a : tensor<1x2xf32>\n%r = " + done,
                       "tensor<1x4xf32>", "tensor<2x8xf32>");
  };
  CHECK(run(program("\"stablehlo.async_done\"(%f) : (" + future + ") -> tensor<1x4xf32>")) ==
        std::vector<float>{0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6, 7, 4, 5, 6, 7});
  const auto refused = [&](const std::string& done) { return message_of<Error>([&] { parse_stablehlo(program(done)); }); };
  CHECK(has(refused("stablehlo.negate %f : " + future), "operand 0 is a tuple, not an array"));
  CHECK(has(refused("\"stablehlo.async_done\"(%c) : (tensor<1x2xf32>) -> tensor<1x4xf32>"), "stablehlo.async_done"));
}

TEST_CASE("stablehlo: communication along both axes at once exchanges blocks in the order of the group") {
  const std::string text =
      "module {\nsdy.mesh @mesh = <[\"x\"=2, \"y\"=2]>\nfunc.func @main(%arg0: tensor<16xf32>) -> tensor<16xf32> {\n%0 = "
      "sdy.manual_computation(%arg0) "
      "in_shardings=[<@mesh, [{\"x\", \"y\"}]>] out_shardings=[<@mesh, [{\"x\", \"y\"}]>] manual_axes={\"x\", \"y\"} (%a: tensor<4xf32>) "
      "{\n%r = "
      "\"stablehlo.all_to_all\"(%a) <{concat_dimension = 0 : i64, " +
      kPartitions +
      "replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, split_count = 4 : i64, split_dimension = 0 : i64}> : (tensor<4xf32>) -> "
      "tensor<4xf32>\nsdy.return %r : tensor<4xf32>\n} : (tensor<16xf32>) -> tensor<16xf32>\nreturn %0 : tensor<16xf32>\n}\n}";
  const std::vector<float> got = tools::run_on("interp", "main", parse_stablehlo(text), {arange(16.f)})[0].to_vector<float>();
  for (std::size_t i = 0; i < 16; ++i) CHECK(got[i] == static_cast<float>(i % 4 * 4 + i / 4));
}

TEST_CASE("stablehlo: parts of an axis are groups of positions along it; a combination that is no primitive is made of all") {
  const std::string four =
      "module {\nsdy.mesh @mesh = <[\"x\"=4]>\nfunc.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {\n%0 = "
      "sdy.manual_computation(%arg0) "
      "in_shardings=[<@mesh, [{\"x\"}]>] out_shardings=[<@mesh, [{\"x\"}]>] manual_axes={\"x\"} (%a: tensor<1xf32>) {\n%r = "
      "\"stablehlo.all_reduce\"(%a) <{" +
      kPartitions +
      "replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({\n^bb0(%p: tensor<f32>, %q: tensor<f32>):\n%s "
      "= "
      "stablehlo.OP %p, %q : tensor<f32>\nstablehlo.return %s : tensor<f32>\n}) : (tensor<1xf32>) -> tensor<1xf32>\nsdy.return %r : "
      "tensor<1xf32>\n} : "
      "(tensor<4xf32>) -> tensor<4xf32>\nreturn %0 : tensor<4xf32>\n}\n}";
  for (const auto& [op, want] : {std::pair("add", std::vector<float>{4, 6, 4, 6}), std::pair("multiply", std::vector<float>{3, 8, 3, 8})}) {
    std::string text = four;
    text.replace(text.find("OP"), 2, op);
    CHECK(tools::run_on("interp", "main", parse_stablehlo(text), {array({1.f, 2.f, 3.f, 4.f})})[0].to_vector<float>() == want);
  }
}

TEST_CASE("stablehlo: groups of different sizes sum up; what depends on a group's size is refused") {
  const auto text = [](const std::string& operation) {
    return "module {\nsdy.mesh @mesh = <[\"x\"=4]>\nfunc.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {\n%0 = "
           "sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{\"x\"}]>] out_shardings=[<@mesh, [{\"x\"}]>] manual_axes={\"x\"} (%a: "
           "tensor<1xf32>) {\n" +
           operation + "\nsdy.return %r : tensor<1xf32>\n} : (tensor<4xf32>) -> tensor<4xf32>\nreturn %0 : tensor<4xf32>\n}\n}";
  };
  const auto reduce = [&](const std::string& groups) {
    return text("%r = " + with_add("\"stablehlo.all_reduce\"(%a) <{" + kPartitions + "replica_groups = dense<" + groups +
                                       "> : tensor<2x3xi64>, use_global_device_ids}>",
                                   "(tensor<1xf32>) -> tensor<1xf32>"));
  };
  const Array x = array({1.f, 2.f, 3.f, 4.f});
  for (const char* backend : {"interp", "cpu"}) {
    CHECK(tools::run_on(backend, "main", parse_stablehlo(reduce("[[1, -1, -1], [0, 2, 3]]")), {x})[0].to_vector<float>() ==
          std::vector<float>{8, 2, 8, 8});
    CHECK(tools::run_on(backend, "main", parse_stablehlo(reduce("[[3, 0, 1], [2, -1, -1]]")), {x})[0].to_vector<float>() ==
          std::vector<float>{7, 7, 3, 7});
  }
  const auto refusal = [](const std::string& program) { return message_of<Error>([&] { parse_stablehlo(program); }); };
  CHECK(has(refusal(reduce("[[0, 1, 2], [-1, -1, -1]]")), "one of its groups has no devices"));
  std::string product = reduce("[[1, -1, -1], [0, 2, 3]]");
  product.replace(product.find("stablehlo.add"), 13, "stablehlo.multiply");
  CHECK(has(refusal(product), "its groups are not of the same size"));
  CHECK(has(refusal(text("%g = \"stablehlo.all_gather\"(%a) <{all_gather_dim = 0 : i64, " + kPartitions +
                         "replica_groups = dense<[[1, -1, -1], [0, 2, 3]]> : tensor<2x3xi64>, use_global_device_ids}> : (tensor<1xf32>) -> "
                         "tensor<3xf32>\n%r = stablehlo.slice %g [0:1] : (tensor<3xf32>) -> tensor<1xf32>")),
            "its groups are not of the same size"));
}

TEST_CASE("stablehlo: devices send slices of different lengths to each other (ragged_all_to_all)") {
  const std::string text = R"(module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(%x: tensor<6x1xf32>, %y: tensor<8x1xf32>, %l: tensor<4x4xi32>) -> tensor<8x1xf32> {
    %0 = sdy.manual_computation(%x, %y, %l) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>, <@mesh, [{}, {"x"}]>]
        out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%a: tensor<3x1xf32>, %b: tensor<4x1xf32>, %c: tensor<4x2xi32>) {
      %s0 = stablehlo.slice %c [0:1, 0:2] : (tensor<4x2xi32>) -> tensor<1x2xi32>
      %s1 = stablehlo.slice %c [1:2, 0:2] : (tensor<4x2xi32>) -> tensor<1x2xi32>
      %s2 = stablehlo.slice %c [2:3, 0:2] : (tensor<4x2xi32>) -> tensor<1x2xi32>
      %s3 = stablehlo.slice %c [3:4, 0:2] : (tensor<4x2xi32>) -> tensor<1x2xi32>
      %in = stablehlo.reshape %s0 : (tensor<1x2xi32>) -> tensor<2xi32>
      %send = stablehlo.reshape %s1 : (tensor<1x2xi32>) -> tensor<2xi32>
      %out = stablehlo.reshape %s2 : (tensor<1x2xi32>) -> tensor<2xi32>
      %recv = stablehlo.reshape %s3 : (tensor<1x2xi32>) -> tensor<2xi32>
      %r = stablehlo.custom_call @ragged_all_to_all(%a, %b, %in, %send, %out, %recv) {api_version = 4 : i32, mhlo.backend_config = {channel_id = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}} : (tensor<3x1xf32>, tensor<4x1xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<4x1xf32>
      sdy.return %r : tensor<4x1xf32>
    } : (tensor<6x1xf32>, tensor<8x1xf32>, tensor<4x4xi32>) -> tensor<8x1xf32>
    return %0 : tensor<8x1xf32>
  }
})";
  const Array x = reshape(array({1.f, 2.f, 2.f, 3.f, 4.f, 0.f}), {6, 1}), y = full({8, 1}, -1.f);
  // Rows: where slices begin, their sizes, where they come to, what each device gets; columns: of device 0 for devices 0 and 1, of
  // device 1.
  const Array lists = reshape(array({0, 1, 0, 1, 1, 2, 1, 1, 0, 0, 1, 2, 1, 1, 2, 1}), {4, 4});
  for (const char* backend : {"interp", "cpu"})
    CHECK(tools::run_on(backend, "main", parse_stablehlo(text), {x, y, lists})[0].to_vector<float>() ==
          std::vector<float>{1, 3, -1, -1, 2, 2, 4, -1});
}

TEST_CASE("stablehlo: a constraint whose axes don't divide a dimension leaves them out") {
  const auto program = [](const std::string& dims) {
    return parse_stablehlo(
        "sdy.mesh @mesh = <[\"x\"=2, \"y\"=4]>\nfunc.func @main(%a: tensor<6x4xf32>) -> tensor<6x4xf32> {\n%0 = sdy.sharding_constraint %a "
        "<@mesh, [" +
        dims + "]> : tensor<6x4xf32>\nreturn %0 : tensor<6x4xf32>\n}");
  };
  CHECK(has(program("{\"x\", \"y\"}, {}").to_string(), "spec=P('x', None)"));
  CHECK(has(program("{\"y\"}, {\"x\"}").to_string(), "spec=P(None, 'x')"));
  CHECK(!has(program("{\"y\"}, {}").to_string(), "sharding_constraint"));
  CHECK(has(program("{}, {}").to_string(), "sharding_constraint"));
}

TEST_CASE("stablehlo: a token's sharding has no dimensions") {
  const detail::ImportedProgram p = detail::import_program(
      R"(module @jit_f attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%t: !stablehlo.token {jax.token = true, sdy.sharding = #sdy.sharding<@mesh, []>}, %a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
      -> (!stablehlo.token {jax.token = true, sdy.sharding = #sdy.sharding<@mesh, []>}, tensor<4xf32>) {
    return %t, %a : !stablehlo.token, tensor<4xf32>
  }
})",
      "f", {});
  CHECK(!p.arguments[0].sharding);
  CHECK(p.arguments[1].sharding->spec == P("x"));
}

TEST_CASE("stablehlo: communication that fits no mesh is refused where it stands") {
  const auto refusal = [](const std::string& text) { return message_of<Error>([&] { parse_stablehlo(text); }); };
  const auto gather = [](const std::string& groups, const std::string& shape) {
    return one_of_four("%r = \"stablehlo.all_gather\"(%a) <{all_gather_dim = 1 : i64, " + kPartitions + "replica_groups = dense<" + groups +
                       "> : tensor<" + shape + "xi64>, use_global_device_ids}> : (tensor<1x2xf32>) -> tensor<1x2xf32>");
  };
  CHECK(has(refusal(gather("[[0, 3], [1, 2]]", "2x2")), "neither lines along the axes of the mesh nor parts of such lines"));
  CHECK(has(refusal(gather("[[0, 9], [1, 2]]", "2x2")), "the mesh has no device 9"));
  CHECK(has(refusal(test::main_of(
                "%a = stablehlo.constant dense<1.0> : tensor<2xf32>\n%b = \"stablehlo.all_gather\"(%a) <{all_gather_dim = 0 : i64, " +
                kPartitions + "replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2xf32>) -> tensor<4xf32>")),
            "stablehlo:3:6: stablehlo.all_gather: it communicates outside of a program of one device"));
  CHECK(has(
      refusal(
          "sdy.mesh @mesh = <[\"x\"=2]>\nfunc.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n%0 = sdy.sharding_constraint %a <@mesh, "
          "[{\"z\"}]> : tensor<4xf32>\nreturn %0 : tensor<4xf32>\n}"),
      "z"));
  CHECK(has(
      refusal(
          "sdy.mesh @mesh = <[\"x\"=4]>\nfunc.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n%0 = sdy.sharding_constraint %a <@mesh, "
          "[{\"x\":(2)2}]> : tensor<4xf32>\nreturn %0 : tensor<4xf32>\n}"),
      "part of a mesh axis"));
}
