// Constants, shapes, slices, gathers and scatters.
#include "tests/messages.h"
#include "tests/stablehlo/run.h"
#include "weft/frontends/stablehlo/program.h"

using weft::test::passes, weft::test::passes_in_main;

TEST_CASE("stablehlo: constants as bytes, splats, lists, of every type") {
  passes_in_main(R"(
    %0 = stablehlo.constant dense<"0x0000803F000000C0"> : tensor<2xf32>
    %1 = stablehlo.constant dense<"0x0100"> : tensor<3xi16>
    %2 = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xui8>
    %3 = stablehlo.constant dense<> : tensor<0x3xf32>
    %4 = stablehlo.constant dense<(1.5, -2.0)> : tensor<2xcomplex<f64>>
    %5 = stablehlo.constant dense<[0x3E00, -1.5e-1]> : tensor<2xf16>
    %6 = "stablehlo.constant"() <{value = dense<[true, false]> : tensor<2xi1>}> : () -> tensor<2xi1>
    check.expect_eq_const %0, dense<[1.0, -2.0]> : tensor<2xf32>
    check.expect_eq_const %1, dense<1> : tensor<3xi16>
    check.expect_eq_const %2, dense<"0x01020304"> : tensor<2x2xui8>
    check.expect_eq_const %3, dense<> : tensor<0x3xf32>
    check.expect_eq_const %4, dense<[(1.5, -2.0), (1.5, -2.0)]> : tensor<2xcomplex<f64>>
    check.expect_eq_const %5, dense<[1.5, -0.14998]> : tensor<2xf16>
    check.expect_eq_const %6, dense<"0x0100"> : tensor<2xi1>)",
                 7);
}

TEST_CASE("stablehlo: elements are broadcast, transposed, sliced, padded, turned") {
  passes_in_main(R"(
    %a = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
    %0 = stablehlo.broadcast_in_dim %a, dims = [2, 0] : (tensor<2x3xi32>) -> tensor<3x1x2xi32>
    %1 = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xi32>) -> tensor<3x2xi32>
    %2 = stablehlo.slice %a [0:2, 0:3:2] : (tensor<2x3xi32>) -> tensor<2x2xi32>
    %3 = "stablehlo.slice"(%a) <{start_indices = array<i64: 1, 1>, limit_indices = array<i64: 2, 3>, strides = array<i64: 1, 1>}> : (tensor<2x3xi32>) -> tensor<1x2xi32>
    %v = stablehlo.constant dense<0> : tensor<i32>
    %4 = stablehlo.pad %a, %v, low = [0, -1], high = [1, 0], interior = [0, 1] : (tensor<2x3xi32>, tensor<i32>) -> tensor<3x4xi32>
    %5 = stablehlo.reverse %a, dims = [1] : tensor<2x3xi32>
    %6 = stablehlo.concatenate %a, %5, dim = 0 : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<4x3xi32>
    %7 = stablehlo.iota dim = 1 : tensor<2x3xi32>
    check.expect_eq_const %0, dense<[[[1, 4]], [[2, 5]], [[3, 6]]]> : tensor<3x1x2xi32>
    check.expect_eq_const %1, dense<[[1, 4], [2, 5], [3, 6]]> : tensor<3x2xi32>
    check.expect_eq_const %2, dense<[[1, 3], [4, 6]]> : tensor<2x2xi32>
    check.expect_eq_const %3, dense<[[5, 6]]> : tensor<1x2xi32>
    check.expect_eq_const %4, dense<[[0, 2, 0, 3], [0, 5, 0, 6], [0, 0, 0, 0]]> : tensor<3x4xi32>
    check.expect_eq_const %5, dense<[[3, 2, 1], [6, 5, 4]]> : tensor<2x3xi32>
    check.expect_eq_const %6, dense<[[1, 2, 3], [4, 5, 6], [3, 2, 1], [6, 5, 4]]> : tensor<4x3xi32>
    check.expect_eq_const %7, dense<[[0, 1, 2], [0, 1, 2]]> : tensor<2x3xi32>)",
                 8);
}

TEST_CASE("stablehlo: dynamic slices are moved inside, never counted from the end") {
  passes_in_main(R"(
    %a = stablehlo.constant dense<[1, 2, 3, 4, 5]> : tensor<5xi32>
    %m = stablehlo.constant dense<-1> : tensor<i64>
    %n = stablehlo.constant dense<200> : tensor<ui8>
    %0 = stablehlo.dynamic_slice %a, %m, sizes = [2] : (tensor<5xi32>, tensor<i64>) -> tensor<2xi32>
    %1 = stablehlo.dynamic_slice %a, %n, sizes = [2] : (tensor<5xi32>, tensor<ui8>) -> tensor<2xi32>
    %2 = stablehlo.dynamic_update_slice %a, %1, %m : (tensor<5xi32>, tensor<2xi32>, tensor<i64>) -> tensor<5xi32>
    check.expect_eq_const %0, dense<[1, 2]> : tensor<2xi32>
    check.expect_eq_const %1, dense<[4, 5]> : tensor<2xi32>
    check.expect_eq_const %2, dense<[4, 5, 3, 4, 5]> : tensor<5xi32>)",
                 3);
}

TEST_CASE("stablehlo: gathers clamp their starts; index vectors may lie along any dimension") {
  passes_in_main(R"(
    %a = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
    %i = stablehlo.constant dense<[[0, 5], [1, -3]]> : tensor<2x2xi64>
    %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 0>, slice_sizes = array<i64: 1, 2>, indices_are_sorted = false}> : (tensor<2x3xi32>, tensor<2x2xi64>) -> tensor<2x2xi32>
    %b = stablehlo.constant dense<[[2], [0]]> : tensor<2x1xi32>
    %1 = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], start_index_map = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<2x3xi32>, tensor<2x1xi32>) -> tensor<2xi32>
    check.expect_eq_const %0, dense<[[2, 3], [4, 5]]> : tensor<2x2xi32>
    check.expect_eq_const %1, dense<[3, 4]> : tensor<2xi32>)",
                 2);
}

namespace {
std::string scatter(const std::string& operand, const std::string& region, const std::string& starts) {
  return "%a = stablehlo.constant dense<" + operand + R"(> : tensor<5xi32>
    %i0 = stablehlo.constant dense<)" +
         starts + R"(> : tensor<2x1xi64>
    %i = stablehlo.add %i0, %i0 : tensor<2x1xi64>
    %u = stablehlo.constant dense<[[10, 20], [30, 40]]> : tensor<2x2xi32>
    %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%x: tensor<i32>, %y: tensor<i32>):
      )" +
         region + R"(
      stablehlo.return %r : tensor<i32>
    }) : (tensor<5xi32>, tensor<2x1xi64>, tensor<2x2xi32>) -> tensor<5xi32>
    )";
}
}  // namespace

TEST_CASE("stablehlo: of windows that lie partly outside, a scatter leaves out the elements that do") {
  // The starts are doubled, so that they are no constants: -2 and 4.
  passes_in_main(scatter("[1, 2, 3, 4, 5]", "%r = stablehlo.add %x, %y : tensor<i32>", "[[-1], [2]]") +
                 "check.expect_eq_const %0, dense<[1, 2, 3, 4, 35]> : tensor<5xi32>");
  passes_in_main(scatter("[1, 2, 3, 4, 5]", "%r = stablehlo.subtract %x, %y : tensor<i32>", "[[0], [2]]") +
                 "check.expect_eq_const %0, dense<[-9, -18, 3, 4, -25]> : tensor<5xi32>");
  // A region of its own: x - 2 y.
  passes_in_main(
      scatter("[1, 2, 3, 4, 5]", "%d = stablehlo.add %y, %y : tensor<i32>\n%r = stablehlo.subtract %x, %d : tensor<i32>", "[[0], [2]]") +
      "check.expect_eq_const %0, dense<[-19, -38, 3, 4, -55]> : tensor<5xi32>");
  passes_in_main(scatter("[1, 2, 3, 4, 5]", "%r = stablehlo.maximum %x, %y : tensor<i32>", "[[4611686018427387904], [1]]") +
                 "check.expect_eq_const %0, dense<[1, 2, 30, 40, 5]> : tensor<5xi32>");
}

TEST_CASE("stablehlo: in programs that are run for JAX, a scatter leaves out windows that lie partly outside") {
  const auto result = [](const std::string& starts, const std::string& region) {
    const std::string text = "module @jit_f {\nfunc.func public @main() -> tensor<5xi32> {\n" + scatter("[1, 2, 3, 4, 5]", region, starts) +
                             "return %0 : tensor<5xi32>\n}\n}";
    return weft::detail::import_program(text, "jit_f", {}).jaxpr()[0].to_vector<int>();
  };
  const std::string add = "%r = stablehlo.add %x, %y : tensor<i32>", own = "%r = stablehlo.subtract %x, %y : tensor<i32>";
  CHECK(result("[[-1], [2]]", add) == std::vector{1, 2, 3, 4, 5});
  CHECK(result("[[0], [2]]", add) == std::vector{11, 22, 3, 4, 5});
  CHECK(result("[[0], [2]]", own) == std::vector{-9, -18, 3, 4, 5});
  CHECK(result("[[4611686018427387904], [1]]", add) == std::vector{1, 2, 33, 44, 5});
}

TEST_CASE("stablehlo: a scatter of one window that computed constants place inside is a window's update, elsewhere a scatter") {
  const auto program = [](const std::string& place, const std::string& region) {
    return R"(
    %a = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6], [7, 8, 9]]> : tensor<3x3xi32>
    %p = stablehlo.constant dense<)" +
           place + R"(> : tensor<i32>
    %q = stablehlo.broadcast_in_dim %p, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %i = stablehlo.concatenate %q, %q, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %u = stablehlo.constant dense<[10, 20]> : tensor<2xi32>
    %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0, 1]>}> ({
    ^bb0(%x: tensor<i32>, %y: tensor<i32>):
      )" + region +
           R"(
    }) : (tensor<3x3xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<3x3xi32>
    )";
  };
  const std::string returns = "\nstablehlo.return %r : tensor<i32>";
  const std::string expected = "check.expect_eq_const %0, dense<";
  passes_in_main(program("1", "%r = stablehlo.add %x, %y : tensor<i32>" + returns) + expected +
                 "[[1, 2, 3], [4, 15, 26], [7, 8, 9]]> : tensor<3x3xi32>");
  passes_in_main(program("1", "%r = stablehlo.multiply %x, %y : tensor<i32>" + returns) + expected +
                 "[[1, 2, 3], [4, 50, 120], [7, 8, 9]]> : tensor<3x3xi32>");
  passes_in_main(program("0", "%r = stablehlo.maximum %x, %y : tensor<i32>" + returns) + expected +
                 "[[10, 20, 3], [4, 5, 6], [7, 8, 9]]> : tensor<3x3xi32>");
  passes_in_main(program("1", "%r = stablehlo.minimum %x, %y : tensor<i32>" + returns) + expected +
                 "[[1, 2, 3], [4, 5, 6], [7, 8, 9]]> : tensor<3x3xi32>");
  passes_in_main(program("1", "%r = stablehlo.subtract %x, %y : tensor<i32>" + returns) + expected +
                 "[[1, 2, 3], [4, -5, -14], [7, 8, 9]]> : tensor<3x3xi32>");
  passes_in_main(program("1", "stablehlo.return %y : tensor<i32>") + expected + "[[1, 2, 3], [4, 10, 20], [7, 8, 9]]> : tensor<3x3xi32>");
  passes_in_main(program("2", "stablehlo.return %y : tensor<i32>") + expected + "[[1, 2, 3], [4, 5, 6], [7, 8, 10]]> : tensor<3x3xi32>");
  passes_in_main(program("-1", "%r = stablehlo.add %x, %y : tensor<i32>" + returns) + expected +
                 "[[1, 2, 3], [4, 5, 6], [7, 8, 9]]> : tensor<3x3xi32>");
}

TEST_CASE("stablehlo: several arrays are scattered together") {
  passes_in_main(R"(
    %a = stablehlo.constant dense<0> : tensor<3xi32>
    %b = stablehlo.constant dense<1.0> : tensor<3xf32>
    %i = stablehlo.constant dense<[[2], [0]]> : tensor<2x1xi32>
    %u = stablehlo.constant dense<[7, 8]> : tensor<2xi32>
    %v = stablehlo.constant dense<[0.5, 2.0]> : tensor<2xf32>
    %0:2 = "stablehlo.scatter"(%a, %b, %i, %u, %v) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%p: tensor<i32>, %q: tensor<f32>, %r: tensor<i32>, %s: tensor<f32>):
      %m = stablehlo.multiply %q, %s : tensor<f32>
      stablehlo.return %r, %m : tensor<i32>, tensor<f32>
    }) : (tensor<3xi32>, tensor<3xf32>, tensor<2x1xi32>, tensor<2xi32>, tensor<2xf32>) -> (tensor<3xi32>, tensor<3xf32>)
    check.expect_eq_const %0#0, dense<[8, 0, 7]> : tensor<3xi32>
    check.expect_eq_const %0#1, dense<[2.0, 1.0, 0.5]> : tensor<3xf32>)",
                 2);
}

TEST_CASE("stablehlo: tuples, barriers and tokens") {
  passes_in_main(R"(
    %a = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
    %b = stablehlo.constant dense<3.0> : tensor<f32>
    %t = stablehlo.tuple %a, %b : tuple<tensor<2xi32>, tensor<f32>>
    %0 = stablehlo.get_tuple_element %t[1] : (tuple<tensor<2xi32>, tensor<f32>>) -> tensor<f32>
    %k = stablehlo.after_all : !stablehlo.token
    %1, %2 = stablehlo.optimization_barrier %a, %0 : tensor<2xi32>, tensor<f32>
    check.expect_eq_const %1, dense<[1, 2]> : tensor<2xi32>
    check.expect_eq_const %2, dense<3.0> : tensor<f32>)",
                 2);
}

TEST_CASE("stablehlo: tokens go through functions, loops and branches") {
  passes(R"(
    func.func private @pass(%k: !stablehlo.token, %x: tensor<i32>) -> (!stablehlo.token, tensor<i32>) {
      %0 = stablehlo.add %x, %x : tensor<i32>
      return %k, %0 : !stablehlo.token, tensor<i32>
    }
    func.func @main() {
      %k = stablehlo.create_token : !stablehlo.token
      %x = stablehlo.constant dense<1> : tensor<i32>
      %n = stablehlo.constant dense<20> : tensor<i32>
      %0:2 = stablehlo.while(%t = %k, %y = %x) : !stablehlo.token, tensor<i32>
      cond {
        %c = stablehlo.compare LT, %y, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      } do {
        %1:2 = func.call @pass(%t, %y) : (!stablehlo.token, tensor<i32>) -> (!stablehlo.token, tensor<i32>)
        stablehlo.return %1#0, %1#1 : !stablehlo.token, tensor<i32>
      }
      %big = stablehlo.compare GT, %0#1, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %2:2 = "stablehlo.if"(%big) ({
        stablehlo.return %0#0, %0#1 : !stablehlo.token, tensor<i32>
      }, {
        stablehlo.return %k, %x : !stablehlo.token, tensor<i32>
      }) : (tensor<i1>) -> (!stablehlo.token, tensor<i32>)
      %all = stablehlo.after_all %2#0, %k : !stablehlo.token
      check.expect_eq_const %2#1, dense<32> : tensor<i32>
      func.return
    })",
         1);
}

TEST_CASE("stablehlo: sizes that are operands may be constants") {
  passes_in_main(R"(
    %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
    %none = stablehlo.constant dense<0> : tensor<i32>
    %low = stablehlo.constant dense<[1, 0]> : tensor<2xi64>
    %none2 = stablehlo.constant dense<0> : tensor<2xi64>
    %less = stablehlo.constant dense<[0, 1]> : tensor<2xi64>
    %high = stablehlo.subtract %none2, %less : tensor<2xi64>
    %inner = stablehlo.constant dense<[1, 0]> : tensor<2xi64>
    %a = stablehlo.dynamic_pad %x, %none, %low, %high, %inner : (tensor<2x3xi32>, tensor<i32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<4x2xi32>
    check.expect_eq_const %a, dense<[[0, 0], [1, 2], [0, 0], [4, 5]]> : tensor<4x2xi32>
    %limit = stablehlo.constant dense<[2, 3]> : tensor<2xi64>
    %step = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
    %b = stablehlo.real_dynamic_slice %x, %low, %limit, %step : (tensor<2x3xi32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<1x2xi32>
    check.expect_eq_const %b, dense<[[4, 6]]> : tensor<1x2xi32>
    %shape = stablehlo.constant dense<[3, 2]> : tensor<2xi64>
    %c = stablehlo.dynamic_reshape %x, %shape : (tensor<2x3xi32>, tensor<2xi64>) -> tensor<3x2xi32>
    check.expect_eq_const %c, dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi32>
    %d = stablehlo.dynamic_iota %shape, dim = 1 : (tensor<2xi64>) -> tensor<3x2xi32>
    check.expect_eq_const %d, dense<[[0, 1], [0, 1], [0, 1]]> : tensor<3x2xi32>)",
                 4);
  CHECK(weft::test::has(
      weft::test::message_of<weft::Error>([] {
        weft::parse_stablehlo(
            "func.func @main(%x: tensor<4xf32>, %n: tensor<1xi64>) -> tensor<2xf32> {\n%z = stablehlo.constant dense<0.0> : "
            "tensor<f32>\n%0 = stablehlo.dynamic_pad %x, %z, %n, %n, %n : (tensor<4xf32>, tensor<f32>, tensor<1xi64>, "
            "tensor<1xi64>, tensor<1xi64>) -> tensor<2xf32>\nreturn %0 : tensor<2xf32>\n}");
      }),
      "stablehlo:3:6: stablehlo.dynamic_pad: operand 2 is known at run time only"));
}

TEST_CASE("stablehlo: the first elements by a function of the module") {
  weft::test::passes(R"(
    func.func @greater(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>) -> tensor<i1> {
      %0 = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %0 : tensor<i1>
    }
    func.func @main() {
      %x = stablehlo.constant dense<[[3.0, 1.0, 4.0, 2.0], [0.0, 5.0, 5.0, -1.0]]> : tensor<2x4xf32>
      %i = stablehlo.iota dim = 1 : tensor<2x4xi32>
      %none = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %nowhere = stablehlo.constant dense<-1> : tensor<i32>
      %0:2 = stablehlo.custom_call @ApproxTopK(%x, %i, %none, %nowhere) {called_computations = [@greater], mhlo.backend_config = {aggregate_to_topk = true, is_fallback = true, recall_target = 0.95 : f32, reduction_dim = 1 : i64, top_k = 2 : i64}} : (tensor<2x4xf32>, tensor<2x4xi32>, tensor<f32>, tensor<i32>) -> (tensor<2x2xf32>, tensor<2x2xi32>)
      check.expect_eq_const %0#0, dense<[[4.0, 3.0], [5.0, 5.0]]> : tensor<2x2xf32>
      check.expect_eq_const %0#1, dense<[[2, 0], [1, 2]]> : tensor<2x2xi32>
      return
    })",
                     2);
}

TEST_CASE("stablehlo: slices that indices select, in each of the leading dimensions") {
  passes_in_main(R"(
    %x = stablehlo.constant dense<[[[1, 2], [3, 4], [5, 6]], [[7, 8], [9, 10], [11, 12]]]> : tensor<2x3x2xi32>
    %i = stablehlo.constant dense<[[2, 0], [1, 9]]> : tensor<2x2xi32>
    %0 = "stablehlo.torch_index_select"(%x, %i) <{dim = 1 : i64, batch_dims = 1 : i64}> : (tensor<2x3x2xi32>, tensor<2x2xi32>) -> tensor<2x2x2xi32>
    %1 = "stablehlo.torch_index_select"(%x, %i) <{dim = -1 : i64, batch_dims = 0 : i64}> : (tensor<2x3x2xi32>, tensor<2x2xi32>) -> tensor<2x3x2x2xi32>
    %2 = stablehlo.slice %1 [0:1, 0:2, 0:2, 0:2] : (tensor<2x3x2x2xi32>) -> tensor<1x2x2x2xi32>
    check.expect_eq_const %0, dense<[[[5, 6], [1, 2]], [[9, 10], [11, 12]]]> : tensor<2x2x2xi32>
    check.expect_eq_const %2, dense<[[[[2, 1], [2, 2]], [[4, 3], [4, 4]]]]> : tensor<1x2x2x2xi32>)",
                 2);
}
